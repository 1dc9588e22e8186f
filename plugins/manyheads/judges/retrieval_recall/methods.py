"""The methods of the test: each gives papers for a background, the best first (SciPIP, §4.4, Tables 4 and 5)."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from manyheads.corpus.retrieval import RetrievalConfig, fused
from manyheads.judges.retrieval_recall.config import WAYS, Method
from manyheads.judges.retrieval_recall.shelf import Case, Shelf

Found = list[tuple[str, ...]]
"""Results, best first: one paper each, or a cluster with all of its members."""
NOT_DRAWN = frozenset[Method]({"chance"})
"""Methods whose expected hits are computed without a search."""


async def find(
    shelf: Shelf, case: Case, method: Method, options: RetrievalConfig
) -> tuple[Found, tuple[str, ...]]:
    """The results of a method for a paper under test, with warnings.

    Raises:
        CorpusError, EmbeddingError: the database cannot be read.
    """
    match method:
        case "cosine":
            papers = await asyncio.to_thread(shelf.near, case.vector, case.open, options.semantic)
        case "scimon-like":
            papers = await _scimon_like(shelf, case, options)
        case "research-agent-like":
            papers = await _research_agent_like(shelf, case, options)
        case _:
            return await _by_database(shelf, case, method, options)
    return [(one,) for one in papers], ()


async def _by_database(
    shelf: Shelf, case: Case, method: Method, options: RetrievalConfig
) -> tuple[Found, tuple[str, ...]]:
    way, database = WAYS[method], shelf.database
    changed = options.model_copy(update={"how": way.how, "bm25": options.semantic, "papers": None})
    result = await database.retrieve(case.text, changed, scope=case.scope)
    papers = [one.paper.id for one in result.papers]
    if not way.clusters:
        return [(one,) for one in papers], result.notes
    clusters = await asyncio.to_thread(database.clusters, papers, options.weights, options.threshold)
    return [one.members for one in clusters], result.notes


async def _scimon_like(shelf: Shelf, case: Case, options: RetrievalConfig) -> list[str]:
    """After SCIMON (Wang et al., 2024), as its own paper describes its three kinds of inspirations.

    Semantic neighbours: the papers with the nearest backgrounds. Graph neighbours: papers that hold an entity of the background,
    or one that stands beside it in several papers. Citation neighbours: what the semantic neighbours cite, and what cites them;
    SCIMON takes what the paper itself cites, which is the answer here. The two latter are ranked by the cosine of their abstracts
    to the background, as SCIMON ranks citation neighbours; the three lists are joined by reciprocal rank.
    """
    database, semantic = shelf.database, await _semantic(shelf, case, options)

    def rank() -> list[str]:
        own = database.entities_in(case.text)
        near = database.entities_near(own, options, case.scope)
        graph = [one for some in near.values() for one in some]
        cited = [one for hit in semantic for one in _beside(shelf, hit)]
        lists = (shelf.near(case.vector, shelf.mask_of(some, case.open)) for some in (graph, cited))
        return _joined([semantic, *lists], options)

    return await asyncio.to_thread(rank)


async def _research_agent_like(shelf: Shelf, case: Case, options: RetrievalConfig) -> list[str]:
    """After ResearchAgent (Baek et al., 2024), as its own paper describes it.

    It begins with a core paper: here that of the nearest background. Related papers: what that cites and what cites it, ranked by
    the cosine of their abstracts to its own. The entity store: of the entities of the core paper and its related ones, with those
    that stand beside them in several papers, the rarest; the papers that hold them, those with more of them first. The two lists
    and that of the papers with the nearest backgrounds are joined by reciprocal rank.
    """
    database, semantic = shelf.database, await _semantic(shelf, case, options)
    if not semantic:
        return []

    def rank() -> list[str]:
        core = semantic[0]
        vector = shelf.vectors[shelf.places[core]]
        related = [core, *shelf.near(vector, shelf.mask_of(_beside(shelf, core), case.open))]
        records = database.records(related[: options.semantic])
        entities = {
            *database.entities_in(case.text),
            *(e for each in records.values() for e in each.entities),
        }
        near = database.entities_near(sorted(entities), options, case.scope)
        held = Counter(one for some in near.values() for one in some)
        stored = sorted(held, key=lambda one: (-held[one], one))
        return _joined([related, stored, semantic], options)

    return await asyncio.to_thread(rank)


async def _semantic(shelf: Shelf, case: Case, options: RetrievalConfig) -> list[str]:
    [hits] = await shelf.database.semantic([case.text], options.semantic, case.scope)
    return [hit.paper.id for hit in hits]


def _joined(lists: Sequence[Sequence[str]], options: RetrievalConfig) -> list[str]:
    scores = fused(lists, options.fusion)
    return sorted(scores, key=lambda one: (-scores[one], one))


def _beside(shelf: Shelf, paper: str) -> list[str]:
    """The papers that a paper cites, and those that cite it."""
    cited = shelf.citations[paper].all if paper in shelf.citations else ()
    return [*cited, *sorted(shelf.cited_by.get(paper, ()))]
