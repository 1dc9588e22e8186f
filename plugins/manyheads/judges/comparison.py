"""Ideas compared two by two or five at a time, by clarity, novelty, feasibility and generalizability (SciPIP, App. A.1, Tables 18, 19);
reviews of one paper, by technical quality, constructiveness and clarity (MAMORX, §5).
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, cycle
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from pydantic import Field, model_validator

from manyheads.asking.replies import Text, label
from manyheads.base.errors import ConfigError, ReplyError
from manyheads.base.text import count
from manyheads.config import Inputs, RunConfig, Slot
from manyheads.core import together
from manyheads.core.events import Judged
from manyheads.core.texts import Given, PathInFull, path_of, subject_of
from manyheads.judges.blinding import Blinding, nameless
from manyheads.judges.blinding import names_of as telling
from manyheads.judges.replies import CRITERIA, REVIEW_CRITERIA, Comparison, ReviewComparison, comparison_of
from manyheads.judges.shared import (
    JUDGE,
    KINDS,
    Bout,
    ComparisonResult,
    ContenderStanding,
    Contestant,
    FigureTable,
    Fold,
    IdeasInputs,
    JudgeConfig,
    JudgedIdea,
    Order,
    bench_of,
    entries_of,
    figure,
    figure_words,
    ideas_of,
    invalid,
    view,
)
from manyheads.measures.ranking import orders_of
from manyheads.measures.statistics import group_means
from manyheads.report.page import View
from manyheads.report.record import Record
from manyheads.systems.ideas import Entry, Several
from manyheads.systems.loading import reopen
from manyheads.systems.mamorx.paper import read_paper
from manyheads.systems.ranking.judging import Bench, need_one
from manyheads.systems.results import load, prose
from manyheads.team.run import Run
from manyheads.team.system import Judge, Number, System

STAGE = "comparison"
STAGES = {STAGE: "Comparison"}
RIVALS = "the rivals"


@dataclass(frozen=True)
class Compared:
    """A kind of texts to compare.

    Attributes:
        noun: what one is called; its number has this name in a place.
        task: of the judge.
    """

    noun: str
    task: str
    reply: type[Comparison] | type[ReviewComparison]
    criteria: Sequence[str]

    @property
    def system(self) -> str:
        """The name of its judge."""
        return f"{self.noun}-comparison"


IDEAS = Compared("idea", "compare", Comparison, CRITERIA)
REVIEWS = Compared("review", "compare_reviews", ReviewComparison, REVIEW_CRITERIA)


class ComparisonConfig(JudgeConfig):
    """How ideas are compared (SciPIP, App. A.1)."""

    ways: int = Field(default=2, ge=2, le=8)
    """Texts per comparison: 2 or 5 in the paper."""
    orders: int | None = Field(default=None, ge=1)
    """Number of orders in which the judge sees the same texts. Default: `ways`, so that each text is in each place once."""
    bouts: int | None = Field(default=None, ge=1)
    """Number of comparisons, drawn with the run's seed. Default: all pairs of different contenders if `ways` is 2, else one per
    text."""


class ReviewComparisonConfig(ComparisonConfig):
    """How reviews of one paper are compared (MAMORX, §5)."""

    reader: Text = "auto"
    """The reader of the paper's file; see `mamorx.reader`."""
    blinding: Blinding = Blinding(
        names=("the committee", "our committee", "the area chair", "novelty assessor"),
        cut=("Not verified", "Quotes that were not found"),
        marks=(re.compile(r"N\d+"),),
    )
    """What would tell a review's maker: replaced, or cut."""


RIVAL = Slot(None, file=True, metavar="RUN|FILE|TEXT", hint=f"--set 'inputs.rivals=[…]', each {KINDS}")


