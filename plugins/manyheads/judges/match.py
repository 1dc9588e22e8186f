"""Similarity of ideas to published ones: of the nearest a judge picks the closest and scores it 0 to 5 (SciPIP, §4.2)."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Literal

from pydantic import Field

from manyheads.asking.replies import numbered
from manyheads.base.errors import BudgetError, ConfigError, ModelError, ReplyError
from manyheads.base.papers import Hit
from manyheads.base.text import count
from manyheads.config import RunConfig
from manyheads.core import together
from manyheads.corpus.database import BACKGROUND, IDEAS
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.retrieval import LiteratureDatabase, Scope
from manyheads.judges.comparison import compare, first
from manyheads.judges.replies import Closest, Comparison, IdeaLikeness
from manyheads.judges.shared import (
    JUDGE,
    FigureTable,
    Fold,
    IdeasInputs,
    JudgeConfig,
    MatchedIdea,
    MatchResult,
    PublishedIdea,
    ScoreStanding,
    bench_of,
    conclude,
    entries_of,
    figure,
    figure_words,
    ideas_of,
    score_path,
    score_table,
    score_words,
    view,
)
from manyheads.report.page import View
from manyheads.report.record import Record
from manyheads.systems.ideas import Entry
from manyheads.systems.ranking.judging import Bench, need_one
from manyheads.team.run import Run
from manyheads.team.system import Judge, Number, System

MATCH, COMPARISON = "match", "comparison"
STAGES = {MATCH: "Match with published ideas", COMPARISON: "Comparison by score"}


class IdeaMatchConfig(JudgeConfig):
    """Settings of the match (SciPIP, §4.2)."""

    nearest: int = Field(default=10, ge=1, le=50)
    """Number of published ideas, nearest by embedding, from which the judge picks the closest."""
    period: Literal["past", "contemporary", "any"] = "any"
    """The papers of the corpus to search."""
    rounds: int = Field(default=0, ge=0)
    """Number of comparisons of one idea of each similarity score; 0 for none. They show how often each score ranks first by
    novelty and by feasibility (Table 2)."""


MatchRun = Run[MatchResult, IdeaMatchConfig, tuple[Entry, ...]]


async def match(run: MatchRun) -> None:
    """Match each idea with the published ideas of a corpus.

    The judge sees only the texts of the published ideas, in an order drawn with the run's seed for each idea.

    Raises:
        ConfigError: there is no corpus.
        CorpusError, EmbeddingError: it cannot be read.
        ModelError, BudgetError: the model failed, the budget is spent, or no idea has a valid answer. Answers so far are kept.
    """
    if not isinstance(run.literature, Ecosystem):
        raise ConfigError(f"{run.config.system}: published ideas come from a corpus", hint="--set corpus=…")
    result, config = run.result, run.settings
    stages = STAGES if config.rounds else {MATCH: STAGES[MATCH]}
    run.begin(MATCH, stages)
    result.ideas = [MatchedIdea(**idea) for idea in ideas_of(run.material)]
    database = await asyncio.to_thread(LiteratureDatabase.ready, run.literature)
    shown = await _nearest(run, database)
    bench = bench_of(run, config.area)
    answers = await together(
        *(_match(bench, idea, some) for idea, some in zip(result.ideas, shown, strict=True))
    )
    need_one(answers, len(result.ideas), "no idea has a valid answer")
    scored = [(idea, idea.score, idea.failed) for idea in result.ideas]
    result.failed = conclude(run, MATCH, 1, scored, 5, "similarity", "has no score")
    if config.rounds:
        run.begin(COMPARISON, stages)
        await _compare_scores(run, bench)
    result.inference_cost = bench.asked


async def _nearest(run: MatchRun, database: LiteratureDatabase) -> list[list[tuple[Hit, str]]]:
    """The published ideas nearest to each idea, with their texts, shuffled."""
    own = await asyncio.to_thread(database.has_own_vectors)
    if not own:
        why = "the corpus has no vectors of the papers' main ideas: the nearest are found by their abstracts"
        run.warn(MATCH, why)
    scope = Scope(period=None if run.settings.period == "any" else run.settings.period)
    queries = [idea.shown_text for idea in run.result.ideas]
    found = await database.semantic(queries, run.settings.nearest, scope, IDEAS if own else BACKGROUND)
    records = await asyncio.to_thread(database.records, {hit.paper.id for some in found for hit in some})

    def text(hit: Hit) -> str:
        paper, record = hit.paper, records.get(hit.paper.id)
        if record and (ideas := record.detailed_ideas or record.main_ideas):
            return "\n".join(ideas)
        return (record and record.summary) or paper.abstract or paper.title

    shuffled = [run.rng.sample(some, len(some)) for some in found]
    for idea, some in zip(run.result.ideas, shuffled, strict=True):
        idea.references = [
            PublishedIdea(
                paper=hit.paper.id, title=hit.paper.title, year=hit.paper.year, similarity=round(hit.score, 4)
            )
            for hit in some
        ]
    return [[(hit, text(hit)) for hit in some] for some in shuffled]


async def _match(bench: Bench, idea: MatchedIdea, shown: Sequence[tuple[Hit, str]]) -> ReplyError | None:
    """Fill in an idea's closest published idea, then the score; returns why it has none."""
    run, name, texts = bench.run, f"Judge{idea.number}", [text for _, text in shown]
    if not texts:
        idea.failed = "the corpus has no paper to compare it with"
        return None
    missing = "no closest idea was picked"
    try:
        kind = numbered(run.reply_type(JUDGE, "closest", Closest), "choice", len(texts))
        variables = {"idea": idea.shown_text, "published": texts}
        picked = await bench.ask(MATCH, name, "closest", variables, None, kind)
        idea.closest, idea.reasons = picked.choice, [picked.reason]
        missing = "the similarity was not scored"
        variables = {"idea": idea.shown_text, "match": texts[picked.choice - 1]}
        like = run.reply_type(JUDGE, "likeness", IdeaLikeness)
        scored = await bench.ask(MATCH, name, "likeness", variables, None, like)
    except (ModelError, BudgetError) as error:
        idea.failed = f"{missing}: {error.message}"
        if isinstance(error, ReplyError):
            return error
        raise
    idea.score = scored.similarity
    idea.reasons.append(scored.reason)
    return None


