"""The rating form: blind tables for people to fill in, the key to them, and what the scale means (App. C.4)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from manyheads.errors import RatingError
from manyheads.measures.ratings import CRITERIA
from manyheads.measures.sheets import csv_text, write_forms
from manyheads.prompts import Prompts
from manyheads.resources import Resources
from manyheads.subjects import Subject

COLUMNS = ("rater", "id", "title", "abstract", *CRITERIA, "comment")
KEY = ("id", "source", "title", "sha256")
GUIDE = "partials/rating_guide.md.j2"


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

    Returns and raises as `write_forms`.
    """
    tables = [_table(form, rater) for rater in range(1, len(form.orders) + 1)]
    rows = ((item, str(Path(s.source).resolve()), s.title, s.sha256) for item, s in form.entries.items())
    return write_forms(out, tables, Prompts(Resources.of()).render(GUIDE, {}), csv_text(KEY, map(list, rows)))


def _table(form: Form, rater: int) -> str:
    rows = ((item, form.entries[item]) for item in form.orders[rater - 1])
    empty = [""] * (len(CRITERIA) + 1)
    return csv_text(COLUMNS, ([f"R{rater}", item, s.title, s.text, *empty] for item, s in rows))
