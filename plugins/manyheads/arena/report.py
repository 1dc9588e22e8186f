"""What the owner of an arena sees: its status; ratings of its makers by people and by models, for each question; their page."""

import base64
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from manyheads.arena.items import StoredText
from manyheads.arena.store import Arena
from manyheads.base.errors import RatingError
from manyheads.base.files import make_folder, replace_text
from manyheads.base.folders import writing
from manyheads.base.text import ABSENT, count, csv_text, first_few, plain
from manyheads.judges.blinding import giveaways
from manyheads.measures.standings import (
    ADDED,
    MakerRating,
    MakerStanding,
    RaterAgreement,
    Rules,
    Standings,
    agreement_with_people,
    apart,
    standings,
    steadiness,
)
from manyheads.measures.votes import PairVote, RaterKind
from manyheads.report.page import render, write_html
from manyheads.report.plots import Panel, PlotPoint, can_draw, draw, interval_plot

DOMINANT = 0.5
"""Share of the votes above which one rater dominates."""
LISTED = 6
"""Maximum pairs or makers in a sentence."""


# What the votes allow to conclude, and what they do not, in sentences.


def conclusions(found: Standings) -> Iterator[str]:
    """What the votes say, and what they do not say, a sentence each."""
    yield from (f"{sentence.rstrip('.')}." for sentence in _sentences(found))


def _sentences(found: Standings) -> Iterator[str]:
    yield from _order(found)
    yield from _connections(found)
    if found.poor:
        counted = "left out" if found.rules.poor == "out" else "counted as ties"
        yield f"{count(found.poor, 'vote')} “both poor”: {counted}."
    if tied := sum(each.tied for each in found.makers) // 2:
        yield f"{count(tied, 'tie')}: half a win for each."
    yield from _raters(found)
    if found.left and found.left.low is not None and found.left.high is not None:
        says = "" if found.left.low <= 0.5 <= found.left.high else " Raters favour a side."
        yield (
            f"The text on the left won {found.left.mean:.0%} of {count(found.left.n, 'decided vote')} "
            f"(interval {found.left.low:.0%} to {found.left.high:.0%}).{says}"
        )
    if found.unbounded:
        yield (
            f"{found.unbounded:,} of {found.fits:,} resamples have no finite maximum, as a maker wins or loses every time; "
            f"they are fitted with {ADDED:g} of a tie between each two makers that met."
        )
    if found.rules.regularise:
        yield f"Regularised: {found.rules.regularise:g} of a tie is added between each two makers that met."
    yield from _style(found)


def _order(found: Standings) -> Iterator[str]:
    rated = [each for each in found.makers if each.rated.rating is not None]
    if any(each.rated.low is None for each in rated):
        yield "There are too few votes for intervals: the makers cannot be put in order."
        return
    above = list[str]()
    for one in rated:
        below = [other.maker for other in rated if other.group == one.group and apart(one.rated, other.rated)
                 and (one.rated.rating or 0) > (other.rated.rating or 0)]  # fmt: skip
        above += [f"{one.maker} than {first_few(below, LISTED)}"] if below else []
    if above:
        yield f"Rated higher, with intervals that do not overlap: {_several(above, 'maker')}."
    if pairs := [f"{one} and {other}" for one, other in found.unordered]:
        yield f"Not put in order, as their intervals overlap: {_several(pairs, 'pair')}."


def _connections(found: Standings) -> Iterator[str]:
    if len(found.groups.connected) > 1:
        listed = "; ".join(
            f"group {n}: {first_few(names, LISTED)}" for n, names in enumerate(found.groups.connected, 1)
        )
        yield f"Makers of different groups never met, not even through others, and cannot be compared ({listed})."
    for endless in ("won", "lost"):
        if names := [each.maker for each in found.makers if each.endless == endless]:
            yield (
                f"{first_few(names, LISTED)}: {endless} every comparison with the others, so there is no finite rating. "
                "More votes, or --regularise 0.5, give one."
            )
    if between := [each.maker for each in found.makers if each.endless == "apart"]:
        yield f"{first_few(between, LISTED)}: no finite rating, as nobody both won and lost against the others of the group."
    met = {(each.maker, each.other) for each in found.win_rates if each.n}
    both = combinations([each.maker for each in found.makers], 2)
    never = [f"{one} and {other}" for one, other in both if (one, other) not in met]
    if never and len(found.groups.connected) == 1:
        yield f"Never met, and compared only through others: {_several(never, 'pair')}."


