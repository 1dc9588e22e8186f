"""Relative quality ranking, and its dependence on the order of the ideas (§3.2, App. A.3.1)."""

import hashlib
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import fmean
from string import ascii_uppercase

from pydantic import Field, model_validator

from manyheads.asking.forms import as_ranked
from manyheads.asking.prompts import Prompts
from manyheads.base.errors import MeasureError, RatingError
from manyheads.base.resources import Resources
from manyheads.core.results import Part, RankedItem, RankedOrder
from manyheads.measures.forms import LISTED, Filled, Form, Key, Layout, Row, anonymous, judged_run, read_table
from manyheads.measures.statistics import kendall_w

RESAMPLES = 1_999
"""Random designs of the test for position bias."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """The effect of an idea's place on its rank, over all orders of one set of k ideas.

    Attributes:
        bias: mean Spearman correlation of place and rank, -1 to 1; above 0, early ideas rank better. It is the loss of ranks
        per place. A preference for the middle shows only in `by_place`.
        p: p-value: share of random orders under which the same rankings come out at least as biased, 0 to 1.
        by_place: mean rank, 1 to k, in each place; (k + 1) / 2 without bias.
        consistency: Kendall's W of the rankings: 1 if the order changes nothing; None for a single order.
        orders: number with a ranking.
    """

    bias: float
    p: float
    by_place: tuple[float, ...]
    consistency: float | None
    orders: int


def relative_quality(rank: int, ideas: int) -> float:
    """S = (n_t - 1) / n: the share of the n ideas ranked above the target, whose rank n_t is 1 to n + 1 (Eq. 3).

    Raises `MeasureError` without ideas, or for a rank out of range.
    """
    if ideas < 1 or not 1 <= rank <= ideas + 1:
        raise MeasureError(f"rank {rank}: out of range for {ideas} ideas")
    return (rank - 1) / ideas


def orders_of(size: int, count: int, rng: random.Random) -> list[tuple[int, ...]]:
    """Orders of 0, …, size - 1: the rows of random Latin squares, one square after another.

    Every `size` orders put each idea in each place once, which separates place from idea. Raises `MeasureError` for a
    size of 0.
    """
    if size < 1:
        raise MeasureError("there are no ideas to put in order")
    found: list[tuple[int, ...]] = []
    while len(found) < count:
        ideas, places, rows = (rng.sample(range(size), size) for _ in range(3))
        found += [tuple(ideas[(row + place) % size] for place in places) for row in rows]
    return found[:count]


def position_bias(
    shown: Sequence[Sequence[int]],
    ranked: Sequence[Sequence[int] | None],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PositionBias:
    """The position bias of rankings of one set of ideas.

    The p-value is that of a randomisation test: without a bias, the rankings would be the same under any orders of
    `orders_of`.

    Args:
        shown: all orders, each the ideas 0, …, k - 1 from the first place to the last.
        ranked: for each order, the ideas from best to worst; None without a ranking.

    Raises:
        MeasureError: no rankings, fewer than two ideas, or a ranking of other ideas.
    """
    size, whole = len(shown[0]) if shown else 0, [each for each in ranked if each is not None]
    if size < 2 or not whole or len(shown) != len(ranked):
        raise MeasureError("position bias needs two or more ideas, and rankings of them in the orders shown")
    if any(sorted(each) != list(range(size)) for each in (*shown, *whole)):
        raise MeasureError(f"an order or ranking must have each of the {size} ideas once")
    at = [place for place, each in enumerate(ranked) if each is not None]
    ranks, rng = [ranks_of(each) for each in whole], random.Random(seed)

    def bias_of(orders: Sequence[Sequence[int]]) -> float:
        """Mean Spearman correlation of two permutations: 1 - 6 Σ d² / (k (k² - 1))."""
        pairs = zip((orders[place] for place in at), ranks, strict=True)
        squares = (
            sum((place - rank[idea]) ** 2 for place, idea in enumerate(order)) for order, rank in pairs
        )
        return fmean(1 - 6 * total / (size * (size**2 - 1)) for total in squares)

    bias = bias_of(shown)
    drawn = (bias_of(orders_of(size, len(shown), rng)) for _ in range(resamples))
    as_large = sum(abs(other) >= abs(bias) - 1e-12 for other in drawn)
    by_place = tuple(
        fmean(rank[shown[order][place]] + 1 for order, rank in zip(at, ranks, strict=True))
        for place in range(size)
    )
    return PositionBias(bias, (1 + as_large) / (1 + resamples), by_place, kendall_w(ranks), len(ranks))


def ranks_of(order: Sequence[int]) -> list[int]:
    """From things in order, best first, to each thing's rank, from 0."""
    return sorted(range(len(order)), key=order.__getitem__)


