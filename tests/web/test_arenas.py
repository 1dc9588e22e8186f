"""The owner's pages of arenas: texts, raters, votes, ratings; and what a rater must not see."""

import json
import random
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from manyheads.arena.items import ArenaForm, Case, NewText
from manyheads.arena.store import Arena
from manyheads.measures.votes import PairVote
from support.arenas import answer, arena, makers_of, vote_by
from support.web import ADDRESS, app_of, browser, owner, send

MAKERS = ("maker-quartz", "maker-basalt", "maker-gneiss")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Arena]:
    with arena(tmp_path / "a", MAKERS) as made:
        yield made


async def test_the_list_has_each_arena_of_the_folder(tmp_path: Path, made: Arena) -> None:
    arena(tmp_path / "b", MAKERS, form="ranking").close()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "arena.sqlite").write_bytes(b"no database" * 500)
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    arena(outside, MAKERS).close()
    (tmp_path / "link").symlink_to(outside)
    async with owner(tmp_path) as client:
        page = (await client.get("/arenas")).text
        assert re.findall(r'href="/arenas/([^"]+)"', page) == ["a", "b"]
        assert "broken" in page
        for name in ("link", "%2e%2e", "nothing", "a%00", "x" * 5000):
            assert (await client.get(f"/arenas/{name}")).status_code == 404, name
        assert (await client.get("/arena")).headers["location"] == "/arenas"
    async with owner(tmp_path / "b") as client:
        assert 'href="/arenas/b"' in (await client.get("/arenas")).text
    async with owner(tmp_path / "broken") as client:
        assert "broken" in (await client.get("/arenas")).text


async def test_arenas_beside_the_runs_are_listed_too(tmp_path: Path, made: Arena) -> None:
    runs = tmp_path / "runs"
    for path in (runs / "c", runs / "a"):
        arena(path, MAKERS, form="ranking").close()
    async with owner(runs, project=tmp_path) as client:
        page = (await client.get("/arenas")).text
        assert re.findall(r'href="/arenas/([^"]+)"', page) == ["a", "c"]
        kinds = re.findall(r"<td>(\w+)</td>", page)
        assert kinds == ["ranking", "ranking"]  # of two with one name, that among the runs
    async with owner(tmp_path / "runs" / "c", project=tmp_path) as client:
        assert re.findall(r'href="/arenas/([^"]+)"', (await client.get("/arenas")).text) == ["c", "a"]


async def test_the_page_shows_makers_cases_raters_and_days(tmp_path: Path, made: Arena) -> None:
    ada = made.invite("Ada").rater
    item = made.next_item(ada)
    assert item
    answer(made, ada, item)
    async with owner(tmp_path) as client:
        page = (await client.get("/arenas/a")).text
        assert all(maker in page for maker in MAKERS)
        row = re.search(r'<th scope="row" dir="auto">Ada</th>(.*?)</tr>', page, re.DOTALL)
        assert row
        assert re.findall(r'"num">([^<]*)<', row[1])[:3] == ["1", "0", "5"]
        case = (await client.get("/arenas/a/cases/1")).text
        assert all(maker in case for maker in MAKERS)
        for wrong in ("0", "3", "x", "-1", "٣", "9" * 50, "9" * 5000):
            assert (await client.get(f"/arenas/a/cases/{wrong}")).status_code == 404


async def test_links_are_made_shown_once_and_revoked(tmp_path: Path, made: Arena) -> None:
    async with owner(tmp_path) as client:
        shown = (
            await send(client, "/arenas/a", "/arenas/a/invite", names="Ada\r\n\r\nBob\nAda", days="3")
        ).text
        links = [unescape(each) for each in re.findall(r"<code>(http[^<]+)</code>", shown)]
        assert len(links) == 2
        assert all(link.startswith(f"{ADDRESS}/arena/enter?token=") for link in links)
        token = links[0].partition("token=")[2]
        assert token not in (await client.get("/arenas/a")).text
        async with browser(app_of(client)) as guest:
            assert (await guest.get(links[0])).status_code == 200
            assert "Ada" in (await guest.get("/vote")).text
            await send(client, "/arenas/a", "/arenas/a/revoke", rater="Ada")
            assert (await guest.get("/vote")).status_code == 401
            assert (await guest.get(links[0])).status_code == 401
            assert (await guest.get(links[1])).status_code == 200
        page = (await client.get("/arenas/a")).text
        assert page.count("revoked or expired") == 1
        for wrong in ({"names": ""}, {"names": "x" * 300}, {"names": "A", "days": "0"}, {"names": "A", "days": "0" * 20 + "1999"}, {"names": "A", "days": "x"},
                      {"names": "\n".join(map(str, range(200)))}):  # fmt: skip
            refused = await send(client, "/arenas/a", "/arenas/a/invite", **wrong)
            assert refused.status_code == 422, wrong
        assert (await send(client, "/arenas/a", "/arenas/a/revoke", rater="Nobody")).status_code == 400
    assert [each.name for each in made.raters()] == ["Ada", "Bob"]


