"""What the report of a ranking shows: S, every idea's ranks and places in each order, and what places have done."""

from collections.abc import Iterator
from pathlib import Path

from manyheads.core.events import Said
from manyheads.report.page import Page, View
from manyheads.report.record import Record
from manyheads.systems.ranking.result import TARGET, RankingResult

CHANCE = 0.05
"""The p-value from which on a bias cannot be told from chance."""
SIDE_BY_SIDE = 8
"""Orders that a table holds across a page."""


def report(record: Record) -> View:
    """The report of a ranking; of an unfinished one the judge's words too, which know the ideas by their places."""
    ranked: RankingResult = record.result.result
    orders = list(enumerate(ranked.orders, 1))
    silent = record.result.finished or orders
    shown = {
        "ranked": ranked,
        "meaning": meaning(ranked),
        "bias": bias_in_words(ranked),
        "blocks": [orders[at : at + SIDE_BY_SIDE] for at in range(0, len(orders), SIDE_BY_SIDE)],
        "broken": [(number, order) for number, order in orders if not order.ranked],
        "expected": (len(ranked.items) + 1) / 2,
        "judgements": [] if silent else [said.text for said in record.of(Said) if said.task == "rank"],
    }
    return View(__package__ or "", Page(record), shown)


def meaning(ranked: RankingResult) -> str:
    """What S says of this ranking (§3.2, Eq. 3), in a sentence."""
    count = len(ranked.ideas)
    if ranked.s is None:
        return "S will be the share of the ideas that the judge ranks above the target."
    ideas = "the one idea" if count == 1 else f"the {count} ideas"
    least = "with 0 it holds the target best, with 1 it holds the target worst"
    return f"S is the share of {ideas} that the judge ranks above the target, here {ranked.s:.0%}: {least}."


def bias_in_words(ranked: RankingResult) -> list[str]:
    """Whether ranks follow places, how surely, and how far the orders agree; a sentence each."""
    bias, p = ranked.position_bias, ranked.position_p
    if bias is None:
        return ["What places have done can be told from two rankings on."]
    held = f"place and rank correlate at {bias:.2f}"
    if p is not None:
        share = f"{p:.1%}" if p < 0.1 else f"{p:.0%}"
        held += f", and by chance alone {share} of randomly drawn orders would show as much (p = {p:.2g})"
    if p is None or p >= CHANCE:
        words = [f"No favour for a place can be told from chance: {held}."]
        size = len(ranked.items)
        stood = {(order.place(number), number) for order in ranked.whole for number in range(size)}
        if len(stood) < size * size:  # then a favour may hide in the ideas' own merits
            words.append(
                f"Not every idea was ranked in every place, for which it takes {size} orders or more; "
                "a favour may still be there."
            )
    else:
        words = [f"The judge favours what it is shown {'early' if bias > 0 else 'late'}: {held}."]
    if ranked.consistency is not None:
        words.append(
            f"Over {len(ranked.whole)} orders the rankings agree to {ranked.consistency:.2f} "
            "(Kendall's W; 1: always the same)."
        )
    return words


def table(ranked: RankingResult) -> list[dict[str, object]]:
    """Target and ideas, the best mean rank first."""
    return [
        {
            "place": place, "title": row.title, "mean_rank": row.mean, "target": row.number == TARGET,
            "source": Path(ranked.items[row.number].source).name,
        }
        for place, row in enumerate(ranked.rows, 1)
    ]  # fmt: skip


def essence(ranked: RankingResult) -> Iterator[tuple[str, str]]:
    """The essence of a finished ranking: names, and what is told under each."""
    count, interval, orders = len(ranked.ideas), ranked.s_interval, len(ranked.orders)
    yield "Target", ranked.name(TARGET)
    ends = f", {interval.level:.0%} interval {interval.low:.2f} to {interval.high:.2f}" if interval else ""
    ideas = "the idea" if count == 1 else f"{count} ideas"
    yield "S", f"{_number(ranked.s)} of {ideas} above the target for {ranked.indicator}{ends}"
    failed = ", the others failed" * (len(ranked.whole) < orders)
    agreement = ranked.consistency
    alike = "" if agreement is None else f"; they agree to {agreement:.2f} (Kendall's W)"
    yield "Orders", f"{len(ranked.whole)} of {orders} ranked{failed}{alike}"
    for place, row in enumerate(ranked.rows, 1):
        mark = ", the target" if row.number == TARGET else ""
        yield str(place), f"{row.title} (mean rank {_number(row.mean)}{mark})"
    yield "Places", bias_in_words(ranked)[0]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
