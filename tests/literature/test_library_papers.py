"""One paper by any of its names, and what belongs to it, wherever that is kept."""

import pytest

from manyheads.base.errors import LiteratureError
from support.services import A, D, Services, down, ids, open_work


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"semantic_scholar:{A}", f"semantic_scholar:{A}"),
        ("openalex:W2", "openalex:W2"),
        ("local:p2", "local:p2"),
        ("arxiv:1103.00001", f"semantic_scholar:{A}"),
        ("arXiv:1103.00001v2", f"semantic_scholar:{A}"),
        ("1103.00001", f"semantic_scholar:{A}"),
        ("https://arxiv.org/abs/1103.00001", f"semantic_scholar:{A}"),
        ("10.1000/b", "openalex:W1"),
        ("https://doi.org/10.1234/none", None),
        ("weighing  FRUIT.", f"semantic_scholar:{D}"),
        ("Sensing slip", "local:p2"),
        ("A title that nobody bears", None),
    ],
)
async def test_a_paper_is_found_by_any_of_its_names(services: Services, name: str, found: str | None) -> None:
    async with services.library("local", "semantic_scholar", "openalex", "arxiv") as library:
        paper = await library.paper(name)
    assert (paper and paper.id) == found


async def test_a_paper_that_a_silent_source_may_know_is_an_error(services: Services) -> None:
    services.scholar.troubles.append(down())
    async with services.library() as library:
        with pytest.raises(LiteratureError, match="not every literature source could be asked"):
            await library.paper("A title that nobody bears")
        with pytest.raises(LiteratureError, match="503"):
            await library.paper(f"semantic_scholar:{A}")
        paper = await library.paper("Tactile fruit washing")
        assert paper is not None
        assert paper.id == "openalex:W2"


async def test_an_id_of_a_source_that_is_not_asked_is_an_error(services: Services) -> None:
    async with services.library("local") as library:
        with pytest.raises(LiteratureError, match="openalex is not among the sources"):
            await library.paper("openalex:W1")
        with pytest.raises(LiteratureError, match="none of them supports such an identifier"):
            await library.paper("10.1234/x")


async def test_references_are_asked_where_the_id_comes_from(services: Services) -> None:
    async with services.library() as library:
        assert ids(await library.references("openalex:W3")) == ["openalex:W2", "openalex:W1"]
        assert services.asked[0] == 0


async def test_a_source_without_references_hands_the_paper_on(services: Services) -> None:
    async with services.library() as library:
        found = await library.references("local:p1")
    assert ids(found) == ["s2:D", "s2:C"]
    assert found.degraded == ()
    assert [(one.source, one.operation, one.outcome) for one in found.searches] == [
        ("local", "references", "skipped"),
        ("local", "paper", "found"),
        ("semantic_scholar", "search", "found"),
        ("semantic_scholar", "references", "found"),
    ]
    assert found.searches[0].reason == "a corpus source has no references"


async def test_a_preprint_is_handed_on_by_its_number(services: Services) -> None:
    async with services.library("arxiv", "semantic_scholar") as library:
        assert ids(await library.references("arxiv:1103.00001")) == ["s2:D", "s2:C"]
    assert services.asked[2] == 0


async def test_references_that_one_source_lacks_are_found_in_the_next(services: Services) -> None:
    services.scholar.cites = {}
    async with services.library() as library:
        found = await library.references(f"semantic_scholar:{D}")
    assert ids(found) == ["openalex:W2", "openalex:W1"]


async def test_references_of_a_silent_source_are_found_in_the_next_and_marked(services: Services) -> None:
    services.scholar.troubles.append(down())
    async with services.library() as library:
        found = await library.references("Weighing fruit")
        assert (ids(found), found.degraded) == (["openalex:W2", "openalex:W1"], ("semantic_scholar",))
    services.openalex.troubles.append(down())
    async with services.library() as library:
        with pytest.raises(LiteratureError, match="no literature source could be asked"):
            await library.references("local:p1")


async def test_where_nobody_keeps_references_that_is_said(services: Services) -> None:
    async with services.library("local") as library:
        with pytest.raises(LiteratureError, match="a corpus source has no"):
            await library.references("local:p1")


async def test_a_paper_found_by_its_title_is_known_to_the_next_source_by_its_doi(services: Services) -> None:
    services.scholar.cites = {}
    doi = "https://doi.org/10.1000/b"
    services.openalex.papers = [open_work(7, "Another title", doi=doi, cites=[8]), open_work(8, "Cited")]
    async with services.library("semantic_scholar", "openalex") as library:
        found = await library.references("Tactile fruit sorting")
    assert ids(found) == ["openalex:W8"]
