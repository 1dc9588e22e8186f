"""What the report of a ranking shows: S, every idea's ranks and places in each order, and what places have done."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

from pydantic import Field

from manyheads.core.events import Said
from manyheads.replies.refinement import is_absent
from manyheads.report.record import Part, Quality, Record, part_of

TARGET = 0
"""The target's number among those that are ranked; the ideas count from 1."""
CHANCE = 0.05
"""The p-value from which on a bias cannot be told from chance."""
SIDE_BY_SIDE = 8
"""Orders that a table holds across a page."""


class Item(Part):
    """The target or an idea in the form that was ranked; a field that its text does not tell is not there."""

    source: str = ""
    title: str = ""
    fields: dict[str, str] = Field(default_factory=dict[str, str])
    text: str | None = None
    """As it was ranked, where it was not brought into the form."""
    round: int | None = None
    """Revisions after which it stood so; None where it comes of no such run."""
    settled: bool | None = None
    """Whether its run had ended by then."""


class Order(Part):
    """One order of the same ideas, 0 the target, and how the judge ranked them; places and ranks count from 1."""

    shown: tuple[int, ...]
    ranked: tuple[int, ...] | None = None
    rationales: tuple[str, ...] | None = None
    target_place: int
    target_rank: int | None = None
    s: float | None = None
    failed: str | None = None

    def place(self, number: int) -> int:
        """Where an idea was shown."""
        return self.shown.index(number) + 1

    def rank(self, number: int) -> int | None:
        """The rank that it got; None of an order that failed."""
        return self.ranked.index(number) + 1 if self.ranked else None

    @property
    def told(self) -> list[tuple[int, str]]:
        """The ideas, best first, each with why it stands there."""
        reasons = self.rationales or ("",) * len(self.ranked or ())
        return list(zip(self.ranked or (), reasons, strict=True))


class Interval(Part):
    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Row:
    """An idea in all orders: its mean rank over those that have one."""

    number: int
    title: str
    mean: float | None


class Ranked(Quality):
    """A ranking as `result.json` keeps it; while a run is unfinished, no more than what is condensed."""

    title: str = ""
    target: Item = Item()
    ideas: tuple[Item, ...] = ()
    shown_fields: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()
    s: float | None = None
    s_interval: Interval | None = None
    position_bias: float | None = None
    position_p: float | None = None
    consistency: float | None = None
    by_place: tuple[float, ...] | None = None
    s_by_place: tuple[float | None, ...] | None = None
    settled: float | None = None

    @property
    def items(self) -> tuple[Item, ...]:
        """The target, then the ideas, each at its number."""
        return (self.target, *self.ideas)

    @property
    def whole(self) -> list[Order]:
        """The orders that have a ranking."""
        return [order for order in self.orders if order.ranked]

    @property
    def broken(self) -> list[tuple[int, Order]]:
        """The orders that have none, with their numbers."""
        return [(number, order) for number, order in enumerate(self.orders, 1) if not order.ranked]

    @property
    def rows(self) -> list[Row]:
        """Target and ideas, the best mean rank first."""
        rows = [Row(number, self.name(number), self._mean(number)) for number in range(len(self.items))]
        return sorted(rows, key=lambda row: (row.mean or 0.0, row.number))

    @property
    def blocks(self) -> list[list[tuple[int, Order]]]:
        """The orders with their numbers, as many together as a table holds."""
        told = list(enumerate(self.orders, 1))
        return [told[at : at + SIDE_BY_SIDE] for at in range(0, len(told), SIDE_BY_SIDE)]

    @property
    def expected(self) -> float:
        """The mean rank in every place where places do nothing."""
        return (len(self.items) + 1) / 2

    def name(self, number: int) -> str:
        """What a reader knows it by."""
        return self.items[number].title or ("The target" if number == TARGET else f"Idea {number}")

    def _mean(self, number: int) -> float | None:
        ranks = [order.rank(number) or 0 for order in self.whole]
        return fmean(ranks) if ranks else None