def _raters(found: Standings) -> Iterator[str]:
    who = "model" if found.kind == "model" else "rater"
    if not found.raters:
        yield "The raters are not known: intervals hold for other votes of the same raters."
    elif len(found.raters) == 1:
        yield f"All votes are by one {who}: intervals do not hold for other {who}s."
    else:
        if nobody := found.raters.get(""):
            yield f"{nobody:,} of {found.votes:,} votes name no {who}: they count as those of one {who}."
        name, most = next(iter(found.raters.items()))
        if name and most > DOMINANT * found.votes:
            yield f"{name} gave {most:,} of {found.votes:,} votes ({most / found.votes:.0%}): one {who} dominates."
    same = found.agreement
    if same.equal is not None:
        alpha = "" if same.alpha is None else f", Krippendorff's alpha {same.alpha:.2f}"
        yield f"{who.capitalize()}s agree in {same.equal:.0%} of answers on the same pair ({count(same.pairs, 'pair')}{alpha})."
    elif len(found.raters) > 1:
        yield f"No two {who}s answered the same pair: their agreement is not known."


def _style(found: Standings) -> Iterator[str]:
    if found.unadjusted:
        yield f"Not adjusted for style: {found.unadjusted}."
    elif found.effects:
        effects = ", ".join(
            f"{each.sign} {each.points:+.0f}"
            + ("" if each.low is None or each.high is None else f" ({each.low:.0f} to {each.high:.0f})")
            for each in found.effects
        )
        yield f"Effect of style, in points for one standard deviation more: {effects}.".replace("-", "−")
        if found.dropped:
            yield f"Not adjusted for {', '.join(found.dropped)}: equal in all pairs, or a result of makers or other signs of style."


def _several(parts: Sequence[str], what: str) -> str:
    more = f"; and {count(len(parts) - LISTED, f'more {what}')}" if len(parts) > LISTED else ""
    return f"{'; '.join(parts[:LISTED])}{more}"


# The status of an arena.


