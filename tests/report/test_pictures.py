"""The pictures of a report: the team, the ideas over time, the nearest papers."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import combinations, pairwise
from math import dist
from pathlib import Path
from typing import Any

import pytest

from manyheads.core.events import AnyEvent, Said
from manyheads.core.results import MEASURE
from manyheads.report.drawing import SvgDrawing, breadth
from manyheads.report.pictures import (
    MOST_IDEAS,
    Exchanges,
    IdeaRow,
    IdeasPicture,
    Pair,
    PicturePerson,
    PictureQuestion,
    PictureSpeaker,
    Standing,
    TeamPicture,
)
from manyheads.systems.results import write_report
from report.conftest import TEAM
from support.browser import NEEDS_CHROMIUM, shown, width_of

Write = Callable[..., Path]
EVIL = "<script>alert(1)</script> & {{ 7 * 7 }} </svg> \u202e \u05e9\u05dc\u05d5\u05dd"
SVG = re.compile(r'<svg class="drawing (\w+)".*?</svg>', re.DOTALL)
GUEST = {"name": "Scientist31", "by": TEAM[2], "stage": "idea", "turn": 1, "question": "?", "advice": "!"}
JOINT = [
    {"one": TEAM[0], "other": TEAM[1], "papers": 3},
    {"one": TEAM[1], "other": "Scientist31", "papers": 1},
]


def drawings(page: Path) -> dict[str, ET.Element]:
    """The broad drawings of a report by the id of their title."""
    html = page.read_text(encoding="utf-8")
    found = [ET.fromstring(svg[0]) for svg in SVG.finditer(html) if svg[1] == "broad"]
    return {(each.get("aria-labelledby") or "").split("-broad")[0]: each for each in found}


def titles(svg: ET.Element, kind: str) -> list[str]:
    return [each.findtext("title") or "" for each in svg.iter() if each.get("class") == kind]


def measured(folder: Path, *papers: tuple[float, float | None], **more: object) -> Path:
    """Past and contemporary papers in turn, by distance and bearing."""
    rows = [
        {"id": str(n), "title": f"Paper {n} {EVIL}", "year": 2010 + n, "distance": far, "bearing": bearing}
        for n, (far, bearing) in enumerate(papers)
    ]
    score = {"hd": 0.9, "cd": 0.8, "past": rows[::2], "contemporary": rows[1::2], **more}
    (folder / MEASURE).write_text(json.dumps(score), encoding="utf-8")
    return folder


# The team.


def test_the_team_is_drawn_with_its_joint_papers_and_guests(run: Write, told: dict[str, Any]) -> None:
    told.update(guests=[GUEST], joint_papers=JOINT, left=[TEAM[3]])
    svg = drawings(write_report(run(outcome=told)))["picture-team"]
    assert titles(svg, "leader") == [f"{TEAM[0]}: leader"]
    assert titles(svg, "member") == [f"{name}: member" for name in TEAM[1:3]]
    assert titles(svg, "left") == [f"{TEAM[3]}: left the team"]
    assert titles(svg, "guest") == ["Scientist88: guest", "Scientist31: declined, guest"][::-1]
    assert titles(svg, "joint") == [
        f"{TEAM[1]} and Scientist31: 1 joint papers",
        f"{TEAM[0]} and {TEAM[1]}: 3 joint papers",
    ]
    # The events have a question that the result does not.
    assert titles(svg, "asked") == [f"{TEAM[2]} asked Scientist31", "Scientist9 asked Scientist88"]


def test_a_result_without_joint_papers_does_not_say_that_there_are_none(
    run: Write, told: dict[str, Any]
) -> None:
    words = write_report(run(outcome=told)).read_text(encoding="utf-8")
    assert "did not note who has written together" in words
    told["joint_papers"] = []
    words = write_report(run(outcome=told)).read_text(encoding="utf-8")
    assert "None of them had written a paper together before." in words


def test_a_person_is_marked(run: Write, tale: list[AnyEvent]) -> None:
    played = [
        event.model_copy(update={"model": "human/me"})
        if isinstance(event, Said) and event.speaker == TEAM[1]
        else event
        for event in tale
    ]
    svg = drawings(write_report(run(events=played)))["picture-team"]
    assert f"{TEAM[1]}: a person" in titles(svg, "member")
    assert len(titles(svg, "human")) == 1


def team(size: int, name: str = "Scientist{}") -> TeamPicture:
    def standing(n: int) -> Standing:
        return "leader" if n == 0 else "member" if n < size * 3 // 4 else "guest"

    people = [PicturePerson(name.format(n), (standing(n),), str(n), 7 * n) for n in range(size)]
    joint = [Pair(people[n].name, people[n - 1].name, n) for n in range(1, size)]
    return TeamPicture(people, joint, [Pair(people[0].name, people[-1].name, 1)])


def boxes(drawing: SvgDrawing) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of the labels."""
    parts = {"start": 0.0, "middle": 0.5, "end": 1.0}
    found: list[tuple[float, float, float, float]] = []
    for text in drawing.texts:
        if text.style not in ("count", "step"):
            width = breadth(text.text) * 6.4
            left = text.x - width * parts[text.anchor]
            found.append((left, text.y - 9, left + width, text.y + 2))
    return found


