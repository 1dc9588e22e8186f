"""A bug in one member of the committee: it is a missing answer, counted and told; the others and the review go on."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.folders import TRACEBACK
from manyheads.core.events import Warned
from manyheads.documents import Reference
from support.direct import EVERY, Played, config_for, play
from support.llm import LLM
from support.manuscripts import committee, tei
from support.papers_read import entry, paper, review
from support.requests import Request
from support.scholar import Scholar, record

BUG = """
from pydantic import model_validator
from manyheads import replies

class Answer(replies.{reply}):
    @model_validator(mode="after")
    def fails(self):
        if {when}:
            raise KeyError("a bug of this member")
        return self
"""
Play = Callable[..., Any]
EXPERTS = ("clarity", "experiments", "impact")
QUOTE = {"where": "Section 2", "quote": "a network on 300 recordings with a learning rate of 0.001"}
REVIEW = {"strengths": [], "questions": [], "weaknesses": [{"text": "Told.", "sources": [QUOTE]}]}


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes the reply to some roles' task fail with a bug; returns the setting that has it used."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine/roles").mkdir(parents=True)

    def make(reply: str, *roles: str, when: str = "True") -> str:
        module = f"bug_{reply.lower()}_{abs(hash(tmp_path))}"
        (tmp_path / f"{module}.py").write_text(BUG.format(reply=reply, when=when))
        for role in roles:
            card = (Path("roles") / f"{role}.yaml").resolve()
            text = card.read_text().replace(f"reply: {reply}\n", f"reply: {module}:Answer\n")
            assert module in text
            (tmp_path / f"mine/roles/{role}.yaml").write_text(text)
        return f"paths=[{tmp_path / 'mine'}]"

    return make


@pytest.fixture
def run(llm: LLM, tmp_path: Path) -> Play:
    asked = [{"kind": "ask", "text": "What?", "expects": "A list.", "expert": each} for each in EXPERTS]

    def inquiries(request: Request) -> list[dict[str, str]]:
        return [] if "Question 1" in request.asking else asked

    llm.answers = {**REVIEW, "finished": True, "inquiries": inquiries}
    llm.tool_calls = [
        ("ask", {"expert": each, "question": "What?", "expects": "A list."}) for each in EXPERTS
    ]

    async def runner(*sets: str, tools: bool = False) -> Played:
        own = (*committee(tei(tmp_path / "paper.xml")), f"models.default.tools={str(tools).lower()}")
        return await play(config_for(llm, *own, *sets), tmp_path / "run", llm)

    return runner


def mend(folder: Path) -> None:
    [module] = folder.glob("bug_*.py")
    module.write_text(module.read_text().replace("if True", "if False"))
    del sys.modules[module.stem]


def traceback(played: Played) -> str:
    return (played.folder / TRACEBACK).read_text()


@pytest.mark.parametrize("host", EVERY)
async def test_an_expert(run: Play, broken: Callable[..., str], host: str) -> None:
    played = await run(broken("ExpertAnswer", "impact_expert"), f"host={host}", tools=host != "autogen")
    assert [(one["expert"], bool(one["answer"])) for one in played.result["exchanges"]] == [
        ("clarity", True), ("experiments", True), ("impact", False),
    ]  # fmt: skip
    [write] = [request for request in played.requests if request.title == "WrittenReview"]
    assert "Impact gave no answer" in write.asking
    assert [line for line in played.result["warnings"] if "Impact" in line and TRACEBACK in line]
    assert "a bug of this member" in traceback(played)
    assert (played.result["finished"], played.result["partial"]) == (True, "")
    assert "No answer." in (played.folder / "report.html").read_text()


async def test_the_leader_ends_the_run_and_it_resumes_once_the_bug_is_mended(
    run: Play, broken: Callable[..., str], tmp_path: Path
) -> None:
    with pytest.raises(KeyError):
        await run(broken("WrittenReview", "review_leader"))
    mend(tmp_path)
    played = await run(f"paths=[{tmp_path / 'mine'}]")
    titles = [request.title for request in played.requests]
    assert titles.count("Plan") == 1, "paid turns are kept"
    assert played.result["review"]["text"]


# What is looked up.


@pytest.fixture
def scholar() -> Iterator[Scholar]:
    papers = [
        record(f"{n:040x}", f"Tactile fruit and its harvest, part {n}", abstract="Fruit.", year=2015)
        for n in (1, 2)
    ]
    with Scholar(papers=papers) as server:
        yield server


@pytest.mark.usefixtures("unpaced", "own_cache")
async def test_a_reference_and_what_novelty_makes_of_it(llm: LLM, scholar: Scholar, tmp_path: Path) -> None:
    wrong = Reference.model_construct(
        text="x", title="Owls of the north", authors=(), year=None, doi=7, arxiv=None, number=""
    )
    literature = {"cascade": ["semantic_scholar"], "endpoints": {"semantic_scholar": scholar.url}}
    llm.answers |= {"phrase": phrase}
    read = paper(
        wrong, entry("Tactile fruit and its harvest, part 1", title="Tactile fruit and its harvest, part 1")
    )
    played = await review(llm, tmp_path / "run", read, literature=literature)
    assert [one["state"] for one in played.result["references"]] == ["not asked", "exists"]
    assert TRACEBACK in played.result["references"][0]["details"][0]
    assert played.result["novelty"]["verdict"] == "not assessed"
    assert len([event for event in played.of(Warned) if TRACEBACK in event.message]) == 2
    assert "Traceback" in traceback(played)


def phrase(request: Request) -> str:
    number = re.search(r"phrase, (\d)", request.asking)
    return ("tactile", "fruit", "harvest")[int(number[1]) - 1] if number else ""


@pytest.mark.usefixtures("unpaced", "own_cache")
@pytest.mark.parametrize("conflict", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_a_comparison(
    llm: LLM, scholar: Scholar, tmp_path: Path, broken: Callable[..., str], conflict: bool
) -> None:
    llm.answers |= {
        "phrase": phrase,
        "verdict": "RELEVANT",
        "reason": lambda request: "part 1" if "part 1" in (request.fenced("paper") or "") else "other",
        "decision": "NOT NOVEL" if conflict else "NOVEL",
    }
    literature = {"cascade": ["semantic_scholar"], "endpoints": {"semantic_scholar": scholar.url}}
    setting = broken("Relevance", "novelty", when="self.reason == 'part 1'").removeprefix("paths=")
    played = await review(llm, tmp_path / "run", paper(), literature=literature, paths=[setting.strip("[]")])
    novelty = played.result["novelty"]
    assert sorted(one["relevant"] is None for one in novelty["related"]) == [False, True]
    assert novelty["verdict"] == ("NOT NOVEL" if conflict else "not assessed")
    assert [line for line in novelty["missing"] if TRACEBACK in line]
