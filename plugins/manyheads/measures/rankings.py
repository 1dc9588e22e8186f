"""Rankings by people, read strictly from filled-in forms and the key to these (Review and Rebuttal, App. A.3.1)."""

import hashlib
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from pathlib import Path
from statistics import fmean
from string import ascii_uppercase
from typing import Any

from pydantic import Field, model_validator

from manyheads.core.results import Part, RankedItem, RankedOrder, read_result, result_data
from manyheads.errors import RatingError, SubjectError
from manyheads.measures.ranking import concordance, ranking_difference, ranks_of, relative_quality
from manyheads.measures.sheets import csv_text, excluded_rows, read_sheet, unusable, write_forms
from manyheads.measures.statistics import Ends, Mean, by_group, mean_of
from manyheads.replies.refinement import as_ranked
from manyheads.resources import Resources
from manyheads.roles import Prompts

# The ranking form: sets of ideas that a judge has ranked, for people to rank as blindly (App. A.3.1).


COLUMNS = ("rater", "set", "quality", "idea", "text", "rank", "comment")
KEY = ("set", "idea", "number", "quality", "target", "judge_ranks", "source", "run", "sha256")
GUIDE = "partials/ranking_guide.md.j2"
RANKING = "ranking"
JUDGED = "manyheads ranking judge IDEA… --target …"
"""Makes the runs that are read here."""


@dataclass(frozen=True)
class RankedSet:
    """A target and ideas that a judge has ranked. Each tuple has the target first.

    Attributes:
        run: the folder of the ranking.
        target: of the target as it was given, its SHA-256: the same in all sets in which it stands.
        area, indicator, traits: the field, the quality, and by what this is known, a list in Markdown.
        texts: as the judge saw them.
        sources: where they are from.
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
        """Of what people are asked: the same target and ideas, by the same quality, are the same question."""
        told = "\0".join((self.indicator, self.texts[0], *sorted(self.texts[1:])))
        return digest(told)


@dataclass(frozen=True)
class RankingForm:
    """What is ranked and by how many.

    Attributes:
        sets: by anonymous id, in an order that tells nothing.
        letters: of each set, which of its texts stands behind A, B, C, …; 0 is the target.
        orders: for each rater the sets in an order of their own, each with its texts in one.
    """

    sets: dict[str, RankedSet]
    letters: dict[str, tuple[int, ...]]
    orders: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]

    def letter(self, name: str, number: int) -> str:
        """What raters know a text of a set by."""
        return ascii_uppercase[self.letters[name].index(number)]

    def doubts(self) -> Iterator[str]:
        """Sets in which a target comes back while ideas beside it change, a line for each target."""
        beside: dict[str, dict[str, frozenset[str]]] = {}
        for name, each in self.sets.items():
            beside.setdefault(each.target, {})[name] = frozenset(each.texts[1:])
        for names in beside.values():
            if len(set(names.values())) > 1:
                yield (
                    f"{', '.join(names)}: one target beside different ideas, which tells it from these to whoever sees "
                    "several of the sets; make a form of each, and give them to different people"
                )


class _Result(Part):
    """What is read of a ranking's result."""

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
            raise ValueError("orders: a ranking does not hold each idea once")
        return self


def read_ranked_set(folder: Path) -> RankedSet:
    """A finished run of `ranking` as a set for people to rank.

    Raises:
        RatingError: the folder holds no such run, or no order of it has a ranking.
    """
    try:
        system = str(result_data(folder).get("system"))
    except SubjectError as error:
        begun = (folder / "config.yaml").is_file()
        raise RatingError(error.message, hint=error.hint if begun else f"name runs of {JUDGED}") from error
    if system != RANKING:
        raise RatingError(f"{folder}: a run of {system}, not of {RANKING}", hint=JUDGED)
    try:
        result = read_result(folder, _Result).result
    except SubjectError as error:
        raise RatingError(error.message, hint=f"run it anew: {JUDGED}") from error
    size = len(result.items)
    ranks = [ranks_of(order.ranked) for order in result.orders if order.ranked is not None]
    if not ranks:
        raise RatingError(f"{folder}: no order has a ranking", hint=f"run it anew: {JUDGED}")
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