@pytest.mark.parametrize("name", ["Scientist{}", "A very long name of somebody, number {}", "Wissenschaft{}"])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 60])
def test_no_name_covers_another_or_leaves_the_picture(size: int, name: str) -> None:
    for _, drawing in team(size, name).drawings:
        labels = boxes(drawing)
        assert all(left >= 0 and right <= drawing.width for left, _, right, _ in labels)
        assert all(top >= 0 and bottom <= drawing.height for _, top, _, bottom in labels)
        for n, (left, top, right, bottom) in enumerate(labels):
            for other in labels[n + 1 :]:
                apart = other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top
                assert apart, (labels[n], other)
        for node in drawing.nodes:
            assert all(
                dist((node.x, node.y), (each.x, each.y)) > node.radius + each.radius
                for each in drawing.nodes
                if each is not node
            )


# Ideas over time.


def test_ideas_are_drawn_with_their_origin_and_the_winner(run: Write, told: dict[str, Any]) -> None:
    told["idea"] = {**told["ideas"][3], "votes": 2, "tie": None}
    svg = drawings(write_report(run(outcome=told)))["picture-ideas"]
    ideas = [(each.get("class"), each.findtext("title")) for each in svg.iter("g")]
    assert [name for name, _ in ideas] == ["idea kept", "idea kept", "idea kept", "idea won"]
    assert f"({TEAM[3]}, winning idea)" in (ideas[3][1] or "")
    assert "2 votes, voted on" in (ideas[0][1] or "")
    # 2 builds on 1, 4 on 2; the whole line is the winner's.
    assert [each.get("class") for each in svg.iter("path")] == ["line won", "line won"]


