"""The steps of a test: a shelf of what could be found when a paper was written, the methods, and the references among
their results (SciPIP, §4.4, Tables 4 and 5)."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import ConfigError, MeasureError
from manyheads.base.papers import Paper, fold
from manyheads.core.events import Judged
from manyheads.core.results import Figure
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.graph import Citations
from manyheads.corpus.retrieval import LiteratureDatabase, RetrievalConfig, Scope, fused
from manyheads.corpus.vectors import whole_vector
from manyheads.judges.retrieval_recall.result import (
    DEPTHS,
    WAYS,
    Method,
    MethodRecall,
    Recall,
    RecallConfig,
    RecallInputs,
    RecallResult,
    RecallRun,
    TestedPaper,
    essence,
    need_corpus,
    report,
)
from manyheads.judges.shared import as_figure, figure_words
from manyheads.measures.statistics import mean_difference, mean_of
from manyheads.team.system import Number, System

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class RecallCase:
    """A paper under test, with what is asked and may be found.

    Attributes:
        text: the query.
        vector: (dim,) of the text, normalised.
        scope: the papers that the database may find and count; the same as `open`.
        open: by place on the shelf, whether a paper could be found.
    """

    target: TestedPaper
    text: str
    vector: "Vectors"
    scope: Scope
    open: "Mask"


@dataclass
class RecallShelf:
    """The n papers of a database in memory, in a fixed order, with vectors, years and citations."""

    database: LiteratureDatabase
    papers: list[Paper] = field(default_factory=list[Paper])
    places: dict[str, int] = field(default_factory=dict[str, int])
    contemporary: set[str] = field(default_factory=set[str])
    citations: dict[str, Citations] = field(default_factory=dict[str, Citations])
    cited_by: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    twins: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Papers by the letters of their titles."""
    vectors: Any = None
    """(n, dim), normalised."""
    years: Any = None
    """(n,), -1 if unknown."""

    @classmethod
    def of(cls, database: LiteratureDatabase) -> "RecallShelf":
        """Read a whole corpus; 200,000 papers have 300 MB of vectors."""
        import numpy as np

        shelf, vectors = cls(database), list[Any]()
        for record in database.ecosystem.papers.store.scroll(vectors=True):
            payload = record.payload
            paper = Paper.model_validate({key: payload.get(key) or "" for key in ("id", "title", "abstract")})
            shelf.places[paper.id] = len(shelf.papers)
            shelf.papers.append(paper.model_copy(update={"year": payload.get("year")}))
            vectors.append(record.vector)
            shelf.twins.setdefault(fold(paper.title), []).append(paper.id)
            if payload.get("period") == "contemporary":
                shelf.contemporary.add(paper.id)
        shelf.vectors = np.array(vectors, dtype=np.float32).reshape(-1, database.ecosystem.embedder.dim)
        shelf.years = np.array([-1 if one.year is None else one.year for one in shelf.papers], dtype=np.int32)
        shelf.citations = database.graph.citations([*shelf.places])
        for paper, cited in shelf.citations.items():
            for other in cited.all:
                shelf.cited_by.setdefault(other, set()).add(paper)
        return shelf

    def barred(self, paper: Paper) -> frozenset[str]:
        """Papers hidden while a paper is under test, whatever their year: the paper itself, since its references and entities
        would give the answer away; its twins, which may be versions of it with the same references; and papers that cite
        it, which are later, unless it cites them too."""
        later = self.cited_by.get(paper.id, set()) - {*self._cited(paper.id).all}
        return frozenset({paper.id, *self.twins[fold(paper.title)], *later})

    def open(self, paper: Paper) -> "Mask":
        """(n,): whether each paper could be found when a paper was written: of its year or before, and not barred."""
        import numpy as np

        mask = np.ones(len(self.papers), dtype=bool) if paper.year is None else self.years <= paper.year
        mask[[self.places[one] for one in self.barred(paper) if one in self.places]] = False
        return mask

    def truth(self, paper: Paper, mask: "Mask") -> tuple[tuple[str, ...], bool]:
        """The references of a paper that could be found: those of introduction and method if known, else all; and whether
        they are known (§4.4)."""
        cited = self._cited(paper.id)
        found = tuple(one for one in (cited.core or cited.all) if mask[self.places[one]])
        return found, bool(cited.core)

    def _cited(self, paper: str) -> Citations:
        return self.citations.get(paper, Citations(()))

    def eligible(self, config: RecallConfig) -> list[Paper]:
        """Papers that can be tested, by id: those with enough references that could be found.

        Raises:
            MeasureError: there is none.
        """
        drawn = [
            one
            for one in sorted(self.papers, key=lambda one: one.id)
            if (config.period == "any" or one.id in self.contemporary)
            and len(self._cited(one.id).all) >= config.least
            and len(self.truth(one, self.open(one))[0]) >= config.least
        ]
        if not drawn:
            folder, known = self.database.ecosystem.folder, sum(map(bool, self.citations.values()))
            raise MeasureError(
                f"{folder}: no paper cites {config.least} earlier papers of this corpus",
                tried=f"{len(self.papers):,} papers, {known:,} of them with known citations",
                hint="build a corpus from a dataset with references, such as JSON Lines with `references`, unarXive or "
                "full texts; or require fewer: --set retrieval-recall.least=1",
            )
        return drawn

    def cases(self, config: RecallConfig, rng: random.Random) -> tuple[list[RecallCase], int]:
        """The papers under test, by id, and how many could have been drawn. Raises `MeasureError` if there are none."""
        every = self.eligible(config)
        drawn = rng.sample(every, min(config.sample, len(every)))
        return [self._case(one, config) for one in sorted(drawn, key=lambda one: one.id)], len(every)

    def _case(self, paper: Paper, config: RecallConfig) -> RecallCase:
        record = self.database.records([paper.id]).get(paper.id)
        background = record.background if record and config.query == "background" else ""
        texts = {"background": background, "abstract": paper.abstract, "title": paper.title}
        query = next((name for name, text in texts.items() if text.strip()), "title")
        mask = self.open(paper)
        truth, core = self.truth(paper, mask)
        scope = Scope(None if paper.year is None else (None, paper.year + 1), None, self.barred(paper))
        about: Any = {"paper": paper.id, "title": paper.title, "year": paper.year, "query": query}
        target = TestedPaper(**about, truth=[*truth], core=core, within=int(mask.sum()))
        vector = whole_vector(self.database.ecosystem.embedder, texts[query])
        return RecallCase(target, texts[query], vector, scope, mask)

    def near(self, vector: "Vectors", mask: "Mask", most: int | None = None) -> list[str]:
        """The papers of a mask with the abstracts nearest to a vector, best first, by exact search."""
        import numpy as np

        scores = np.where(mask, self.vectors @ vector, -2.0)
        order: list[int] = np.argsort(-scores, kind="stable")[:most].tolist()
        return [self.papers[place].id for place in order if mask[place]]

    def mask_of(self, papers: Sequence[str], within: "Mask") -> "Mask":
        """(n,): the given papers that are within a mask."""
        import numpy as np

        mask = np.zeros(len(self.papers), dtype=bool)
        mask[[self.places[one] for one in papers]] = True
        return mask & within


