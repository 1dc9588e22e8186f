"""The course of a ranking: texts are brought into one form, shown in several orders, and ranked in each by a judge of its own."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from manyheads.core import together
from manyheads.core.events import Judged, Stage
from manyheads.core.results import RankedOrder
from manyheads.discussion.run import Question
from manyheads.errors import BudgetError, ConfigError, ModelError, ReplyError
from manyheads.literature.ideas import Entry
from manyheads.measures.ranking import orders_of, relative_quality
from manyheads.replies import Condensed, Ranking, ReplyModel, ranking_of
from manyheads.replies.refinement import ABSENT
from manyheads.systems.ranking.config import JUDGE, Quality, quality_of
from manyheads.systems.ranking.lineup import Lineup
from manyheads.systems.ranking.result import TARGET, RankingResult, RankingRun

R = TypeVar("R", bound=ReplyModel)
T = TypeVar("T")
CONDENSING, RANKING = "condensing", "ranking"
Failure = ModelError | BudgetError
"""With what a question may end while the others, which are paid for already, go on to their answers."""


@dataclass
class Bench:
    """The judges of a run.

    Attributes:
        asked: replies that were asked for: the inference cost.
        failed: orders that have led to no ranking, by number.
    """

    run: RankingRun
    quality: Quality
    asked: int = 0
    failed: dict[int, ReplyError] = field(default_factory=dict[int, ReplyError])

    async def condense(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """The entries in the form of a proposal (Fig. 13): the target, and every other that is not in it yet.

        Each text is asked for once, however often it stands among them.

        Raises:
            ModelError: one could not be condensed; the others are kept.
            BudgetError: one could not be paid; so too.
        """
        everything = self.run.settings.condense == "all"
        bare = {
            place: (one.title, one.text)
            for place, one in enumerate(entries)
            if not one.fields and (everything or place == TARGET)
        }
        texts = list(dict.fromkeys(bare.values()))
        answers = await together(*(self._condense(number, *text) for number, text in enumerate(texts, 1)))
        told = {text: form.contents() for text, form in zip(texts, _need_all(answers), strict=True)}
        return tuple(
            replace(one, fields=told[bare[place]]) if place in bare else one
            for place, one in enumerate(entries)
        )

    async def rank(self, texts: Sequence[str], drawn: Sequence[tuple[int, ...]]) -> list[RankedOrder]:
        """The same ideas ranked in each of the orders (Fig. 12).

        An order that leads to no valid ranking, however often it is asked for, has failed; it is not guessed.

        Raises:
            ModelError: the model was not to be had, or all orders have failed; what was answered is kept.
            BudgetError: an order could not be paid; so too.
        """
        answers = await together(*(self._rank(number, shown, texts) for number, shown in enumerate(drawn, 1)))
        orders = _need_all(answers)
        if len(self.failed) == len(orders):
            first = self.failed[1]
            raise ModelError(
                f"no order has led to a ranking, of {len(orders)}: {first.message}",
                tried=first.tried,
                hint=first.hint,
            ) from first
        for number, why in sorted(self.failed.items()):
            place = f"the target stood in place {orders[number - 1].target_place}"
            self.run.warn(
                RANKING,
                f"order {number} of {len(orders)} failed and is left out of S, {place}; manyheads resume asks for it "
                f"once more: {why.message}",
            )
        return orders

    async def _condense(self, number: int, title: str, text: str) -> Condensed | Failure:
        kind = self.run.reply_type(JUDGE, "condense", Condensed)
        shown = {"title": title, "text": text}
        return await self._ask(CONDENSING, f"Condenser{number}", "condense", shown, _untold, kind)

    async def _rank(self, number: int, shown: tuple[int, ...], texts: Sequence[str]) -> RankedOrder | Failure:
        """One order; in its judge's words ideas have the numbers of their places."""
        name, kind = f"Judge{number}", ranking_of(self.run.reply_type(JUDGE, "rank", Ranking), len(shown))
        quality = {"indicator": self.quality.indicator, "traits": self.quality.traits}
        proposals = [texts[idea] for idea in shown]
        found = await self._ask(
            RANKING, name, "rank", {**quality, "proposals": proposals}, _amiss(len(shown)), kind
        )
        if isinstance(found, ReplyError):
            self.failed[number] = found
            return self._tell(name, _order(shown, failed=found.message))
        if isinstance(found, Failure):
            return found
        ranked = tuple(shown[place - 1] for place in found.order())
        rationales = tuple(each.rationale for each in found.ranking)
        return self._tell(name, _order(shown, ranked, rationales))

    def _tell(self, name: str, order: RankedOrder) -> RankedOrder:
        """Tell the listeners what came of an order."""
        place = f"shown in place {order.target_place}"
        if order.failed:
            outcome, reason = f"gives no ranking; the target was {place}", order.failed
        else:
            outcome = f"ranks the target {order.target_rank} of {len(order.shown)}, {place}"
            reason = dict(order.reasons).get(TARGET, "")
        self.run.emit(Judged(stage=RANKING, turn=1, subject=name, outcome=outcome, reasoning=reason))
        self.run.result.orders.append(order)
        return order

    async def _ask(
        self,
        stage: str,
        name: str,
        task: str,
        variables: Mapping[str, object],
        check: Callable[[Any], str | None],
        kind: type[R],
    ) -> R | Failure:
        """One answer. A failure must not end the others, which are paid for already."""
        self.asked += 1
        judge = self.run.speaker(JUDGE, name, area=self.quality.area)
        question = Question(stage, 1, judge, JUDGE, task, variables, check=check)
        try:
            return (await self.run.ask(question, kind)).value
        except (ModelError, BudgetError) as error:
            return error


