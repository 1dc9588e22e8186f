"""What standings allow to conclude, and what they do not, in sentences."""

from collections.abc import Collection, Iterator
from itertools import combinations

from manyheads.core.texts import count
from manyheads.measures.standings import ADDED, Standings, apart

DOMINANT = 0.5
"""Share of the votes above which one rater dominates."""
LISTED = 6
"""Maximum pairs or makers in a sentence."""


def conclusions(standings: Standings) -> Iterator[str]:
    """What the votes say, and what they do not say, a sentence each."""
    yield from (f"{sentence.rstrip('.')}." for sentence in _sentences(standings))


def _sentences(standings: Standings) -> Iterator[str]:
    yield from _order(standings)
    yield from _connections(standings)
    if standings.poor:
        counted = "left out" if standings.rules.poor == "out" else "counted as ties"
        yield f"{count(standings.poor, 'vote')} “both poor”: {counted}."
    tied = sum(each.tied for each in standings.makers) // 2
    if tied:
        yield f"{count(tied, 'tie')}: half a win for each."
    yield from _raters(standings)
    if standings.left and standings.left.low is not None and standings.left.high is not None:
        says = "" if standings.left.low <= 0.5 <= standings.left.high else " Raters favour a side."
        yield (
            f"The text on the left won {standings.left.mean:.0%} of {count(standings.left.n, 'decided vote')} "
            f"(interval {standings.left.low:.0%} to {standings.left.high:.0%}).{says}"
        )
    if standings.unbounded:
        yield (
            f"{standings.unbounded:,} of {standings.fits:,} resamples have no finite maximum, as a maker wins or loses every time; "
            f"they are fitted with {ADDED:g} of a tie between each two makers that met."
        )
    if standings.rules.regularise:
        yield f"Regularised: {standings.rules.regularise:g} of a tie is added between each two makers that met."
    yield from _style(standings)


def _order(standings: Standings) -> Iterator[str]:
    rated = [each for each in standings.makers if each.rated.rating is not None]
    if any(each.rated.low is None for each in rated):
        yield "There are too few votes for intervals: the makers cannot be put in order."
        return
    unordered = standings.unordered
    above = list[str]()
    for one in rated:
        below = [
            other.maker
            for other in rated
            if other.group == one.group and apart(one.rated, other.rated)
            and (one.rated.rating or 0) > (other.rated.rating or 0)
        ]  # fmt: skip
        above += [f"{one.maker} than {_names(below)}"] if below else []
    if above:
        more = f"; and {count(len(above) - LISTED, 'more maker')}" if len(above) > LISTED else ""
        yield f"Rated higher, with intervals that do not overlap: {'; '.join(above[:LISTED])}{more}."
    if unordered:
        pairs = "; ".join(f"{one} and {other}" for one, other in unordered[:LISTED])
        more = f"; and {count(len(unordered) - LISTED, 'more pair')}" if len(unordered) > LISTED else ""
        yield f"Not put in order, as their intervals overlap: {pairs}{more}."


def _connections(standings: Standings) -> Iterator[str]:
    if len(standings.groups.connected) > 1:
        listed = "; ".join(
            f"group {number}: {_names(names)}" for number, names in enumerate(standings.groups.connected, 1)
        )
        yield f"Makers of different groups never met, not even through others, and cannot be compared ({listed})."
    for endless, what in (("won", "won"), ("lost", "lost")):
        names = [each.maker for each in standings.makers if each.endless == endless]
        if names:
            yield (
                f"{_names(names)}: {what} every comparison with the others, so there is no finite rating. "
                "More votes, or --regularise 0.5, give one."
            )
    if between := [each.maker for each in standings.makers if each.endless == "apart"]:
        yield f"{_names(between)}: no finite rating, as nobody both won and lost against the others of the group."
    met = {frozenset((each.maker, each.other)) for each in standings.win_rates if each.n}
    never = [
        pair
        for pair in combinations([each.maker for each in standings.makers], 2)
        if frozenset(pair) not in met
    ]
    if never and len(standings.groups.connected) == 1:
        pairs = "; ".join(f"{one} and {other}" for one, other in never[:LISTED])
        more = f"; and {count(len(never) - LISTED, 'more pair')}" if len(never) > LISTED else ""
        yield f"Never met, and compared only through others: {pairs}{more}."


def _raters(standings: Standings) -> Iterator[str]:
    who = "model" if standings.kind == "model" else "rater"
    if not standings.raters:
        yield "The raters are not known: intervals hold for other votes of the same raters."
    elif len(standings.raters) == 1:
        yield f"All votes are by one {who}: intervals do not hold for other {who}s."
    else:
        if nobody := standings.raters.get(""):
            yield f"{nobody:,} of {standings.votes:,} votes name no {who}: they count as those of one {who}."
        name, most = next(iter(standings.raters.items()))
        if name and most > DOMINANT * standings.votes:
            yield f"{name} gave {most:,} of {standings.votes:,} votes ({most / standings.votes:.0%}): one {who} dominates."
    same = standings.agreement
    if same.equal is not None:
        alpha = "" if same.alpha is None else f", Krippendorff's alpha {same.alpha:.2f}"
        yield f"{who.capitalize()}s agree in {same.equal:.0%} of answers on the same pair ({count(same.pairs, 'pair')}{alpha})."
    elif len(standings.raters) > 1:
        yield f"No two {who}s answered the same pair: their agreement is not known."


def _style(standings: Standings) -> Iterator[str]:
    if standings.unadjusted:
        yield f"Not adjusted for style: {standings.unadjusted}."
    elif standings.effects:
        effects = ", ".join(
            f"{each.sign} {each.points:+.0f}"
            + ("" if each.low is None or each.high is None else f" ({each.low:.0f} to {each.high:.0f})")
            for each in standings.effects
        )
        yield f"Effect of style, in points for one standard deviation more: {effects}.".replace("-", "−")
        if standings.dropped:
            yield f"Not adjusted for {', '.join(standings.dropped)}: equal in all pairs, or a result of makers or other signs of style."


def _names(names: Collection[str]) -> str:
    listed = [*names][:LISTED]
    return ", ".join(listed) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
