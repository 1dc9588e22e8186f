"""Novelty of ideas: a judge searches for similar work, round by round, and scores each idea 0 to 10 (SciPIP, §4.3, Table 17)."""

from collections.abc import Iterator

from pydantic import Field

from manyheads.base.errors import BudgetError, LiteratureError, ModelError, ReplyError
from manyheads.base.papers import Hit, Paper
from manyheads.config import RunConfig
from manyheads.core import together
from manyheads.core.events import Judged, Retrieved
from manyheads.judges.replies import NoveltyRound
from manyheads.judges.shared import (
    JUDGE,
    IdeasInputs,
    JudgeConfig,
    NoveltyResult,
    Round,
    SoughtIdea,
    Step,
    Table,
    bench_of,
    entries_of,
    figure,
    figure_words,
    histogram,
    ideas_of,
    invalid,
    need_one,
    score_path,
    score_table,
    score_words,
    view,
)
from manyheads.literature.queries import words_of
from manyheads.report.page import View
from manyheads.report.record import Record, count
from manyheads.systems.ideas import Entry
from manyheads.systems.ranking.judging import Bench
from manyheads.team.run import Run
from manyheads.team.system import Judge, Number, System

STAGE = "search"
STAGES = {STAGE: "Search and scores"}
SCALE = (0, 10)


class IdeaNoveltyConfig(JudgeConfig):
    """Settings of the novelty search (SciPIP, §4.3)."""

    rounds: int = Field(default=4, ge=2, le=20)
    """Number of rounds. In each the judge scores the idea by the results of its last query and names the next query. The first
    round has no results, and the last asks for no query. The paper gives no number."""
    results: int = Field(default=10, ge=1, le=50)
    """Papers per query that the judge sees, with their abstracts."""


NoveltyRun = Run[NoveltyResult, IdeaNoveltyConfig, tuple[Entry, ...]]


async def novelty(run: NoveltyRun) -> None:
    """Search for work similar to each idea, and score its novelty by the results.

    An idea has a score only if every source answered every query: a silent source may know the same idea.

    Raises:
        ModelError, BudgetError: the model failed, the budget is spent, or no idea has a valid answer. Answers so far are kept.
    """
    result, config, seed = run.result, run.settings, run.config.seed
    run.begin(STAGE, STAGES, turns=config.rounds)
    result.ideas = [SoughtIdea(**idea) for idea in ideas_of(run.material)]
    bench = bench_of(run, config.area)
    answers = await together(*(_look_into(bench, idea, config) for idea in result.ideas))
    for error in answers:
        if error is not None and not isinstance(error, ReplyError):
            raise error
    failures = [error for error in answers if isinstance(error, ReplyError)]
    need_one(failures, len(result.ideas), "no idea has a valid answer")
    scores = [idea.novelty for idea in result.ideas if idea.novelty is not None]
    result.histogram = histogram(scores, *SCALE)
    result.score = figure(scores, seed, SCALE)
    result.assessed, result.not_assessed = len(scores), len(result.ideas) - len(scores)
    result.inference_cost = bench.asked
    for idea in result.ideas:
        if idea.not_assessed:
            run.warn(STAGE, f"“{idea.name}” is not assessed: {idea.not_assessed}")
        outcome = "is not assessed" if idea.novelty is None else f"novelty {idea.novelty} of 10"
        run.emit(Judged(stage=STAGE, turn=config.rounds, subject=idea.name, outcome=outcome))