def _order(
    shown: tuple[int, ...],
    ranked: tuple[int, ...] | None = None,
    rationales: tuple[str, ...] | None = None,
    failed: str | None = None,
) -> RankedOrder:
    rank = ranked.index(TARGET) + 1 if ranked else None
    return RankedOrder(
        shown=shown,
        ranked=ranked,
        rationales=rationales,
        target_place=shown.index(TARGET) + 1,
        target_rank=rank,
        s=None if rank is None else relative_quality(rank, len(shown) - 1),
        failed=failed,
    )


def _need_all(answers: Sequence[T | Failure]) -> list[T]:
    """Raises the first failure."""
    for each in answers:
        if isinstance(each, Failure):
            raise each
    return [each for each in answers if not isinstance(each, Failure)]


def _untold(reply: Condensed) -> str | None:
    """What is wrong with a form by which there is nothing to judge, or that a judge would know by what it lacks."""
    if reply.contents().keys() <= {"title"}:
        return "every field but the title is NONE; tell what there is of an idea in the text"
    if half := reply.contradictions():
        return f"{', '.join(half)}: write {ABSENT} and nothing else, or what the text tells"
    return None


def _amiss(count: int) -> Callable[[Ranking], str | None]:
    """Says which ideas a ranking of so many places repeats, and so which it leaves out."""

    def problem(ranking: Ranking) -> str | None:
        given = Counter(ranking.order())
        repeated = [number for number, times in sorted(given.items()) if times > 1]
        left_out = [number for number in range(1, count + 1) if number not in given]
        if not repeated:
            return None
        named = (", ".join(map(str, some)) for some in (repeated, left_out))
        return "the ranking repeats {} and leaves out {}; each of the ideas stands in it once".format(*named)

    return problem


async def ranking(run: RankingRun) -> None:
    """Rank the run's ideas beside its target, in `ranking.orders` orders that the run's seed draws.

    The judge is never told which one is the target: all are known by the number of the place in which they are shown,
    and the target's abstract is brought into the form of the others first.

    Raises:
        ConfigError: no ideas, an indicator without traits, or no field that all ideas have.
        ModelError: a text could not be condensed, the model was not to be had, or no order has led to a ranking. What
            was answered is kept.
    """
    quality, chosen = quality_of(run.config, run.roles), run.settings
    if not quality.traits:
        raise ConfigError(
            "ranking: needs traits of its quality indicator",
            hint="manyheads check CONFIG",
        )
    target = run.material.target
    # From the abstract alone (Fig. 13): by the title of a published paper a judge may know it.
    entries = (Entry(target.source, "", target.text), *run.material.ideas)
    drawn = orders_of(len(entries), chosen.orders, run.rng)
    bench, result = Bench(run, quality), run.result
    result.area, result.indicator, result.traits = quality.area, quality.indicator, quality.traits
    result.take(target, entries)
    run.emit(Stage(stage=CONDENSING, title="Condensing", number=1, total=2))
    lineup = Lineup(await bench.condense(entries), chosen.align)
    result.take(target, lineup.entries)
    lineup.need_content()
    result.shown_fields = list(lineup.fields)
    _tell_of_doubts(run, lineup)
    _tell_of_qualities(run, lineup, quality)
    run.emit(Stage(stage=RANKING, title="Ranking", number=2, total=2))
    result.rank(await bench.rank(lineup.texts, drawn), run.config.seed)
    result.inference_cost = bench.asked
    run.emit(_judged(result))


def _tell_of_doubts(run: RankingRun, lineup: Lineup) -> None:
    """What a reader of the result would not see: how the ideas were shown, and in how many orders."""
    for doubt in lineup.doubts():
        run.warn(CONDENSING, doubt)
    chosen, size = run.settings, len(lineup.entries)
    if chosen.round is not None:
        unrevised = [name for name, one in lineup.named() if one.round is None]
        for name in unrevised[1:]:
            run.warn(CONDENSING, f"{name} was never revised: it stands as it is whatever ranking.round says")
    if chosen.orders == 1:
        run.warn(RANKING, "a single order: what the place of an idea does to its rank cannot be told")
    elif chosen.orders % size:
        run.warn(
            RANKING,
            f"{size} ideas, the target among them, do not stand in each place equally often in {chosen.orders} orders; "
            f"--set ranking.orders={size * (chosen.orders // size + 1)} balances them",
        )


def _tell_of_qualities(run: RankingRun, lineup: Lineup, quality: Quality) -> None:
    """Ideas that were improved for another quality than they are ranked by, where nobody has asked for that."""
    for name, one in lineup.named():
        if one.indicator not in ("", quality.indicator) and run.settings.indicator is None:
            run.warn(
                CONDENSING,
                f"{name} was improved for {one.indicator} and is ranked by {quality.indicator}; "
                "--set ranking.indicator=… says by what",
            )


def _judged(result: RankingResult) -> Judged:
    """S, how sure it is, and what places have done, in words."""
    found, count = result.s_interval, len(result.orders)
    ends = f", {found.level:.0%} interval {found.low:.2f} to {found.high:.2f}" if found else ""
    share = f"is {result.s:.2f}, the share of {len(result.ideas)} that rank above the target"
    outcome = f"{share}{ends}, over {len(result.whole)} of {count} orders"
    bias, p = result.position_bias, result.position_p
    places = "" if bias is None else f"place and rank correlate at {bias:.2f} (p = {p:.2g})"
    return Judged(stage=RANKING, turn=1, subject="S", outcome=outcome, reasoning=places)
