"""What values mean in records of any notation: texts, counts, years, names in a text or a list, entries of bibliographies."""

import ast
import datetime as dt
import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast
from xml.etree.ElementTree import Element

from manyheads.base.text import BRACES, NotTeXError, from_latex, latex_letters
from manyheads.documents.plain import divisions_of
from manyheads.documents.sections import core_of

Object: TypeAlias = Mapping[str, Any]
FieldName = Literal[
    "id", "title", "abstract", "authors", "author_ids", "affiliations", "year", "citations", "venue", "keywords",
    "references", "core_references", "introduction", "method",
]  # fmt: skip
YEAR = re.compile(r"(?<!\d)(1[5-9]|20)\d\d(?!\d)")
SHOWN = 60
UNKNOWN = frozenset(("", "-", "–", "?", "na", "n/a", "nan", "nil", "none", "null", "unknown"))
"""What tables write for a number that is not there."""


def text(value: object) -> str:
    """A text or a number on one line; the texts of a list; the text of an XML element. Empty for anything else."""
    if isinstance(value, str):
        return " ".join(value.split())
    if value is None or isinstance(value, bool) or value != value:  # a table's empty cell may be a NaN
        return ""
    if isinstance(value, list):
        return " ".join(text(one) for one in cast("list[Any]", value) if isinstance(one, str | int))
    if isinstance(value, dict):
        own = cast(Object, value).get("")
        return text("".join(own.itertext())) if isinstance(own, Element) else ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # columns of numbers with gaps are read as floats
    return str(value)


def count_of(value: object) -> int | None:
    """A count, None for anything else; see `whole`."""
    try:
        return whole(value)
    except ValueError:
        return None


def whole(value: object) -> int | None:
    """A count: 12, 12.0, "12", "1,204"; None if missing, or a word for that. Raises ValueError for anything else."""
    if type(value) is int or value is None:
        return value
    if isinstance(value, bool):
        raise ValueError(f"not a number: {value}")
    if isinstance(value, str):
        value = value.strip().replace(",", "")
        if value.casefold() in UNKNOWN:
            return None
    if value != value:
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


# Lists: as such, or in one text.

NO_COMMA = re.compile(r"""(['"])\s+(?=['"])""")
"""Space between two elements of a NumPy array as text; without a comma, Python would join them."""


def sequence(cell: object) -> list[Any] | None:
    """A cell with a list, or its text as JSON, Python or NumPy."""
    cell = _literal(cell)
    if isinstance(cell, Iterable) and not isinstance(cell, str | bytes | Mapping):
        return list(cast("Iterable[Any]", cell))
    return None