class ComparisonInputs(IdeasInputs):
    """Ideas, and optional rivals. Without rivals, the ideas of each run are compared with those of the other runs."""

    in_full = frozenset({"ideas", "rivals"})

    rivals: Annotated[tuple[Given, ...], RIVAL] = ()
    """Folders of runs, text files, or texts."""

    @model_validator(mode="after")
    def _no_idea_against_itself(self) -> "ComparisonInputs":
        if set(self.ideas) & set(self.rivals):
            raise ValueError("rivals: one of them is also among the ideas")
        return self


REVIEW = Slot(
    "each", file=True, metavar="RUN|FILE|TEXT", required=True, hint=f"name them: --set 'inputs.reviews=[…]', each {KINDS}"
)  # fmt: skip
PAPER = Slot(None, file=True, metavar="FILE|RUN", hint="--set inputs.paper=FILE")


class ReviewComparisonInputs(Inputs):
    """Reviews of one paper, and optional rivals. Without rivals, the reviews are compared with each other."""

    in_full = frozenset({"reviews", "rivals"})

    reviews: Annotated[Several, REVIEW] = ()
    """Folders of runs, text files, or texts."""
    rivals: Annotated[Several, RIVAL] = ()
    """Folders of runs, text files, or texts."""
    paper: Annotated[PathInFull, PAPER] = None
    """The paper, for the judge to read."""


class Contestants(NamedTuple):
    """What is compared, and what else the judge is shown."""

    texts: Sequence[Contestant]
    shown: Mapping[str, Any]


ComparisonRun = Run[ComparisonResult, ComparisonConfig, Contestants]


def read(config: RunConfig) -> Contestants:
    """The ideas, then the rivals. Raises `SubjectError` if one cannot be read."""
    inputs: ComparisonInputs = config.inputs
    return Contestants(_contestants(IDEAS, entries_of(inputs.ideas), entries_of(inputs.rivals)), {})


def read_reviews(config: RunConfig) -> Contestants:
    """The reviews without hints at their makers, then the rivals, and the paper. Raises `UserError` if one cannot be read."""
    inputs, blinding = config.inputs, config.settings.blinding

    def entry(named: str) -> Entry:
        path, names, record = path_of(named, KINDS), [*blinding.names], ""
        if path and path.is_dir():
            names += telling(reopen(path), ())
            run = load(path, unfinished=False)
            source, text, record = named, "\n\n".join(prose(run)), run.model_dump_json()
        else:
            subject = subject_of(named, "the review", KINDS)
            source, text = subject.source, subject.text
        return Entry(source, "", nameless(text, names, blinding, record)[0])

    ours, rivals = ([entry(each) for each in some] for some in (inputs.reviews, inputs.rivals))
    paper = read_paper(config)
    shown = {"title": paper and paper.title, "chapters": paper.all_chapters if paper else []}
    return Contestants(_contestants(REVIEWS, ours, rivals), shown)


def _contestants(of: Compared, ours: Sequence[Entry], rivals: Sequence[Entry]) -> list[Contestant]:
    names = [
        f"the {of.noun}s" if rivals else each.source or f"text {number}"
        for number, each in enumerate(ours, 1)
    ]
    named = zip(ideas_of((*ours, *rivals)), [*names, *[RIVALS] * len(rivals)], strict=True)
    return [Contestant(**idea, contender=name) for idea, name in named]


def drawn(
    ideas: Sequence[Contestant], config: ComparisonConfig, rng: random.Random, of: Compared = IDEAS
) -> list[tuple[int, ...]]:
    """The ideas' numbers of each comparison; ideas of a contender take part about equally often.

    Raises:
        ConfigError: fewer ideas than `ways`, or all of one contender.
    """
    contenders = list(dict.fromkeys(each.contender for each in ideas))
    if len(ideas) < config.ways or len(contenders) < 2:
        raise ConfigError(
            f"{of.system}: {count(len(ideas), of.noun)} of {count(len(contenders), 'contender')}: nothing to compare "
            f"{config.ways} at a time",
            hint=f"name {of.noun}s of several runs, or --set 'inputs.rivals=[…]'",
        )
    if config.ways == 2:
        pairs = [
            (one.number, other.number)
            for one, other in combinations(ideas, 2)
            if one.contender != other.contender
        ]
        most = config.bouts or len(pairs)
        return sorted(rng.sample(pairs, most)) if most < len(pairs) else pairs
    used, found = Counter[int](), list[tuple[int, ...]]()
    for _ in range(config.bouts or len(ideas)):
        bout = list[int]()
        for contender in cycle(rng.sample(contenders, len(contenders))):
            if len(bout) == config.ways:
                break
            if left := [one.number for one in ideas if one.contender == contender and one.number not in bout]:
                bout.append(min(left, key=lambda number: (used[number], rng.random())))
        used.update(bout)
        found.append(tuple(sorted(bout)))
    return found


