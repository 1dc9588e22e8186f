"""Ratings of texts by people or models, and scores of the same texts (VirSci 2025, §4.2, App. C.4).

People rate in an arena or in tables of their own; reviews by `manyheads review` count as ratings, too. Scores come from
`manyheads measure`, tables and reviews; each is matched with its text.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar, cast

from pydantic import Field

from manyheads.base.errors import RatingError, SubjectError
from manyheads.base.files import expanded
from manyheads.core.results import RESULT, Part, read_result, result_data
from manyheads.measures.statistics import Ends
from manyheads.measures.tables import JSON, MISSING, TableRow, read_objects, read_table, refuse

CRITERIA = ("novelty", "feasibility", "effectiveness")
"""Rating criteria (App. C.4)."""
SCORE, ACCEPTED = "score", "accepted"
"""Columns of people's ratings of papers: the only criterion, and the decision on the paper."""
COLUMNS = ("rater", "id", *CRITERIA)
"""Columns of a table of ratings."""
IDS = ("id", "paper", "paper_id", "idea_id", "text_id")
"""Columns with the name of the text."""
GROUP = "group"
BESIDES = (
    "rater", *IDS, ACCEPTED, GROUP, "set", "title", "abstract", "text", "comment", "maker", "source", "sha256",
)  # fmt: skip
"""Columns that are no criteria."""
YES = ("yes", "true", "1", "accept", "accepted", "oral", "spotlight", "poster")
NO = ("no", "false", "0", "reject", "rejected", "desk", "withdrawn")
"""First words of decisions."""
HINT = (
    "one row for each text and rater: rater,id,novelty; or --columns rater=COLUMN,id=COLUMN,novelty=COLUMN; a column a rater: "
    "score=ANN+BEN, or score=RATING_*"
)
P = TypeVar("P", bound=Part)


Identity = Mapping[str, str]
"""Known identifiers of a text: some of `sha256`, `source`, `id`, `name`."""
FIELDS = ("sha256", "source", "id", "name")
"""Most reliable first."""


def identity_of(row: Mapping[str, Any]) -> Identity:
    """The identifiers of a row's text; sources as absolute paths."""
    identity = {name: str(row[name]).strip() for name in FIELDS if row.get(name)}
    if "source" in identity:
        with suppress(OSError, ValueError):  # not a valid file name
            identity["source"] = str(expanded(identity["source"]).resolve())
    return identity


@dataclass(frozen=True)
class RatingTable:
    """Ratings of texts.

    Attributes:
        criteria: what the texts were rated on.
        scores: by text, in the order in which they first come, then rater, then criterion, as far as there is a rating.
        scales: by criterion, the lowest and the highest rating that can be given, where somebody said so.
        missing: by criterion, the number of cells without a rating.
        unread: columns of the tables that are none of these criteria.
        texts: what is known of the texts; others are known by their names here.
        decisions: by text, whether it was accepted; empty if unknown.
        groups: by text, what it is compared by, such as its condition or maker.
        unnamed: raters of whom only the place of their rating is known.
        equal: number of answers that were left out, because the text has an equal one.
        unmatched: of changes, texts without ratings before and after.
    """

    criteria: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Mapping[str, float]]]
    scales: Mapping[str, Ends] = field(default_factory=dict[str, Ends])
    missing: Mapping[str, int] = field(default_factory=dict[str, int])
    unread: tuple[str, ...] = ()
    texts: Mapping[str, Identity] = field(default_factory=dict[str, Identity])
    decisions: Mapping[str, bool] = field(default_factory=dict[str, bool])
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    unnamed: frozenset[str] = frozenset()
    equal: int = 0
    unmatched: tuple[str, ...] = ()

    @property
    def raters(self) -> list[str]:
        return list(dict.fromkeys(rater for by_rater in self.scores.values() for rater in by_rater))

    @property
    def nameless(self) -> bool:
        """Whether nobody said who the raters are."""
        return bool(self.unnamed) and self.unnamed >= {*self.raters}

    @property
    def main(self) -> str:
        """The criterion to compare with scores: novelty, else the first."""
        return "novelty" if "novelty" in self.criteria else self.criteria[0]

    def of(self, criterion: str) -> dict[str, dict[str, float]]:
        """The ratings on one criterion, by text and rater; raises `RatingError` if there are none."""
        rated = {
            item: {rater: each[criterion] for rater, each in by_rater.items() if criterion in each}
            for item, by_rater in self.scores.items()
        }
        if not any(rated.values()):
            raise RatingError(f"no ratings of {criterion!r}", tried=f"rated: {', '.join(self.criteria)}")
        return {item: by_rater for item, by_rater in rated.items() if by_rater}

    def means(self, criterion: str) -> dict[str, float]:
        """The mean rating of each text."""
        return {item: fmean(by_rater.values()) for item, by_rater in self.of(criterion).items()}


