"""A role as an agent of either framework, to be asked by anybody."""

import re
from collections.abc import AsyncGenerator, Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import BudgetError, ConfigError, CorpusError
from manyheads.base.http import Pace
from manyheads.base.papers import Paper
from manyheads.config import LiteratureConfig
from manyheads.core import Tool
from manyheads.corpus.corpora import open_corpus
from manyheads.corpus.ecosystem import Ecosystem, KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.literature.library import Library
from support.faults import Fault
from support.llm import LLM
from support.native import Hosting, role_of
from support.requests import Request
from support.scholar import Scholar, record
from support.turns import LOOK_UP, Look, model, turn

ROLE = "name: critic\ndescription: Finds faults.\nvariables: {field: physics, tone: null}\n"
PAPERS = (record("a" * 40, "Tactile fingers", abstract="Robots feel.", year=2019, citationCount=7),)
SHOWN = {
    "autogen": "[1]\n<paper>\nTitle: Robust grasping",
    "agent_framework": "[1]\n<paper>\nTitle: Robust grasping",
    "agentscope": "[1] (source: p1)\nRobust grasping (2014)\nRobots grasp fragile things.",
}


@pytest.fixture
def mine(folder: Any) -> str:
    (folder / "roles" / "critic.yaml").write_text(ROLE)
    (folder / "prompts" / "critic").mkdir()
    (folder / "prompts" / "critic" / "system.md.j2").write_text(
        "You judge {{ field }} in a {{ tone }} voice."
    )
    return str(folder)


@pytest.fixture
def make(name: str) -> Callable[..., Any]:
    """The host's own `role_agent`."""
    return import_module(f"manyheads.hosts.{name}").role_agent


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[KnowledgeBank]:
    with KnowledgeBank.create(tmp_path / "bank", load_embedder("lexical")) as made:
        made.add(
            [
                Paper(id="p1", title="Robust grasping", abstract="Robots grasp fragile things.", year=2014),
                Paper(id="p2", title="Dense retrieval", abstract="Retrieval for rare languages.", year=2012),
            ]
        )
        yield made


@pytest.fixture
async def corpus() -> AsyncGenerator[Ecosystem]:
    """The sample, which is open once for all tests."""
    async with open_corpus("sample", "lexical") as opened:
        yield opened


async def test_a_role_of_ones_own(llm: LLM, name: str, mine: str) -> None:
    async with role_of(name, "critic", model(llm), paths=[mine], tone="mild") as ask:
        assert await ask("Well?")
    assert llm.requests[0].system.strip() == "You judge physics in a mild voice."