async def compare(
    bench: Bench,
    stage: str,
    ideas: Sequence[JudgedIdea],
    bouts: Sequence[tuple[int, ...]],
    orders: int | None,
    of: Compared = IDEAS,
    beside: Mapping[str, Any] | None = None,
) -> tuple[list[Bout], list[ReplyError]]:
    """Each comparison in its orders, drawn as in `ranking`; failed orders are kept.

    Args:
        beside: what the judge sees beside the texts.

    Raises:
        ModelError, BudgetError: the model failed, the budget is spent, or no order has a valid comparison.
    """
    run, texts = bench.run, {each.number: each.shown_text for each in ideas}
    places = [orders_of(len(bout), orders or len(bout), run.rng) for bout in bouts]
    shown = [
        [bout[place] for place in order] for bout, some in zip(bouts, places, strict=True) for order in some
    ]
    failures: list[ReplyError] = []

    async def one(number: int, numbers: list[int]) -> Order:
        size = len(numbers)

        def check(reply: Any) -> str | None:
            named = sorted(getattr(each, of.noun) for each in reply.places)
            right = named == [*range(1, size + 1)]
            return None if right else invalid(run, "places", numbers=named, count=size, noun=of.noun)

        kind: type[Any] = comparison_of(run.reply_type(JUDGE, of.task, of.reply), size)
        variables = {"proposals": [texts[each] for each in numbers], **(beside or {})}
        try:
            reply = await bench.ask(stage, f"Judge{number}", of.task, variables, check, kind)
        except ReplyError as error:
            failures.append(error)
            return Order(shown=numbers, failed=error.message)
        ranks = {
            name: _mid(
                {str(numbers[getattr(each, of.noun) - 1]): getattr(each, name) for each in reply.places}
            )
            for name in of.criteria
        }
        return Order(shown=numbers, ranks=ranks, thought=reply.thought)

    made = await together(*(one(n, numbers) for n, numbers in enumerate(shown, 1)))
    need_one(failures, len(made), f"none of the {len(made)} orders has a valid comparison")
    left = iter(made)
    return [
        Bout(ideas=list(bout), orders=[next(left) for _ in some])
        for bout, some in zip(bouts, places, strict=True)
    ], failures


def _mid(ranks: dict[str, int]) -> dict[str, float]:
    """Ranks from 1 on without gaps; tied ideas get the mean of their ranks."""
    values = sorted(ranks.values())
    return {idea: values.index(rank) + (values.count(rank) + 1) / 2 for idea, rank in ranks.items()}


def won(order: Order, criterion: str, idea: int, others: Sequence[int]) -> float:
    """The share of others that an idea ranks above in an order, a tie counting half."""
    ranks = order.ranks[criterion]
    own = ranks[str(idea)]
    return fmean(1.0 if own < (rank := ranks[str(each)]) else 0.5 if own == rank else 0.0 for each in others)


def first(order: Order, criterion: str, idea: int) -> float:
    """1 where an idea alone ranks first, a share of it where several do, else 0."""
    ranks = list(order.ranks[criterion].values())
    best = min(ranks)
    return 1 / ranks.count(best) if order.ranks[criterion][str(idea)] == best else 0.0


