"""The result of a ranking. Idea 0 is the target."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from manyheads.core.results import Interval, Quality, RankedItem, RankedOrder
from manyheads.core.texts import Subject
from manyheads.measures.ranking import position_bias
from manyheads.measures.statistics import mean_of
from manyheads.systems.ideas import Contest, Entry
from manyheads.systems.ranking.config import RankingConfig
from manyheads.team.run import Run

TARGET = 0


@dataclass(frozen=True)
class Row:
    """An idea in all orders: its mean rank over the valid ones."""

    number: int
    title: str
    mean: float | None


class RankingResult(Quality):
    """The ideas, the quality, each order, S over all orders, and the effect of places on ranks."""

    title: str | None = None
    """Of the target; empty if unknown."""
    target: RankedItem | None = None
    ideas: list[RankedItem] = []
    shown_fields: list[str] = []
    orders: list[RankedOrder] = []
    s: float | None = None
    """S over the orders with a ranking (Review and Rebuttal, Eq. 3)."""
    s_interval: Interval | None = None
    failed: int | None = None
    """Orders without a ranking."""
    s_by_place: list[float | None] | None = None
    """Mean S by place of the target."""
    position_bias: float | None = None
    """None with fewer than two rankings."""
    position_p: float | None = None
    consistency: float | None = None
    by_place: list[float] | None = None
    """Mean rank by place."""
    settled: float | None = None
    """Share of the revised ideas whose runs had ended by the ranked round."""
    inference_cost: int | None = None
    """Number of replies requested."""

    def take(self, target: Subject, entries: Sequence[Entry]) -> None:
        """The texts to rank, the target first, as far as they are condensed."""
        own, *ideas = entries
        self.title = target.title or own.fields.get("title", "")
        self.target = RankedItem(
            source=target.source,
            title=self.title,
            sha256=target.sha256,
            words=len(target.text.split()),
            fields=dict(own.fields),
        )
        self.ideas = [
            RankedItem(
                source=each.source,
                title=each.title or each.fields.get("title", ""),
                fields=dict(each.fields),
                text=None if each.fields else each.text,  # if it is ranked as written
                round=each.round,
                settled=each.settled,
            )
            for each in ideas
        ]
        settled = [each.settled for each in ideas if each.settled is not None]
        self.settled = fmean(settled) if settled else None

    def rank(self, orders: Sequence[RankedOrder], seed: int) -> None:
        """Compute the figures of the orders; `seed` is for the randomisation test."""
        self.orders = list(orders)
        if mean := mean_of([each.s for each in orders if each.s is not None], within=(0, 1)):
            self.s = mean.mean
            if mean.low is not None and mean.high is not None:
                self.s_interval = Interval(low=mean.low, high=mean.high, level=mean.level)
        self.failed = sum(each.failed is not None for each in orders)
        places = [
            [each.s for each in orders if each.target_place == place and each.s is not None]
            for place in range(1, len(orders[0].shown) + 1)
        ]
        self.s_by_place = [fmean(here) if here else None for here in places]
        if len(self.whole) > 1:
            shown, ranked = [each.shown for each in orders], [each.ranked for each in orders]
            bias = position_bias(shown, ranked, seed=seed)
            self.position_bias, self.position_p = bias.bias, bias.p
            self.consistency, self.by_place = bias.consistency, list(bias.by_place)

    @property
    def items(self) -> list[RankedItem]:
        """The target, then the ideas, indexed by number."""
        return [*([self.target] if self.target else []), *self.ideas]

    @property
    def whole(self) -> list[RankedOrder]:
        """The orders with a ranking."""
        return [order for order in self.orders if order.ranked]

    @property
    def rows(self) -> list[Row]:
        """Target and ideas, the best mean rank first."""
        ranks = [[order.rank(number) or 0 for order in self.whole] for number in range(len(self.items))]
        rows = [Row(n, self.name(n), fmean(each) if each else None) for n, each in enumerate(ranks)]
        return sorted(rows, key=lambda row: (row.mean or 0.0, row.number))

    def name(self, number: int) -> str:
        """Its name for readers."""
        return self.items[number].title or ("The target" if number == TARGET else f"Idea {number}")


RankingRun = Run[RankingResult, RankingConfig, Contest]
