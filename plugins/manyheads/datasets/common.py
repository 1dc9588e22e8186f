"""Shared by the readers: JSON objects, and fields in datasets' notations."""

import datetime as dt
import html
import re
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from manyheads.corpus.records import RawPaper, at_fault, crowded, lines

YEAR = re.compile(r"(?<!\d)(1[5-9]|20)\d\d(?!\d)")
SHOWN = 60
UNKNOWN = frozenset(("", "-", "–", "?", "na", "n/a", "nan", "nil", "none", "null", "unknown"))
"""What tables write for a number that is not there."""


def objects(file: Path, member: str | None = None) -> Generator[tuple[int, dict[str, Any] | tuple[str, str]]]:
    """The object of each line of a file (of a `member` of a zip), or why it has none, such as broken Unicode in an escape."""
    from pydantic_core import from_json

    with closing(lines(file, member)) as stream:
        for number, line in stream:
            if fault := crowded(line):
                yield number, fault
                continue
            try:
                row = from_json(line.decode("utf-8"))
            except UnicodeDecodeError as wrong:
                yield number, ("encoding", f"byte {wrong.start} is not UTF-8")
            except ValueError as wrong:
                yield number, ("json", str(wrong))
            else:
                yield number, cast("dict[str, Any]", row) if isinstance(row, dict) else ("json", "no object")


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON object; {} for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """A JSON list; [] for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def paper(fields: Mapping[str, Any]) -> RawPaper | tuple[str, str]:
    """A paper from its fields (`authors` for the byline), or the faulty field and the reason.

    Year and citations may be written as text, a date or a float.
    """
    values = dict(fields)
    for name, read in (("year", year_of), ("citations", whole)):
        try:
            values[name] = read(values.get(name))
        except ValueError as wrong:
            return name, str(wrong)
    try:
        return RawPaper.model_validate(values)
    except ValidationError as wrong:
        return at_fault(wrong)


def count_of(value: object) -> int | None:
    """A count, None for anything else; see `whole`."""
    try:
        return whole(value)
    except ValueError:
        return None


def whole(value: object) -> int | None:
    """A count: 12, 12.0, "12", "1,204"; None if missing, or a word for that. Raises ValueError for anything else."""
    if isinstance(value, bool):
        raise ValueError(f"not a number: {value}")
    if isinstance(value, str):
        value = value.strip().replace(",", "")
        if value.casefold() in UNKNOWN:
            return None
    if value is None or value != value:  # a table's empty cell may be a NaN
        return None
    try:
        exact = float(value)  # pyright: ignore[reportArgumentType]
        if exact != int(exact):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"not a whole number: {str(value)[:SHOWN]!r}") from None
    return int(exact)


def year_of(value: object) -> int | None:
    """The year of a number or a date, None if missing. Raises ValueError if it contains no year."""
    if isinstance(value, dt.date):
        return value.year
    if isinstance(value, str) and (year := YEAR.search(value)):
        return int(year[0])
    return whole(value)


def terms(text: str) -> list[str]:
    """The terms of a list in one text: separated by semicolons if there are any, else by commas."""
    text = html.unescape(text)  # an entity ends in a semicolon
    parts = text.split(";" if ";" in text else ",")
    return [term for part in parts if (term := " ".join(part.split()))]