def _literal(cell: object) -> object:
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("[", "{"):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(NO_COMMA.sub(r"\1, ", cell.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return cell


def terms(text: str) -> list[str]:
    """The terms of a list in one text: separated by semicolons if there are any, else by commas."""
    text = html.unescape(text)  # an entity ends in a semicolon
    parts = text.split(";" if ";" in text else ",")
    return [term for part in parts if (term := " ".join(part.split()))]


def _keywords(value: object) -> list[str]:
    words = sequence(value)
    return terms(text(value)) if words is None else [*filter(None, map(text, words))]


def entries(value: object) -> list[Any]:
    """The entries of a list; those in one text end in semicolons."""
    listed = sequence(value)
    return terms(f"{text(value)};") if listed is None else listed


def _places(value: object) -> Object:
    """Affiliations; they may contain commas, so a comma separates none."""
    listed = sequence(value)
    places = [*map(text, text(value).strip("; ").split(";") if listed is None else listed)]
    return {"affiliations": places} if any(places) else {}


def _ids(value: object) -> Object:
    ids = [*map(text, sequence(value) or ())]
    return {"author_ids": ids} if any(ids) else {}


# Names.

PERSON, PERSON_ID = ("name", "full_name", "author"), ("id", "author_id", "authorId")


def people(cell: object) -> Mapping[str, Any]:
    """Names and ids of authors, in a list or a text. Raises `ValueError` if there are none, or they cannot be separated."""
    listed = _people(cell)
    if listed is not None:
        ids = [text(_first(one, PERSON_ID)) for one in listed]
        return {"authors": [*map(person, listed)], "author_ids": ids if any(ids) else ()}
    if (authors := _names(text(cell))) is None:
        raise ValueError("empty")
    return {"authors": authors}


def _people(cell: object) -> list[Any] | None:
    """A list of authors, or Hugging Face's object of lists; None for a text of names. Raises `ValueError` for a text that begins
    like a list but is not one."""
    value = _literal(cell)
    if isinstance(value, Mapping):
        about = cast(Object, value)
        lists = {name: values for name, one in about.items() if (values := sequence(one)) is not None}
        people = [dict(zip(lists, one, strict=True)) for one in zip(*lists.values(), strict=True)]
        return people if lists else [about]
    if (people := sequence(value)) is None and text(value).startswith("["):
        raise ValueError(f"a list that cannot be read: {text(value)[:SHOWN]!r}")
    return people


def person(one: object) -> str:
    """A name: text, an object with a name, or a list of family name, given name, suffix as in arXiv's data."""
    if isinstance(one, list | tuple):
        family, *rest = [text(part) for part in cast("Sequence[Any]", one)] or [""]
        return " ".join(filter(None, (*rest[:1], family, *rest[1:2])))
    return text(_first(one, PERSON) or one)


def _first(one: object, keys: Sequence[str]) -> object:
    about = cast(Object, one) if isinstance(one, Mapping) else {}
    return next((about[key] for key in keys if about.get(key)), None)


def _names(text: str) -> list[str] | None:
    """The names in one text, separated by semicolons, bars or `and`, else by commas; None for an empty one."""
    text = html.unescape(text)
    for mark in (";", "|"):
        if mark in text:
            return [natural_order(name) for part in text.split(mark) if (name := part.strip())]
    people = [name for part in text.split(" and ") if (name := part.strip(" ,"))]
    if len(people) > 1 and not _is_enumeration(people):
        return [*map(natural_order, people)]
    parts = [part.strip() for part in ",".join(people).split(",") if part.strip()]
    if len(parts) < 2 or all(" " in part for part in parts):
        return parts or None
    if len(parts) % 2:
        raise ValueError(f"cannot separate the names, use semicolons: {text[:SHOWN]!r}")
    return [f"{first} {family}" for family, first in zip(parts[::2], parts[1::2], strict=True)]


def _is_enumeration(people: Sequence[str]) -> bool:
    """Whether commas separate names, with `and` only before the last: Jo Berg, Al Cole and Cy Dee."""
    *others, last = people
    if any(name.count(",") > 1 for name in people):
        return True
    return len(others) == 1 and "," not in last and all(" " in part.strip() for part in others[0].split(","))


def natural_order(name: str) -> str:
    """`Okafor, Ansel` as Ansel Okafor."""
    family, comma, first = name.partition(",")
    return f"{first.strip()} {family.strip()}" if comma and first.strip() else name


OTHERS = "others"
"""BibTeX's "et al."."""


def bibtex_names(text: str) -> list[str]:
    """The names of an author field, each with the family name last, without "and others". Raises `NotTeXError` if a name has
    too many commas, or the text is not LaTeX."""
    from bibtexparser.middlewares.names import (
        InvalidNameError,
        parse_single_name_into_parts,
        split_multiple_persons_names,
    )

    try:
        people = [
            parse_single_name_into_parts(name) for name in split_multiple_persons_names(latex_letters(text))
        ]
    except InvalidNameError as wrong:
        raise NotTeXError(" ".join(str(wrong).split())) from wrong
    parts = (" ".join((*one.first, *one.von, *one.last, *one.jr)) for one in people)
    return [name for part in parts if (name := " ".join(part.translate(BRACES).split())) != OTHERS]


# Notations of single datasets.

OLD_STYLE = re.compile(r"[A-Z]\d\d")
TWO_DIGIT_VOLUMES = re.compile(r"W\d\d|C69|D19")
"""Collections whose old-style numbers have two digits for the volume (D19 only from volume 50 on)."""


def anthology_id(parts: str) -> str:
    """A paper's Anthology number from collection, volume and paper: 2023.acl-long.1, or P18-1001 and W18-2504 before 2020."""
    try:
        collection, volume, paper = parts.split()
    except ValueError:
        return ""
    if not OLD_STYLE.fullmatch(collection):
        return f"{collection}-{volume}.{paper}"
    wide = TWO_DIGIT_VOLUMES.fullmatch(collection) and (collection != "D19" or len(volume) > 1)
    return f"{collection}-{volume:0>2}{paper:0>2}" if wide else f"{collection}-{volume}{paper:0>3}"


def unarxive(record: Object) -> Mapping[str, Any]:
    """References of a paper of unarXive with their identifiers; introduction and method by headings, see `core_of`."""
    entries = _object(record.get("bib_entries"))
    numbers = {key: f"[{number}]" for number, key in enumerate(entries, 1)}
    parts = [*divisions_of(record.get("body_text"), {key: at for at, key in enumerate(entries)}, numbers)]
    references = [*map(_entry, map(_object, entries.values()))]
    core = core_of(parts, [filter(None, (references[at] for at in one.cites or ())) for one in parts])
    texts = {"introduction": core.introduction, "method": core.method}
    return {"references": [*filter(None, references)], "core_references": core.cites, **texts}


def _object(value: object) -> Object:
    return cast(Object, value) if isinstance(value, dict) else {}


def _entry(entry: Object) -> str:
    """An entry of a bibliography, and its identifiers: the links in it, and ids from the dataset."""
    links = entry.get("contained_links")
    urls = [_object(link).get("url") for link in cast("list[Any]", links)] if isinstance(links, list) else []
    ids = _object(entry.get("ids"))
    known = [
        f"{before}{ids[name]}" for name, before in (("doi", "doi:"), ("arxiv_id", "arXiv:")) if ids.get(name)
    ]
    return text([one for one in (entry.get("bib_entry_raw"), *urls, *known) if isinstance(one, str)])


FIELDS: Mapping[FieldName, Callable[[Any], Any]] = {
    **dict.fromkeys(("id", "title", "abstract", "introduction", "method"), text),
    "authors": people,
    "author_ids": _ids,
    "affiliations": _places,
    "year": year_of,
    "citations": whole,
    "venue": lambda value: text(value) or None,
    "keywords": _keywords,
    "references": entries,
    "core_references": entries,
}
"""The meaning of a value, by field, or several fields of authors; it raises `ValueError` for one without."""
ReadName = Literal["anthology_id", "bibtex_names", "latex", "natural_order"]
READ: Mapping[ReadName, Callable[[str], Any]] = {
    "anthology_id": anthology_id, "bibtex_names": bibtex_names, "latex": from_latex, "natural_order": natural_order,
}  # fmt: skip
"""How a text is read before its field's own meaning, for what no path says."""
COMPUTED: Mapping[Literal["unarxive"], Callable[[Object], Object]] = {"unarxive": unarxive}
"""Code for several fields of a record."""
