"""What a ranking comes to. Idea 0 is the target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from manyheads.core.results import Interval, Quality, RankedItem, RankedOrder
from manyheads.discussion import Run
from manyheads.measures.ranking import position_bias
from manyheads.measures.statistics import Mean, mean_of
from manyheads.systems.ideas import Contest, Entry
from manyheads.systems.ranking.config import RankingConfig
from manyheads.texts import Subject

TARGET = 0


@dataclass(frozen=True)
class Row:
    """An idea in all orders: its mean rank over those that have one."""

    number: int
    title: str
    mean: float | None


class RankingResult(Quality):
    """What was ranked, by what, each order, S over all of them, and what places have done to ranks."""

    title: str | None = None
    """The target's; empty where none is told."""
    target: RankedItem | None = None
    ideas: list[RankedItem] = []
    shown_fields: list[str] = []
    orders: list[RankedOrder] = []
    s: float | None = None
    """S over the orders that have a ranking (Review and Rebuttal, Eq. 3)."""
    s_interval: Interval | None = None
    failed: int | None = None
    """Orders without a ranking."""
    s_by_place: list[float | None] | None = None
    """Mean S of the orders in which the target stood in each place."""
    position_bias: float | None = None
    """None with fewer than two rankings, from which none can be told."""
    position_p: float | None = None
    consistency: float | None = None
    by_place: list[float] | None = None
    """Mean rank of what stood in each place."""
    settled: float | None = None
    """Of the ideas that were revised, the share whose runs had ended by the round that was ranked."""
    inference_cost: int | None = None
    """Replies that were asked for."""

    def take(self, target: Subject, entries: Sequence[Entry]) -> None:
        """What is to be ranked, the target first, as far as it is brought into its form."""
        own, *ideas = entries
        self.title = target.title or own.fields.get("title", "")
        self.target = RankedItem(
            source=target.source,
            title=self.title,
            sha256=target.sha256,
            words=len(target.text.split()),
            fields=dict(own.fields),
        )
        self.ideas = [_idea(each) for each in ideas]
        known = [each.settled for each in ideas if each.settled is not None]
        self.settled = fmean(known) if known else None

    def rank(self, orders: Sequence[RankedOrder], seed: int) -> None:
        """What the orders come to; `seed` is that of the randomisation test."""
        self.orders = list(orders)
        found = mean_of([each.s for each in orders if each.s is not None], within=(0, 1))
        self.s, self.s_interval = (found.mean, _interval(found)) if found else (None, None)
        self.failed = sum(each.failed is not None for each in orders)
        self.s_by_place = list(_by_place(orders))
        if len(self.whole) > 1:
            shown, ranked = [each.shown for each in orders], [each.ranked for each in orders]
            bias = position_bias(shown, ranked, seed=seed)
            self.position_bias, self.position_p = bias.bias, bias.p
            self.consistency, self.by_place = bias.consistency, list(bias.by_place)

    @property
    def items(self) -> list[RankedItem]:
        """The target, then the ideas, each at its number."""
        return [*([self.target] if self.target else []), *self.ideas]

    @property
    def whole(self) -> list[RankedOrder]:
        """The orders that have a ranking."""
        return [order for order in self.orders if order.ranked]

    @property
    def rows(self) -> list[Row]:
        """Target and ideas, the best mean rank first."""
        rows = [Row(number, self.name(number), self._mean(number)) for number in range(len(self.items))]
        return sorted(rows, key=lambda row: (row.mean or 0.0, row.number))

    def name(self, number: int) -> str:
        """What a reader knows it by."""
        return self.items[number].title or ("The target" if number == TARGET else f"Idea {number}")

    def _mean(self, number: int) -> float | None:
        ranks = [order.rank(number) or 0 for order in self.whole]
        return fmean(ranks) if ranks else None


def _idea(entry: Entry) -> RankedItem:
    """An idea; its text only where it is ranked as it was written."""
    return RankedItem(
        source=entry.source,
        title=entry.title or entry.fields.get("title", ""),
        fields=dict(entry.fields),
        text=None if entry.fields else entry.text,
        round=entry.round,
        settled=entry.settled,
    )


def _interval(found: Mean) -> Interval | None:
    if found.low is None or found.high is None:
        return None
    return Interval(low=found.low, high=found.high, level=found.level)


def _by_place(orders: Sequence[RankedOrder]) -> Iterator[float | None]:
    for place in range(1, len(orders[0].shown) + 1):
        here = [each.s for each in orders if each.target_place == place and each.s is not None]
        yield fmean(here) if here else None


RankingRun = Run[RankingResult, RankingConfig, Contest]
