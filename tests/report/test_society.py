"""The report of a society: from its records alone, safe, and one can step through its network without scripts."""

import itertools
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from manyheads.report.page import write_page
from manyheads.report.record import read_run
from manyheads.systems.society.pictures import (
    MOST_FRAMES,
    MOST_PEOPLE,
    EpochMean,
    EpochPlot,
    NetworkPicture,
    layout,
    scale,
)
from manyheads.systems.society.report import NUMBERS, SocietyPage, ancestry, report, work
from manyheads.systems.society.result import SocietyResult
from support.browser import NEEDS_CHROMIUM, shown, width_of
from support.served import check, chromium
from support.societies import EVIL, write_society


def page_of(folder: Path) -> tuple[Path, SocietyPage, str]:
    record = read_run(folder, SocietyResult)
    file = write_page(folder, report(record))
    return file, SocietyPage(record), file.read_text(encoding="utf-8")


class Tags(HTMLParser):
    """Each open tag is closed, and each id is given once."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.ids = list[str](), list[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, self.getpos()


def test_the_page_is_whole_and_safe(tmp_path: Path) -> None:
    _, page, html = page_of(write_society(tmp_path, 4, 8, 30, evil=True))
    tags = Tags(html)
    assert not tags.open
    assert len(tags.ids) == len(set(tags.ids))
    assert "<script" not in html
    assert EVIL.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in html
    assert not re.search(r"@import|url\(|https?://", html)
    assert html.count('type="radio"') == 4
    assert html.count(" checked") == 1
    assert page.link(page.teams[1])
    assert not page.link(page.teams[0])
    assert 'href="epochs/001-teams/0002/report.html"' in html


def test_scientists_are_counted(tmp_path: Path) -> None:
    _, page, _ = page_of(write_society(tmp_path, 3, 8, 30))
    papers, citations, teams, led, invited, asked = dict(page.scientists)["Scientist0"]
    own = [team for team in page.teams if "Scientist0" in team.members]
    written = [team.paper for team in own if team.paper]
    assert (teams, papers) == (len(own), len(written))
    assert led == sum(team.members[0] == "Scientist0" for team in own)
    assert invited == teams - led + sum("Scientist0" in team.declined for team in page.teams)
    assert citations == sum(cite in written for team in page.teams for cite in {*team.cites})
    assert asked == sum(team.guests.count("Scientist0") for team in page.teams)


def test_citations_count_as_in_the_society(tmp_path: Path) -> None:
    _, page, _ = page_of(write_society(tmp_path, 3, 8, 30))
    counted = replace(page.record, config={"society": {"citations": "accepted"}})
    accepted = [team for team in page.teams if team.accepted]
    assert SocietyPage(counted).cited_by == Counter(
        one for team in accepted for one in dict.fromkeys(team.cites)
    )
    assert SocietyPage(counted).cited_by.total() < page.cited_by.total()


def test_lineage_goes_back_to_the_corpus(tmp_path: Path) -> None:
    folder = write_society(tmp_path, 3, 8, 30)
    page = SocietyPage(read_run(folder, SocietyResult))
    paper = next(
        one for one in page.record.result.result.best if any(each in page.papers for each in one.stands_on)
    )
    own, corpus = page.ancestry(paper)
    assert {each for each in paper.stands_on if each in page.papers} <= set(own)
    assert {each for one in own for each in page.papers[one][1].cites} <= {*own, *corpus}
    assert all(one.startswith("p") for one in corpus)
    assert paper.id not in own


def test_each_paper_counts_once_in_a_lineage() -> None:
    cites_of = {"a": ["p1"], "b": ["a", "p2"], "c": ["a", "p1"], "d": ["d"]}
    assert ancestry(["c", "b", "p3"], cites_of) == (["c", "b", "a"], ["p3", "p1", "p2"])
    assert ancestry(["d"], cites_of) == (["d"], [])


def test_of_many_epochs_and_scientists_some_are_drawn(tmp_path: Path) -> None:
    page = SocietyPage(read_run(write_society(tmp_path, MOST_FRAMES + 6, 4, 300), SocietyResult))
    frames = page.network.frames
    assert [frames[0][0].number, frames[-1][0].number, len(frames)] == [1, MOST_FRAMES + 6, MOST_FRAMES]
    assert len(page.network.drawn) == MOST_PEOPLE < len(page.hues)
    places = [{(node.x, node.y): node.title for node in drawings[0][1].nodes} for _, drawings in frames]
    for earlier, later in itertools.pairwise(places):
        assert earlier.items() <= later.items()  # nobody moves, nobody goes
    assert {node.hue for node in frames[-1][1][0][1].nodes} == {
        page.hues[name] for name in page.network.drawn
    }


@pytest.mark.parametrize("number", [0, 1, 7, 60])
def test_no_two_scientists_stand_in_one_place(number: int) -> None:
    places = layout(number, [(n, n + 1) for n in range(number - 1)], 8)
    assert len(set(places)) == number
    assert all(0 <= column < 8 for column, _ in places)


def test_linked_scientists_stand_near_each_other() -> None:
    groups = [
        (5 * group + one, 5 * group + other) for group in range(6) for one in range(5) for other in range(one)
    ]
    places = layout(30, groups, 8)

    def far(one: int, other: int) -> float:
        return sum((a - b) ** 2 for a, b in zip(places[one], places[other], strict=True)) ** 0.5

    others = [(one, other) for one in range(30) for other in range(one) if (one, other) not in groups]
    mean, apart = (sum(far(*pair) for pair in pairs) / len(pairs) for pairs in (groups, others))
    assert mean < apart / 2


@pytest.mark.parametrize(("ends", "ticks", "decimals"), [
    ((0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1], 1), ((0, 0.25 - 2**-54), [0, 0.1, 0.2], 1), ((0.55, 0.85), [0.6, 0.7, 0.8], 1), ((0, 3500), [0, 1000, 2000, 3000], 0),
])  # fmt: skip
def test_scales(ends: tuple[float, float], ticks: list[float], decimals: int) -> None:
    found, digits = scale(*ends)
    assert (found, digits) == (pytest.approx(ticks), decimals)


def test_a_missing_value_leaves_a_gap() -> None:
    [(_, drawing)] = EpochPlot(
        "HD", [1, 2, 3, 4], [[EpochMean(0.5, 0.1), None, EpochMean(0.5), EpochMean(0.7)]]
    ).drawings
    assert [curve.path.count("M") for curve in drawing.curves] == [2, 1]
    assert len(drawing.nodes) == 3
    [(_, flat)] = EpochPlot("HD", [1], [[EpochMean(0.0)]]).drawings
    assert flat.height > flat.nodes[0].y > 0
    assert not any(text.text.startswith("-") for text in flat.texts), "no share is negative"


def test_a_society_that_has_not_finished_an_epoch(tmp_path: Path) -> None:
    _, page, html = page_of(write_society(tmp_path, 0, 0))
    assert not page.epochs
    assert not NetworkPicture([], {}).frames
    assert "<svg" not in html
    assert not list(work(page.record.result.result))


def test_one_epoch_has_no_plots(tmp_path: Path) -> None:
    _, page, html = page_of(write_society(tmp_path, 1, 5))
    assert not page.plots(["hd"])
    assert "panels" not in html.partition("</style>")[2]


def test_every_figure_has_a_label_for_suites(tmp_path: Path) -> None:
    page = SocietyPage(read_run(write_society(tmp_path, 2, 5), SocietyResult))
    figures = {f"figures.{name}" for name in page.epochs[-1].figures}
    assert {name for name in figures if not re.search(r"_(n|accepted|rejected)$", name)} == NUMBERS.keys()


SIGHT = """
const frames = [...page.querySelectorAll('.frame')], inputs = [...page.querySelectorAll('.frames input')];
const sight = () => frames.map((frame) => frame.offsetHeight > 0);
const before = sight(); inputs[1].click();
return [before, sight()];
"""


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_one_epoch_of_the_network_is_in_sight(tmp_path: Path) -> None:
    file, _, _ = page_of(write_society(tmp_path, 3, 8, 30))
    assert shown(tmp_path, file, 1280, SIGHT) == [[False, False, True], [False, True, False]]


@pytest.mark.slow
@NEEDS_CHROMIUM
@pytest.mark.parametrize("width", [320, 400, 1280])
def test_nothing_is_wider_than_the_window(tmp_path: Path, width: int) -> None:
    file, _, _ = page_of(write_society(tmp_path, 20, 8, evil=True))
    assert width_of(tmp_path, file, width) <= width


@pytest.mark.slow
@NEEDS_CHROMIUM
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everyone_can_read_it(tmp_path: Path, scheme: Any) -> None:
    file, _, _ = page_of(write_society(tmp_path, 3, 8, 30))
    with chromium() as browser:
        page = browser.new_page(color_scheme=scheme)
        page.goto(file.as_uri())
        check(page)
