"""Writes the report. Every text in it comes from models and papers: escaped, stripped of control characters, no script."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from manyheads.errors import JournalError
from manyheads.replies import Abstract, Ratings, label
from manyheads.report.page import Page
from manyheads.report.record import count, source_name

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
SECTIONS = tuple(name for name in Abstract.model_fields if name != "title")
FOLD_AT = 3000
"""Characters after which a text folds away."""


@dataclass(frozen=True)
class View:
    """What a system shows of a run: its template, the package that holds it, and what the template prints."""

    package: str
    page: Page
    shown: Mapping[str, object] = field(default_factory=dict[str, object])
    template: str = "report.html.j2"


def write_page(folder: Path, view: View) -> Path:
    """Write `report.html` into a run folder; one file that needs no other.

    Returns:
        The path of the report.

    Raises:
        JournalError: the report cannot be written.
    """
    record = view.page.record
    base = {"page": view.page, "record": record, "run": record.result, "result": record.result.result}
    html = _environment(view.package).get_template(view.template).render(**base, **view.shown)
    path = folder / "report.html"
    try:
        path.write_text(html, encoding="utf-8")
    except OSError as error:
        hint = "make room on the disk or make the folder writable, then: manyheads resume RUN"
        raise JournalError(f"{path}: {error.strerror}", hint=hint) from error
    return path


@cache
def _environment(package: str) -> Environment:
    own, shared = PackageLoader(package, package_path=""), PackageLoader("manyheads.report", package_path="")
    env = Environment(
        loader=ChoiceLoader([own, shared]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    cast(dict[str, Any], env.filters).update(
        {f.__name__: f for f in (whole, number, count, duration, monogram, label, split, source_name)}
    )
    cast(dict[str, Any], env.globals).update({"SECTIONS": SECTIONS, "CRITERIA": tuple(Ratings.model_fields)})
    return env


def _clean(value: object) -> object:
    """Text without characters that HTML forbids and UTF-8 cannot write."""
    return CONTROL.sub("\ufffd", value) if type(value) is str else value


def whole(value: float) -> str:
    """`12345` as `12,345`."""
    return f"{value:,.0f}"


def number(value: float | None, digits: int = 2) -> str:
    """A figure, or a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else whole(value)


def duration(seconds: float) -> str:
    """Seconds in words that fit the length: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 04 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def monogram(name: str) -> str:
    """At most three letters that stand for a name: the number of a masked scientist, else initials."""
    if digits := re.search(r"\d+$", name):
        return digits.group()[-3:]
    return "".join(word[0] for word in re.split(r"[\s_]+", name) if word)[:2].upper() or "?"


def split(text: str) -> tuple[str, str]:
    """A text as what is shown at once and what folds away, cut between words."""
    if len(text) <= FOLD_AT + 500:
        return text, ""
    cut = text.rfind(" ", FOLD_AT - 300, FOLD_AT)
    cut = cut if cut > 0 else FOLD_AT
    return text[:cut], text[cut:]