async def _compare_scores(run: MatchRun, bench: Bench) -> None:
    """Table 2: each round compares one idea of each score, drawn with the seed; counts the first ranks by score."""
    result = run.result
    groups: dict[int, list[MatchedIdea]] = {}
    for idea in result.ideas:
        if idea.score is not None:
            groups.setdefault(idea.score, []).append(idea)
    if len(groups) < 2:
        run.warn(COMPARISON, "all ideas have the same score: no comparison by score")
        return
    rng = random.Random(run.rng.random())
    bouts = [
        tuple(rng.choice(groups[score]).number for score in sorted(groups))
        for _ in range(run.settings.rounds)
    ]
    result.bouts, failures = await compare(bench, COMPARISON, result.ideas, bouts, None)
    result.failed_orders = len(failures)
    if failures:
        run.warn(
            COMPARISON, f"{len(failures)} orders have no comparison and are left out: {failures[0].message}"
        )
    scores = {idea.number: idea.score for idea in result.ideas}
    for score in sorted(groups, reverse=True):
        bouts_of = [
            (next(number for number in bout.ideas if scores[number] == score), bout.ranked)
            for bout in result.bouts
            if bout.ranked
        ]
        parts = {
            name: figure((fmean(first(order, name, own) for order in orders) for own, orders in bouts_of), run.config.seed, (0, 1))
            for name in ("novelty", "feasibility")
        }  # fmt: skip
        result.standings.append(ScoreStanding.model_validate({"score": score, **parts}))


def essence(result: MatchResult) -> Iterator[tuple[str, str]]:
    """The mean score, the histogram and the ideas without a score."""
    scored = len(result.ideas) - (result.failed or 0)
    yield "Similarity", f"{figure_words(result.score)} of 5, {count(scored, 'idea')} matched"
    yield "Scores", score_words(result.histogram)
    if result.failed:
        yield "No score", count(result.failed, "idea")


def report(record: Record) -> View:
    result: MatchResult = record.result.result

    def closest(idea: MatchedIdea) -> tuple[str, str]:
        found = idea.references[idea.closest - 1] if idea.closest else None
        return (found.title, f"{found.similarity:.2f}") if found else ("–", "–")

    tables = [
        score_table(
            "How many ideas have each score, 0 for unrelated to the closest published idea, 5 for nearly the same. Ideas without "
            "a valid answer are not counted. A low score only means that no published idea of this corpus is similar.",
            result.histogram,
            "none",
            result.failed,
        ),
        FigureTable(
            title="Ideas",
            head=["Idea", "Closest published idea", "Cosine", "Score"],
            wordy=True,
            rows=[
                [each.name, *closest(each), "none" if each.score is None else str(each.score)]
                for each in result.ideas
            ],
        ),
    ]
    if result.standings:
        tables.append(
            FigureTable(
                title="First ranks by score",
                lead="How often an idea with this score ranks first among ideas with each score, with the 95% interval over the rounds.",
                head=["Score", "Novelty", "Feasibility"],
                rows=[
                    [str(one.score), figure_words(one.novelty), figure_words(one.feasibility)]
                    for one in result.standings
                ],
            )
        )
    steps = [
        Fold(
            title=each.name,
            note=each.failed or ("not judged" if each.score is None else f"similarity {each.score} of 5"),
            failed=each.score is None,
            texts=[
                *zip(("Why this one", "How alike"), each.reasons, strict=False),
                (
                    "In the order shown",
                    "\n".join(f"{n}. {one.title}" for n, one in enumerate(each.references, 1)),
                ),
            ],
        )
        for each in result.ideas
    ]
    return view(
        record, "Ideas and published ones", essence(result), tables if result.histogram else [], steps
    )


def needs(config: RunConfig) -> dict[tuple[str, str], type[Closest | IdeaLikeness | Comparison]]:
    settings: IdeaMatchConfig = config.settings
    compared = {(JUDGE, "compare"): Comparison} if settings.rounds else {}
    return {(JUDGE, "closest"): Closest, (JUDGE, "likeness"): IdeaLikeness, **compared}


IDEA_MATCH = System(
    name="idea-match",
    title="Match of ideas",
    about="A judge who finds the published idea that is closest to an idea, and scores how similar they are from 0 to 5.",
    config=IdeaMatchConfig,
    inputs=IdeasInputs,
    result=MatchResult,
    run=match,
    needs=needs,
    essence=essence,
    table=lambda result: result.ideas,
    report=report,
    corpus=lambda config: True,
    read=lambda config: entries_of(config.inputs.ideas),
    judge=Judge("ideas", "idea-match.score", score_path),
    numbers={
        "idea-match.score": Number("similarity to published ideas", (0, 5)),
        "idea-match.failed": Number("ideas without a score"),
    },
)