async def comparison(run: ComparisonRun, of: Compared = IDEAS) -> None:
    """Compare texts blind in balanced orders, and count the wins of each contender.

    Raises:
        ConfigError: there are too few texts to compare.
        ModelError, BudgetError: the model failed, the budget is spent, or no order has a valid comparison. Answers so far are kept.
    """
    result, config, seed = run.result, run.settings, run.config.seed
    run.begin(STAGE, STAGES)
    result.ideas = [*run.material.texts]
    bouts = drawn(result.ideas, config, run.rng, of)
    bench = bench_of(run, config.area)
    result.bouts, failures = await compare(
        bench, STAGE, result.ideas, bouts, config.orders, of, run.material.shown
    )
    result.failed, result.inference_cost = len(failures), bench.asked
    total = sum(len(bout.orders) for bout in result.bouts)
    if failures:
        run.warn(
            STAGE,
            f"{len(failures)} of {total} orders have no comparison and are left out. So not every {of.noun} was shown in each "
            f"place equally often. To repeat them: manyheads resume --again. The first: {failures[0].message}",
        )
    if (config.orders or config.ways) % config.ways:
        run.warn(
            STAGE, f"in {config.orders} orders, {config.ways} {of.noun}s are not in each place equally often"
        )
    contenders = {each.number: each.contender for each in result.ideas}
    result.standings = sorted(
        (
            standing(name, result.bouts, contenders, seed, of.criteria)
            for name in dict.fromkeys(contenders.values())
        ),
        key=lambda each: -(each.wins["overall"].mean if each.wins else -1),
    )
    ours = next((each for each in result.standings if each.contender == f"the {of.noun}s"), None)
    result.wins = ours.wins if ours and RIVALS in contenders.values() else None
    orders = [order for bout in result.bouts for order in bout.ranked]
    pairs = [
        order.ranks["overall"][str(one)] == order.ranks["overall"][str(other)]
        for order in orders
        for one, other in combinations(order.shown, 2)
    ]
    result.ties = fmean(pairs) if pairs else None
    result.first_place = fmean(won(each, "overall", each.shown[0], each.shown[1:]) for each in orders)
    for each in result.standings:
        outcome = f"wins {figure_words(each.wins.get('overall'))} overall"
        run.emit(Judged(stage=STAGE, turn=1, subject=each.contender, outcome=outcome))


def standing(
    name: str,
    bouts: Sequence[Bout],
    contenders: dict[int, str],
    seed: int,
    criteria: Sequence[str] = CRITERIA,
) -> ContenderStanding:
    """A contender's figures: the mean over orders of each comparison, then over comparisons of each idea."""
    own = [number for number, whose in contenders.items() if whose == name]
    rows = [
        (idea, bout, others)
        for bout in bouts
        for idea in bout.ideas
        if idea in own
        and bout.ranked
        and (others := [each for each in bout.ideas if contenders[each] != name])
    ]
    found = ContenderStanding(contender=name, ideas=len(own), bouts=len(rows))
    for criterion in criteria:
        parts = {
            "wins": [fmean(won(o, criterion, i, others) for o in bout.ranked) for i, bout, others in rows],
            "first": [fmean(first(o, criterion, i) for o in bout.ranked) for i, bout, _ in rows],
            "rank": [fmean(o.ranks[criterion][str(i)] for o in bout.ranked) for i, bout, _ in rows],
        }
        for part, values in parts.items():
            means = group_means(dict(enumerate(values)), lambda row: rows[row][0])
            if mean := figure(means, seed, None if part == "rank" else (0, 1)):
                getattr(found, part)[criterion] = mean
    return found


def names_of(result: ComparisonResult) -> dict[str, str]:
    """Contenders' names for readers: the name of the run's folder, if it is unique."""
    whole = [each.contender for each in result.standings]
    short = Counter(Path(each).name for each in whole)
    return {each: name if short[name := Path(each).name] == 1 else each for each in whole}