def meaning(ranked: Ranked) -> str:
    """What S says of this ranking (§3.2, Eq. 3), in a sentence."""
    count = len(ranked.ideas)
    if ranked.s is None:
        return "S will be the share of the ideas that the judge ranks above the target."
    ideas = "the one idea" if count == 1 else f"the {count} ideas"
    least = "with 0 it holds the target best, with 1 it holds the target worst"
    return f"S is the share of {ideas} that the judge ranks above the target, here {ranked.s:.0%}: {least}."


def bias_in_words(ranked: Ranked) -> list[str]:
    """Whether ranks follow places, how surely, and how far the orders agree; a sentence each."""
    bias, p = ranked.position_bias, ranked.position_p
    if bias is None:
        return ["What places have done can be told from two rankings on."]
    held = f"place and rank correlate at {bias:.2f}"
    if p is None or p >= CHANCE:
        told = [f"No favour for a place can be told from chance: {held}{_by_chance(p)}.", *_few(ranked)]
    else:
        early = "early" if bias > 0 else "late"
        told = [f"The judge favours what it is shown {early}: {held}{_by_chance(p)}."]
    return [*told, *_agreement(ranked)]


def _by_chance(p: float | None) -> str:
    if p is None:
        return ""
    share = f"{p:.1%}" if p < 0.1 else f"{p:.0%}"
    return f", and by chance alone {share} of randomly drawn orders would show as much (p = {p:.2g})"


def _few(ranked: Ranked) -> list[str]:
    """A warning where some idea has not stood in every place: then a favour may hide in the ideas' own merits."""
    size = len(ranked.items)
    stood = {(order.place(number), number) for order in ranked.whole for number in range(size)}
    if len(stood) == size * size:
        return []
    return [
        f"Not every idea was ranked in every place, for which it takes {size} orders or more; a favour may still be there."
    ]


def _agreement(ranked: Ranked) -> list[str]:
    if ranked.consistency is None:
        return []
    return [
        f"Over {len(ranked.whole)} orders the rankings agree to {ranked.consistency:.2f} (Kendall's W; 1: always the same)."
    ]


def in_lines(ranked: Ranked) -> Iterator[tuple[str, str]]:
    """The essence of a finished ranking: names, and what is told under each."""
    count = len(ranked.ideas)
    yield "Target", ranked.name(TARGET)
    above = f"{_number(ranked.s)} of {'the idea' if count == 1 else f'{count} ideas'} above the target for {ranked.indicator}"
    yield "S", f"{above}{_interval(ranked.s_interval)}"
    failed = ", the others failed" * bool(ranked.broken)
    yield "Orders", f"{len(ranked.whole)} of {len(ranked.orders)} ranked{failed}{_alike(ranked.consistency)}"
    for place, row in enumerate(ranked.rows, 1):
        mark = ", the target" if row.number == TARGET else ""
        yield str(place), f"{row.title} (mean rank {_number(row.mean)}{mark})"
    yield "Places", bias_in_words(ranked)[0]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _alike(consistency: float | None) -> str:
    return "" if consistency is None else f"; they agree to {consistency:.2f} (Kendall's W)"


def _interval(found: Interval | None) -> str:
    return "" if found is None else f", {found.level:.0%} interval {found.low:.2f} to {found.high:.2f}"


def ranked_of(record: Record) -> Ranked:
    """The ranking of a finished run, or how far one has come.

    Raises:
        JournalError: `result.json` is not what a run writes.
    """
    return part_of(Ranked, record, _so_far)


def judgements(record: Record) -> list[str]:
    """What the judge has said of each order so far; the result tells it of a finished run, by the ideas' names."""
    return [said.text for said in record.of(Said) if said.task == "rank"] if record.result is None else []


def _so_far(record: Record) -> dict[str, Any]:
    """What is condensed: which of it is the target, only the result tells."""
    told = [_told(said.data) for said in record.of(Said) if said.task == "condense"]
    chosen = cast(Mapping[str, Any], record.config.get("ranking") or {})
    course = {key: chosen[key] for key in ("area", "indicator") if chosen.get(key)}
    return {**course, "ideas": [{"title": each.get("title", ""), "fields": each} for each in told]}


def _told(form: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: text for name, text in form.items() if isinstance(text, str) and not is_absent(text)}