@pytest.mark.parametrize(
    ("role", "settings", "problem"),
    [
        ("reviewr", {}, "no such role 'reviewr'"),
        ("reviewer", {"model": "nobody/gpt"}, "no such provider 'nobody'"),
        ("reviewer", {"model": "openai/gpt-4o"}, "no key for openai/gpt-4o"),
        ("reviewer", {"field": "robotics"}, "no variable field"),
        ("scientist", {}, "needs scientist"),
    ],
)
def test_mistakes_are_named(
    make: Callable[..., Any], role: str, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        make(role, **{"model": "offline", **settings})


async def test_a_roles_agent_has_no_form_to_refuse(llm: LLM, host: Hosting, name: str) -> None:
    llm.faults.append(Fault("status", status=500))
    async with role_of(name, "reviewer", model(llm, retries=1)) as ask:
        await ask("An idea")
    async with host(model(llm)) as on:
        await on.ask(turn())
    assert [request.has_form for request in llm.requests] == [False, False, True]


async def test_a_users_mistake_in_a_tool_ends_the_turn(llm: LLM, name: str) -> None:
    async def spend(arguments: Look) -> str:
        raise BudgetError("the budget is spent")

    llm.tool_calls = [("look_up", {"subject": "x"})]
    tool = Tool("look_up", LOOK_UP.description, Look, spend)
    async with role_of(name, "reviewer", model(llm), tools=[tool]) as ask:
        with pytest.raises(BudgetError, match="the budget is spent"):
            await ask("An idea")
        assert llm.calls == 1
        llm.tool_calls = []
        await ask("Another idea")
        assert llm.calls == 2


async def test_papers_are_shown_beside_the_question(llm: LLM, name: str, bank: KnowledgeBank) -> None:
    async with role_of(name, "reviewer", model(llm), knowledge=bank) as ask:
        await ask("Robots that grasp fragile things")
    shown = [said for said in llm.requests[0].messages if SHOWN[name] in said.text]
    assert [said.role for said in shown] == ["user"]
    assert bank.count() == 2


async def test_a_failed_search_ends_the_reply(llm: LLM, name: str, bank: KnowledgeBank) -> None:
    async def broken(*args: object, **kwargs: object) -> None:
        raise CorpusError("the bank is gone")

    bank.search = broken  # pyright: ignore[reportAttributeAccessIssue]
    async with role_of(name, "reviewer", model(llm), knowledge=bank) as ask:
        with pytest.raises(CorpusError, match="the bank is gone"):
            await ask("Robots")
    assert llm.calls == 0


async def test_a_role_looks_papers_up(llm: LLM, name: str) -> None:
    llm.tool_calls = [("search_papers", {"query": "tactile"})]
    with Scholar(PAPERS) as scholar:
        config = LiteratureConfig(
            cascade=("semantic_scholar",),
            before="any",
            retries=0,
            endpoints={"semantic_scholar": scholar.url},
        )
        library = Library(config, paces={"semantic_scholar": Pace(0)})
        async with role_of(name, "novelty", model(llm), library=library) as ask:
            assert await ask("Is a tactile finger new?")
        await library.close()
    assert {"search_papers", "get_paper", "get_references"} <= set(llm.requests[0].tools)
    assert "Title: Tactile fingers" in llm.requests[-1].text
    assert len(scholar.requests) == 1


@pytest.mark.parametrize("role", ["scientist", pytest.param("leader", marks=pytest.mark.slow)])
async def test_a_scientist_finds_and_invites_others(
    llm: LLM, name: str, role: str, corpus: Ecosystem
) -> None:
    def own_interests(request: Request) -> dict[str, Any]:
        return {"interest": request.system[:500], "limit": 10}

    llm.tool_calls = [
        ("find_scientists", own_interests),
        ("invite_scientist", {"name": "Scientist9", "question": "Do fingers feel enough?"}),
    ]
    async with role_of(name, role, model(llm), corpus=corpus, scientist="Scientist3") as ask:
        assert await ask("What shall we study?")
    first, guest, last = llm.requests
    assert {"find_scientists", "invite_scientist"} == set(first.tools)
    assert "You are Scientist3" in first.system
    assert guest.system.startswith("You are Scientist9")
    assert not guest.tools
    assert "Scientist3 works in a" in guest.asking
    assert "Do fingers feel enough?" in guest.asking
    found, advice = [said.text for said in last.messages if said.role == "tool"]
    listed = re.findall(r"^\W*(Scientist\d+)", found, re.MULTILINE)
    assert listed
    assert "Scientist3" not in listed
    assert advice.strip()
    assert "What shall we study?" in last.text


async def test_one_guest_is_heard_a_turn_and_nobody_of_the_team(
    llm: LLM, name: str, corpus: Ecosystem
) -> None:
    llm.tool_calls = [
        ("invite_scientist", {"name": f"Scientist{number}", "question": "Well?"}) for number in (3, 9, 10)
    ]
    async with role_of(name, "scientist", model(llm), corpus=corpus, scientist="Scientist3") as ask:
        await ask("What shall we study?")
        await ask("And what else?")
    guests = [request.system.split()[2].rstrip(".,") for request in llm.requests if not request.tools]
    assert set(guests) <= {"Scientist9", "Scientist10"}
    assert len(guests) == 2, "one a turn"
    for words in ("No more guests", "in the team already"):
        assert sum(words in request.text for request in llm.requests) >= 2, "told in each turn"


async def test_without_a_corpus_a_scientist_has_no_such_tools(llm: LLM, name: str, corpus: Ecosystem) -> None:
    scientist = corpus.scientist("Scientist3")
    for more in ({}, {"corpus": corpus}):
        async with role_of(name, "scientist", model(llm), scientist=scientist, **more) as ask:
            await ask("What shall we study?")
    assert [len(request.tools) for request in llm.requests] == [0, 2]


def test_a_scientist_is_one_of_the_corpus(make: Callable[..., Any], corpus: Ecosystem) -> None:
    with pytest.raises(ConfigError, match="of no corpus"):
        make("scientist", "offline", scientist="Scientist3")
    with pytest.raises(CorpusError, match="Scientist9999"):
        make("scientist", "offline", scientist="Scientist9999", corpus=corpus)