async def _look_into(
    bench: Bench, idea: SoughtIdea, config: IdeaNoveltyConfig
) -> ModelError | BudgetError | None:
    """Fill in an idea. A failure is recorded there in words, and returned if it is the model's."""
    run, query, papers = bench.run, "", list[Paper]()
    rounds = list[Round]()

    def check(reply: NoveltyRound) -> str | None:
        return None if words_of(reply.query) else invalid(run, "query")

    for number in range(1, config.rounds + 1):
        variables = {
            "idea": idea.whole,
            "round": number,
            "rounds": config.rounds,
            "query": query,
            "references": [Hit(paper, 0.0) for paper in papers],
        }
        kind = run.reply_type(JUDGE, "survey", NoveltyRound)
        reply = await bench.ask(STAGE, f"Judge{idea.number}", "survey", variables, check, kind, turn=number)
        if isinstance(reply, Exception):
            idea.not_assessed = f"round {number} has no valid answer: {reply.message}"
            return reply
        titles = [paper.title for paper in papers]
        rounds.append(
            Round(number=number, query=query, papers=titles, novelty=reply.novelty, thought=reply.thought)
        )
        idea.rounds = rounds
        if number == config.rounds:
            break
        query = reply.query
        try:
            found = await run.library.search(query, config.results) if run.library else None
        except LiteratureError as error:
            idea.not_assessed = f"“{query}” could not be looked up: {error.message}"
            return None
        if found is None or found.degraded:
            silent = ", ".join(found.degraded) if found else "the library"
            idea.not_assessed = f"“{query}” was not answered by {silent}, which may know the same idea"
            return None
        papers = [*found.papers[: config.results]]
        rows = ({"id": each.id, "title": each.title, "year": each.year} for each in papers)
        run.emit(Retrieved(stage=STAGE, turn=number, query=query, hits=tuple(rows)))
    idea.novelty = rounds[-1].novelty
    return None


def essence(result: NoveltyResult) -> Iterator[tuple[str, str]]:
    """The mean score, the histogram and the ideas not assessed."""
    yield "Novelty", f"{figure_words(result.score)} of 10, {count(result.assessed or 0, 'idea')} assessed"
    yield "Scores", score_words(result.histogram)
    if result.not_assessed:
        yield "Not assessed", f"{count(result.not_assessed, 'idea')}, without a score"


def report(record: Record) -> View:
    """The report of a run."""
    result: NoveltyResult = record.result.result
    tables = [
        score_table(
            "How many ideas have each score: 0 means already published, 10 unlike anything published. Ideas that were not "
            "assessed are not counted.",
            result.histogram, "not assessed", result.not_assessed,
        ),
        Table(
            title="Ideas",
            head=["Idea", "Novelty", *(f"Round {n}" for n in range(1, 1 + max((len(i.rounds) for i in result.ideas), default=0)))],
            rows=[
                [
                    each.name,
                    "not assessed" if each.novelty is None else str(each.novelty),
                    *(str(one.novelty) for one in each.rounds),
                ]
                for each in result.ideas
            ],
        ),
    ]  # fmt: skip
    most = max((len(row) for row in tables[1].rows), default=0)
    tables[1].rows = [[*row, *["–"] * (most - len(row))] for row in tables[1].rows]
    steps = [
        Step(
            title=each.name,
            note=each.not_assessed or f"novelty {each.novelty} of 10",
            failed=each.novelty is None,
            texts=[
                (
                    f"Round {one.number}: {one.novelty} of 10"
                    + (f", after “{one.query}” found {count(len(one.papers), 'paper')}" if one.query else ""),
                    "\n".join([one.thought, *(f"– {title}" for title in one.papers)]),
                )
                for one in each.rounds
            ],
        )
        for each in result.ideas
    ]
    return view(record, "Novelty of ideas", essence(result), tables if result.histogram else [], steps)


def uses_corpus(config: RunConfig) -> bool:
    """Whether the corpus is among the sources."""
    return "local" in config.literature.cascade


IDEA_NOVELTY = System(
    name="idea-novelty",
    title="Novelty of ideas",
    about="A judge who searches for work similar to an idea, round by round, and scores its novelty from 0 to 10.",
    config=IdeaNoveltyConfig,
    inputs=IdeasInputs,
    result=NoveltyResult,
    run=novelty,
    needs=lambda config: {(JUDGE, "survey"): NoveltyRound},
    essence=essence,
    table=lambda result: result.ideas,
    report=report,
    corpus=uses_corpus,
    searches=lambda config, roles: True,
    read=lambda config: entries_of(config.inputs.ideas),
    judge=Judge("ideas", "idea-novelty.score", score_path),
    numbers={
        "idea-novelty.score": Number("novelty of ideas", (0, 10)),
        "idea-novelty.not_assessed": Number("ideas without a score"),
    },
)