@pytest.mark.slow
async def test_ratings_refuse_to_order_makers_as_the_command_does(tmp_path: Path, made: Arena) -> None:
    pytest.importorskip("statsmodels")
    async with owner(tmp_path) as client:
        for number, name in enumerate(("Ada", "Bob")):
            rater = made.invite(name).rater
            item = made.next_item(rater)
            assert item
            answer(made, rater, item, "left" if number else "tie")
        assert (await client.get("/arenas/a/ratings/report.html")).status_code == 404
        rated = await send(client, "/arenas/a", "/arenas/a/ratings", poor="tie")
        assert rated.status_code == 303
        page = (await client.get("/arenas/a")).text
        sentences = json.loads((tmp_path / "a" / "ratings" / "ratings.json").read_text(encoding="utf-8"))[
            "sentences"
        ]
        assert sentences
        assert sentences[0][:20] in unescape(page)
        report = await client.get("/arenas/a/ratings/report.html")
        assert "sandbox" in report.headers["content-security-policy"]
        assert (await client.get("/arenas/a/ratings/ratings.csv")).status_code == 200
        for wrong in ("arena.sqlite", "..%2farena.sqlite", "%2e%2e"):
            assert (await client.get(f"/arenas/a/ratings/{wrong}")).status_code == 404


async def test_exports_have_the_votes_and_no_secret(tmp_path: Path) -> None:
    with arena(tmp_path / "x", MAKERS, form="rating") as made:
        invitation = made.invite("Ada")
        item = made.next_item(invitation.rater)
        assert item
        made.vote(invitation.rater, item.id, dict.fromkeys(made.form.names, "7"))
    async with owner(tmp_path) as client:
        table = await client.get("/arenas/x/export/csv")
        data = await client.get("/arenas/x/export/json")
        assert (await client.get("/arenas/x/export/sqlite")).status_code == 404
    assert table.headers["content-disposition"].startswith("attachment")
    assert b"Ada" in table.content
    for content in (table.content, data.content):
        assert invitation.token.encode() not in content
    assert data.json()["answers"]


@pytest.mark.slow
async def test_a_rater_sees_nothing_of_the_owners(tmp_path: Path, made: Arena) -> None:
    """Every address that the owner's pages name, with a rater's session."""
    run = tmp_path / "20260101-000000-x"
    run.mkdir()
    (run / "events.jsonl").write_text("", encoding="utf-8")
    (run / "config.yaml").write_text("system: virsci\ninputs: {}\n", encoding="utf-8")
    eve = made.invite("Eve").rater
    item = made.next_item(eve)
    assert item
    answer(made, eve, item)
    async with owner(tmp_path) as client:
        pages, forms, todo = set[str](), set[str](), ["/runs", "/arenas", "/start", "/compare"]
        while todo:
            if (path := todo.pop()) in pages:
                continue
            pages.add(path)
            text = unescape((await client.get(path)).text)
            forms |= set(re.findall(r'method="post"[^>]* action="([^"]+)"', text))
            todo += [each.partition("#")[0] for each in re.findall(r'(?:href|src)="(/[^"]+)"', text)]
        async with browser(app_of(client)) as guest:
            await guest.get(f"/arena/enter?token={made.invite('Ada').token}")
            mine = (await guest.get("/vote/next")).headers["location"]
            seen = [
                path
                for path in pages
                if not path.startswith("/static/") and (await guest.get(path)).status_code not in (403, 404)
            ]
            sent = [path for path in forms if (await send(guest, mine, path)).status_code not in (403, 404)]
            texts = "".join(
                [
                    (await guest.get(path)).text
                    for path in ("/vote", mine, "/vote/break", f"/vote/items/{item.id}")
                ]
            )
    assert len(pages) > 12
    assert len(forms) > 3
    assert {"/arenas/a/cases/1", "/arenas/a/export/csv"} <= pages
    assert {"/arenas/a/invite", "/arenas/a/revoke"} <= forms
    assert (seen, sent) == ([], [])
    for secret in (*MAKERS, *makers_of(made, item), "Eve", str(tmp_path)):
        assert secret not in texts


async def test_hostile_names_are_text(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>\x1b[31m\u202e=1+1"
    form = ArenaForm.model_validate({"title": bad, "questions": [{"id": "q", "text": bad}]})
    with Arena.create(tmp_path / "<b>x", form) as made:
        made.add([NewText(Case(bad, bad, bad), f"{bad}{n}", bad, f"{bad}{n}", source=bad) for n in range(2)])
        rater = made.invite(bad).rater
        vote_by(made, rater, {f"{bad}{n}": float(n) for n in range(2)}, random.Random(0))
        made.keep([PairVote(bad, "x", {"q": "left"}, bad, bad)])
        async with owner(tmp_path) as client:
            pages = [
                await client.get(path) for path in ("/arenas", "/arenas/%3Cb%3Ex", "/arenas/%3Cb%3Ex/cases/1")
            ]
            shown = await send(client, "/arenas/%3Cb%3Ex", "/arenas/%3Cb%3Ex/invite", names=bad)
            rated = await send(client, "/arenas/%3Cb%3Ex", "/arenas/%3Cb%3Ex/ratings")
            table = await client.get("/arenas/%3Cb%3Ex/export/csv")
    assert rated.status_code in (303, 400)
    assert table.status_code == 200
    for page in (*pages, shown):
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "\x1b" not in page.text