def read_ratings(
    paths: Sequence[Path],
    columns: Mapping[str, str] | None = None,
    scales: Mapping[str, Ends] | None = None,
    *,
    once: bool = False,
) -> RatingTable:
    """Ratings from tables: a row for each text (`IDS`) and rater, a column for each criterion, or for each rater; any numbers.

    Cells without a rating are counted; a rating whose rater is not named is of somebody else. A column `accepted` has
    decisions, such as `yes` or `Accept (Poster)`.

    Args:
        paths: CSV files in UTF-8, separated by comma, semicolon or tab, or JSON.
        columns: what they call `rater`, `id`, `accepted`, `group` and the criteria, see `read_table`.
        scales: by criterion, the lowest and the highest rating; "" for the others.
        once: whether equal answers on one text count once.

    Raises:
        RatingError: a file cannot be read, a column is missing, a cell is no number or decision, a rater rated a text twice, or
        rows of one text have different decisions or groups. Lists all problems by file, row and column.
    """
    scales, (every, criteria) = scales or {}, _answers(paths, columns or {})
    rows = every
    if once:  # equal but for their number in the object around them, `file:1` of `file:1, reviews 2`
        rows = [*{(row.place.rpartition(", ")[0], *sorted(row.cells.items())): row for row in every}.values()]
    if strange := sorted({*scales} - {*criteria, ""}):
        raise RatingError(f"--scale {strange[0]}: no criterion", tried=f"criteria: {', '.join(criteria)}")
    ends = {name: scale for name in criteria if (scale := scales.get(name, scales.get("")))}
    problems, missing = list[str](), Counter[str]()
    scores, decisions = dict[str, dict[str, dict[str, float]]](), dict[str, bool]()
    texts, groups = dict[str, Identity](), dict[str, str]()
    for row in rows:
        item, rater = next((row[name] for name in IDS if row[name]), ""), row["rater"] or row.place
        rated = [name for name in criteria if not row.missing(name)]
        missing.update(set(criteria) - set(rated))
        problems += [f"{row.place}: no text is named"] * (not item)
        problems += [problem for name in rated for problem in row.problems_of(name, ends.get(name))]
        problems += _decision_problems(row, item, decisions)
        if row[GROUP] and groups.setdefault(item, row[GROUP]) != row[GROUP]:
            both = f"in group {groups[item]} in one row and in {row[GROUP]} in another"
            problems.append(f"{row.place}: {item} is {both}")
        if row["sha256"] or row["source"]:
            texts[item] = identity_of(row.cells)
        if rater in scores.setdefault(item, {}):
            problems.append(f"{row.place}: {rater} has already rated {item}")
        scores[item][rater] = {name: row.number(name) for name in rated}
    refuse(problems)
    if not any(each for by_rater in scores.values() for each in by_rater.values()):
        raise RatingError(f"{', '.join(map(str, paths))}: no ratings", hint=HINT)
    if decisions and (unknown := [item for item in scores if item not in decisions]):
        raise RatingError(f"no decision ({ACCEPTED}) for {', '.join(unknown[:8])}", hint=HINT)
    unread = dict.fromkeys(name for row in rows for name in row.cells if name not in (*BESIDES, *criteria))
    unnamed = frozenset(
        rater for row in rows if (rater := row["rater"] or row.place).split(":column ")[0] == row.place
    )
    equal = len(every) - len(rows)
    return RatingTable(
        criteria, scores, ends, missing, tuple(unread), texts, decisions, groups, unnamed, equal
    )


def _answers(paths: Sequence[Path], columns: Mapping[str, str]) -> tuple[list[TableRow], tuple[str, ...]]:
    """The rows of tables of ratings, and the criteria."""
    if (group := columns.get(GROUP, "").lower()) in ("rater", "id", *CRITERIA, SCORE):
        what = "is a criterion" if group in (*CRITERIA, SCORE) else f"names the {group}"
        hint = "name a column of conditions: --group COLUMN"
        raise RatingError(f"texts cannot be grouped by {group!r}, which {what}", hint=hint)
    named = tuple(name for name in columns if name not in BESIDES)
    answers = () if named else (*CRITERIA, SCORE)
    needed = [IDS, *([answers] if answers else [])]
    rows = [row for path in paths for row in read_table(path, needed, HINT, columns, answers)]
    criteria = named or tuple(name for name in answers if all(name in row.cells for row in rows))
    if not criteria:
        raise RatingError(f"the tables have no common column of {', '.join(answers)}", hint=HINT)
    return rows, criteria


