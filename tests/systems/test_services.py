"""Literature services in place of B_past (VirSci 2025, App. C.3), and the search ledger of a run."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ConfigError, LiteratureError
from manyheads.base.http import Pace
from manyheads.base.resources import Resources
from manyheads.core.events import Searched, Warned
from manyheads.literature.semantic_scholar import SemanticScholar
from manyheads.systems.loading import load
from support.direct import Played, config_for, play, play_now
from support.llm import LLM
from support.scholar import Asked, Scholar, Trouble, record

TOPIC = "Tactile fingers"
TITLE = "Tactile fingers for soft fruit"
PAPERS = (
    record("a" * 40, "Tactile fingers for soft fruit in the dark", abstract="Fingers feel fruit.", year=2012, citationCount=7),
    record("b" * 40, "Soft fruit and tactile fingers for a farm", abstract="A farm of bees and fruit.", year=2013, citationCount=0),
    record("c" * 40, "Tactile fingers for soft fruit, withheld", year=2014, citationCount=3),
    record("d" * 40, "Tactile fingers for soft fruit of no year", abstract="Timeless fruit.", citationCount=3),
    record("e" * 40, "Tactile fingers for soft fruit of the future", abstract="Fruit to come.", year=2031),
)  # fmt: skip
Run = Callable[..., Any]


def sets_for(scholar: Scholar) -> tuple[str, ...]:
    return (
        "turns=1", f"topic={TOPIC}", "literature.references=services", "literature.cascade=[semantic_scholar]",
        "literature.before=any", f"literature.endpoints.semantic_scholar={scholar.url}", "literature.retries=0",
        "embedding=lexical",
    )  # fmt: skip


@pytest.fixture
def scholar() -> Iterator[Scholar]:
    with Scholar(papers=PAPERS) as server:
        yield server


@pytest.fixture
def run(llm: LLM, scholar: Scholar, tmp_path: Path, unpaced: None, own_cache: None) -> Run:
    llm.answers["title"] = TITLE

    async def runner(*sets: str, folder: str = "run") -> Played:
        return await play(config_for(llm, *sets_for(scholar), *sets), tmp_path / folder, llm)

    return runner


@pytest.fixture(scope="module")
def looked_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Played, Sequence[Asked]]:
    """The run in which nothing goes wrong, and what it asked of the service."""
    folder = tmp_path_factory.mktemp("looked-up")
    with (
        pytest.MonkeyPatch.context() as patch,
        Scholar(papers=PAPERS) as server,
        LLM(answers={"title": TITLE}) as llm,
    ):
        patch.setattr(SemanticScholar, "paces", (Pace(0.0), Pace(0.0)))
        patch.setenv("MANYHEADS_CACHE", str(folder / "cache"))
        return play_now(folder / "run", llm, *sets_for(server)), server.requests


def test_references_come_from_the_service(looked_up: tuple[Played, Sequence[Asked]]):
    played, requests = looked_up
    first, *later = played.asked("Finding an idea")
    for request in (first, *later):
        cited = request.asking.split("## References")[1].split("## ")[0]
        assert PAPERS[0]["title"] in cited
        assert "Abstract: Fingers feel fruit." in cited
        assert "Year: 2012, cited 7 times" in cited
        assert cited.count("<paper>") == 3
    queries = {asked.params["query"] for asked in requests}
    assert {TOPIC, TITLE} <= queries
    votes = played.asked("Which idea is the most novel?")[0].asking
    assert votes.count(PAPERS[0]["title"]) == 1
    assert votes.count("Closest papers, the closest first: [") == 3


def test_papers_that_nothing_can_be_compared_with_are_not_shown(looked_up: tuple[Played, Sequence[Asked]]):
    played, _ = looked_up
    shown = "\n".join(request.text for request in played.requests)
    assert "withheld" not in shown
    assert "of no year" not in shown
    assert "Year: 2031\n" in shown, "unknown citations are left out, not told as none"


def test_every_look_up_stands_in_the_ledger(looked_up: tuple[Played, Sequence[Asked]]):
    played, requests = looked_up
    told = played.of(Searched)
    assert {entry.query for entry in told} == {TOPIC, TITLE}
    lines = (played.folder / "searches.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(requests) == len({json.loads(line)["at"] + line for line in lines})
    assert played.result["degraded"] == []
    counts = played.result["searches"]["sources"]["semantic_scholar"]
    assert (counts["failed"], counts["skipped"]) == (0, 0)
    assert counts["found"] >= 2
    assert not any("at" in entry or "seconds" in entry for entry in played.result["searches"]["searches"])
    page = (played.folder / "report.html").read_text(encoding="utf-8")
    assert "Search ledger" in page
    assert "Degraded" not in page


@pytest.mark.slow
async def test_a_source_that_fails_marks_the_result(run: Run, scholar: Scholar):
    scholar.troubles.append(Trouble("status", times=None, status=503))
    played = await run("literature.cascade=[semantic_scholar, local]", "topic=Robust retrieval")
    assert played.result["degraded"] == ["semantic_scholar"]
    [warning] = [text for text in played.result["warnings"] if "semantic_scholar" in text]
    assert "failed for some queries" in warning
    assert warning in [event.message for event in played.of(Warned)]
    assert "<paper>" in played.asked("Finding an idea")[0].asking
    page = (played.folder / "report.html").read_text(encoding="utf-8")
    assert "Degraded: not every literature source could be asked." in page


@pytest.mark.slow
async def test_without_any_source_the_run_stops_and_goes_on_when_there_is_one(
    run: Run, scholar: Scholar, llm: LLM
):
    scholar.troubles.append(Trouble("status", times=None, status=503))
    with pytest.raises(LiteratureError, match="no literature source could be asked") as stopped:
        await run()
    assert "manyheads resume" in str(stopped.value)
    scholar.troubles.clear()
    before = llm.calls
    played = await run()
    assert played.result["degraded"] == []
    assert len(played.asked("An invitation to a research team")) == 2, "those of the first start"
    assert llm.calls > before


@pytest.mark.slow
async def test_a_resumed_run_sees_what_it_saw(run: Run, scholar: Scholar):
    first = await run()
    asked, kept = len(scholar.requests), (first.folder / "result.json").read_bytes()
    scholar.papers = ()
    again = await run()
    assert len(scholar.requests) == asked
    assert again.result == first.result
    assert (first.folder / "result.json").read_bytes() == kept
    assert len((first.folder / "searches.jsonl").read_text(encoding="utf-8").splitlines()) == asked


def test_the_configs_of_the_papers_comparison():
    """App. C.3: the same topic and papers for the team and both baselines, at like inference cost."""
    team, alone, group = (load([f"nanogpt-{name}"]) for name in ("virsci", "self-reflection", "discussion"))
    assert (
        team.literature
        == alone.literature
        == group.literature
        == load(["virsci-semantic-scholar"]).literature
    )
    assert (team.settings.topics.start, team.inputs.topic) == ("NanoGPT", None)
    assert alone.inputs.topic == group.inputs.topic == "NanoGPT"
    assert (team.settings.team.size, team.settings.turns.default) == (4, 5)
    assert (alone.settings.rounds, group.settings.turns) == (50, 12)
    assert [each.settings.until_done for each in (alone, group)] == [False, False]


@pytest.mark.slow
async def test_an_abstract_that_nothing_is_found_for_is_not_called_new(run: Run, scholar: Scholar, llm: LLM):
    scholar.papers = ()
    played = await run("self_review.enabled=true")
    assert played.result["self_review"]["passed"] is None
    assert any("the abstract is not reviewed" in text for text in played.result["warnings"])
    assert not played.asked("Is the abstract too close")
    page = (played.folder / "report.html").read_text(encoding="utf-8")
    assert "does not prove that it is new" in page


UNSENDABLE = ("SEMANTIC_SCHOLAR_API_KEY", "schl\u00fcssel")


async def test_a_run_that_looks_nothing_up_opens_no_source(
    llm: LLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(*UNSENDABLE)
    sets = ("turns=1", "topic=T", "literature.cascade=[semantic_scholar]")
    assert "abstract" in (await play(config_for(llm, *sets), tmp_path / "run", llm)).result


@pytest.mark.slow
async def test_sources_that_a_run_may_need_are_opened_before_anything_is_paid_for(
    run: Run, llm: LLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(*UNSENDABLE)
    with pytest.raises(ConfigError, match="the key in SEMANTIC_SCHOLAR_API_KEY"):
        await run()
    card = tmp_path / "roles" / "scientist.yaml"
    card.parent.mkdir()
    ours = Resources.of().need("roles", "scientist.yaml").read_text(encoding="utf-8")
    card.write_text(ours.replace("[find_scientists,", "[search_papers, find_scientists,"), encoding="utf-8")
    with pytest.raises(ConfigError, match="the key in SEMANTIC_SCHOLAR_API_KEY"):
        await run("literature.references=corpus", f"paths=[{tmp_path}]", folder="tools")
    assert llm.calls == 0