def status_of(arena: Arena) -> dict[str, Any]:
    """Makers, cases, raters and their progress; what keeps raters from voting."""
    texts, raters = arena.texts(), arena.raters()
    seconds = [row.seconds for row in arena.rows() if row.seconds is not None]
    imported = len(arena.votes()) - len(arena.rows()) if arena.kind == "pairs" else 0
    progress = {rater.name: (rater.kind, arena.progress(rater)) for rater in raters} if texts else {}
    return {
        "folder": str(arena.folder),
        "title": arena.form.title,
        "kind": arena.kind,
        "questions": list(arena.form.names),
        "makers": dict(Counter(each.maker for each in texts).most_common()),
        "cases": len({each.case for each in texts}),
        "texts": len(texts),
        "answers": len(arena.rows()),
        "imported": imported,
        "seconds": sorted(seconds)[len(seconds) // 2] if seconds else None,
        "raters": {
            name: {"kind": kind, "answered": each.answered, "skipped": each.skipped, "left": each.left}
            for name, (kind, each) in progress.items()
        },
        "problems": [*_problems(arena)],
    }


def _problems(arena: Arena) -> Iterator[str]:
    texts = arena.texts()
    if not texts:
        yield f"There are no texts. Add some: manyheads arena add {arena.folder} RUN…"
        return
    makers = {each.maker for each in texts}
    if arena.kind == "pairs" and len(makers) == 1:
        yield f"All texts are by {makers.pop()}: a pair needs two makers."
        return
    by_case = defaultdict[str, set[str]](set)
    for each in texts:
        by_case[each.case].add(each.maker)
    alone = [case for case, own in by_case.items() if len(own) == 1]
    if arena.kind != "ratings" and alone:
        yield f"{count(len(alone), 'case')} with the texts of one maker only, shown to nobody: {first_few(alone, 3)}."
    met = {maker for own in by_case.values() if len(own) > 1 for maker in own}
    if arena.kind == "pairs" and (never := sorted(makers - met)):
        yield f"{count(len(never), 'maker')} share no case with another: {first_few(never, 3)}."
    twins = Counter((each.case, each.digest) for each in texts)
    if equal := sum(number > 1 for number in twins.values()):
        yield f"{count(equal, 'text')} are there under several makers; equal texts are not shown as a pair."
    telling = giveaways((each.maker, each.body) for each in texts)
    yield from (f"{each[0].upper()}{each[1:]}." for each in telling)
    if arena.kind == "ranking" and (odd := _recognisable(texts)):
        yield f"The same text among different others: who ranks several of these cases can recognise it: {', '.join(odd)}."
    if not arena.raters():
        yield f"Nobody is invited. Invite raters: manyheads arena invite {arena.folder} NAME"


def _recognisable(texts: Sequence[StoredText]) -> list[str]:
    """Cases that share a text with another case, but not all."""
    sets = defaultdict[str, set[str]](set)
    for each in texts:
        sets[each.case].add(each.digest)
    return [one for one, own in sets.items() if any(own & each and own != each for each in sets.values())]


def as_lines(known: dict[str, Any]) -> Iterator[str]:
    yield f"Arena      {known['folder']}: {known['title']} ({known['kind']})"
    yield f"Texts      {count(known['texts'], 'text')} of {count(len(known['makers']), 'maker')} on {count(known['cases'], 'case')}"
    for maker, number in known["makers"].items():
        yield f"  {maker}: {count(number, 'text')}"
    imported = f", and {count(known['imported'], 'imported vote')}" if known["imported"] else ""
    pace = f", {known['seconds']:.0f} s each (median)" if known["seconds"] is not None else ""
    yield f"Answers    {count(known['answers'], 'answer')}{pace}{imported}"
    for name, each in known["raters"].items():
        kind = " (model)" if each["kind"] == "model" else ""
        skipped = f", {each['skipped']:,} skipped" if each["skipped"] else ""
        yield f"  {name}{kind}: {each['answered']:,} answered{skipped}, {each['left']:,} remaining"
    for problem in known["problems"]:
        yield f"Note       {problem}"


DATA, TABLE = "ratings.json", "ratings.csv"
PICTURES = ("intervals", "win-rates")


# Ratings of the makers.


@dataclass(frozen=True)
class ArenaResult:
    """Ratings by question, the main one first.

    Attributes:
        people, models: by kind of rater; empty without votes of this kind.
        models_and_people: how often each model gives the answer of a person.
        steady: pairs that models saw in both orders, and the share with the same answer.
        notes: rows of tables that were left out.
        repeated: what became of a rater's repeated votes in a table; empty without any.
    """

    people: tuple[Standings, ...]
    models: tuple[Standings, ...]
    models_and_people: Mapping[str, RaterAgreement]
    steady: tuple[int, float] | None
    notes: tuple[str, ...] = ()
    repeated: str = ""

    @property
    def main(self) -> Standings:
        """People's ratings on the main question, else those by models."""
        return (self.people or self.models)[0]

    @property
    def parts(self) -> list[tuple[str, tuple[Standings, ...]]]:
        """Kinds of raters with votes."""
        return [(name, each) for name, each in (("People", self.people), ("Models", self.models)) if each]

    def sentences(self) -> Iterator[str]:
        """What the votes say, and what they do not say."""
        for name, part in self.parts:
            for sentence in conclusions(part[0]):
                yield sentence if len(self.parts) == 1 and name == "People" else f"{name}: {sentence}"
        for name, same in self.models_and_people.items():
            if same.equal is None:
                yield f"{name}: no person has answered one of its pairs."
            else:
                yield f"{name} gives the answer of a person in {same.equal:.0%} of answers on the same pair ({count(same.pairs, 'pair')})."
        if self.steady:
            pairs, share = self.steady
            yield f"Models saw {count(pairs, 'pair')} in both orders, and preferred the same text in {share:.0%}."
        yield from (f"{note}." for note in self.notes)

    def data(self) -> dict[str, Any]:
        """For `--json`."""
        data = asdict(self)
        for name, part in (("people", self.people), ("models", self.models)):
            data[name] = [{**asdict(found), "unordered": found.unordered} for found in part]
        return {**data, "sentences": [*self.sentences()]}


def rate(
    votes: Sequence[PairVote],
    questions: Sequence[str],
    rules: Rules,
    notes: Sequence[str] = (),
    repeated: str = "",
) -> ArenaResult:
    """The ratings on these questions, the main one first; only that one is adjusted for style.

    Raises:
        RatingError: the main question has no vote that counts.
    """
    main, *others = questions

    def by(kind: RaterKind) -> Iterator[Standings]:
        if any(vote.kind == kind for vote in votes):
            yield standings(votes, main, rules, kind)
            for question in others:
                with suppress(RatingError):  # nobody has answered it
                    yield standings(votes, question, replace(rules, signs=(), orders=1), kind)

    people, models = tuple(by("person")), tuple(by("model"))
    if not people and not models:
        standings(votes, main, rules)  # says why
    steady = steadiness([vote for vote in votes if vote.kind == "model"], main)
    beside = agreement_with_people(votes, main, rules.poor)
    return ArenaResult(people, models, beside, steady, tuple(notes), repeated)


def questions_of(votes: Sequence[PairVote], first: str | None = None) -> list[str]:
    """The questions that votes answer; `first`, else `overall`, leads. Raises `RatingError` for an unknown one."""
    names = list(dict.fromkeys(name for vote in votes for name in vote.answers))
    if first is not None and names and first not in names:
        raise RatingError(f"--question {first}: no votes on it", hint=f"choose one of: {', '.join(names)}")
    lead = first or ("overall" if "overall" in names or not names else names[0])
    return list(dict.fromkeys((lead, *names)))


# Cells of tables, on the terminal and on the page.


def rank(standing: MakerStanding) -> str:
    """`1`, or `2–4` where the votes leave it open."""
    if standing.best is None or standing.worst is None:
        return ABSENT
    return f"{standing.best}" if standing.best == standing.worst else f"{standing.best}–{standing.worst}"


def rating(rated: MakerRating) -> str:
    return ABSENT if rated.rating is None else f"{rated.rating:.0f}"


def interval(rated: MakerRating) -> str:
    known = rated.low is not None and rated.high is not None
    return f"{rated.low:.0f}–{rated.high:.0f}".replace("-", "−") if known else ABSENT


def elo_range(standing: MakerStanding) -> str:
    return f"{standing.elo.low:.0f}–{standing.elo.high:.0f}"


def win_rates(found: Standings) -> dict[tuple[str, str], str]:
    """By two makers: the expected and the observed win rate of the first, with n, as `67% / 88% (25)`."""

    def words(share: float | None) -> str:
        return ABSENT if share is None else f"{share:.0%}"

    rates = found.win_rates
    return {
        (one.maker, one.other): f"{words(one.expected)} / {words(one.observed)} ({one.n})" for one in rates
    }


# The folder of a report.


def write_result(result: ArenaResult, folder: Path, title: str) -> Path:
    """Write `report.html`, `ratings.json`, `ratings.csv` and, with matplotlib, pictures; returns the page.

    Raises:
        JournalError: the folder cannot be written.
    """
    with writing(folder):
        make_folder(folder)
        data = json.dumps(result.data(), indent=2, ensure_ascii=False)
        replace_text(folder / DATA, f"{data}\n")
        replace_text(folder / TABLE, _table(result))
    pictures = _pictures(result.main, folder, title) if can_draw() else []
    functions = (rank, rating, interval, elo_range, win_rates, conclusions)
    shown: dict[str, Any] = {each.__name__: each for each in functions}
    shown["pictures"] = [(alt, base64.b64encode(path.read_bytes()).decode()) for alt, path in pictures]
    shown |= {"title": title, "result": result, "ABSENT": ABSENT}
    return write_html(folder, render("manyheads.arena", "report.html.j2", shown))


def _table(result: ArenaResult) -> str:
    header = (
        "raters", "question", "maker", "group", "best_rank", "worst_rank", "rating", "low", "high", "votes", "won", "tied",
        "win_rate", "elo", "elo_low", "elo_high", "adjusted", "adjusted_low", "adjusted_high", "endless",
    )  # fmt: skip
    rows = [
        (name.lower(), found.question, each.maker, each.group, each.best, each.worst, *_numbers(each.rated), each.votes, each.won,
         each.tied, round(each.score, 4), *(round(number, 1) for number in (each.elo.rating, each.elo.low, each.elo.high)),
         *_numbers(each.adjusted), each.endless or "")
        for name, part in result.parts for found in part for each in found.makers
    ]  # fmt: skip
    return csv_text([header, *rows])


def _numbers(rated: MakerRating) -> list[float | str]:
    return ["" if each is None else round(each, 1) for each in (rated.rating, rated.low, rated.high)]


def _pictures(found: Standings, folder: Path, title: str) -> list[tuple[str, Path]]:
    """The intervals and the expected win rates, as SVG and PNG."""
    rated = [each for each in found.makers if each.rated.rating is not None]
    drawn = list[tuple[str, Path]]()
    if not rated:
        return drawn
    files = {name: [folder / f"{name}{suffix}" for suffix in (".svg", ".png")] for name in PICTURES}
    rows = [(plain(one.maker), one.rated.rating or 0.0, one.rated.low, one.rated.high, one.adjusted.rating)
            for one in rated]  # fmt: skip
    caption = f"{count(found.votes, 'vote')} on {found.question}; {found.rules.level:.0%} intervals"
    interval_plot(rows, "rating", title, caption, files["intervals"])
    drawn.append(("Ratings with their intervals. The table has the same numbers.", files["intervals"][0]))
    points = tuple(
        PlotPoint(plain(each.other), plain(each.maker), None if each.expected is None else 100 * each.expected)
        for maker in rated for each in found.win_rates if each.maker == maker.maker and each.other in {r.maker for r in rated}
    )  # fmt: skip
    if points:
        panel = Panel("expected", "Expected win rate of the row, %", "against", "maker", points)
        draw("heatmap", [panel], title, caption, files["win-rates"])
        drawn.append(("Expected win rates. The table has the same numbers.", files["win-rates"][0]))
    return drawn
