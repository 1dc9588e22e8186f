"""Novelty of ideas: a judge searches for similar work, round by round, and scores each idea 0 to 10 (SciPIP, §4.3, Table 17)."""

from collections.abc import Iterator

from pydantic import Field

from manyheads.base.errors import BudgetError, LiteratureError, ModelError, ReplyError
from manyheads.base.papers import Hit, Paper
from manyheads.base.text import count
from manyheads.core import together
from manyheads.core.events import Retrieved
from manyheads.judges.replies import NoveltyRound
from manyheads.judges.shared import (
    JUDGE,
    FigureTable,
    Fold,
    IdeasInputs,
    JudgeConfig,
    NoveltyResult,
    SearchRound,
    SoughtIdea,
    bench_of,
    conclude,
    entries_of,
    figure_words,
    ideas_of,
    invalid,
    score_path,
    score_table,
    score_words,
    view,
)
from manyheads.literature.matching import words_of
from manyheads.report.page import View
from manyheads.report.record import Record
from manyheads.systems.ideas import Entry
from manyheads.systems.ranking.judging import Bench, need_one
from manyheads.team.run import Run
from manyheads.team.system import Judge, Number, System

STAGE = "search"
STAGES = {STAGE: "Search and scores"}
MOST = 10


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
    result, config = run.result, run.settings
    run.begin(STAGE, STAGES, turns=config.rounds)
    result.ideas = [SoughtIdea(**idea) for idea in ideas_of(run.material)]
    bench = bench_of(run, config.area)
    answers = await together(*(_look_into(bench, idea, config) for idea in result.ideas))
    need_one(answers, len(result.ideas), "no idea has a valid answer")
    scored = [(idea, idea.novelty, idea.not_assessed) for idea in result.ideas]
    result.not_assessed = conclude(run, STAGE, config.rounds, scored, MOST, "novelty", "is not assessed")
    result.assessed, result.inference_cost = len(scored) - result.not_assessed, bench.asked


async def _look_into(bench: Bench, idea: SoughtIdea, config: IdeaNoveltyConfig) -> ReplyError | None:
    """Fill in an idea. A failure is recorded there in words, and returned if a reply is missing."""
    run, query, papers = bench.run, "", list[Paper]()

    def check(reply: NoveltyRound) -> str | None:
        return None if words_of(reply.query) else invalid(run, "query")

    for number in range(1, config.rounds + 1):
        variables = {
            "idea": idea.shown_text,
            "round": number,
            "rounds": config.rounds,
            "query": query,
            "references": [Hit(paper, 0.0) for paper in papers],
        }
        kind, name = run.reply_type(JUDGE, "survey", NoveltyRound), f"Judge{idea.number}"
        try:
            reply = await bench.ask(STAGE, name, "survey", variables, check, kind, turn=number)
        except (ModelError, BudgetError) as error:
            idea.not_assessed = f"round {number} has no valid answer: {error.message}"
            if isinstance(error, ReplyError):
                return error
            raise
        held = SearchRound(number=number, query=query, novelty=reply.novelty, thought=reply.thought)
        held.papers = [paper.title for paper in papers]
        idea.rounds.append(held)
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
    idea.novelty = idea.rounds[-1].novelty
    return None


def essence(result: NoveltyResult) -> Iterator[tuple[str, str]]:
    """The mean score, the histogram and the ideas not assessed."""
    yield "Novelty", f"{figure_words(result.score)} of 10, {count(result.assessed or 0, 'idea')} assessed"
    yield "Scores", score_words(result.histogram)
    if result.not_assessed:
        yield "Not assessed", f"{count(result.not_assessed, 'idea')}, without a score"


def report(record: Record) -> View:
    result: NoveltyResult = record.result.result
    most = max((len(idea.rounds) for idea in result.ideas), default=0)
    rows = [
        [each.name, "not assessed" if each.novelty is None else str(each.novelty), *(str(one.novelty) for one in each.rounds),
         *["–"] * (most - len(each.rounds))]
        for each in result.ideas
    ]  # fmt: skip
    tables = [
        score_table(
            "How many ideas have each score: 0 means already published, 10 unlike anything published. Ideas that were not "
            "assessed are not counted.",
            result.histogram, "not assessed", result.not_assessed,
        ),
        FigureTable(title="Ideas", head=["Idea", "Novelty", *(f"Round {n}" for n in range(1, most + 1))], rows=rows),
    ]  # fmt: skip
    steps = [
        Fold(
            title=each.name,
            note=each.not_assessed
            or ("not assessed" if each.novelty is None else f"novelty {each.novelty} of 10"),
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
    corpus=lambda config: "local" in config.literature.cascade,
    searches=lambda config, roles: True,
    read=lambda config: entries_of(config.inputs.ideas),
    judge=Judge("ideas", "idea-novelty.score", score_path),
    numbers={
        "idea-novelty.score": Number("novelty of ideas", (0, 10)),
        "idea-novelty.not_assessed": Number("ideas without a score"),
    },
)