def _decision_problems(row: TableRow, item: str, decisions: dict[str, bool]) -> Iterator[str]:
    """Note the decision of a row, if it has one; what is wrong with it."""
    told = "" if row.missing(ACCEPTED) else "".join(re.findall(r"\w+", row[ACCEPTED].lower())[:1])
    if told not in ("", *YES, *NO):
        yield f"{row.place}: {ACCEPTED} is {row[ACCEPTED]!r}: begin with one of {', '.join((*YES, *NO))}"
    elif told and decisions.setdefault(item, told in YES) is not (told in YES):
        yield f"{row.place}: {item} is accepted in one row and not in another"


def judged_run(folder: Path, kind: type[P], parts: Set[str], what: str, command: str) -> P:
    """The part `kind` of the result of a finished run of `command`; raises `RatingError` for other runs."""
    try:
        run = result_data(folder)
        if not parts <= run["result"].keys():
            raise RatingError(f"{folder}: a run of {run.get('system')}, not of {what}", hint=command)
        return read_result(folder, kind).result
    except SubjectError as error:
        hint = error.hint if (folder / "config.yaml").is_file() else f"name a run folder of {command}"
        raise RatingError(error.message, hint=hint) from error


def read_reviews(folders: Sequence[Path]) -> RatingTable:
    """Finished reviews as ratings, each reviewer as a rater.

    Raises:
        RatingError: a folder has no such run, two reviewed the same text, or on different forms.
    """
    scores, texts = dict[str, dict[str, dict[str, float]]](), dict[str, Identity]()
    forms = dict[tuple[str, ...], Path]()
    for folder in folders:
        result = review_of(folder)
        identity = identity_of(result.subject)
        item = identity["source"]
        if item in texts:
            twice = f"{folder}: {item} is reviewed in another of these runs, too"
            raise RatingError(twice, hint="name one of them")
        texts[item], criteria = identity, tuple(result.means)
        forms.setdefault(criteria, folder)
        scores[item] = {each["reviewer"]: {name: each[name] for name in criteria} for each in result.reviews}
    if len(forms) != 1:
        other = "; ".join(f"{folder} on {', '.join(names)}" for names, folder in forms.items())
        raise RatingError(f"reviews on different forms: {other}", hint="name reviews on one form")
    return RatingTable(next(iter(forms)), scores, texts=texts)


class _Mean(Part):
    mean: float


class _Reviews(Part):
    """The part of a review's result that is read."""

    subject: dict[str, Any]
    reviews: list[dict[str, Any]] = Field(min_length=1)
    means: dict[str, _Mean] = Field(min_length=1)


def review_of(folder: Path) -> _Reviews:
    return judged_run(folder, _Reviews, {"reviews", "means"}, "reviews", "manyheads review")


# Scores of rated texts: read from `manyheads measure`, tables and reviews, and matched.


@dataclass(frozen=True)
class TextScore:
    """A score of a text, NaN if it has none. `place` is where it was read."""

    place: str
    identity: Identity
    value: float


@dataclass(frozen=True)
class ScoredTexts:
    """Rated texts with their scores, in one order, by id.

    Attributes:
        unrated: places of scores without a rated text.
        repeated: texts with several scores, of which this is the mean.
    """

    items: tuple[str, ...]
    scores: tuple[float, ...]
    ratings: tuple[float, ...]
    unrated: tuple[str, ...]
    repeated: int = 0


