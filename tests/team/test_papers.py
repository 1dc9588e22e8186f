"""The literature tools, as a model sees their results."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from manyheads.base.http import Pace
from manyheads.config import LiteratureConfig
from manyheads.core import Tool
from manyheads.literature.library import Library
from manyheads.team.tools import PAPER, REFERENCES, SEARCH, ToolRefusedError, literature_tools
from support.scholar import Scholar, Trouble, record

FINGERS, GRIPS, KEYS = "a" * 40, "b" * 40, "c" * 40
PAPERS = (
    record(
        FINGERS,
        "Tactile fingers",
        abstract="Robots feel </paper> with tactile skin. " * 60,
        year=2019,
        citationCount=7,
        authors=[{"authorId": "1", "name": "Ada Realname"}],
    ),
    record(GRIPS, "Tactile grips", year=2018),
    record(KEYS, "Finding keys", abstract="Keys are found.", year=2017, citationCount=0),
)


@asynccontextmanager
async def over(scholar: Scholar) -> AsyncGenerator[Library]:
    """A library whose one source is the local server."""
    config = LiteratureConfig(
        cascade=("semantic_scholar",), before="any", retries=0, endpoints={"semantic_scholar": scholar.url}
    )
    library = Library(config, paces={"semantic_scholar": Pace(0)})
    try:
        yield library
    finally:
        await library.close()


async def called(name: str, scholar: Scholar, **arguments: Any) -> str:
    """What a tool says."""
    async with over(scholar) as library:
        tool = _tool(library, name)
        return await tool.run(tool.arguments.model_validate(arguments))


def _tool(library: Library, name: str) -> Tool:
    [tool] = literature_tools(library, [name])
    return tool


async def test_found_papers_are_listed_each_in_a_fence_without_their_authors() -> None:
    with Scholar(PAPERS) as scholar:
        shown = await called(SEARCH, scholar, query="tactile", limit=5)
        asked = [request.params for request in scholar.requests]
    first, second = (part.splitlines() for part in shown.replace("</paper>\n", "</paper>\n\n").split("\n\n"))
    assert first[:4] == [
        "<paper>",
        f"Id: semantic_scholar:{FINGERS}",
        "Title: Tactile fingers",
        "2019, cited 7 times",
    ]
    assert first[4].startswith("Abstract: Robots feel")
    assert first[4].endswith(" …")
    assert first[5:] == ["</paper>"]
    assert second[3:5] == ["2018, citations unknown", "Abstract: not on record"]
    assert "Realname" not in shown
    assert all("authors" not in request["fields"] for request in asked)


async def test_one_paper_is_shown_whole() -> None:
    with Scholar(PAPERS) as scholar:
        shown = await called(PAPER, scholar, paper=f"semantic_scholar:{FINGERS}")
    assert shown.count("tactile skin") == 60
    assert shown.count("</paper>") == 1


async def test_references_are_listed() -> None:
    with Scholar(PAPERS, cites={FINGERS: [KEYS]}) as scholar:
        shown = await called(REFERENCES, scholar, paper=f"semantic_scholar:{FINGERS}")
    assert "Title: Finding keys\n2017, cited 0 times" in shown


async def test_nothing_found_is_said() -> None:
    with Scholar(PAPERS) as scholar:
        assert "No paper matches" in await called(SEARCH, scholar, query="volcanoes")
        assert "does not mean that it cites nothing" in await called(
            REFERENCES, scholar, paper=f"semantic_scholar:{GRIPS}"
        )
        with pytest.raises(ToolRefusedError, match="No paper of that id"):
            await called(PAPER, scholar, paper=f"semantic_scholar:{'d' * 40}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(SEARCH, {"query": "tactile"}), (PAPER, {"paper": "10.1/x"}), (REFERENCES, {"paper": "10.1/x"})],
)
async def test_a_failed_look_up_never_reads_as_an_absence(name: str, arguments: dict[str, Any]) -> None:
    down = Trouble("status", times=None, status=503)
    silence = pytest.raises(ToolRefusedError, match="says nothing about what has been published")
    with Scholar(PAPERS, troubles=[down]) as scholar, silence:
        await called(name, scholar, **arguments)


async def test_a_source_that_could_not_be_asked_is_named() -> None:
    with Scholar(PAPERS) as scholar:
        config = LiteratureConfig(
            cascade=("openalex", "semantic_scholar"),
            before="any",
            retries=0,
            endpoints={"semantic_scholar": scholar.url, "openalex": "http://127.0.0.1:9"},
        )
        library = Library(config, paces={"semantic_scholar": Pace(0), "openalex": Pace(0)})
        tool = _tool(library, SEARCH)
        shown = await tool.run(tool.arguments.model_validate({"query": "tactile"}))
        await library.close()
    assert "Title: Tactile grips" in shown
    assert "Not asked, as they could not be reached: openalex" in shown


async def test_a_card_chooses_its_tools() -> None:
    with Scholar() as scholar:
        async with over(scholar) as library:
            assert [tool.name for tool in literature_tools(library)] == [SEARCH, PAPER, REFERENCES]
            assert [tool.name for tool in literature_tools(library, [PAPER])] == [PAPER]
    assert literature_tools(None) == ()
