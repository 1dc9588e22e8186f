"""Rankings by people, read strictly from filled-in forms and the key to these (Review and Rebuttal, App. A.3.1)."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from manyheads.errors import RatingError
from manyheads.measures.ranking_form import KEY, fingerprint
from manyheads.measures.sheets import excluded_rows, read_sheet, unusable

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