def make_ranking_form(sets: Sequence[RankedSet], raters: int, seed: int) -> RankingForm:
    """Shuffle the sets, and the texts of each, once for their ids and once more for each rater; a seed gives one form.

    Raises:
        RatingError: no sets, no raters, the same question twice, which would be counted twice, or one quality that
            has several lists of traits, which people could not tell apart.
    """
    if not sets or raters < 1:
        raise RatingError("a form needs at least one ranking and one rater")
    seen: dict[str, RankedSet] = {}
    for each in sets:
        if other := seen.get(each.sha256):
            raise RatingError(
                f"{each.run}: the same ideas by the same quality as {other.run}", hint="name it once"
            )
        seen[each.sha256] = each
    _one_list_of_traits(sets)
    rng = random.Random(seed)
    # The folders' order must not show in the ids: what depends on the texts alone is what gets shuffled.
    shuffled = [seen[key] for key in sorted(seen)]
    rng.shuffle(shuffled)
    width = len(str(len(shuffled)))
    named = {f"S{number:0{width}}": each for number, each in enumerate(shuffled, 1)}
    letters = {name: _shuffled(each, rng) for name, each in named.items()}
    return RankingForm(named, letters, tuple(_order(named, rng) for _ in range(raters)))


def write_ranking_form(form: RankingForm, out: Path) -> list[Path]:
    """Write a table for each rater, the guideline, and the key, which is not for raters.

    Returns and raises as `write_forms`.
    """
    tables = [csv_text(COLUMNS, _rows(form, rater)) for rater in range(1, len(form.orders) + 1)]
    qualities = list({each.indicator: each for each in form.sets.values()}.values())
    areas = {
        one.indicator: sorted({each.area for each in form.sets.values() if each.indicator == one.indicator})
        for one in qualities
    }
    guide = Prompts(Resources.of()).render(
        GUIDE, {"qualities": sorted(qualities, key=lambda each: each.indicator), "areas": areas}
    )
    return write_forms(out, tables, guide, csv_text(KEY, _key(form)))


def digest(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(text: str) -> str:
    """What the text of a cell is known by, whatever a spreadsheet has done to its blanks and to the mark before it."""
    return digest(" ".join(text.split()).lstrip("'"))


def _one_list_of_traits(sets: Sequence[RankedSet]) -> None:
    told: dict[str, RankedSet] = {}
    for each in sets:
        other = told.setdefault(each.indicator, each)
        if other.traits != each.traits:
            raise RatingError(
                f"{each.run}: was judged by other traits of {each.indicator} than {other.run}",
                hint="make a form for each of them",
            )


def _shuffled(each: RankedSet, rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.sample(range(len(each.texts)), len(each.texts)))


def _order(named: Mapping[str, RankedSet], rng: random.Random) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, _shuffled(named[name], rng)) for name in rng.sample(list(named), len(named)))


def _rows(form: RankingForm, rater: int) -> Iterator[list[str]]:
    for name, numbers in form.orders[rater - 1]:
        each = form.sets[name]
        for number in numbers:
            letter = form.letter(name, number)
            yield [f"R{rater}", name, each.indicator, letter, each.texts[number], "", ""]


def _key(form: RankingForm) -> Iterator[list[str]]:
    for name, each in form.sets.items():
        for number in form.letters[name]:
            ranks = " ".join(map(str, each.judge_ranks[number]))
            known = [each.sources[number], each.run, fingerprint(each.texts[number])]
            yield [name, form.letter(name, number), str(number), each.indicator, each.target, ranks, *known]


FORM = "manyheads ranking form"
NEEDED = ("rater", "set", "idea", "rank")
LEAVES_OUT = "leave out the whole set in which a row stands, of that rater"
TARGET = 0
Numbered = Mapping[str, str]
"""A row, column by column."""


