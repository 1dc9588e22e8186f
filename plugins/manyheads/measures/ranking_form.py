"""The ranking form: sets of ideas that a judge has ranked, for people to rank as blindly (App. A.3.1)."""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase

from pydantic import BaseModel, Field, ValidationError, model_validator

from manyheads.errors import RatingError, SubjectError
from manyheads.measures.ranking import ranks_of
from manyheads.measures.sheets import csv_text, write_forms
from manyheads.prompts import Prompts
from manyheads.replies.ranking import as_ranked
from manyheads.resources import Resources
from manyheads.roles import describe
from manyheads.subjects import read_result

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


class _Item(BaseModel):
    source: str = ""
    title: str = ""
    fields: dict[str, str] = {}
    text: str | None = None
    sha256: str = ""


class _Order(BaseModel):
    ranked: tuple[int, ...] | None


class _Result(BaseModel):
    """What is read of a ranking's result."""

    target: _Item
    ideas: tuple[_Item, ...] = Field(min_length=1, max_length=len(ascii_uppercase) - 1)
    area: str
    indicator: str
    traits: str
    shown_fields: tuple[str, ...]
    orders: tuple[_Order, ...]

    @property
    def items(self) -> tuple[_Item, ...]:
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
        data = read_result(folder)
    except SubjectError as error:
        begun = (folder / "config.yaml").is_file()
        raise RatingError(error.message, hint=error.hint if begun else f"name runs of {JUDGED}") from error
    if data.get("system") != RANKING:
        raise RatingError(f"{folder}: a run of {data.get('system')}, not of {RANKING}", hint=JUDGED)
    try:
        result = _Result.model_validate(data)
    except ValidationError as error:
        raise RatingError(f"{folder}: {describe(error)}", hint=f"run it anew: {JUDGED}") from error
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