GUIDE = "partials/ranking_guide.md.j2"
JUDGED = "manyheads ranking judge IDEA… --target …"
"""The command that makes the runs read here."""
TARGET = 0
"""The target's number in every set."""


def digest(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(text: str) -> str:
    """The digest of a cell's text, ignoring white space and byte order marks, which spreadsheets change."""
    return digest(" ".join(text.split()).lstrip("'"))


COLUMNS = ("rater", "set", "idea", "rank")
"""What a table of rankings has to tell."""
LAYOUT = Layout(
    command="manyheads ranking form",
    table=("rater", "set", "quality", "idea", "text", "rank", "comment"),
    key=("set", "idea", "number", "quality", "target", "judge_ranks", "source", "run", "sha256"),
    names=("set", "idea"),
    answers=("rank",),
    proof=("text", "sha256", lambda cell, proof: fingerprint(cell) == proof),
    answer="rankings",
    exclusion="leave out that rater's whole set of a row",
)


@dataclass(frozen=True)
class RankedSet:
    """A target and ideas, ranked by a judge in a run. Each tuple has the target first.

    Attributes:
        target: SHA-256 of the target as it was given; equal in all its sets.
        traits: of the quality `indicator`, as a list in Markdown.
        texts: as the judge saw them.
        sources: their files or folders.
        judge_ranks: for each of them, the judge's rank in each order that has a ranking, from 1.
    """

    run: str
    target: str
    area: str
    indicator: str
    traits: str
    texts: tuple[str, ...]
    sources: tuple[str, ...]
    judge_ranks: tuple[tuple[int, ...], ...]

    @property
    def sha256(self) -> str:
        """Digest of the question: target, ideas and quality indicator."""
        return digest("\0".join((self.indicator, self.texts[0], *sorted(self.texts[1:]))))


class _Result(Part):
    """The part of a ranking's result that is read."""

    target: RankedItem
    ideas: tuple[RankedItem, ...] = Field(min_length=1, max_length=len(ascii_uppercase) - 1)
    area: str
    indicator: str
    traits: str
    shown_fields: tuple[str, ...]
    orders: tuple[RankedOrder, ...]

    @property
    def items(self) -> tuple[RankedItem, ...]:
        return (self.target, *self.ideas)

    @model_validator(mode="after")
    def _ranks_each_once(self) -> "_Result":
        every = list(range(len(self.items)))
        if any(order.ranked is not None and sorted(order.ranked) != every for order in self.orders):
            raise ValueError("orders: a ranking must have each idea once")
        return self


def read_ranked_set(folder: Path) -> RankedSet:
    """A finished run that ranked ideas against a target; raises `RatingError` for others."""
    result = judged_run(folder, _Result, {"target", "orders"}, "a ranking", JUDGED)
    size = len(result.items)
    ranks = [ranks_of(order.ranked) for order in result.orders if order.ranked is not None]
    if not ranks:
        raise RatingError(f"{folder}: no order has a ranking", hint=f"run it again: {JUDGED}")
    texts = tuple(
        as_ranked(each.title, each.text or "", each.fields, result.shown_fields) for each in result.items
    )
    return RankedSet(
        run=str(folder.resolve()),
        target=result.target.sha256 or digest(texts[0]),
        area=result.area,
        indicator=result.indicator,
        traits=result.traits,
        texts=texts,
        sources=tuple(item.source for item in result.items),
        judge_ranks=tuple(tuple(rank[number] + 1 for rank in ranks) for number in range(size)),
    )


def ranking_form(sets: Sequence[RankedSet], raters: int, seed: int) -> Form:
    """Shuffle the sets, and the texts of each, once for their ids and once per rater; a seed gives one form.

    Raises:
        RatingError: no sets, no raters, a duplicate question, or different traits of one quality indicator.
    """
    if not sets or raters < 1:
        raise RatingError("a form needs at least one ranking and one rater")
    questions: dict[str, RankedSet] = {}
    qualities: dict[str, RankedSet] = {}
    for each in sets:
        if other := questions.get(each.sha256):
            raise RatingError(
                f"{each.run}: the same ideas and quality as {other.run}", hint="name only one of them"
            )
        questions[each.sha256] = each
        other = qualities.setdefault(each.indicator, each)
        if other.traits != each.traits:
            raise RatingError(
                f"{each.run}: its traits of {each.indicator} differ from those of {other.run}",
                hint="make a form for each",
            )
    rng = random.Random(seed)
    named = anonymous(questions, "S", rng)
    sizes = {name: len(each.texts) for name, each in named.items()}
    letters = {name: rng.sample(range(size), size) for name, size in sizes.items()}
    places = {
        place: at for at, place in enumerate((name, number) for name in named for number in letters[name])
    }
    orders = tuple(
        tuple(
            places[name, number]
            for name in rng.sample(list(named), len(named))
            for number in rng.sample(range(sizes[name]), sizes[name])
        )
        for _ in range(raters)
    )
    items = tuple(
        {"set": name, "quality": each.indicator, "idea": ascii_uppercase[place], "text": each.texts[number],
         "number": str(number), "target": each.target, "judge_ranks": " ".join(map(str, each.judge_ranks[number])),
         "source": each.sources[number], "run": each.run, "sha256": fingerprint(each.texts[number])}
        for name, each in named.items() for place, number in enumerate(letters[name])
    )  # fmt: skip
    areas = {
        name: sorted({each.area for each in sets if each.indicator == name}) for name in sorted(qualities)
    }
    values = {"qualities": [qualities[name] for name in areas], "areas": areas}
    return Form(LAYOUT, items, orders, Prompts(Resources.of()).render(GUIDE, values))


def doubts(form: Form) -> Iterator[str]:
    """Targets with several sets of ideas, one line each."""
    beside: dict[str, dict[str, set[str]]] = {}
    for item in form.items:
        ideas = beside.setdefault(item["target"], {}).setdefault(item["set"], set())
        if item["number"] != str(TARGET):
            ideas.add(item["text"])
    for sets in beside.values():
        if len(set(map(frozenset, sets.values()))) > 1:
            yield (
                f"{', '.join(sets)}: the same target with different ideas: whoever sees several of these sets "
                "can recognise it; make one form per set, for different people"
            )


@dataclass(frozen=True)
class JudgedSet:
    """A set as in the key: quality indicator, the target's SHA-256, and the run of the judge's ranking.

    Attributes:
        numbers: text number by letter; 0 is the target.
        judge_ranks: for each of the judge's orders the rank of each text, from 1, the target first; none without a judge.
        has_target: whether number 0 is a target, not an idea.
    """

    indicator: str
    target: str
    run: str
    numbers: Mapping[str, int]
    judge_ranks: tuple[tuple[int, ...], ...]
    has_target: bool = True


@dataclass(frozen=True)
class Rankings:
    """What people ranked: by set, then rater, the rank of each text, from 1, the target first; what the key has of these
    sets; the rows, as `file:row`, that were named to leave their sets out; and rankings of other people's tables that
    are not used, with the reason.
    """

    ranks: Mapping[str, Mapping[str, tuple[int, ...]]]
    sets: Mapping[str, JudgedSet]
    excluded: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def raters(self) -> list[str]:
        return sorted({rater for by_rater in self.ranks.values() for rater in by_rater})


def judged_sets(key: Key) -> dict[str, JudgedSet]:
    """The sets of a form's key; raises `RatingError` if a text is missing, or the judge's ranks are invalid."""
    groups: dict[str, list[Row]] = {}
    for row in key.rows.values():
        groups.setdefault(row["set"], []).append(row)
    sets: dict[str, JudgedSet] = {}
    for name, rows in groups.items():
        every, whole = ([str(number + first) for number in range(len(rows))] for first in (0, 1))
        ranks = {row["number"]: row["judge_ranks"].split() for row in rows}
        heads = {(row["quality"], row["target"], row["run"]) for row in rows}
        orders = list(zip(*(ranks.get(number, ()) for number in every), strict=False))
        if (
            len(rows) < 2
            or sorted(ranks) != sorted(every)
            or len(heads) > 1
            or {len(each) for each in ranks.values()} != {len(orders)}
            or not orders
            or any(sorted(order) != sorted(whole) for order in orders)
        ):
            raise RatingError(
                f"{rows[0].place}: the key of set {name} is damaged", hint="make the form again"
            )
        judge = tuple(tuple(map(int, order)) for order in orders)
        sets[name] = JudgedSet(*heads.pop(), {row["idea"]: int(row["number"]) for row in rows}, judge)
    return sets


def read_rankings(paths: Sequence[Path], key: Key, exclude: Collection[str] = ()) -> Rankings:
    """The rankings of filled-in forms; sets that a rater did not get, or that are left out, are missing.

    Args:
        paths: tables with the columns `rater`, `set`, `idea` and `rank`.
        exclude: rows, as `row` or `file:row`; that rater's whole set is left out.

    Raises:
        RatingError: a file cannot be read, or a rank, an idea, a text or a row to leave out does not fit the key; lists all
        problems by file and row.
    """
    sets, filled = judged_sets(key), Filled.read(paths, LAYOUT, exclude)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in filled.rows:
        groups.setdefault((row["set"], row["rater"]), []).append(row)
    ranks: dict[str, dict[str, tuple[int, ...]]] = {}
    problems: list[str] = []
    for (name, rater), rows in groups.items():
        if any(row.place in filled.excluded for row in rows):
            continue
        wrong = list(_problems(rows, key, sets.get(name)))
        problems += wrong
        if not wrong:
            by_number = {sets[name].numbers[row["idea"]]: int(row.number("rank")) for row in rows}
            ranks.setdefault(name, {})[rater] = tuple(by_number[number] for number in sorted(by_number))
    filled.refuse(problems)
    if not ranks:
        raise RatingError(f"{', '.join(map(str, paths))}: no rankings")
    known = {name: each for name, each in sets.items() if name in ranks}
    return Rankings({name: ranks[name] for name in known}, known, filled.excluded)


def _problems(rows: Sequence[Row], key: Key, judged: JudgedSet | None) -> Iterator[str]:
    """The problems of one rater's ranking of one set."""
    first, rater, name = rows[0], rows[0]["rater"], rows[0]["set"]
    if not rater:
        yield f"{first.place}: column rater: empty"
    places: dict[tuple[str, str], str] = {}
    for row in rows:
        yield from key.problems_of(row)
        if judged:
            yield from row.problems_of("rank", 1, len(judged.numbers))
        for column in ("idea", "rank"):
            place = places.setdefault((column, row[column]), row.place)
            if row[column] and place != row.place:
                yield f"{row.place}: {rater} gives {name} the {column} {row[column]} again, after {place}"
    if missing := sorted(set(judged.numbers if judged else ()) - {row["idea"] for row in rows}):
        yield f"{first.place}: {rater} leaves {', '.join(missing)} out of {name}"


def own_rankings(
    paths: Sequence[Path],
    columns: Mapping[str, str],
    judges: Collection[str] = (),
    target: str | None = None,
    exclude: Collection[str] = (),
) -> Rankings:
    """The rankings in tables of another origin, which have no key: a row for each rater, set and idea, with its rank.

    A ranking that lacks an idea of its set, or has two of one rank, is not used. Ranks are numbers, the best the lowest.

    Args:
        paths: CSV files in UTF-8.
        columns: what they call `rater`, `set`, `idea` and `rank`; without a set, there is a single one.
        judges: raters whose rankings are those of the judge.
        target: the idea that is the target of every set.
        exclude: rows, as `row` or `file:row`; the whole set of that rater is left out.

    Raises:
        RatingError: a file cannot be read, a cell is no rank, an idea is ranked twice, a judge or the target is in no set,
            or nothing is left.
    """
    single = "set" not in columns and not any(
        "set" in row.cells for path in paths for row in read_table(path, (), "")
    )
    layout = replace(LAYOUT, names=("idea",) if single else LAYOUT.names)
    filled, problems = Filled.read(paths, layout, exclude, columns), list[str]()
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in filled.rows:
        problems += [f"{row.place}: column {name}: empty" for name in ("rater", "idea") if not row[name]]
        if not row.missing("rank"):
            problems += row.problems_of("rank", -inf, inf, whole=False)
        groups.setdefault(row["set"] or "all", {}).setdefault(row["rater"], []).append(row)
    filled.refuse(problems)
    if strange := sorted(set(judges) - {rater for by_rater in groups.values() for rater in by_rater}):
        raise RatingError(f"--judge {strange[0]}: no such rater", hint="name a rater of the tables")
    ranks, sets, unused = dict[str, dict[str, tuple[int, ...]]](), dict[str, JudgedSet](), list[str]()
    for name, by_rater in groups.items():
        ideas = [*dict.fromkeys(row["idea"] for rows in by_rater.values() for row in rows)]
        ideas.sort(key=lambda idea: idea != target)
        whole = dict[str, tuple[int, ...]]()
        for rater, rows in by_rater.items():
            if any(row.place in filled.excluded for row in rows):
                continue
            places = {row["idea"]: row.number("rank") for row in rows if not row.missing("rank")}
            if len({row["idea"] for row in rows}) < len(rows):
                unused.append(f"{rows[0].place}: {rater} ranks an idea of {name} twice")
            elif absent := len(ideas) - len(places):
                unused.append(
                    f"{rows[0].place}: {rater} ranks {absent} of {len(ideas)} ideas of {name} not at all"
                )
            elif len({*places.values()}) < len(ideas):
                unused.append(f"{rows[0].place}: {rater} gives two ideas of {name} the same rank")
            else:
                order = sorted(places.values())
                whole[rater] = tuple(order.index(places[idea]) + 1 for idea in ideas)
        people = {rater: each for rater, each in whole.items() if rater not in judges}
        if len(ideas) < 2 or not people:
            continue
        first = ideas[0] == target
        judged = tuple(each for rater, each in whole.items() if rater in judges)
        numbers = {idea: number for number, idea in enumerate(ideas)}
        ranks[name] = people
        sets[name] = JudgedSet("rank", target if first and target else name, "", numbers, judged, first)
    if not ranks:
        why = f": {'; '.join(unused[:LISTED])}" if unused else ""
        raise RatingError(f"{', '.join(map(str, paths))}: no whole ranking of a person in it{why}")
    if target and not any(each.has_target for each in sets.values()):
        raise RatingError(f"--target {target}: in no set", hint="name one of the ideas that are ranked")
    return Rankings(ranks, sets, filled.excluded, tuple(unused))
