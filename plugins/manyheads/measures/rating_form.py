"""The rating form: blind tables for people to fill in, the key to them, and what the scale means (App. C.4)."""

import csv
import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from manyheads.errors import RatingError
from manyheads.measures.ratings import CRITERIA
from manyheads.prompts import Prompts
from manyheads.resources import Resources
from manyheads.subjects import Subject

COLUMNS = ("rater", "id", "title", "abstract", *CRITERIA, "comment")
KEY = ("id", "source", "title", "sha256")
GUIDE = "partials/rating_guide.md.j2"
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would calculate instead of show."""


@dataclass(frozen=True)
class Form:
    """What is rated and by how many.

    Attributes:
        entries: the texts by anonymous id, in an order that tells nothing.
        orders: for each rater the ids in an order of their own.
    """

    entries: dict[str, Subject]
    orders: tuple[tuple[str, ...], ...]


def make_form(subjects: Sequence[Subject], raters: int, seed: int) -> Form:
    """Shuffle the texts, once for their ids and once more for each rater; the same seed gives the same form.

    Raises:
        RatingError: no texts, no raters, or the same text twice: it would be rated twice and counted twice.
    """
    if not subjects or raters < 1:
        raise RatingError("a form needs at least one text and one rater")
    seen: dict[str, Subject] = {}
    for subject in subjects:
        if other := seen.get(subject.sha256):
            raise RatingError(f"{subject.source}: the same text as {other.source}", hint="name it once")
        seen[subject.sha256] = subject
    rng = random.Random(seed)
    # The files' order must not show in the ids: what depends on the texts alone is what gets shuffled.
    shuffled = [seen[digest] for digest in sorted(seen)]
    rng.shuffle(shuffled)
    width = len(str(len(shuffled)))
    entries = {f"T{number:0{width}}": subject for number, subject in enumerate(shuffled, 1)}
    return Form(entries, tuple(tuple(rng.sample(list(entries), len(entries))) for _ in range(raters)))


def write_form(form: Form, out: Path) -> list[Path]:
    """Write a table for each rater, the key and the guideline; raters must be given their table and the guideline only.

    Several raters get a table each, `form-1.csv` and so on for `form.csv`, so that nobody sees another's ratings.

    Returns:
        What was written: the tables, `form.guide.md`, `form.key.csv`.

    Raises:
        RatingError: a file is there already, which may hold ratings, or cannot be written.
    """
    numbered = len(form.orders) > 1
    tables = [
        (out.with_name(f"{out.stem}-{rater}{out.suffix}") if numbered else out, _table(form, rater))
        for rater in range(1, len(form.orders) + 1)
    ]
    rows = ((item, str(Path(s.source).resolve()), s.title, s.sha256) for item, s in form.entries.items())
    key = _csv(KEY, map(list, rows))
    guide = (out.with_name(f"{out.stem}.guide.md"), Prompts(Resources.of()).render(GUIDE, {}))
    files = [*tables, guide, (out.with_name(f"{out.stem}.key.csv"), key)]
    if there := [path for path, _ in files if path.exists()]:
        raise RatingError(f"{there[0]}: is there already, and may hold ratings", hint="name another --out")
    for path, text in files:
        _write(path, text)
    return [path for path, _ in files]


def _table(form: Form, rater: int) -> str:
    rows = ((item, form.entries[item]) for item in form.orders[rater - 1])
    empty = [""] * (len(CRITERIA) + 1)
    return _csv(COLUMNS, ([f"R{rater}", item, s.title, s.text, *empty] for item, s in rows))


def _csv(header: Sequence[str], rows: Iterator[list[str]]) -> str:
    """CSV that spreadsheets show as it is: with a mark that it is UTF-8, and no cell that they would calculate."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([_shown(cell) for cell in row] for row in rows)
    return "\ufeff" + text.getvalue()


def _shown(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise RatingError(
            f"{path}: cannot be written: {error.strerror}", hint="name another --out"
        ) from error
