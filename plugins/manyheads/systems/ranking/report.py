"""The report of a ranking: S, each idea's ranks and places in each order, and the judge's position bias."""

from collections.abc import Iterator
from pathlib import Path

from manyheads.core.events import Said
from manyheads.report.page import Page, View
from manyheads.report.record import Record
from manyheads.systems.ranking.result import TARGET, RankingResult

CHANCE = 0.05
"""A bias with a smaller p-value is significant."""
SIDE_BY_SIDE = 8
"""Maximum orders in a table across a page."""


def report(record: Record) -> View:
    """The report of a ranking; if unfinished, also the judge's words, which number the ideas by place."""
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
    """The meaning of S for this ranking (§3.2, Eq. 3), in a sentence."""
    count = len(ranked.ideas)
    if ranked.s is None:
        return "S will be the share of the ideas that the judge ranks above the target."
    several = f"on average {ranked.s:.0%} of the {count} ideas ranked above the target"
    one = f"the idea ranked above the target in {ranked.s:.0%} of the orders"
    return f"S = {ranked.s:.2f}: {several if count > 1 else one} (0: the target is always best, 1: always worst)."


def bias_in_words(ranked: RankingResult) -> list[str]:
    """The judge's position bias and the agreement of the orders, a sentence each."""
    bias, p = ranked.position_bias, ranked.position_p
    if bias is None:
        return ["Position bias needs at least two rankings."]
    held = f"(r = {bias:.2f}{'' if p is None else f', p = {p:.2g}'})".replace("-", "−", 1)
    if p is None or p >= CHANCE:
        words = [f"No significant position bias {held}."]
        size = len(ranked.items)
        stood = {(order.place(number), number) for order in ranked.whole for number in range(size)}
        if len(stood) < size * size:  # then a bias may hide behind the ideas' quality
            words.append(
                f"Not every idea was shown in every place, which needs at least {size} orders; "
                "there may still be a bias."
            )
    else:
        words = [
            f"Position bias: the judge prefers ideas that it is shown {'early' if bias > 0 else 'late'} {held}."
        ]
    if ranked.consistency is not None:
        words.append(
            f"Agreement of the {len(ranked.whole)} rankings: Kendall's W = {ranked.consistency:.2f} (1: always the same)."
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
    """The essence of a finished ranking, by name."""
    count, interval, orders = len(ranked.ideas), ranked.s_interval, len(ranked.orders)
    yield "Target", ranked.name(TARGET)
    ends = f", {interval.level:.0%} interval {interval.low:.2f} to {interval.high:.2f}" if interval else ""
    ideas = "the idea" if count == 1 else f"the {count} ideas"
    above = "" if ranked.s is None else f": {ranked.s:.0%} of {ideas} ranked above the target on average"
    yield "S", f"{_number(ranked.s)} for {ranked.indicator}{above}{ends}"
    failed = ", the others failed" * (len(ranked.whole) < orders)
    agreement = ranked.consistency
    alike = "" if agreement is None else f"; agreement {agreement:.2f} (Kendall's W)"
    yield "Orders", f"{len(ranked.whole)} of {orders} ranked{failed}{alike}"
    for place, row in enumerate(ranked.rows, 1):
        mark = ", the target" if row.number == TARGET else ""
        yield str(place), f"{row.title} (mean rank {_number(row.mean)}{mark})"
    yield "Position bias", bias_in_words(ranked)[0]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
