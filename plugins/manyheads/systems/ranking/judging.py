"""The relative quality ranking (Review and Rebuttal, §3.2, App. A.2): ideas and a target idea stand anonymous in a line-up, are brought
into the same form, shown in several orders, and each order is ranked independently.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, TypeVar

from manyheads.asking.replies import ReplyModel, label
from manyheads.base.errors import ConfigError, ModelError, ReplyError
from manyheads.core import together
from manyheads.core.events import Judged
from manyheads.measures.ranking import orders_of, relative_quality
from manyheads.systems.ideas import Entry, as_ranked, condensing_fault, read_contest
from manyheads.systems.ranking import result
from manyheads.systems.ranking.replies import Ranking, ranking_of
from manyheads.systems.ranking.result import JUDGE, TARGET, RankedOrder, RankingRun
from manyheads.systems.rebuttal.replies import Condensed, Proposal
from manyheads.systems.traits import Quality
from manyheads.team.run import Question, Run
from manyheads.team.system import Judge, Number, System

NAMED = 4  # ideas that a line lists by name
APART = 1.5  # a text this many times longer or shorter than the others stands out by its length


@dataclass(frozen=True)
class Lineup:
    """A target and the ideas beside it.

    Attributes:
        entries: the target first, then the ideas as the config names them.
        align: whether only the fields are shown that all of them have.
    """

    entries: tuple[Entry, ...]
    align: bool

    @property
    def names(self) -> list[str]:
        """Their names for users; judges do not see them."""
        return ["the target", *(f"idea {number}" for number in range(1, len(self.entries)))]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are shown, in the order of the form."""
        fields = [set(entry.fields) for entry in self.entries]
        shown = set[str].intersection(*fields) if self.align and self._formed else set[str].union(*fields)
        return tuple(name for name in Proposal.model_fields if name in shown)

    @property
    def proposals(self) -> tuple[Entry, ...]:
        """The entries, each with only the shown fields."""
        fields = self.fields
        return tuple(
            replace(each, fields={name: each.fields[name] for name in fields if name in each.fields})
            for each in self.entries
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The text shown for each entry."""
        return tuple(as_ranked(each.title, each.text, each.fields, self.fields) for each in self.entries)

    @property
    def _formed(self) -> bool:
        """Whether all entries have fields; otherwise they cannot be aligned."""
        return all(entry.fields for entry in self.entries)

    def need_content(self) -> None:
        """Raises `ConfigError` if the ideas share no field except their titles: there is nothing to judge."""
        if self.align and self._formed and set(self.fields) <= {"title"}:
            entries = zip(self.names, self.entries, strict=True)
            raise ConfigError(
                "ranking.align: the ideas and the target have no field of a proposal in common",
                tried="; ".join(f"{name} has {', '.join(entry.fields)}" for name, entry in entries),
                hint="show all fields: manyheads resume RUN --set ranking.align=false --accept-changes",
            )

    def doubts(self) -> Iterator[str]:
        """Warnings about how the ideas were shown, a line each."""
        for same in dict.fromkeys((*_groups(self.texts), *_groups([entry.text for entry in self.entries]))):
            names = _listed([self.names[place] for place in same])
            yield f"{names} are the same text: their order in the ranking is chance"
        if not self._formed:
            plain = _listed(self._without(lambda entry: bool(entry.fields)))
            yield (
                f"not in the form of a proposal, unlike the others: {plain}; a judge can recognise them by "
                "that; --set ranking.condense=all brings all texts into this form"
            )
            return
        # Judges notice length, and many prefer longer texts.
        target, *ideas = (len(text.split()) for text in self.texts)
        if target * APART < min(ideas) or target > max(ideas) * APART:
            others = " to ".join(map(str, dict.fromkeys((min(ideas), max(ideas)))))
            yield f"the target is shown in {target} words, the ideas in {others}: a judge can recognise it by its length"
        # Fields that only some have: hidden, or shown and then a clue to the judge.
        for name in Proposal.model_fields:
            lacking, what = self._without(lambda entry, name=name: name in entry.fields), label(name).lower()
            if 0 < len(lacking) < len(self.entries):
                who = f"{_listed(lacking)} {'have' if lacking[1:] else 'has'} none"
                hidden = f"{what} is hidden from the judge because {who}"
                clue = f"{what} is shown although {who}: a judge can tell ideas apart by that"
                yield hidden if self.align else clue

    def _without(self, has: Callable[[Entry], bool]) -> list[str]:
        """The names of the entries that have not."""
        return [name for name, entry in zip(self.names, self.entries, strict=True) if not has(entry)]


def _groups(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The places of each text that occurs more than once."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text, []).append(place)
    return [tuple(same) for same in places.values() if len(same) > 1]


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED + 1:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


R = TypeVar("R", bound=ReplyModel)
CONDENSING, JUDGING = "condensing", "ranking"
STAGES = {CONDENSING: "Condensing", JUDGING: "Ranking"}


async def ranking(run: RankingRun) -> None:
    """Rank the run's ideas together with its target, in `ranking.orders` orders drawn with the run's seed.

    The judge does not know which one is the target: all are numbered by the place in which they are shown,
    and the target's abstract is brought into the form of the others first.

    Raises:
        ConfigError: no ideas, an indicator without traits, or no field that all ideas have.
        ModelError: a text could not be condensed, the model failed, or no order has a valid ranking. Answers so far are
            kept.
        BudgetError: the budget is spent. Answers so far are kept.
    """
    ranked, target = run.result, run.material.target
    quality = result.quality_of(run.config, run.roles, run.material.ideas)
    if not quality.traits:
        raise ConfigError("ranking: needs traits of its quality indicator", hint="manyheads check CONFIG")
    # From the abstract alone (Fig. 13): a judge may recognise a published paper by its title.
    entries = (Entry(target.source, "", target.text), *run.material.ideas)
    orders = orders_of(len(entries), run.settings.orders, run.rng)
    bench = Bench(run, quality)
    ranked.area, ranked.indicator, ranked.traits = quality.area, quality.indicator, quality.traits
    ranked.take(target, entries)
    run.begin(CONDENSING, STAGES)
    lineup = Lineup(await bench.condense(entries), run.settings.align)
    ranked.take(target, lineup.entries)
    lineup.need_content()
    ranked.shown_fields = list(lineup.fields)
    _warn(run, lineup, quality)
    run.begin(JUDGING, STAGES)
    ranked.rank(await bench.rank(lineup.proposals, orders), run.config.seed)
    ranked.inference_cost = bench.asked
    run.emit(_judged(ranked))


@dataclass
class Bench:
    """The judges of a run: `asked` is the inference cost; orders that have ended, and errors of those without a ranking."""

    run: Run[Any, Any, Any]
    quality: Quality
    asked: int = 0
    orders: dict[int, RankedOrder] = field(default_factory=dict[int, RankedOrder])
    failed: dict[int, ReplyError] = field(default_factory=dict[int, ReplyError])

    async def condense(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """The entries in the form of a proposal (Fig. 13): the target, and every other that is not in it yet.

        Each text is condensed once, even if it occurs several times.
        """
        everything = self.run.settings.condense == "all"
        bare = [not one.fields and (everything or place == TARGET) for place, one in enumerate(entries)]
        texts = dict.fromkeys(
            (one.title, one.text) for one, lacks in zip(entries, bare, strict=True) if lacks
        )
        check = partial(condensing_fault, prompts=self.run.roles.prompts)
        shown = enumerate(({"title": title, "text": text} for title, text in texts), 1)
        answers = (
            self.ask(CONDENSING, f"Condenser{n}", "condense", each, check, Condensed) for n, each in shown
        )
        forms = dict(zip(texts, await together(*answers), strict=True))
        return tuple(
            replace(one, fields=forms[one.title, one.text].contents()) if lacks else one
            for one, lacks in zip(entries, bare, strict=True)
        )

    async def rank(self, entries: Sequence[Entry], drawn: Sequence[tuple[int, ...]]) -> list[RankedOrder]:
        """Rank the same ideas in each of the orders (Fig. 12).

        An order without a valid ranking after all attempts has failed; its ranking is not guessed.
        """
        answers = (self._rank(number, shown, entries) for number, shown in enumerate(drawn, 1))
        orders = await together(*answers)
        failed = sorted(self.failed.items())
        none = f"none of the {len(orders)} orders has a valid ranking"
        need_one([error for _, error in failed], len(orders), none)
        for number, why in failed:
            place = f"the target was shown in place {orders[number - 1].target_place}"
            self.run.warn(
                JUDGING,
                f"order {number} of {len(orders)} failed and is left out of S, {place}; manyheads resume --again "
                f"repeats it: {why.message}",
            )
        return orders

    async def _rank(self, number: int, shown: tuple[int, ...], entries: Sequence[Entry]) -> RankedOrder:
        """One order; the judge numbers ideas by their places."""
        run, name, size, place = self.run, f"Judge{number}", len(shown), shown.index(TARGET) + 1
        proposals = [run.wording(entries[idea]) for idea in shown]
        variables = {
            "indicator": self.quality.indicator, "traits": self.quality.traits, "proposals": proposals,
        }  # fmt: skip

        def repeats(ranking: Ranking) -> str | None:
            """Ideas that a ranking repeats or leaves out."""
            counts = Counter(ranking.order())
            repeated = [str(idea) for idea, times in sorted(counts.items()) if times > 1]
            left_out = [str(idea) for idea in range(1, size + 1) if idea not in counts]
            problem = {"fault": "repetition", "repeated": repeated, "left_out": left_out}
            return run.roles.prompts.render("judge/invalid.md.j2", problem).strip() if repeated else None

        kind = ranking_of(run.reply_type(JUDGE, "rank", Ranking), size)
        order = RankedOrder(shown=shown, target_place=place)
        try:
            answer = await self.ask(JUDGING, name, "rank", variables, repeats, kind)
        except ReplyError as error:
            self.failed[number] = error
            order.failed = reason = error.message
            outcome = f"gives no ranking; the target was shown in place {place}"
        else:
            order.ranked = tuple(shown[place - 1] for place in answer.order())
            order.rationales = tuple(each.rationale for each in answer.ranking)
            order.target_rank = rank = order.ranked.index(TARGET) + 1
            order.s = relative_quality(rank, size - 1)
            reason = order.rationales[rank - 1]
            outcome = f"ranks the target {rank} of {size}, shown in place {place}"
        run.emit(Judged(stage=JUDGING, turn=1, subject=name, outcome=outcome, reasoning=reason))
        self.orders[number] = order
        run.result.orders = [self.orders[each] for each in sorted(self.orders)]
        return order

    async def ask(
        self, stage: str, name: str, task: str, variables: Mapping[str, object],
        check: Callable[[Any], str | None] | None, like: type[R], turn: int = 1,
    ) -> R:  # fmt: skip
        """One answer; raises as `Run.ask`."""
        self.asked += 1
        judge = self.run.speaker(JUDGE, name, area=self.quality.area)
        question = Question(stage, turn, judge, JUDGE, task, variables, check=check)
        return (await self.run.ask(question, like)).value


def need_one(answers: Sequence[ReplyError | None], total: int, what: str) -> list[ReplyError]:
    """The failures among answers; raises `ModelError` if all have failed."""
    failures = [each for each in answers if each]
    if failures and len(failures) == total:
        first = failures[0]
        raise ModelError(f"{what}: {first.message}", tried=first.tried, hint=first.hint) from first
    return failures


def _warn(run: RankingRun, lineup: Lineup, quality: Quality) -> None:
    """Warnings that the result does not show: how ideas were shown, in how many orders, and by which quality."""
    for doubt in lineup.doubts():
        run.warn(CONDENSING, doubt)
    settings, size = run.settings, len(lineup.entries)
    for name, one in zip(lineup.names[1:], lineup.entries[1:], strict=True):
        if settings.round is not None and one.round is None:
            run.warn(CONDENSING, f"{name} was never revised: ranking.round has no effect on it")
        # unless the config names another quality than the ideas were improved for
        if one.indicator not in ("", quality.indicator) and settings.indicator is None:
            run.warn(
                CONDENSING,
                f"{name} was improved for {one.indicator} and is ranked by {quality.indicator}; "
                "--set ranking.indicator=… chooses the quality",
            )
    if settings.orders == 1:
        run.warn(JUDGING, "a single order: the effect of an idea's place on its rank is unknown")
    elif settings.orders % size:
        balanced = size * (settings.orders // size + 1)
        run.warn(
            JUDGING,
            f"{size} ideas (with the target) are not in each place equally often in {settings.orders} orders; "
            f"--set ranking.orders={balanced} balances them",
        )


def _judged(ranked: result.RankingResult) -> Judged:
    """S, its interval and the position bias, in words."""
    bias = ranked.position_bias
    share = f"is {ranked.s:.2f}, the share of {len(ranked.ideas)} ideas ranked above the target"
    outcome = f"{share}{ranked.interval}, over {len(ranked.valid_orders)} of {len(ranked.orders)} orders"
    places = "" if bias is None else f"place and rank correlate at {bias:.2f} (p = {ranked.position_p:.2g})"
    return Judged(stage=JUDGING, turn=1, subject="S", outcome=outcome, reasoning=places)


BIAS = (
    "the judge prefers ideas that it is shown early",
    "the judge prefers ideas that it is shown late",
    "no significant position bias",
)
RANKING = System(
    name="ranking",
    title="Relative quality ranking",
    about="A judge who ranks research ideas together with a target idea, blind and in several orders.",
    config=result.RankingConfig,
    inputs=result.RankingInputs,
    result=result.RankingResult,
    run=ranking,
    essence=result.essence,
    table=result.table,
    report=result.report,
    needs=lambda run: result.NEEDS,
    check=result.check,
    read=lambda run: read_contest(run.inputs.target, run.inputs.ideas, run.settings.round),
    judge=Judge("ideas", "ranking.s"),
    extras=("statistics",),
    numbers={
        "ranking.s": Number("S, relative quality", (0, 1)),
        "ranking.settled": Number("share of finished runs", (0, 1)),
        "ranking.position_bias": Number("position bias", (-1, 1), BIAS),
        "ranking.consistency": Number("W, consistency of orders", (0, 1)),
        "ranking.failed": Number("orders without a ranking", (0, inf)),
        "ranking.round": Number("revisions"),
    },
    aliases={
        "rebuttal.area": "ranking.improved.area",
        "rebuttal.indicator": "ranking.improved.indicator",
        "rebuttal.traits": "ranking.improved.traits",
    },
)
