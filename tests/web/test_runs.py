"""The list of runs, a run's page, its live stream, files and report."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from golden.runs import RESULTS
from manyheads.base.sqlite import Database
from manyheads.core import Usage
from manyheads.core.events import Asked, Estimated, Stage, Warned
from manyheads.report.notes import read_notes
from manyheads.web.live import WINDOW, Log
from manyheads.web.pages import markdown
from support.events import HOSTILE, a_run, line, said
from support.web import app_of, owner, send


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """A run that another process works on."""
    folder = a_run(
        tmp_path / "20260101-000000-held", Stage(stage="topic", title="Topic discussion", number=2, total=5)
    )
    journal = Database(
        folder / "journal.sqlite", "CREATE TABLE IF NOT EXISTS t (x)", safety="each write", alone=True
    )
    yield folder
    journal.close()


async def test_the_list_shows_runs_newest_first_and_filters_them(tmp_path: Path) -> None:
    a_run(tmp_path / "20260101-000000-old", finished=True, title="A title with <b>tags</b>")
    a_run(tmp_path / "20260201-000000-new", finished=False, system="scipip", title="Second")
    async with owner(tmp_path) as client:
        every = (await client.get("/runs")).text
        assert every.index("20260201-000000-new") < every.index("20260101-000000-old")
        assert "1,234" in every
        assert "<b>tags" not in every
        for query, shown in {
            "system=scipip": "new", "state=finished": "old", "q=TAGS": "old", "state=stopped": "new", "q=2026020": "new",
        }.items():  # fmt: skip
            page = (await client.get(f"/runs?{query}")).text
            assert [name for name in ("old", "new") if f"000000-{name}" in page] == [shown], query
        assert "No run matches" in (await client.get("/runs?q=nothing")).text


async def test_the_table_is_sorted_and_shows_the_columns_that_are_chosen(tmp_path: Path) -> None:
    for name, novelty in (("a", 0.5), ("b", 0.9), ("c", None)):
        run = a_run(tmp_path / f"20260101-000000-{name}", finished=True)
        if novelty:
            (run / "measure.json").write_text(json.dumps({"on": novelty}), encoding="utf-8")
    async with owner(tmp_path) as client:
        down, up = [(await client.get(f"/runs?column=ON&sort={sort}ON")).text for sort in ("-", "")]
    names = [re.findall(r'name="run" value="20260101-000000-(\w)"', page) for page in (down, up)]
    assert names == [["b", "a", "c"], ["a", "b", "c"]]  # without a value comes last
    assert re.findall(r'<td class="num" data-name="(\w+)">([^<]*)<', down) == [
        ("ON", "0.9"),
        ("ON", "0.5"),
        ("ON", ""),
    ]
    assert 'aria-sort="descending"' in down
    assert "/runs?column=ON&amp;sort=ON" in down


async def test_a_run_gets_a_name_tags_and_a_note(tmp_path: Path) -> None:
    run, other = [a_run(tmp_path / f"20260101-000000-{name}", finished=True, title="T") for name in "ab"]
    async with owner(tmp_path) as client:
        page = f"/runs/{run.name}"
        assert run.name in (await client.get("/runs?column=tags")).text  # the list is known before
        sent = await send(
            client, page, f"{page}/notes", name="Best <b>one</b>", tags="touch, grant ,,touch", text=HOSTILE
        )
        assert (sent.status_code, sent.headers["location"]) == (303, page)
        shown = (await client.get(page)).text
        tags = "/runs?tag=grant&column=tags&q=ONERROR"
        while run.name not in (tagged := (await client.get(tags)).text):  # noqa: ASYNC110  the list is a second old
            await asyncio.sleep(0.05)
        foreign = await client.post(
            f"{page}/notes", data={"name": "x"}, headers={"origin": "http://elsewhere.example"}
        )
    assert read_notes(run).tags == ("touch", "grant")
    assert '<a class="chip" href="/runs?tag=touch">touch</a>' in shown
    assert "Best &lt;b&gt;one" in shown
    assert "<img" not in shown
    assert (run.name in tagged, other.name in tagged) == (True, False)
    assert foreign.status_code == 403
    assert read_notes(run).name == "Best <b>one</b>"


async def test_the_ideas_of_runs_are_sorted_by_their_scores(tmp_path: Path) -> None:
    run = a_run(tmp_path / "20260101-000000-a", finished=True)
    shutil.copy(RESULTS / "virsci.json", run / "result.json")
    a_run(tmp_path / "20260101-000000-b", finished=True)
    known = json.loads((run / "result.json").read_text("utf-8"))["result"]["ideas"]
    async with owner(tmp_path) as client:
        page = (await client.get(f"/ideas?run={run.name}&sort=-novelty")).text
        none = (await client.get("/ideas?run=20260101-000000-b")).text
    scores = [float(each) for each in re.findall(r'data-name="Novelty">([\d.]+)<', page)]
    assert scores == sorted((each["novelty"] for each in known), reverse=True)
    assert "no ideas" in none


async def test_a_long_list_has_pages(tmp_path: Path) -> None:
    for number in range(105):
        a_run(tmp_path / f"20260101-{number:06}-x", finished=True)
    async with owner(tmp_path) as client:
        first, second = [(await client.get(f"/runs?page={page}&system=virsci")).text for page in (1, 2)]
        far = await client.get("/runs?page=99999")
    assert (first.count("<tr>") - 1, second.count("<tr>") - 1) == (100, 5)
    assert "system=virsci&amp;page=2" in first
    assert far.status_code == 200


async def test_a_run_of_the_command_line_is_shown_but_not_steered(held: Path) -> None:
    async with owner(held.parent) as client:
        page = (await client.get(f"/runs/{held.name}")).text
    assert "running" in page
    assert "2 of 5: Topic discussion" in page
    assert "Started elsewhere" in page
    assert f"/runs/{held.name}/stop" not in page


@pytest.mark.parametrize(
    "name",
    ["%2e%2e", "..%2f..", "%2fetc", ".web", "nothing", "a%00b", "%2e%2e%2fx", "x" * 5000, "link"],
)
async def test_no_path_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    outside = a_run(tmp_path / "outside", said("A", "secret"), finished=True)
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "link").symlink_to(outside)
    (runs / ".web").mkdir()
    inside = a_run(runs / "inside", said("A", "known"), finished=True)
    (inside / "searches.jsonl").symlink_to(outside / "events.jsonl")
    (inside / "key.txt").write_text("secret", encoding="utf-8")
    async with owner(runs) as client:
        for path in (
            f"/runs/{name}",
            f"/runs/{name}/report.html",
            f"/runs/{name}/files/events.jsonl",
            f"/runs/{name}/live",
        ):
            response = await client.get(path)
            assert response.status_code == 404, path
            assert "secret" not in response.text
        for file in (name, "searches.jsonl", "key.txt", "..%2finside%2fkey.txt", "journal.sqlite"):
            assert (await client.get(f"/runs/inside/files/{file}")).status_code == 404
        for file in ("../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "style.css/../../app.py"):
            assert (await client.get(f"/static/{file}")).status_code == 404


async def test_a_page_shows_how_much_of_the_estimate_is_spent(tmp_path: Path) -> None:
    begun = (Stage(stage="topic", title="Topic", number=1, total=5), said("A", "We plan."))
    for name, estimates in (("20260101-000000-plain", []), ("20260101-000000-about", [98])):
        told = [Estimated(usage=Usage(calls=calls)) for calls in estimates]
        a_run(tmp_path / name, *begun, *told, finished=False)
    async with owner(tmp_path) as client:
        plain, about = [
            (await client.get(f"/runs/20260101-000000-{each}")).text for each in ("plain", "about")
        ]
    assert "1 call ·" in plain
    assert "1 of about 98 calls" in about


async def test_a_link_to_a_run_is_listed_and_served_if_it_stays_in_the_project(tmp_path: Path) -> None:
    outside = a_run(tmp_path / "outside", said("A", "secret"), finished=True)
    project = tmp_path / "project"
    deep = a_run(project / "a/b/c/d/e/f/deep", said("A", "known"), finished=True)
    runs = project / "runs"
    a_run(runs / "own", said("A", "known"), finished=True)
    for place in (runs, project / "more"):
        place.mkdir(exist_ok=True)
        for name, target in {"near": deep, "far": outside, "loop": place / "loop", "up": project}.items():
            (place / f"{name}-{place.name}").symlink_to(target)
    async with owner(runs, project=project) as client:
        listed = set(re.findall(r'href="/runs/([\w-]+)"', (await client.get("/runs")).text))
        assert listed == {"own", "near-runs", "near-more"}
        for name in listed:
            for file in ("", "/report.html", "/files/events.jsonl"):
                shown = await client.get(f"/runs/{name}{file}")
                assert shown.status_code == 200
                assert "known" in shown.text
        (runs / "near-runs").unlink()  # turned elsewhere after it was listed
        (runs / "near-runs").symlink_to(outside)
        for name in ("far-runs", "far-more", "loop-runs", "near-runs"):
            assert (await client.get(f"/runs/{name}/files/events.jsonl")).status_code == 404, name


async def test_texts_of_strangers_are_harmless(tmp_path: Path) -> None:
    a_run(
        tmp_path / "20260101-000000-x", Stage(stage="s", title=HOSTILE, number=1, total=1), said(HOSTILE, HOSTILE),
        Warned(message=HOSTILE), finished=False, title=HOSTILE,
    )  # fmt: skip
    async with owner(tmp_path) as client:
        pages = [
            await client.get(path)
            for path in ("/runs", "/runs/20260101-000000-x", "/compare", "/start/rebuttal")
        ]
    for page in pages:
        assert page.status_code == 200
        for tag in (
            "<script>alert",
            "<img",
            "onerror=alert(2)>",
            "<style>",
            "<details open ontoggle",
            'href="javascript',
        ):
            assert tag not in page.text
        assert "\x1b" not in page.text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold** `code`", "<strong>bold</strong> <code>code</code>"),
        ("# Big", "<h3>Big</h3>"),
        ("[x](https://a.example)", 'href="https://a.example"'),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](data:text/html,hi)", "[x](data:text/html,hi)"),
        ("![x](https://a.example/p.png)", "!<a href="),
        ("<b>raw</b>", "&lt;b&gt;raw&lt;/b&gt;"),
    ],
)
def test_markdown_of_strangers(text: str, shown: str) -> None:
    html = str(markdown(text))
    assert shown in html
    assert "<img" not in html


async def test_a_run_of_2000_turns_shows_the_last_ones(tmp_path: Path) -> None:
    a_run(
        tmp_path / "20260101-000000-x",
        *(said("A", f"turn number {n}", n) for n in range(2_000)),
        finished=False,
    )
    async with owner(tmp_path) as client:
        page = (await client.get("/runs/20260101-000000-x")).text
        assert page.count('class="turn') == WINDOW + 1  # with the list itself
        assert "turn number 1999" in page
        assert "turn number 1799" not in page
        earlier = (await client.get("/runs/20260101-000000-x?before=1800")).text
        assert "turn number 1799" in earlier
        assert "turn number 1800" not in earlier
        assert "240,000 tokens" in page


async def test_the_report_has_its_own_policy_and_files_are_downloads(tmp_path: Path) -> None:
    run = a_run(tmp_path / "20260101-000000-x", said("A", "x"), finished=True)
    (run / "report.html").write_text("<style>p {}</style>", encoding="utf-8")
    async with owner(tmp_path) as client:
        report = await client.get(f"/runs/{run.name}/report.html")
        file = await client.get(f"/runs/{run.name}/files/events.jsonl")
        shutil.copy(RESULTS / "virsci.json", run / "result.json")
        bib = await client.get(f"/runs/{run.name}/files/references.bib")
        shutil.copy(RESULTS / "ranking.json", run / "result.json")
        none = await client.get(f"/runs/{run.name}/files/references.bib")
    assert "author = {Wiesengrau, Leopold" in bib.text
    assert (none.status_code, "no references" in none.text) == (404, True)
    policy = report.headers["content-security-policy"]
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'self'" in policy
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.content == (run / "events.jsonl").read_bytes()


async def test_a_run_without_a_report_gets_one(tmp_path: Path) -> None:
    run = a_run(tmp_path / "20260101-000000-x", said("A", "x"), finished=False)
    empty = a_run(tmp_path / "20260101-000000-y")
    (empty / "events.jsonl").unlink()
    async with owner(tmp_path) as client:
        assert (await client.get(f"/runs/{run.name}/report.html")).status_code == 200
        nothing = await client.get(f"/runs/{empty.name}/report.html")
    assert nothing.status_code == 404
    assert "no report" in nothing.text


async def test_runs_are_compared_and_what_differs_is_marked(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run = a_run(tmp_path / f"20260101-000000-{name}", finished=True)
        shutil.copy(RESULTS / "virsci.json", run / "result.json")
        (run / "config.yaml").write_text(f"system: virsci\nseed: {seed}\nname: same\n", encoding="utf-8")
    result = tmp_path / "20260101-000000-c" / "result.json"
    idea = json.loads(result.read_text("utf-8"))["result"]["idea"]["idea"]
    result.write_text(result.read_text("utf-8").replace(idea, f"{idea} Zebras know."), encoding="utf-8")
    async with owner(tmp_path) as client:
        page, same, one = [
            (await client.get("/compare", params={"run": [f"20260101-000000-{name}" for name in names]})).text
            for names in (("a", "b", "c"), ("a", "b"), ("a", "../x"))
        ]
    assert re.findall(r'<tr class="differs"><th scope="row">(\w+)', page) == ["seed"]
    assert page.count("<ins>") == 1
    assert "<ins>Zebras know.</ins>" in page
    assert 'class="differs"' not in same
    assert "<ins>" not in same
    assert "Choose two to four" in one


async def test_a_scientist_has_one_colour_on_the_page_and_in_the_report(tmp_path: Path) -> None:
    names = [f"Scientist{number}" for number in range(24)]
    said_in_turn = [said(name, f"I am {name}.") for name in [*names, *names]]
    run = a_run(tmp_path / "20260101-000000-x", *said_in_turn, finished=True)
    async with owner(tmp_path) as client:
        page = (await client.get(f"/runs/{run.name}")).text
        report = (await client.get(f"/runs/{run.name}/report.html")).text
        style = (await client.get("/static/style.css")).text
    who = r'<p class="who{}(\d+)">.*?auto">(Scientist\d+)<'
    on_page = {name: hue for hue, name in re.findall(who.format(" ui h"), page)}
    in_report = {name: hue for hue, name in re.findall(who.format('" style="--h: '), report)}
    assert on_page == in_report
    assert len(set(on_page.values())) == len(names)  # while there are colours left, each has its own
    assert all(f".h{hue} {{ --h: {hue}; }}" in style for hue in on_page.values())


# Live.


async def stream(app: Starlette, path: str, cookie: str) -> AsyncGenerator[tuple[str, str]]:
    """The server-sent events of a page, as they come: httpx's transport would wait for the last one."""
    parts = asyncio.Queue[bytes]()
    scope = {
        "type": "http", "method": "GET", "path": path.partition("?")[0], "raw_path": path.encode(), "root_path": "",
        "query_string": path.partition("?")[2].encode(), "scheme": "http", "server": ("127.0.0.1", 8765),
        "headers": [(b"host", b"127.0.0.1:8765"), (b"cookie", cookie.encode())], "http_version": "1.1",
        "client": ("127.0.0.1", 5000), "asgi": {"version": "3.0"},
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        await parts.put(message.get("body", b""))

    task = asyncio.create_task(app(scope, receive, send))
    text = ""
    try:
        while True:
            text += (await asyncio.wait_for(parts.get(), 5)).decode().replace("\r\n", "\n")
            while "\n\n" in text:
                block, _, text = text.partition("\n\n")
                fields: dict[str, str] = {"event": "", "data": ""}
                for each in block.split("\n"):
                    key, _, value = each.partition(": ")
                    fields[key] = f"{fields.get(key, '')}{value}\n"
                yield fields["event"].strip(), fields["data"]
    finally:
        task.cancel()


async def test_a_live_page_follows_the_run(held: Path) -> None:
    async with owner(held.parent) as client:
        app = app_of(client)
        page = (await client.get(f"/runs/{held.name}")).text
        address = re.search(r'sse-connect="([^"]+)"', page)
        assert address
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        events = stream(app, address[1].replace("&amp;", "&"), cookie)
        kind, data = await anext(events)
        assert (kind, "2 of 5" in data) == ("state", True)
        with (held / "events.jsonl").open("a", encoding="utf-8") as log:
            log.write(line(Asked(stage="topic", turn=1, speaker="Ada", task="discuss")))
            log.write(line(said("Ada", HOSTILE)))
            log.write('{"kind": "said", "half')
        seen = [await anext(events), await anext(events)]
        turn = dict(seen)["turn"]
        assert "Ada" in turn
        assert "<script" not in turn
        assert "120 tokens" in dict(seen)["state"]
        # the run is resumed: its file is replaced
        os.replace(held / "events.jsonl", held / "old")
        (held / "events.jsonl").write_text("", encoding="utf-8")
        assert (await anext(events))[0] == "again"
        await events.aclose()


async def test_a_live_page_ends_with_the_run(tmp_path: Path) -> None:
    run = a_run(tmp_path / "20260101-000000-x", said("A", "x"), finished=True)
    life = (run / "events.jsonl").stat().st_ino
    async with owner(tmp_path) as client:
        response = await client.get(f"/runs/{run.name}/live?from=0&life={life}")
    kinds = re.findall(r"event: (\w+)", response.text)
    assert kinds == ["turn", "state", "done"]
    assert response.headers["content-type"].startswith("text/event-stream")
    assert "default-src 'none'" in response.headers["content-security-policy"]


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    text = line(said("A", "x")).encode()
    log = Log(path)
    for part in (text[:50], text[50:], text + text[:-1], b"\n"):
        with path.open("ab") as file:
            file.write(part)
        log.update()
    assert (len(log), log.standing.usage.calls) == (3, 3)


def test_the_log_of_a_damaged_run(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(
        b"\xff\xfe\n[]\n{}\nnull\n" + line(said("A", "x")).encode() + b'{"kind":"said"}\n{"at": 1e999}\n'
    )
    log = Log(path).update()
    assert [each.who for each in log.events(0, 10)] == ["A"]
    assert log.standing.usage.calls == 1
    path.unlink()
    assert list(log.update().events(0, 10)) == []
