"""The start page of a folder of runs."""

import json
import re
import shutil
import threading
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from golden.runs import FOLDERS
from manyheads.engine.journal import Journal
from manyheads.report import index
from manyheads.report.index import INDEX, LOCK, ROWS, entries, list_run, read_entries, write_index
from support.browser import NEEDS_CHROMIUM, width_of
from support.command import SMALL, manyheads_command

NAME = "20260102-0304{:02d}-virsci"


def copied(base: Path, name: str, of: str = "virsci-finished", inputs: dict[str, Any] | None = None) -> Path:
    folder = base / name
    shutil.copytree(FOLDERS / of, folder)
    (folder / "report.html").write_text("<title>x</title>")
    if inputs:
        config = (folder / "config.yaml").read_text(encoding="utf-8")
        config = re.sub(r"^inputs:.*?(?=^\S|\Z)", "", config, flags=re.MULTILINE | re.DOTALL)
        (folder / "config.yaml").write_text(f"{config}inputs: {json.dumps(inputs)}\n", encoding="utf-8")
    return folder


class Links(HTMLParser):
    """The addresses on a page, and its text."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links, self.words = list[str](), list[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("href", "src") and value]

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def test_runs_stand_newest_first_with_what_they_cost(tmp_path: Path) -> None:
    for number, of in ((1, "virsci-stopped"), (3, "virsci-finished"), (2, "rebuttal-of-a-text-finished")):
        copied(tmp_path, NAME.format(number), of)
    page = write_index(tmp_path)
    assert page
    assert page == tmp_path / INDEX
    found = entries(tmp_path)
    assert [entry.folder for entry in found] == [NAME.format(n) for n in (3, 2, 1)]
    assert [entry.state for entry in found] == ["finished", "finished", "stopped"]
    assert [entry.system for entry in found] == ["virsci", "rebuttal", "virsci"]
    assert found[0].at == "2026-01-02T03:04:03"
    told = json.loads((tmp_path / NAME.format(3) / "result.json").read_text(encoding="utf-8"))
    assert found[0].title == told["result"]["abstract"]["title"]
    assert (found[0].calls, found[0].tokens) == (
        told["usage"]["calls"], told["usage"]["input_tokens"] + told["usage"]["output_tokens"],
    )  # fmt: skip
    shown = Links(page)
    assert [link for link in shown.links if not link.startswith("#")] == [
        f"{entry.folder}/report.html" for entry in found
    ]
    assert str(tmp_path) not in page.read_text(encoding="utf-8")


def test_a_run_is_linked_with_what_was_made_from_it(tmp_path: Path) -> None:
    base = tmp_path / "runs"
    run, other = copied(base, NAME.format(1)), copied(base, NAME.format(2))
    copied(base, NAME.format(3), inputs={"subject": str(run)})
    # ideas of a folder that was moved since, and one of elsewhere
    copied(
        base,
        NAME.format(4),
        inputs={"ideas": [str(run), f"/moved/runs/{other.name}", "/other/x"], "target": "A text/b"},
    )
    (run / "measure.json").write_text('{"on": 1.25, "hd": 0.9, "rnd": null, "corpus": "sample"}')
    rows = index.rows(entries(base))
    by_name = {row.entry.folder: row for row in rows}
    assert [each.folder for each in by_name[NAME.format(4)].sources] == [run.name, other.name]
    assert [each.folder for each in by_name[run.name].uses] == [NAME.format(3), NAME.format(4)]
    assert [each.folder for each in by_name[other.name].uses] == [NAME.format(4)]
    assert by_name[run.name].entry.measured == {"ON": 1.25, "HD": 0.9}
    page = write_index(base)
    assert page
    assert "1.25," in Links(page).words
    assert Links(page).links.count(f"{run.name}/report.html") == 4


def test_runs_made_from_each_other_are_drawn_as_chains(tmp_path: Path) -> None:
    base = tmp_path / "runs"
    first, one, other, both, last = [copied(base, NAME.format(number)) for number in range(5)]
    for folder, sources in {one: [first], other: [first], both: [one, other], last: [both]}.items():
        shutil.rmtree(folder)
        copied(
            base, folder.name, inputs={"idea": [f"../{each.name}#{n}" for each in sources for n in (1, 2)]}
        )
    copied(base, "alone")
    [chain] = index.chains(entries(base))
    assert sorted(depth for depth, _ in chain) == [
        0,
        1,
        1,
        2,
        2,
        3,
    ]  # a merge below both, what follows it below one
    assert [each.folder for depth, each in chain if depth in (0, 3)] == [first.name, last.name]
    write_index(base)
    page = (base / INDEX).read_text(encoding="utf-8")
    drawn = page[page.index("h-chains") :]
    assert drawn.count("<ul") == drawn.count("</ul>") == 5
    assert drawn.count("<li") == drawn.count("</li>") == 6
    assert "alone" not in drawn


def test_odd_and_damaged_folders_spoil_nothing(tmp_path: Path) -> None:
    copied(tmp_path, NAME.format(1))
    odd = {
        "no-json/result.json": b"{", "other/result.json": b'{"system": 3, "finished": "x"}', "no-json/measure.json": b"[1]", "bytes/config.yaml": b"\xff\xfe\x00",
        "deep/result.json": b"[" * 100_000, "bomb/config.yaml": b"system: virsci\ninputs: &a [*a, *a]\n",
        "19990231-250000-x/config.yaml": b"system: virsci\n", "empty/other.txt": b"", "file.txt": b"",
        "report/report.html": b"<title>x</title>",
        "loud/result.json": json.dumps({
            "system": "<b>x</b>", "finished": True, "usage": {"calls": 1e400, "cost": -1}, "result": {},
        }).encode(),
        "<i>&'\"/result.json": json.dumps({
            "system": "x", "finished": True, "result": {"title": "<script>alert(1)</script>\x1b[31m" + "x" * 5000},
        }).encode(),
    }  # fmt: skip
    for name, data in odd.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "device").mkdir()
    (tmp_path / "device/result.json").symlink_to("/dev/zero")
    page = write_index(tmp_path)
    assert page
    states = {entry.folder: entry.state for entry in read_entries(tmp_path)}
    assert states.pop(NAME.format(1)) == "finished"
    assert states.pop("<i>&'\"") == "finished"
    assert states.pop("report") == ""
    assert {states.pop(name) for name in ("bytes", "bomb", "19990231-250000-x")} == {"stopped"}
    assert states == dict.fromkeys(("no-json", "other", "deep", "loud", "device"), "damaged")
    html = page.read_text(encoding="utf-8")
    assert "<script" not in html
    assert "<b>x" not in html
    assert "\x1b" not in html
    assert "%3Ci%3E" not in html or "<i>&" not in html


def test_what_was_kept_is_read_again_only_where_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [copied(tmp_path, NAME.format(number)) for number in range(5)]
    write_index(tmp_path)
    read = list[str]()
    whole = index._read

    def note(folder: Path, stamp: tuple[int, ...]) -> index.RunEntry:
        read.append(folder.name)
        return whole(folder, stamp)

    monkeypatch.setattr(index, "_read", note)
    write_index(tmp_path)
    assert read == []
    told = (
        (runs[2] / "result.json").read_text(encoding="utf-8").replace('"finished": true', '"finished": false')
    )
    (runs[2] / "result.json").write_text(told, encoding="utf-8")
    shutil.rmtree(runs[4])
    write_index(tmp_path)
    assert read == [runs[2].name]
    assert [entry.folder for entry in read_entries(tmp_path)] == [run.name for run in reversed(runs[:4])]
    for spoilt in ("{", "[{}]", '[{"folder": 3}]'):
        (tmp_path / ROWS).write_text(spoilt)
        assert len(read_entries(tmp_path)) == 4


def test_a_run_that_somebody_holds_is_running(tmp_path: Path) -> None:
    run = copied(tmp_path, NAME.format(1), "virsci-stopped")
    held = Journal(run / "journal.sqlite")
    assert held.turns
    assert [entry.state for entry in entries(tmp_path)] == ["running"]
    held.close()
    assert [entry.state for entry in entries(tmp_path)] == ["stopped"]


def test_runs_that_end_together_are_all_on_the_page(tmp_path: Path) -> None:
    def end(number: int) -> None:
        copied(tmp_path, NAME.format(number))
        write_index(tmp_path)

    threads = [threading.Thread(target=end, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    links = Links(tmp_path / INDEX).links
    assert sorted(link for link in links if link.endswith("report.html")) == [
        f"{NAME.format(number)}/report.html" for number in range(8)
    ]
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {INDEX, ROWS, LOCK}


def test_a_page_of_the_users_own_stays(tmp_path: Path) -> None:
    copied(tmp_path, NAME.format(1))
    (tmp_path / INDEX).write_text("mine")
    assert write_index(tmp_path) is None
    assert (tmp_path / INDEX).read_text() == "mine"


def test_each_run_in_runs_brings_the_page_up_to_date_and_others_write_none(tmp_path: Path) -> None:
    small = ("run", "virsci", "--topic", "Birds", "--quiet", *SMALL, "--set", "team.size=1")
    assert manyheads_command(*small, cwd=tmp_path).code == 0
    [run] = read_entries(tmp_path / "runs")
    assert (run.state, run.models) == ("finished", ("offline model",))
    assert f"{run.folder}/report.html" in Links(tmp_path / "runs" / INDEX).links
    list_run((tmp_path / "runs" / run.folder).rename(tmp_path / "alone"))
    assert not (tmp_path / INDEX).exists()
    (tmp_path / "alone").rename(tmp_path / "runs" / run.folder)
    stopped = manyheads_command(*small, "--set", "budget.calls=1", cwd=tmp_path)
    assert stopped.code != 0
    assert [each.state for each in read_entries(tmp_path / "runs")] == ["stopped", "finished"]
    assert "stopped" in Links(tmp_path / "runs" / INDEX).words


@pytest.mark.slow
@NEEDS_CHROMIUM
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(tmp_path: Path, width: int) -> None:
    base = tmp_path / "runs"
    run = copied(base, NAME.format(1))
    copied(base, NAME.format(2), "rebuttal-of-a-text-finished", inputs={"idea": str(run)})
    copied(base, "x" * 200, "virsci-stopped")
    page = write_index(base)
    assert page
    assert width_of(tmp_path, page, width) <= width
