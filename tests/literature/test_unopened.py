"""A library that is opened by the first look-up."""

from collections.abc import Awaitable, Callable

import pytest

from manyheads.errors import LiteratureError
from manyheads.literature.library import Findings, Library
from manyheads.literature.opening import Unopened
from support.services import A, ids, running

ASKED: dict[str, Callable[[Library], Awaitable[object]]] = {
    "search": lambda library: library.search("tactile fruit", 2, parts=("abstract",)),
    "paper": lambda library: library.paper(f"semantic_scholar:{A}"),
    "references": lambda library: library.references(f"semantic_scholar:{A}", 1),
    "citations": lambda library: library.citations(f"semantic_scholar:{A}", 1),
    "recommendations": lambda library: library.recommendations(f"semantic_scholar:{A}", 1),
    "authors": lambda library: library.authors("Ann", 1),
}


async def answer(library: Library, name: str) -> object:
    """What a look-up gives or raises, the time that each step took left out."""
    try:
        found = await ASKED[name](library)
    except LiteratureError as error:
        return error.message
    return ids(found) if isinstance(found, Findings) else found


@pytest.mark.parametrize("name", ASKED)
async def test_every_look_up_is_the_librarys_own(name: str) -> None:
    opened: list[Library] = []
    with running() as services:
        async with services.library("semantic_scholar") as library:

            def once() -> Library:
                opened.append(library)
                return library

            late = Unopened(once)
            assert opened == []
            assert await answer(late, name) == await answer(library, name)
            assert await answer(late, name) == await answer(library, name)
    assert opened == [library]


async def test_what_was_never_opened_need_not_be_closed() -> None:
    def fails() -> Library:
        raise LiteratureError("no", source="arxiv")

    await Unopened(fails).close()
    with pytest.raises(LiteratureError, match="no"):
        await Unopened(fails).search("fruit")