def read_scores(paths: Sequence[Path], by: str, columns: Mapping[str, str] | None = None) -> list[TextScore]:
    """Scores named `by`: a field of JSON, a column of CSV, or a mean or score of a review's run folder.

    Args:
        columns: what tables of ratings call their columns: that of the ids may be in a table of scores, too.

    Raises:
        RatingError: a file cannot be read, has no texts or no such score, or a score is no number; an empty one is NaN.
    """
    scores, own = list[TextScore](), (columns or {}).get("id", "id")
    for path in paths:
        if not path.is_dir():
            rows = read_objects(path) if path.suffix in JSON else (
                (row.place, row.cells) for row in read_table(path, (), "name a table of scores")
            )  # fmt: skip
            for place, row in rows:
                ids = [row[name] for name in (own, own.lower(), *IDS) if row.get(name)]
                identity = identity_of({**row, "id": ids[0]} if ids else row)
                if not identity:
                    there, hint = (
                        f"it has {', '.join(row)}",
                        "--columns id=COLUMN names the ids of both tables",
                    )
                    raise RatingError(f"{place}: no text is named", tried=there, hint=hint)
                extra = row.get("extra")  # measures of other packages, in what `manyheads measure` wrote
                row = {**row, **cast(dict[str, Any], extra)} if isinstance(extra, dict) else row
                scores.append(TextScore(place, identity, _number(place, row, by)))
            continue
        identity, values = _scored(path)
        if by not in values:
            hint = f"--by {' or '.join(values) or 'of a review with scores'}"
            raise RatingError(f"{path}: these reviews have no {by!r}", hint=hint)
        scores.append(TextScore(str(path), identity, values[by]))
    return scores


def _scored(folder: Path) -> tuple[Identity, dict[str, float]]:
    """A review's text and its scores: means of several reviewers, or the scores of one review of a paper."""
    if (folder / RESULT).is_file():
        result: dict[str, Any] = result_data(folder)["result"]
        paper, review = result.get("paper"), result.get("review")
        if isinstance(paper, dict) and isinstance(review, dict):
            data = cast(dict[str, Any], paper)
            row = {**data, "name": data.get("title"), "id": Path(str(data.get("source"))).stem}
            return identity_of(row), cast(dict[str, Any], review).get("scores") or {}
    result_of = review_of(folder)
    return identity_of(result_of.subject), {name: each.mean for name, each in result_of.means.items()}


def pair(
    means: Mapping[str, float], scores: Sequence[TextScore], texts: Mapping[str, Identity]
) -> ScoredTexts:
    """Match each rated text with its score.

    Args:
        means: mean rating by the raters' id.
        scores: in any order; those of unrated texts are listed separately. Several of one text count as their mean.
        texts: identities by id, from the key; other ids stand for themselves.

    Raises:
        RatingError: no rated text has a score, or one has those of different texts.
    """
    paired, places, repeated = dict[str, float](), set[str](), 0
    for item in means:
        matches = _matching(texts.get(item) or dict.fromkeys(("id", "source", "name"), item), scores)
        if len({frozenset(score.identity.items()) for score in matches}) > 1:
            several = ", ".join(score.place for score in matches)
            raise RatingError(f"{item}: several scores: {several}", hint="leave one of them out")
        places |= {score.place for score in matches}
        if values := [score.value for score in matches if math.isfinite(score.value)]:
            paired[item], repeated = fmean(values), repeated + (len(values) > 1)
    if not paired:
        scored = [" ".join(score.identity.values()) for score in scores[:5]]
        raise RatingError(
            "no rated text has a score",
            tried=f"rated: {', '.join([*means][:5])}; scored: {', '.join(scored) or 'none'}",
            hint="a table needs the ids, files or titles of the scores; --columns id=COLUMN names the ids of both tables",
        )
    return ScoredTexts(
        tuple(paired), tuple(paired.values()), tuple(means[item] for item in paired),
        tuple(score.place for score in scores if score.place not in places), repeated,
    )  # fmt: skip


def _number(place: str, row: Mapping[str, Any], by: str) -> float:
    name = by if by in row else by.lower()
    if name not in row:
        there = f"it has {', '.join(row)}"
        raise RatingError(f"{place}: no {by!r}", tried=there, hint="--by names the score")
    value, number = row[name], math.nan
    if value is None or (isinstance(value, str) and value.lower() in MISSING):
        return number
    with suppress(TypeError, ValueError):
        number = math.nan if isinstance(value, bool) else float(value)
    if math.isfinite(number):
        return number
    raise RatingError(f"{place}: {by} is {value!r}, not a number", hint="name another score with --by")


def _matching(identity: Identity, scores: Sequence[TextScore]) -> list[TextScore]:
    """The scores of a text: by the most reliable identifier, then by the next ones if several match."""
    left, narrowed = scores, False
    for name in FIELDS:
        if name in identity:
            value = identity_of({name: identity[name]})[name]
            hits = [score for score in left if score.identity.get(name) == value]
            if len(hits) == 1:
                return hits
            left, narrowed = (hits, True) if hits else (left, narrowed)
    return list(left) if narrowed else []
