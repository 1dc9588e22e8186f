"""What a ranking comes to, and what `result.json` keeps of it. Idea 0 is the target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from manyheads.errors import ReplyError
from manyheads.literature.ideas import Entry
from manyheads.measures.ranking import PositionBias, position_bias, relative_quality
from manyheads.measures.statistics import Mean, mean_of
from manyheads.systems.ranking.lineup import Lineup
from manyheads.systems.ranking.ready import Quality
from manyheads.texts import Subject

TARGET = 0


@dataclass(frozen=True)
class Order:
    """One order in which the ideas were shown, and how they were ranked in it.

    Attributes:
        shown: the ideas from the first place to the last.
        ranked: the ideas from the best to the worst; None where the order failed.
        rationales: for each rank, why.
        failed: the error that it ended with.
    """

    shown: tuple[int, ...]
    ranked: tuple[int, ...] | None = None
    rationales: tuple[str, ...] | None = None
    failed: ReplyError | None = None

    @property
    def target_place(self) -> int:
        """Where the target was shown, from 1."""
        return self.shown.index(TARGET) + 1

    @property
    def target_rank(self) -> int | None:
        """n_t, from 1."""
        return self.ranked.index(TARGET) + 1 if self.ranked else None

    @property
    def s(self) -> float | None:
        """S of this order (Eq. 3)."""
        return None if self.target_rank is None else relative_quality(self.target_rank, len(self.shown) - 1)

    def reason(self, idea: int) -> str:
        """Why an idea stands where it was ranked; empty where it was not."""
        return self.rationales[self.ranked.index(idea)] if self.ranked and self.rationales else ""

    def as_data(self) -> dict[str, Any]:
        return {
            "shown": list(self.shown),
            "ranked": self.ranked and list(self.ranked),
            "rationales": self.rationales and list(self.rationales),
            "target_place": self.target_place,
            "target_rank": self.target_rank,
            "s": self.s,
            "failed": self.failed and self.failed.message,
        }


def result_of(
    target: Subject, lineup: Lineup, quality: Quality, orders: Sequence[Order], asked: int, seed: int
) -> dict[str, Any]:
    """The result: what was ranked, by what, each order, S over all of them, and what places have done to ranks.

    A bias of places is told from two rankings on; S is of those orders that have one.

    Args:
        asked: replies that were asked for: the inference cost.
        seed: of the randomisation test.
    """
    own, *ideas = lineup.entries
    title = target.title or own.fields.get("title", "")
    return {
        "title": title,
        "target": {
            "source": target.source,
            "title": title,
            "sha256": target.sha256,
            "words": len(target.text.split()),
            "fields": dict(own.fields),
        },
        "ideas": [_idea(each) for each in ideas],
        "area": quality.area,
        "indicator": quality.indicator,
        "traits": quality.traits,
        "shown_fields": list(lineup.fields),
        "orders": [each.as_data() for each in orders],
        **_quality(orders),
        **_places(orders, seed),
        "settled": _share(ideas),
        "inference_cost": asked,
    }


def _idea(entry: Entry) -> dict[str, Any]:
    """An idea; its text only where it was ranked as it was written."""
    return {
        "source": entry.source,
        "title": entry.title or entry.fields.get("title", ""),
        "fields": dict(entry.fields),
        "text": None if entry.fields else entry.text,
        "round": entry.round,
        "settled": entry.settled,
    }


def _quality(orders: Sequence[Order]) -> dict[str, Any]:
    found = mean_of([each.s for each in orders if each.s is not None], within=(0, 1))
    return {
        "s": found and found.mean,
        "s_interval": found and _interval(found),
        "failed": sum(each.failed is not None for each in orders),
        "s_by_place": list(_by_place(orders)),
    }


def _interval(found: Mean) -> dict[str, float] | None:
    if found.low is None or found.high is None:
        return None
    return {"low": found.low, "high": found.high, "level": found.level}


def _by_place(orders: Sequence[Order]) -> Iterator[float | None]:
    """Mean S of the orders in which the target stood in each place."""
    for place in range(1, len(orders[0].shown) + 1):
        here = [each.s for each in orders if each.target_place == place and each.s is not None]
        yield fmean(here) if here else None


def _places(orders: Sequence[Order], seed: int) -> dict[str, Any]:
    """What the place in which an idea is shown does to its rank."""
    found: PositionBias | None = None
    if sum(each.ranked is not None for each in orders) > 1:
        found = position_bias([each.shown for each in orders], [each.ranked for each in orders], seed=seed)
    return {
        "position_bias": found and found.bias,
        "position_p": found and found.p,
        "consistency": found and found.consistency,
        "by_place": found and list(found.by_place),
    }


def _share(ideas: Sequence[Entry]) -> float | None:
    """Of the ideas that were revised, those whose runs had ended by the round that was ranked."""
    known = [each.settled for each in ideas if each.settled is not None]
    return fmean(known) if known else None
