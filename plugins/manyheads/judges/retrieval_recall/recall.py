"""The steps of a test: draw papers, retrieve by each method, and count the references among the results."""

import asyncio
import re
from collections.abc import Sequence
from statistics import fmean

from manyheads.base.errors import ConfigError
from manyheads.core.events import Judged
from manyheads.core.results import Figure
from manyheads.corpus.digest import open_database
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.retrieval import RetrievalConfig
from manyheads.judges.retrieval_recall.config import WAYS, Method
from manyheads.judges.retrieval_recall.methods import NOT_DRAWN, Found, find
from manyheads.judges.retrieval_recall.result import Recall, RecallRun, Row, Target
from manyheads.judges.retrieval_recall.shelf import Case, Shelf
from manyheads.measures.statistics import Mean, mean_difference, mean_of

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
    database = await asyncio.to_thread(open_database, corpus)
    shelf = await asyncio.to_thread(Shelf.of, database)
    cases, result.eligible = await asyncio.to_thread(shelf.cases, config, run.rng)
    about = await asyncio.to_thread(database.about)
    result.corpus, result.papers, result.citations = corpus.meta.name, about.papers, about.citations
    result.records, result.depths, result.count = dict(about.recipes), [*config.depths], config.count
    options = run.config.literature.retrieval
    result.targets = [_target(case) for case in cases]
    _warn(run, cases)
    run.begin(RETRIEVAL, STAGES)
    counts: dict[Method, list[tuple[int, list[int]]]] = {method: [] for method in config.methods}
    notes: dict[str, str] = {}
    for case, target in zip(cases, result.targets, strict=True):
        for method in config.methods:
            if method in NOT_DRAWN:
                target.hits[method] = [
                    len(case.truth) * min(1.0, depth / max(target.within, 1)) for depth in config.depths
                ]
                counts[method].append((target.within, [min(d, target.within) for d in config.depths]))
                continue
            found, told = await find(shelf, case, method, options)
            target.hits[method] = hits(found, case.truth, config.depths)
            near = await asyncio.to_thread(near_hits, shelf, found, case.truth, config.depths, options)
            target.otherwise[method] = [*map(float, near)]
            if config.count == "near":
                target.hits[method], target.otherwise[method] = target.otherwise[method], target.hits[method]
            counts[method].append(
                (sum(map(len, found)), [sum(map(len, found[:depth])) for depth in config.depths])
            )
            for note in told:
                notes.setdefault(re.sub(r"[\d,]+", "", note), f"{case.paper.id}: {note}")
    for note in notes.values():
        run.warn(RETRIEVAL, f"such as of {note}")
    for method in config.methods:
        result.rows.append(_row(run, method, counts[method]))
    result.recall = next(
        (row.recall for row in result.rows if row.method == "scipip"), result.rows[-1].recall
    )


def hits(found: Found, truth: Sequence[str], depths: Sequence[int]) -> list[float]:
    """The number of references among the first papers or clusters, for each depth."""
    every = set(truth)
    return [float(len(every.intersection(one for some in found[:depth] for one in some))) for depth in depths]


def near_hits(
    shelf: Shelf, found: Found, truth: Sequence[str], depths: Sequence[int], options: RetrievalConfig
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


def shares(targets: Sequence[Target], method: Method, depth: int, depths: Sequence[int]) -> list[float]:
    """The recall of a method at a depth, for each paper under test."""
    return [one.hits[method][depths.index(depth)] / len(one.truth) for one in targets]


def _row(run: RecallRun, method: Method, counts: Sequence[tuple[int, list[int]]]) -> Row:
    result, config, seed = run.result, run.settings, run.config.seed
    row = Row(
        method=method,
        title=WAYS[method].title,
        found=fmean(found for found, _ in counts),
        empty=sum(not found for found, _ in counts),
    )
    for place, depth in enumerate(config.depths):
        values = shares(result.targets, method, depth, config.depths)
        mean = mean_of(values, seed=seed, within=(0, 1))
        assert mean is not None  # there is at least one paper
        figure = Figure(mean=mean.mean) if method in NOT_DRAWN else _figure(mean)
        recall = Recall(**figure.model_dump(), seen=fmean(seen[place] for _, seen in counts))
        if method not in NOT_DRAWN:
            recall.otherwise = fmean(one.otherwise[method][place] / len(one.truth) for one in result.targets)
        if config.against in config.methods and method != config.against:
            others = shares(result.targets, config.against, depth, config.depths)
            if difference := mean_difference(values, others, seed=seed, within=(-1, 1)):
                recall.difference = _figure(difference)
        row.recall[str(depth)] = recall
    last = row.recall[str(config.depths[-1])]
    ends = "" if last.low is None else f" ({last.low:.2f} to {last.high:.2f})"
    outcome = f"finds {last.mean:.2f}{ends} of the references among the first {config.depths[-1]}"
    run.emit(Judged(stage=RETRIEVAL, turn=1, subject=row.title, outcome=outcome))
    return row


def _figure(mean: Mean) -> Figure:
    return Figure(mean=mean.mean, low=mean.low, high=mean.high, interval=mean.method)


def _target(case: Case) -> Target:
    paper = case.paper
    return Target(
        paper=paper.id,
        title=paper.title,
        year=paper.year,
        query=case.query,
        truth=[*case.truth],
        core=case.core,
        within=int(case.open.sum()),
    )


def _warn(run: RecallRun, cases: Sequence[Case]) -> None:
    """Warnings that the figures do not show."""
    result, config = run.result, run.settings
    if result.eligible < config.sample:
        run.warn(
            DRAWING,
            f"{result.eligible} papers cite {config.least} or more others that could be found: all of them are tested, not {config.sample}",
        )
    if bare := sum(not case.core for case in cases):
        run.warn(
            DRAWING,
            f"for {bare} of {len(cases)} papers the citations of introduction and method are unknown: all of their references "
            "count, although many say little about the idea",
        )
    if abstracts := sum(case.query != config.query for case in cases):
        run.warn(DRAWING, f"{abstracts} of {len(cases)} papers have no {config.query} as a query")
    deepest = config.depths[-1]
    if small := sum(2 * deepest >= target.within for target in result.targets):
        run.warn(
            DRAWING,
            f"for {small} of {len(cases)} papers the first {deepest} are half or more of all that could be found: there, recall "
            "says little about a method; compare it with chance",
        )