def test_of_very_many_ideas_the_winner_its_line_and_the_best_are_drawn() -> None:
    rows = [
        IdeaRow(str(n), f"Idea {n}", f"Turn {n // 10}", parents=(str(n // 2),) if n else (), weight=n % 90)
        for n in range(299)
    ]
    rows.insert(150, IdeaRow("w", "The winner", "Turn 15", parents=("77",), weight=-1, outcome="won"))
    lineage = IdeasPicture(rows)
    assert lineage.line == {"w", "77", "38", "19", "9", "4", "2", "1", "0"}
    keys = [row.key for row in lineage.drawn]
    assert len(keys) == MOST_IDEAS
    assert lineage.line <= set(keys)
    others = [row.weight for row in lineage.drawn if row.key not in lineage.line]
    assert min(others) >= max(row.weight for row in rows if row.key not in {*keys})
    assert keys == [row.key for row in rows if row.key in keys], "in the order of time"


def test_one_idea_has_no_history(run: Write, told: dict[str, Any]) -> None:
    told["ideas"] = told["ideas"][:1]
    assert "picture-ideas" not in drawings(write_report(run(outcome=told)))


# Questions and answers.


def exchanges(count: int, experts: int = 3) -> Exchanges:
    speakers = [PictureSpeaker(f"Expert {n}", str(n), 9 * n) for n in range(experts + 1)]
    return Exchanges(
        speakers,
        [
            PictureQuestion(f"Expert {n % experts + 1}", f"{n}. {EVIL}", "question", n % 5 != 4)
            for n in range(count)
        ],
    )


@pytest.mark.parametrize("experts", [1, 3, 9])
def test_each_question_has_an_arrow_and_an_answer_or_a_cross(experts: int) -> None:
    for _, drawing in exchanges(10, experts).drawings:
        styles = [curve.style for curve in drawing.curves]
        assert (styles.count("line"), styles.count("answer"), styles.count("failed")) == (10, 8, 2)
        places = [node.x for node in drawing.nodes]
        assert all(after - before > 2 * drawing.nodes[0].radius for before, after in pairwise(places))
        ends = [float(curve.path.partition("H")[2]) + 3 for curve in drawing.curves if curve.style == "line"]
        assert ends == [places[n % experts + 1] for n in range(10)]


def test_names_above_the_lanes_are_not_cut() -> None:
    names = ["Leader", "Clarity", "Impact", "Experiments"]
    speakers = [PictureSpeaker(name, name[0], 9) for name in names]
    for _, drawing in Exchanges(speakers, [PictureQuestion("Impact", "What is new?")]).drawings:
        heads = [box for box, text in zip(boxes(drawing), drawing.texts, strict=True) if text.text in names]
        assert len(heads) == 4
        assert all(left >= 0 for left, *_ in heads)
        for one, other in combinations(heads, 2):
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


# All of them.


def test_every_picture_is_escaped_says_what_it_is_and_stays_the_same(
    run: Write, told: dict[str, Any]
) -> None:
    told.update(guests=[{**GUEST, "name": EVIL}], joint_papers=[{"one": EVIL, "other": TEAM[0], "papers": 2}])
    told["ideas"] = [{**idea, "title": EVIL, "by": EVIL} for idea in told["ideas"]]
    folder = measured(run(outcome=told), (0.8, 10.0), (0.9, 100.0))
    html = write_report(folder).read_text(encoding="utf-8")
    assert "<script" not in html
    found = drawings(folder / "report.html")
    assert list(found) == ["picture-team", "picture-ideas"]
    for svg in found.values():
        assert svg.get("role") == "img"
        ids = {each.get("id") for each in svg}
        assert {*(svg.get("aria-labelledby") or "").split()} <= ids
        assert any(EVIL in (title.text or "") for title in svg.iter("title"))
    assert write_report(folder).read_text(encoding="utf-8") == html


@pytest.fixture
def whole(run: Write, told: dict[str, Any]) -> Path:
    """A report with all pictures and long names."""
    told.update(guests=[{**GUEST, "name": "Wissenschaftlerin" * 9}], joint_papers=JOINT, left=[TEAM[3]])
    told["ideas"][1]["title"] = "Unbreakable" * 30
    return write_report(measured(run(outcome=told), (0.8, 10.0), (0.9, 100.0), (1.0, 200.0)))


@pytest.mark.slow
@NEEDS_CHROMIUM
@pytest.mark.parametrize(("width", "size"), [(320, "slim"), (400, "slim"), (1280, "broad")])
def test_one_of_two_sizes_is_shown_and_fits(tmp_path: Path, whole: Path, width: int, size: str) -> None:
    assert width_of(tmp_path, whole, width) <= width
    script = (
        "return [...page.querySelectorAll('svg.drawing')].filter(e => e.clientWidth).map(e => e.classList[1])"
    )
    assert shown(tmp_path, whole, width, script) == [size] * 2
