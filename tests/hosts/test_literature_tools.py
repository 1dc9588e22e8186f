"""A role with the literature tools as an agent of either framework: look-ups through the framework's own tool loop."""

from agentscope.message import UserMsg

from manyheads.config import LiteratureConfig
from manyheads.hosts import agentscope, autogen
from manyheads.literature.library import Library
from manyheads.retry import Pace
from support.llm import LLM
from support.scholar import Scholar, Trouble, record
from support.turns import model

PAPERS = (record("a" * 40, "Tactile fingers", abstract="Robots feel.", year=2019, citationCount=7),)
LOOKING = [("search_papers", {"query": "tactile"})]
ASKED = "Is a tactile finger new?"


def library(scholar: Scholar) -> Library:
    config = LiteratureConfig(
        cascade=("semantic_scholar",), before="any", retries=0, endpoints={"semantic_scholar": scholar.url}
    )
    return Library(config, paces={"semantic_scholar": Pace(0)})


async def on_autogen(llm: LLM, found: Library) -> str:
    agent = autogen.role_agent("novelty", model(llm), library=found)
    said = (await agent.run(task=ASKED)).messages[-1]
    await agent.close()
    return said.to_text()


async def on_agentscope(llm: LLM, found: Library) -> str:
    agent = agentscope.role_agent("novelty", model(llm), library=found)
    return (await agent.reply(UserMsg("user", ASKED))).get_text_content() or ""


async def test_a_role_looks_papers_up_on_either_host() -> None:
    with Scholar(PAPERS) as scholar:
        for ask in (on_autogen, on_agentscope):
            with LLM(tool_calls=LOOKING) as llm:
                found = library(scholar)
                assert await ask(llm, found)
                await found.close()
            offered, told = llm.requests
            assert {"search_papers", "get_paper", "get_references"} <= set(offered.tools)
            assert "Title: Tactile fingers" in told.text
    assert len(scholar.requests) == 2


async def test_a_failed_look_up_goes_back_to_the_model() -> None:
    with Scholar(PAPERS, troubles=[Trouble("status", times=None, status=503)]) as scholar:
        for ask in (on_autogen, on_agentscope):
            with LLM(tool_calls=LOOKING) as llm:
                found = library(scholar)
                assert await ask(llm, found)
                await found.close()
            assert "says nothing about what has been published" in llm.requests[-1].text
