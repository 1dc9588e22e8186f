"""Tables of people's answers as publications put them on the net: known by their columns, with the figures that were printed.

A table is described by a YAML file, `configs/tables/NAME.yaml`; the data themselves are the user's.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import Field

from manyheads.base.resources import Resources, read_model
from manyheads.config import Strict
from manyheads.measures.agreement import FIGURES, RatingSummary
from manyheads.measures.standings import MakerRating, Standings
from manyheads.measures.votes import LEADS, TEXTS, TRAILS

if TYPE_CHECKING:
    from manyheads.measures.groups import GroupComparison

FOLDER = "tables/"
"""Folder of these files in `configs/`."""
Figures: TypeAlias = dict[str, tuple[float | None, float | None, float | None]]
"""Our figures by name: value and interval, None where there is none."""


class PublishedTable(Strict):
    """A table that a publication has put on the net: the columns that tell it, what they mean, and what the publication prints."""

    about: str
    """What it is, and of which publication."""
    source: str
    """Where the file is."""
    signs: tuple[str, ...] = Field(min_length=1)
    """Columns, or keys, that tell it, in small letters. Of several tables with all their signs, the one with more of them is meant."""
    columns: dict[str, str] = Field(min_length=1)
    """Our names and its columns, as in `--columns`; of cases, config keys and its keys."""
    once: bool = False
    """Whether equal answers on one text count once."""
    group: str | None = None
    """Column of the groups to compare."""
    against: str | None = None
    """Group that the others are compared with, where they are not compared with each other."""
    scale: str | None = None
    """Scale of the ratings, as in `--scale`."""
    by: str | None = None
    """Score to compare with the ratings, as in `--by`."""
    threshold: float | None = None
    """Minimum mean rating, and score, of a good text."""
    scorers: dict[str, str] = Field(default_factory=dict[str, str])
    """What the publication calls tables of scores, by their names without ending."""
    thresholds: dict[str, float] = Field(default_factory=dict[str, float])
    """Minimum score of a good text by scorers for whom it is another one."""
    figures: dict[str, dict[str, float]] = Field(default_factory=dict[str, dict[str, float]])
    """By table or section of the publication, the numbers that it prints, by our name of the figure."""

    @property
    def question(self) -> str | None:
        """Of votes, the first question in `columns`: the one of the figures that name none."""
        return next((name for name in self.columns if name not in (*LEADS, *TRAILS, *TEXTS)), None)

    def beside(self, ours: Figures) -> list[dict[str, Any]]:
        """Each printed figure, and ours, which is None if the data do not have it."""
        return [
            {"where": where, "name": name, "published": value, "ours": ours.get(name)}
            for where, printed in self.figures.items()
            for name, value in printed.items()
        ]

    def as_lines(self, ours: Figures) -> Iterator[str]:
        """The figures, printed and ours, as text."""
        yield f"\nRecognised  {self.about}; {self.source}"
        width = max((len(name) for printed in self.figures.values() for name in printed), default=0)
        for where, printed in self.figures.items():
            yield f"\n{where}\n{'':{width}}  published  ours"
            for name, value in printed.items():
                digits = 2 if value < 2 or value % 1 else 0
                yield f"{name:{width}}  {value:9,.{digits}f}  {_shown(ours.get(name), value, digits)}"


def _shown(ours: tuple[float | None, ...] | None, published: float, digits: int) -> str:
    if ours is None or ours[0] is None:
        return "– (not in this file)" if ours is None else "– (not defined)"
    own, low, high = (None if each is None else f"{each:,.{digits}f}" for each in ours)
    ends = f" ({low} to {high})" if low and high else ""
    return f"{own}{ends}" + f"; differs by {ours[0] - published:+.2g}" * (own != f"{published:,.{digits}f}")


def recognised(columns: Collection[str]) -> PublishedTable | None:
    """The table that has these columns, or keys of an object; raises `ConfigError` for a broken file of a table."""
    names = {name.strip().lower() for name in columns}
    hint = "see the files of configs/tables for examples"
    files = Resources.of().names("configs", ".yaml", FOLDER).values()
    fitting = [
        each for path in files if names.issuperset((each := read_model(path, PublishedTable, hint)).signs)
    ]
    return max(fitting, key=lambda each: len(each.signs), default=None)


# Our figures, by the names that these files use.


def of_votes(parts: Iterable[Standings], main: str | None) -> Figures:
    """Ratings by question and maker; of the main question, expected shares of wins and, if it is the first, ratings without style.

    Only the first question is adjusted for style.
    """
    found = Figures()
    for number, part in enumerate(parts):
        found |= {f"{part.question}, {each.maker}": _rated(each.rated) for each in part.makers}
        if part.question == main and not number:
            found |= {f"adjusted, {each.maker}": _rated(each.adjusted) for each in part.makers}
        if part.question == main:
            found |= {
                f"{each.maker} over {each.other}": (each.expected, None, None) for each in part.win_rates
            }
    return found


def _rated(each: MakerRating) -> tuple[float | None, float | None, float | None]:
    return each.rating, each.low, each.high


def of_ratings(found: RatingSummary, scorers: Mapping[str, RatingSummary]) -> Figures:
    """Numbers of texts and ratings, the share of accepted ones; by scorer, how its scores agree with the ratings."""
    ours: Figures = {name: (getattr(found, name), None, None) for name in ("texts", "ratings", "accepted")}
    for scorer, compared in scorers.items():
        for name, each in compared.calibration.scores.figures.items() if compared.calibration else ():
            ours[f"{scorer}, {FIGURES[name]}"] = (
                (each.estimate, each.low, each.high) if each else (None, None, None)
            )
    return ours


def of_groups(found: "GroupComparison") -> Figures:
    """Means by criterion and group, differences, and their p."""
    ours: Figures = {
        f"{each.criterion}, {each.group}": (each.mean, each.low, each.high) for each in found.means
    }
    for each in found.differences:
        name = f"{each.criterion}, {each.one} − {each.other}"
        ours |= {
            name: (each.difference, each.low, each.high),
            f"{name}, p Bonferroni": (each.bonferroni, None, None),
        }
    return ours