def essence(result: ComparisonResult, of: Compared = IDEAS) -> Iterator[tuple[str, str]]:
    """The overall figures of each contender, and failures."""
    names, total = names_of(result), sum(len(bout.orders) for bout in result.bouts)
    for each in result.standings:
        wins = f"wins {figure_words(each.wins.get('overall'))} overall, {count(each.ideas, of.noun)}"
        yield names[each.contender], wins
    yield (
        "Comparisons",
        f"{total - (result.failed or 0)} of {total} orders, {len(result.bouts)} sets of {of.noun}s",
    )
    if result.first_place is not None:
        bias = f"the {of.noun} shown first wins {result.first_place:.2f}; {result.ties or 0:.0%} of pairs tie"
        yield "Position bias", bias


def report(record: Record, of: Compared = IDEAS) -> View:
    result: ComparisonResult = record.result.result
    lead = (
        f"The share of other contenders’ {of.noun}s that a contender’s {of.noun}s rank above, a tie counting half, with the 95% interval "
        f"over its {of.noun}s. There is no interval for a single {of.noun}, or where all values are equal."
    )
    contenders, twos = names_of(result), all(len(bout.ideas) == 2 for bout in result.bouts)
    heads = ["Contender", *map(label, of.criteria)]
    tables = [
        FigureTable(title=title, lead=text, head=heads, rows=[
            [contenders[each.contender], *(figure_words(getattr(each, part).get(name)) for name in of.criteria)] for each in result.standings
        ])
        for title, part, text in (
            ("Wins", "wins", lead),
            ("First ranks", "first", f"How often its {of.noun}s rank first in a comparison."),
            ("Mean ranks", "rank", f"1 is best; {of.noun}s that share a rank get the mean of the ranks they share."),
        )
        if result.standings and not (twos and part == "first")  # for two, the share of wins
    ]  # fmt: skip
    names = {each.number: each.title or f"{label(of.noun)} {each.number}" for each in result.ideas}

    def step(order: Order) -> Fold:
        ranks = order.ranks.get("overall", {})
        note = ", ".join(f"{names[n]}: {ranks[str(n)]:g}" for n in order.shown) if ranks else ""
        return Fold(
            title=" – ".join(names[number] for number in order.shown),
            note=f"overall {note}" if note else "",
            failed=bool(order.failed),
            texts=[("In the order shown", order.thought or order.failed or "")],
        )

    steps = [step(order) for bout in result.bouts for order in bout.orders]
    return view(record, f"{label(of.noun)}s compared", essence(result, of), tables, steps)


def _system(
    of: Compared, about: str, config: type[ComparisonConfig], inputs: type[Inputs], read: Callable[[RunConfig], Contestants]
) -> System:  # fmt: skip
    return System(
        name=of.system,
        title=f"Comparison of {of.noun}s",
        about=about,
        config=config,
        inputs=inputs,
        result=ComparisonResult,
        run=partial(comparison, of=of),
        needs=lambda config: {(JUDGE, of.task): of.reply},
        essence=partial(essence, of=of),
        table=lambda result: result.standings,
        report=partial(report, of=of),
        read=read,
        judge=Judge(
            f"{of.noun}s",
            f"{of.system}.overall",
            lambda path: ("wins", path[0], "mean") if path[0] in of.criteria else tuple(path),
        ),
        numbers={
            **{f"{of.system}.{name}": Number(f"wins, {name}", (0, 1)) for name in of.criteria},
            f"{of.system}.failed": Number("orders without a comparison"),
        },
    )


IDEA_COMPARISON = _system(
    IDEAS, "A judge who compares ideas, blind and in balanced orders, by four criteria and overall.",
    ComparisonConfig, ComparisonInputs, read,
)  # fmt: skip
REVIEW_COMPARISON = _system(
    REVIEWS, "A judge who compares reviews of one paper, blind and in balanced orders, by three criteria and overall.",
    ReviewComparisonConfig, ReviewComparisonInputs, read_reviews,
)  # fmt: skip