Found = list[tuple[str, ...]]
"""Results, best first: one paper each, or a cluster with all of its members."""
NOT_DRAWN = frozenset[Method]({"chance"})
"""Methods whose expected hits are computed without a search."""


async def find(
    shelf: RecallShelf, case: RecallCase, method: Method, options: RetrievalConfig
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
            way, database = WAYS[method], shelf.database
            changed = options.model_copy(update={"how": way.how, "bm25": options.semantic, "papers": None})
            result = await database.retrieve(case.text, changed, scope=case.scope)
            papers = [one.paper.id for one in result.papers]
            if not way.clusters:
                return [(one,) for one in papers], result.notes
            how = options.weights, options.threshold
            return await asyncio.to_thread(database.clusters, papers, *how), result.notes
    return [(one,) for one in papers], ()


async def _scimon_like(shelf: RecallShelf, case: RecallCase, options: RetrievalConfig) -> list[str]:
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


async def _research_agent_like(shelf: RecallShelf, case: RecallCase, options: RetrievalConfig) -> list[str]:
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


async def _semantic(shelf: RecallShelf, case: RecallCase, options: RetrievalConfig) -> list[str]:
    [hits] = await shelf.database.semantic([case.text], options.semantic, case.scope)
    return [hit.paper.id for hit in hits]


def _joined(lists: Sequence[Sequence[str]], options: RetrievalConfig) -> list[str]:
    scores = fused(lists, options.fusion)
    return sorted(scores, key=lambda one: (-scores[one], one))


def _beside(shelf: RecallShelf, paper: str) -> list[str]:
    """The papers that a paper cites, and those that cite it."""
    cited = shelf.citations[paper].all if paper in shelf.citations else ()
    return [*cited, *sorted(shelf.cited_by.get(paper, ()))]


DRAWING, RETRIEVAL = "drawing", "retrieval"
STAGES = {DRAWING: "Papers under test", RETRIEVAL: "Retrieval"}


async def retrieval_recall(run: RecallRun) -> None:
    """Draw papers, retrieve by each method from their backgrounds, and count the references among the results.

    A reference counts as found if it is among the first papers, or in one of the first clusters; or, as in the paper, also if it
    is near one (SciPIP, §4.4).

    Raises:
        ConfigError: there is no corpus.
        MeasureError: no paper of the corpus can be tested.
        CorpusError, EmbeddingError: the corpus cannot be read, or its records cannot be written.
    """
    if not isinstance(run.literature, Ecosystem):
        raise ConfigError(f"{run.config.system}: it tests a corpus", hint="--set corpus=…")
    config, result, corpus = run.settings, run.result, run.literature
    run.begin(DRAWING, STAGES)
    database = await asyncio.to_thread(LiteratureDatabase.ready, corpus)
    shelf = await asyncio.to_thread(RecallShelf.of, database)
    cases, result.eligible = await asyncio.to_thread(shelf.cases, config, run.rng)
    size, recipes = await asyncio.to_thread(lambda: (database.graph.counts(), database.graph.recipes()))
    result.corpus, result.papers, result.citations = corpus.meta.name, size.papers, size.citations
    result.records, result.depths = {str(one): one.records for one in recipes}, [*config.depths]
    options = run.config.literature.retrieval
    result.targets = [case.target for case in cases]
    _warn(run)
    run.begin(RETRIEVAL, STAGES)
    # By method, for each paper: papers found at all, and among the results of each depth.
    counts: dict[Method, list[tuple[int, list[int]]]] = {method: [] for method in config.methods}
    notes: dict[str, str] = {}
    for case in cases:
        target = case.target
        within, truth = target.within, target.truth
        for method in config.methods:
            if method in NOT_DRAWN:
                target.hits[method] = [len(truth) * min(1.0, n / max(within, 1)) for n in config.depths]
                counts[method].append((within, [min(n, within) for n in config.depths]))
                continue
            found, told = await find(shelf, case, method, options)
            target.hits[method] = hits(found, truth, config.depths)
            near = await asyncio.to_thread(near_hits, shelf, found, truth, config.depths, options)
            target.near[method] = [*map(float, near)]
            sizes = [*map(len, found)]
            counts[method].append((sum(sizes), [sum(sizes[:depth]) for depth in config.depths]))
            for note in told:
                notes.setdefault(re.sub(r"[\d,]+", "", note), f"{target.paper}: {note}")
    for note in notes.values():
        run.warn(RETRIEVAL, f"such as of {note}")
    result.rows = [_row(run, method, counts[method]) for method in config.methods]
    chosen = next((row for row in result.rows if row.method == "scipip"), result.rows[-1])
    result.recall = chosen.recall


def hits(found: Found, truth: Sequence[str], depths: Sequence[int]) -> list[float]:
    """The number of references among the first papers or clusters, for each depth."""
    every = set(truth)
    return [float(len(every.intersection(one for some in found[:depth] for one in some))) for depth in depths]


def near_hits(
    shelf: RecallShelf, found: Found, truth: Sequence[str], depths: Sequence[int], options: RetrievalConfig
) -> list[int]:
    """The number of references that are in one of the first results, or as similar to the centre of one as papers of a cluster
    are to each other (SciPIP, §4.4), for each depth. A paper alone is its own centre."""
    import numpy as np

    first = found[: depths[-1]]
    papers = [one for some in first for one in some]
    rows = shelf.database.contents([*papers, *truth], options.weights)
    centres = np.zeros((len(first), rows.shape[1]), dtype=rows.dtype)
    np.add.at(centres, np.repeat(np.arange(len(first)), [*map(len, first)]), rows[: len(papers)])
    lengths = np.linalg.norm(centres, axis=1, keepdims=True)
    np.divide(centres, lengths, out=centres, where=lengths > 0)
    near = rows[len(papers) :] @ centres.T >= options.threshold
    near |= np.array([[one in some for some in first] for one in truth], dtype=bool)
    return [int(near[:, :depth].any(axis=1).sum()) for depth in depths]


def shares(targets: Sequence[TestedPaper], method: Method, depth: int, depths: Sequence[int]) -> list[float]:
    """The recall of a method at a depth, for each paper under test."""
    return [one.hits[method][depths.index(depth)] / len(one.truth) for one in targets]


def _row(run: RecallRun, method: Method, counts: Sequence[tuple[int, list[int]]]) -> MethodRecall:
    result, config, seed = run.result, run.settings, run.config.seed
    found = [papers for papers, _ in counts]
    row = MethodRecall(method=method, title=WAYS[method].title, found=fmean(found), empty=found.count(0))
    for place, depth in enumerate(config.depths):
        values = shares(result.targets, method, depth, config.depths)
        mean = mean_of(values, seed=seed, within=(0, 1))
        assert mean is not None  # there is at least one paper
        drawn = method not in NOT_DRAWN
        figure = as_figure(mean) if drawn else Figure(mean=mean.mean)
        recall = Recall(**figure.model_dump(), seen=fmean(seen[place] for _, seen in counts))
        if drawn:
            recall.near = fmean(one.near[method][place] / len(one.truth) for one in result.targets)
        if config.against in config.methods and method != config.against:
            others = shares(result.targets, config.against, depth, config.depths)
            if difference := mean_difference(values, others, seed=seed, within=(-1, 1)):
                recall.difference = as_figure(difference)
        row.recall[str(depth)] = recall
    last = row.recall[str(config.depths[-1])]
    outcome = f"finds {figure_words(last)} of the references among the first {config.depths[-1]}"
    run.emit(Judged(stage=RETRIEVAL, turn=1, subject=row.title, outcome=outcome))
    return row


def _warn(run: RecallRun) -> None:
    """Warnings that the figures do not show."""
    result, config, targets, deepest = run.result, run.settings, run.result.targets, run.settings.depths[-1]
    counted = {
        "for {} of {} papers the citations of introduction and method are unknown: all of their references count, although many "
        "say little about the idea": sum(not each.core for each in targets),
        f"{{}} of {{}} papers have no {config.query} as a query": sum(each.query != config.query for each in targets),
        f"for {{}} of {{}} papers the first {deepest} are half or more of all that could be found: there, recall says little "
        "about a method; compare it with chance": sum(2 * deepest >= each.within for each in targets),
    }  # fmt: skip
    if result.eligible < config.sample:
        can = f"{result.eligible} papers cite {config.least} or more others that could be found"
        run.warn(DRAWING, f"{can}: all of them are tested, not {config.sample}")
    for words, number in counted.items():
        if number:
            run.warn(DRAWING, words.format(number, len(targets)))


RETRIEVAL_RECALL = System(
    name="retrieval-recall",
    title="Recall of retrieval",
    about="Retrieves papers for the backgrounds of a corpus's papers, and counts how many of their references are found.",
    config=RecallConfig,
    inputs=RecallInputs,
    result=RecallResult,
    run=retrieval_recall,
    needs=lambda run: {},
    essence=essence,
    table=lambda result: result.rows,
    report=report,
    corpus=lambda run: True,
    prepare=need_corpus,
    aliases={"retrieval-recall.options": "literature.retrieval"},
    extras=("statistics",),
    numbers={f"recall.{depth}.mean": Number(f"recall at {depth}", (0, 1)) for depth in DEPTHS},
)
