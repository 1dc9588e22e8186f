"""The report of ideas for a background: final ideas first, which papers led to which idea, why each was kept, how papers were found."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from manyheads.report.drawing import breadth, wrapped
from manyheads.report.pictures import IdeasPicture
from manyheads.report.record import read_run
from manyheads.systems.results import closing_lines, essence, in_full, load
from manyheads.systems.scipip.report import IdeasPage
from manyheads.systems.scipip.result import ScipipResult
from support.llm import LLM
from support.play import Played, config_for, play, play_now
from support.requests import Request

Play = Callable[..., Any]
EVIL = "<script>alert(1)</script> & {{ 7 * 7 }} </svg>"
SVG = re.compile(r"<svg class=\"drawing (\w+)\".*?</svg>", re.DOTALL)
SETS = (
    "system=scipip",
    "background=Robots grasp what a camera sees.",
    "scipip.ideas=5",
    "scipip.brainstorm=[2,2]",
)


def ideas(request: Request) -> list[dict[str, Any]]:
    rough = [{"aim": "Aim.", "title": f"Rough {n}", "idea": f"{n} " * 9} for n in ("owl", "bat")]
    names = ("mole", "newt", "crow", "toad", "wren")
    made = [
        {
            "papers": [n, n + 1],
            "inspiration": "From it.",
            "title": f"{name.title()} {EVIL}",
            "idea": f"{name} " * 9,
        }
        for n, name in enumerate(names, 1)
    ]
    final = [
        {"sources": [n], "title": f"Final {n} {EVIL}", "idea": f"Idea {n}.", "details": f"x < {n} & y."}
        for n in (1, 2, 3)
    ]
    return {"Brainstorm": rough, "InspiredIdeas": made, "Refinement": final}.get(request.title, [])


ANSWERS = {"ideas": ideas, "fit": 7, "novelty": 5, "feasibility": 5}


@pytest.fixture
def run(llm: LLM, tmp_path: Path) -> Play:
    async def runner(*sets: str, **answers: object) -> Played:
        llm.answers.update({**ANSWERS, **answers})
        return await play(config_for(llm, *SETS, *sets), tmp_path / "run", llm)

    return runner


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A run in which all goes as it should."""
    with LLM(answers=ANSWERS) as llm:
        return play_now(tmp_path_factory.mktemp("usual"), llm, *SETS)


def page_of(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_what_a_reader_wants_stands_in_the_report(usual: Played) -> None:
    result = usual.result
    page = unescape(page_of(usual.folder))
    for final in result["final"]:
        assert final["title"] in page
        assert final["details"] in page
    for idea in result["ideas"]:
        assert idea["idea"] in page
        assert idea["screening"]["why"] in page
        assert all(idea["screening"][f"{name}_reason"] in page for name in ("fit", "novelty", "feasibility"))
    assert result["problem"] in page
    assert result["rationale"] in page
    assert result["coherence"] in page
    for paper in result["evidence"]:
        assert paper["title"] in page
        assert all(found["channel"] in page for found in paper["retrievals"])
    first = {cluster["members"][0] for cluster in result["clusters"]}
    reasons = [
        found["reason"]
        for paper in result["evidence"]
        if paper["id"] in first
        for found in paper["retrievals"]
    ]
    assert all(reason in page for reason in reasons)
    order = [
        page.index(each) for each in ("Idea 1.", 'id="problem"', 'id="origins"', 'id="filter"', 'id="papers"')
    ]
    assert order == sorted(order), "final ideas come first"


def test_the_picture_is_well_formed_escaped_and_says_what_it_is(usual: Played) -> None:
    page = page_of(usual.folder)
    assert "<script" not in page
    assert EVIL in unescape(page), "no template of ours"
    pictures = {found[1]: found[0] for found in SVG.finditer(page)}
    assert list(pictures) == ["broad", "slim"]
    for name, text in pictures.items():
        svg = ET.fromstring(text)
        assert svg.get("role") == "img"
        ids = {each.get("id") for each in svg}
        assert {*(svg.get("aria-labelledby") or "").split()} <= ids, name
        assert len(svg.findall("path")) == 13


def test_ideas_are_drawn_from_the_first_to_the_final_ones(usual: Played) -> None:
    rows = {
        row.key: row
        for row in (IdeasPage(read_run(usual.folder, ScipipResult)).lines or IdeasPicture([])).rows
    }
    result = usual.result
    assert len(rows) == 6 + len(result["ideas"]) + len(result["final"])
    for idea in result["ideas"]:
        row, screening = rows[str(idea["number"])], idea["screening"]
        assert row.scores == tuple(screening[name] / 10 for name in ("fit", "novelty", "feasibility"))
        assert row.outcome == ("kept" if screening["kept"] else "out")
    for final in result["final"]:
        row = rows[f"final-{final['number']}"]
        assert (row.outcome, row.parents) == ("won", tuple(map(str, final["sources"])))


def test_a_run_in_words(usual: Played) -> None:
    result = usual.result
    told = dict(essence(load(usual.folder)))
    assert told["Problem"] == result["problem"]
    assert [told[f"Idea {n}"] for n in (1, 2, 3)] == [each["title"] for each in result["final"]]
    assert "7 ideas, 0 merged into them, 4 kept" in told["Selection"]
    whole = "\n".join(in_full(load(usual.folder)))
    assert all(each["details"] in whole for each in result["final"])
    assert "Selection" in closing_lines(usual.folder)


@pytest.mark.parametrize(("text", "lines"), [
    ("one two three", ["one two", "three"]), ("one", ["one"]), ("", []), ("onetwothreefour", ["onetwoth", "reefour"]),
    ("one two three four five", ["one two", "three f…"]), ("机器人用手指触摸杯子", ["机器人用", "手指触…"]),
    ("WWWWWW", ["WWWW", "WW"]), ("CAPITALS", ["CAPITA", "LS"]), ("Кириллица", ["Кирилл", "ица"]),
])  # fmt: skip
def test_titles_are_wrapped_and_cut(text: str, lines: list[str]) -> None:
    assert wrapped(text, 8, 2) == lines
    assert all(breadth(line) <= 8 for line in lines)