@dataclass(frozen=True)
class KeptSet:
    """What the key tells of a set.

    Attributes:
        indicator: the quality by which it is ranked.
        target: the SHA-256 of the target as it was given to the judge.
        run: the folder of the judge's ranking.
        numbers: by letter, which text it is; 0 is the target.
        judge_ranks: for each of the judge's orders the rank of each text, from 1, the target first.
        texts: by letter, the fingerprint of the text.
    """

    indicator: str
    target: str
    run: str
    numbers: Mapping[str, int]
    judge_ranks: tuple[tuple[int, ...], ...]
    texts: Mapping[str, str]

    @property
    def size(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class Rankings:
    """What people ranked.

    Attributes:
        given: by set, then rater, the rank of each text, from 1, the target first.
        sets: what the key tells of these sets.
        excluded: places of rows that were named to leave their sets out, as `file:row`.
    """

    given: Mapping[str, Mapping[str, tuple[int, ...]]]
    sets: Mapping[str, KeptSet]
    excluded: tuple[str, ...] = ()

    @property
    def raters(self) -> list[str]:
        return sorted({rater for by_rater in self.given.values() for rater in by_rater})


def read_ranking_key(path: Path) -> dict[str, KeptSet]:
    """The key of a form, by set.

    Raises:
        RatingError: it cannot be read, or is no key: a text is missing or stands there twice, or the judge's ranks of
            an order are no ranking.
    """
    rows: dict[str, list[tuple[str, Numbered]]] = {}
    for place, row in read_sheet(path, tuple((name,) for name in KEY), FORM).rows():
        rows.setdefault(row["set"], []).append((place, row))
    if not rows:
        raise RatingError(f"{path}: no sets in it", hint="name the .key.csv of the form")
    return {name: _kept(told) for name, told in rows.items()}


def read_rankings(
    paths: Sequence[Path], key: Mapping[str, KeptSet], exclude: Collection[str] = ()
) -> Rankings:
    """The rankings of filled-in forms; a set that a rater was not given or that is left out is simply not there.

    Args:
        paths: tables with the columns `rater`, `set`, `idea` and `rank`.
        key: of the same form.
        exclude: rows, as `row` or `file:row`; the whole set of that rater is left out, for what is left of it would
            be no ranking.

    Raises:
        RatingError: a file cannot be read, or a rank is missing, repeated or none of its set, an idea is missing,
            repeated or unknown, a text is not the one that the key knows, so that the form may be another's, or a row
            to leave out is not there. All that is wrong is named by file and row.
    """
    sheets = [read_sheet(path, tuple((name,) for name in NEEDED), FORM) for path in paths]
    excluded = excluded_rows(sheets, exclude)
    groups: dict[tuple[str, str], list[tuple[str, Numbered]]] = {}
    for place, row in ((place, row) for sheet in sheets for place, row in sheet.rows()):
        groups.setdefault((row["set"], row["rater"]), []).append((place, row))
    given: dict[str, dict[str, tuple[int, ...]]] = {}
    problems: list[str] = []
    for (name, rater), rows in groups.items():
        if any(place in excluded for place, _ in rows):
            continue
        wrong = list(_problems(name, rater, rows, key))
        problems += wrong
        if not wrong:
            given.setdefault(name, {})[rater] = _ranks(key[name], [row for _, row in rows])
    if problems:
        raise unusable(problems, "rankings", LEAVES_OUT)
    if not given:
        raise RatingError(f"{', '.join(map(str, paths))}: no rankings in it")
    sets = {name: kept for name, kept in key.items() if name in given}
    return Rankings({name: given[name] for name in sets}, sets, tuple(sorted(excluded)))


def _ranks(kept: KeptSet, rows: Sequence[Numbered]) -> tuple[int, ...]:
    ranks = {kept.numbers[row["idea"]]: int(row["rank"]) for row in rows}
    return tuple(ranks[number] for number in range(kept.size))


def _problems(
    name: str, rater: str, rows: Sequence[tuple[str, Numbered]], key: Mapping[str, KeptSet]
) -> Iterator[str]:
    first = rows[0][0]
    if not rater:
        yield f"{first}: column rater: empty"
    if name not in key:
        yield f"{first}: the key knows no set {name!r}"
        return
    kept = key[name]
    ideas: dict[str, str] = {}
    ranks: dict[str, str] = {}
    for place, row in rows:
        yield from _at_odds(place, row, kept)
        for column, seen in (("idea", ideas), ("rank", ranks)):
            if (value := row[column]) and value in seen:
                yield f"{place}: {rater} gives {name} the {column} {value} again, after {seen[value]}"
            seen.setdefault(value, place)
    if missing := sorted(set(kept.numbers) - set(ideas)):
        yield f"{first}: {rater} leaves {', '.join(missing)} out of {name}"


def _at_odds(place: str, row: Numbered, kept: KeptSet) -> Iterator[str]:
    if row["idea"] not in kept.numbers:
        yield f"{place}: column idea: {row['idea']!r} is none of {', '.join(sorted(kept.numbers))}"
    elif (text := row.get("text")) and fingerprint(text) != kept.texts[row["idea"]]:
        yield f"{place}: column text: not idea {row['idea']} of {row['set']} in the key; is it the key of this form?"
    rank = row["rank"]
    if not rank:
        yield f"{place}: column rank: empty"
    elif not re.fullmatch(r"[0-9]{1,9}", rank) or not 1 <= int(rank) <= kept.size:
        yield f"{place}: column rank: {rank!r} is no whole number from 1 to {kept.size}"


def _kept(rows: Sequence[tuple[str, Numbered]]) -> KeptSet:
    (first, one), size = rows[0], len(rows)
    numbers = {row["idea"]: row["number"] for _, row in rows}
    ranks = {row["number"]: row["judge_ranks"].split() for _, row in rows}
    same = {(row["quality"], row["target"], row["run"]) for _, row in rows}
    texts = [str(number) for number in range(size)]
    every = sorted(str(rank) for rank in range(1, size + 1))
    orders = list(zip(*(ranks.get(number, ()) for number in texts), strict=False))
    if (
        size < 2
        or len(numbers) < size
        or sorted(ranks) != sorted(texts)
        or len(same) > 1
        or {len(each) for each in ranks.values()} != {len(orders)}
        or not orders
        or any(sorted(order) != every for order in orders)
    ):
        raise RatingError(f"{first}: the key of set {one['set']} is damaged", hint="make the form anew")
    known = {idea: int(number) for idea, number in numbers.items()}
    judge = tuple(tuple(map(int, order)) for order in orders)
    shown = {row["idea"]: row["sha256"] for _, row in rows}
    return KeptSet(one["quality"], one["target"], one["run"], known, judge, shown)


# How far a judge ranks ideas as people do (Review and Rebuttal, App. A.3.1, Eq. 4 and Table 4).
#
# Each order of the judge counts as a ranking of its own, as in the paper: the mean of many lies near the middle, and so
# nearer to anybody's than a single one. Between two people D(S) is not 0 either, and a judge who guesses does not reach 1:
# both stand beside the judge's, without which a share of alignment says little.


@dataclass(frozen=True)
class SetAgreement:
    """One set, ranked by a judge and by people; None where a single rater cannot tell.

    Attributes:
        name, run, indicator, target: of the set.
        ideas: n, without the target.
        orders: the judge's rankings.
        s_judge: the judge's S, the mean over its orders.
        s_human: S of each rater.
        difference: D(S) = |S_human - S_judge| (Eq. 4), 0 to 1, the mean over raters and orders.
        between_people: the same between two raters, the mean over all pairs.
        by_chance: the same of a judge who puts the target into any place as likely.
        of_means: the difference of the mean over raters and that over orders.
        tau: Kendall's tau of whole rankings of the judge and a rater, -1 to 1, the mean over raters and orders.
        tau_between_people: the same between two raters.
        concordance: Kendall's W of the raters, 0 to 1.
        first: share of raters and orders that rank the same first.
        first_between_people: share of the pairs of raters who do.
    """

    name: str
    run: str
    indicator: str
    target: str
    ideas: int
    orders: int
    s_judge: float
    s_human: dict[str, float]
    difference: float
    between_people: float | None
    by_chance: float
    of_means: float
    tau: float
    tau_between_people: float | None
    concordance: float | None
    first: float
    first_between_people: float | None


@dataclass(frozen=True)
class Alignment:
    """All sets of one quality; see `SetAgreement` for what the means are of.

    Each is over targets, with its interval: sets beside one target are alike, so that their mean counts once.
    """

    indicator: str
    sets: tuple[SetAgreement, ...]
    targets: int
    raters: int
    rankings: int
    s_judge: Mean
    s_human: Mean
    difference: Mean
    between_people: Mean | None
    by_chance: float
    of_means: Mean
    tau: Mean
    tau_between_people: Mean | None
    concordance: Mean | None
    first: Mean
    first_between_people: Mean | None
    first_by_chance: float

    @property
    def alignment(self) -> float:
        """1 - D(S), the share by which judge and people agree where the target stands (Table 4)."""
        return 1 - self.difference.mean


def alignments(rankings: Rankings) -> list[Alignment]:
    """The judge held against people, quality by quality."""
    found = [_agreement(name, kept, rankings.given[name]) for name, kept in rankings.sets.items()]
    indicators = sorted({each.indicator for each in found})
    return [_alignment(name, [each for each in found if each.indicator == name]) for name in indicators]


def as_data(rankings: Rankings, found: Sequence[Alignment]) -> dict[str, Any]:
    """All of it as JSON data."""
    return {
        "raters": rankings.raters,
        "sets": len(rankings.sets),
        "rankings": sum(map(len, rankings.given.values())),
        "excluded": list(rankings.excluded),
        "qualities": {each.indicator: {**asdict(each), "alignment": each.alignment} for each in found},
    }


def kendall_tau(first: Sequence[int], second: Sequence[int]) -> float:
    """Kendall's tau of two rankings of the same two or more things, -1 to 1."""
    from scipy.stats import kendalltau

    found: Any = kendalltau(first, second)
    return float(found.statistic)


def _agreement(name: str, kept: KeptSet, ranks: Mapping[str, tuple[int, ...]]) -> SetAgreement:
    ideas, people = kept.size - 1, list(ranks.values())
    pairs, both = list(combinations(people, 2)), list(product(people, kept.judge_ranks))
    s_human = {rater: relative_quality(each[TARGET], ideas) for rater, each in ranks.items()}
    s_judge = [relative_quality(each[TARGET], ideas) for each in kept.judge_ranks]
    anywhere = [relative_quality(rank, ideas) for rank in range(1, kept.size + 1)]
    return SetAgreement(
        name=name,
        run=kept.run,
        indicator=kept.indicator,
        target=kept.target,
        ideas=ideas,
        orders=len(s_judge),
        s_judge=fmean(s_judge),
        s_human=s_human,
        difference=_differences(product(s_human.values(), s_judge)),
        between_people=_differences(combinations(s_human.values(), 2)) if pairs else None,
        by_chance=_differences(product(s_human.values(), anywhere)),
        of_means=ranking_difference(fmean(s_human.values()), fmean(s_judge)),
        tau=fmean(kendall_tau(*two) for two in both),
        tau_between_people=fmean(kendall_tau(*two) for two in pairs) if pairs else None,
        concordance=concordance(people),
        first=fmean(_same_first(*two) for two in both),
        first_between_people=fmean(_same_first(*two) for two in pairs) if pairs else None,
    )


def _alignment(indicator: str, sets: Sequence[SetAgreement]) -> Alignment:
    target_of = {each.name: each.target for each in sets}

    def over(value: Callable[[SetAgreement], float | None], within: Ends = (0, 1)) -> Mean | None:
        known = {each.name: found for each in sets if (found := value(each)) is not None}
        return mean_of(list(by_group(known, target_of.__getitem__).values()), within=within)

    def over_all(value: Callable[[SetAgreement], float], within: Ends = (0, 1)) -> Mean:
        found = over(value, within)
        if found is None:
            raise RatingError(f"{indicator}: no sets")
        return found

    return Alignment(
        indicator=indicator,
        sets=tuple(sets),
        targets=len(set(target_of.values())),
        raters=len({rater for each in sets for rater in each.s_human}),
        rankings=sum(len(each.s_human) for each in sets),
        s_judge=over_all(lambda each: each.s_judge),
        s_human=over_all(lambda each: fmean(each.s_human.values())),
        difference=over_all(lambda each: each.difference),
        between_people=over(lambda each: each.between_people),
        by_chance=over_all(lambda each: each.by_chance).mean,
        of_means=over_all(lambda each: each.of_means),
        tau=over_all(lambda each: each.tau, (-1, 1)),
        tau_between_people=over(lambda each: each.tau_between_people, (-1, 1)),
        concordance=over(lambda each: each.concordance),
        first=over_all(lambda each: each.first),
        first_between_people=over(lambda each: each.first_between_people),
        first_by_chance=over_all(lambda each: 1 / (each.ideas + 1)).mean,
    )


def _differences(pairs: Iterable[tuple[float, float]]) -> float:
    return fmean(ranking_difference(one, other) for one, other in pairs)


def _same_first(first: Sequence[int], second: Sequence[int]) -> bool:
    return first.index(1) == second.index(1)
