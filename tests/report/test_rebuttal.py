"""The report of an idea's evolution: versions with what changed, reviews and verdicts beside them."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ModelError
from manyheads.systems.rebuttal.result import lineage
from manyheads.systems.results import closing_lines, essence, load
from support.faults import Fault
from support.llm import LLM
from support.play import Played, config_for, play, play_now
from support.requests import Request

Play = Callable[..., Any]
POINTS = ("strengths", "weaknesses", "suggestions")
SETS = ("system=rebuttal", "background=Owls hunt by ear.")


@pytest.fixture
def run(llm: LLM, tmp_path: Path) -> Play:
    async def runner(*sets: str) -> Played:
        return await play(config_for(llm, *SETS, *sets), tmp_path / "run", llm)

    return runner


def page_of(folder: Path) -> str:
    return unescape((folder / "report.html").read_text(encoding="utf-8"))


def better_once(request: Request) -> bool:
    return "growing" not in request.asking


def owls(request: Request) -> str:
    """A hypothesis that changes by one word with each revision."""
    return (
        "Owls plan best at night" if "plan best" not in request.asking else "Owls plan best by growing ears"
    )


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A run whose last revision is not better, so that the one before is final."""
    with LLM(answers={"improved": better_once, "hypothesis": owls}) as llm:
        return play_now(tmp_path_factory.mktemp("usual"), llm, *SETS, "rebuttal.final=improved")


async def test_a_final_version_that_is_not_better_says_why_it_is_final(
    run: Play, llm: LLM, tmp_path: Path, usual: Played
) -> None:
    llm.answers.update(improved=better_once, hypothesis=owls)
    for played, why in ((await run("rebuttal.final=last"), True), (usual, False)):
        last = played.result["rounds"][played.result["rebuttal"]["final"]]
        assert last["improved"] is not why
        assert ("rebuttal.final: last" in page_of(played.folder)) is why


def test_versions_are_drawn_with_the_reviewers_verdicts(usual: Played) -> None:
    result, loaded = usual.result, load(usual.folder).result
    drawn = lineage(loaded.rounds, loaded.rebuttal, {})
    assert drawn
    assert [row.parents for row in drawn.rows] == [(), ("0",), ("1",)]
    assert [row.key for row in drawn.rows if row.outcome == "won"] == [str(result["rebuttal"]["final"])]
    for row, one in zip(drawn.rows, result["rounds"], strict=True):
        met = [each["met"] for each in one["review"]["verdicts"]]
        assert row.scores == tuple({"yes": 1, "partly": 0.5, "no": 0}[each] for each in met)
        assert row.figure == f"{met.count('yes')}/{len(met)}"
        assert ("better" in row.note) is (one["improved"] is not None)
    assert page_of(usual.folder).count('class="idea won"') == 2


def test_versions_stand_with_what_was_said_of_them(usual: Played) -> None:
    page = page_of(usual.folder)
    rounds = usual.result["rounds"]
    assert len(rounds) == 3
    for one in rounds:
        points = [point for name in POINTS for point in one["review"][name]]
        assert all(point in page for point in points)
    assert all(one["verdict"]["reasoning"] in page for one in rounds[1:])
    assert re.search(r"plan best <del>at night</del>\s*<ins>by growing ears</ins>", page)
    assert page.count('<span class="chip chosen">final</span>') == 1
    assert "Stopped: no further significant improvement." in page
    assert "Scientists" not in page


async def test_one_revision_has_no_empty_columns_and_no_legend_of_marks(
    run: Play, llm: LLM, usual: Played
) -> None:
    llm.answers["improved"] = False
    page = page_of((await run()).folder)
    assert "Words added" not in page
    assert "words are marked" not in page
    assert "no words are compared" in page
    assert "Words added" in page_of(usual.folder)
    assert "words are marked" in page_of(usual.folder)


async def test_an_unfinished_run_shows_how_far_it_came(run: Play, llm: LLM, tmp_path: Path) -> None:
    llm.answers["improved"] = True
    llm.faults.append(Fault("status", status=403, when=lambda request: llm.calls > 7))
    with pytest.raises(ModelError):
        await run()
    evolution = load(tmp_path / "run").result
    assert [one.round for one in evolution.rounds] == [0, 1, 2]
    assert evolution.rounds[1].improved is True
    page = page_of(tmp_path / "run")
    assert "This run is not finished." in page
    assert "Abstracts read" not in page
    assert "It ended because" not in page
    assert 'class="chip chosen"' not in page


@pytest.mark.parametrize("sets", ["rebuttal.method=initial", "rebuttal.area_chair=false"])
async def test_where_nobody_judged_nothing_is_said_to_be_no_better(
    run: Play, tmp_path: Path, sets: str
) -> None:
    played = await run(sets, "rebuttal.fixed_iters=1")
    assert played.result["rebuttal"]["improvements"] is None
    assert "judged better" not in dict(essence(played.run))["Rebuttal"]
    assert "Found better" not in page_of(tmp_path / "run")


async def test_the_last_lines(run: Play, llm: LLM, tmp_path: Path) -> None:
    llm.answers["improved"] = False
    played = await run("rebuttal.abstract=true")
    told, run_of_it = dict(essence(played.run)), played.run
    run_of_it.result.abstract = None
    without = dict(essence(run_of_it))
    assert without["Hypothesis"] == played.result["idea"]["hypothesis"]
    assert "Hypothesis" not in told
    assert told["Abstract"] == played.result["abstract"]["text"]
    assert told["Rebuttal"].startswith(
        "1 revision for novelty, 0 judged better; stopped: no further significant"
    )
    assert told["Title"] in closing_lines(tmp_path / "run")


async def test_nothing_that_a_model_writes_is_markup(run: Play, llm: LLM, tmp_path: Path) -> None:
    evil = "<script>owned()</script>"
    llm.answers.update(improved=False, reasoning=evil, hypothesis=evil, weaknesses=[evil], title=evil)
    await run()
    page = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert evil not in page
    assert page.count("&lt;script&gt;owned()") >= 4
