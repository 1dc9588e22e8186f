"""What values mean in records of any notation: texts, counts, years, names in a text or a list, entries of bibliographies."""

import ast
import datetime as dt
import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from manyheads.base.papers import ARXIV_NUMBER
from manyheads.base.text import BRACES, NotTeXError, from_latex, latex_letters
from manyheads.documents.plain import divisions_of
from manyheads.documents.sections import core_of

Object: TypeAlias = Mapping[str, Any]
FieldName = Literal[
    "id", "title", "abstract", "authors", "author_ids", "affiliations", "year", "citations", "venue", "keywords",
    "references", "core_references", "introduction", "method", "doi",
]  # fmt: skip
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?=(?:0[1-9]|1[0-2])[0-3]\d(?!\d)|(?!\d))")
"""A year, also that of 20151231."""
UNSURE = re.compile(r"(?<!\d)\d{1,3}[uX]+(?!\w)")
"""A year of which only the century or the decade is known (EDTF)."""
PLACEHOLDER = re.compile(
    r"\W*no (?:abstracts?|authors?|author name|author id)s? (?:is |are )?(?:available|listed|found)\W*", re.I
)
"""What databases write for an abstract or authors that are not there."""
SHOWN = 60
UNKNOWN = frozenset(
    ("", "-", "–", "?", "na", "n/a", "n.d.", "nan", "nil", "no date", "none", "null", "unknown")
)  # fmt: skip
"""What tables write for a number, or a year, that is not there."""


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


def written(value: object) -> str:
    """The text of a field. Raises `ValueError` for an object, also one written as JSON or Python in a text."""
    if isinstance(value, bytes):
        raise ValueError("bytes, not a text")
    if isinstance(value, str) and value[:1] in "{[" and value[-1:] in "}]":
        value = found if isinstance(found := literal(value), dict) else value
    objects = value if isinstance(value, list) else [value]
    if any(isinstance(one, dict) and "" not in one for one in cast("list[Any]", objects)):
        raise ValueError("an object, not a text")
    if isinstance(value, list):  # such as the parts of an abstract
        return " ".join(filter(None, map(text, cast("list[Any]", value))))
    return text(value)


def abstract(value: object) -> str:
    """An abstract; also from the positions of its words (`{"Pears": [0, 4], …}`)."""
    value = literal(value)
    if isinstance(value, dict):
        index = cast(Object, value)
        index = index.get("InvertedIndex", index)
        places: list[Any] = [*index.values()] if isinstance(index, dict) else []
        if all(isinstance(some, list) and all(type(at) is int for at in some) for some in places):
            words = [(at, word) for word, some in zip(index, places, strict=True) for at in some]
            value = " ".join(word for _, word in sorted(words))
    found = written(value)
    return "" if PLACEHOLDER.fullmatch(found) else found


DOI = re.compile(r"10\.\d{4,9}/(?:[^\s\"<>]|<\d+:[^\s\"<>]*>)+", re.ASCII)
"""Older ones have the first page in angle brackets: 10.1002/(SICI)1097-4571(199601)47:1<23::AID-ASI3>3.0.CO;2-Q."""
PREPRINT = re.compile(rf"(?i:arxiv)(?:\.org/(?:abs|pdf|html))?[\s:/]*({ARXIV_NUMBER.pattern})", re.ASCII)


def doi_of(text: str) -> str | None:
    """The DOI in a text, such as a link, else that of its arXiv number."""
    if found := DOI.search(text := unquote(html.unescape(text))):
        return found[0].rstrip(".,;")
    return f"10.48550/arXiv.{found[1]}" if (found := PREPRINT.search(text)) else None


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
    if isinstance(value, dict | list):
        value = written(cast(object, value))
    if isinstance(value, str):
        if year := YEAR.search(value):
            return int(year[0])
        if UNSURE.search(value):
            raise ValueError(f"no single year: {value[:SHOWN]!r}")
    return whole(value)


# Lists: as such, or in one text.

NO_COMMA = re.compile(r"""(['"])\s+(?=['"])""")
"""Space between two elements of a NumPy array as text; without a comma, Python would join them."""


def sequence(cell: object) -> list[Any] | None:
    """A cell with a list, or its text as JSON, Python or NumPy."""
    cell = literal(cell)
    if isinstance(cell, Iterable) and not isinstance(cell, str | bytes | Mapping):
        return list(cast("Iterable[Any]", cell))
    return None


def literal(cell: object) -> object:
    """The list or the object that a text has in JSON, Python or NumPy; anything else as it is."""
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
    listed = terms(written(value)) if words is None else [written(_first(one, TERM) or one) for one in words]
    return [word for one in listed if (word := one.lstrip("*"))]  # PubMed's major topics have a star


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
    if isinstance(value, str) and PLACEHOLDER.fullmatch(value):
        return {}
    listed = sequence(value)
    ids = [*map(text, filter(None, map(str.strip, text(value).split(";"))) if listed is None else listed)]
    return {"author_ids": ids} if any(ids) else {}


# Names.

TERM = ("name", "display_name", "keyword", "term", "tag")
PERSON = ("name", "full_name", "display_name", "author", "literal", "raw_author_name")
PERSON_ID = ("id", "author_id", "authorId", "author")
PARTS = (
    ("given", "first", "firstName", "first_name"),
    ("middle",),
    ("dropping-particle",),
    ("non-dropping-particle",),
    ("family", "last", "lastName", "last_name"),
    ("suffix",),
)
"""Keys of a person's name, and of its parts in their order."""
SCOPUS_ID = re.compile(r"\(\d{6,}\)")
SUFFIX = re.compile(r"^([^,]+,[^,]+) ((?:Jr|Sr|2nd|3rd|II|III|IV)\.?)$")


def people(cell: object) -> Mapping[str, Any]:
    """Names and ids of authors, in a list or a text; none for an empty one. Raises `ValueError` if they cannot be separated."""
    if isinstance(cell, str) and PLACEHOLDER.fullmatch(cell):
        return {"authors": []}
    listed = _people(cell)
    if listed is None:
        return {"authors": _names(text(cell))}
    ids = [text(_first(one, PERSON_ID)) for one in listed]
    return {"authors": [*map(person, listed)], "author_ids": ids if any(ids) else ()}


def _people(cell: object) -> list[Any] | None:
    """A list of authors, or Hugging Face's object of lists; None for a text of names. Raises `ValueError` for a text that begins
    like a list but is not one."""
    value = literal(cell)
    if isinstance(value, Mapping):
        about = cast(Object, value)
        lists = {name: values for name, one in about.items() if (values := sequence(one)) is not None}
        people = [dict(zip(lists, one, strict=True)) for one in zip(*lists.values(), strict=True)]
        return people if lists else [about]
    if (people := sequence(value)) is None and text(value).startswith("["):
        raise ValueError(f"a list that cannot be read: {text(value)[:SHOWN]!r}")
    return people


def person(one: object) -> str:
    """A name: text, an object with a name or its parts, or a list of family name, given name, suffix as in arXiv's data."""
    if isinstance(one, list | tuple):
        family, *rest = [text(part) for part in cast("Sequence[Any]", one)] or [""]
        return " ".join(filter(None, (*rest[:1], family, *rest[1:2])))
    about = cast(Object, one) if isinstance(one, Mapping) else {}
    if name := next(filter(None, (person(about[key]) for key in PERSON if about.get(key))), ""):
        return name
    return text(one) or " ".join(filter(None, (text(_first(one, keys)) for keys in PARTS)))


def _first(one: object, keys: Sequence[str]) -> object:
    about = cast(Object, one) if isinstance(one, Mapping) else {}
    return next((about[key] for key in keys if about.get(key)), None)


def _names(text: str) -> list[str]:
    """The names in one text, separated by semicolons, bars or `and`, else by commas."""
    text = html.unescape(text)
    for mark in (";", "|"):
        if mark in text or SCOPUS_ID.search(text):
            return [natural_order(name) for part in text.split(mark) if (name := part.strip())]
    people = [name for part in text.split(" and ") if (name := part.strip(" ,"))]
    if len(people) > 1 and not _is_enumeration(people):
        return [*map(natural_order, people)]
    parts = [part.strip() for part in ",".join(people).split(",") if part.strip()]
    if len(parts) < 2 or all(" " in part for part in parts):
        return parts
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
    """`Okafor, Ansel, Jr` as Ansel Okafor Jr; also without the second comma, as PubMed writes it."""
    parts = SUFFIX.sub(r"\1, \2", SCOPUS_ID.sub("", name)).split(",", 2)
    family, first, suffix = ([part.strip() for part in parts] + ["", ""])[:3]
    return " ".join(filter(None, (first, family, suffix)))


OTHERS = "others"
"""BibTeX's "et al."."""
NAME_PART = re.compile(r"(?<![\w-])(given|prefix|family|suffix)\s*=\s*((?:\{[^}]*\}|[^,{])*)")
"""A part of a name in BibLaTeX's extended notation: family=Cruz, given=Ana, prefix=de la."""
CITED_BY = re.compile(r"(?:cited by|times cited[^:]*?)\s*:\s*(\d[\d,]*)", re.IGNORECASE)
"""The count in a note of Scopus (Cited By: 37) or Web of Science."""


def bibtex_names(text: str) -> list[str]:
    """The names of an author field, each with the family name last, without "and others". Raises `NotTeXError` if a name has
    too many commas, or the text is not LaTeX."""
    from bibtexparser.middlewares.names import (
        InvalidNameError,
        parse_single_name_into_parts,
        split_multiple_persons_names,
    )

    def parts(name: str) -> Iterable[str]:
        if known := dict(NAME_PART.findall(name)):
            return (known.get(part, "") for part in ("given", "prefix", "family", "suffix"))
        one = parse_single_name_into_parts(name)
        return (*one.first, *one.von, *one.last, *one.jr)

    try:
        people = [" ".join(parts(one)) for one in split_multiple_persons_names(latex_letters(text))]
    except InvalidNameError as wrong:
        raise NotTeXError(" ".join(str(wrong).split())) from wrong
    return [name for one in people if (name := " ".join(one.translate(BRACES).split())) != OTHERS]


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


NAMESAKE = re.compile(r" \d{4}$")
"""DBLP's number of a person with the name of others: Wei Wang 0001."""
EMBASE = re.compile(r"\((?:1[5-9]|20)\d\d\).*", re.DOTALL)
"""The year, volume and pages after a journal's name."""


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
    names = {"doi": "doi:", "arxiv_id": "arXiv:"}
    known = [f"{before}{ids[name]}" for name, before in names.items() if ids.get(name)]
    return text([one for one in (entry.get("bib_entry_raw"), *urls, *known) if isinstance(one, str)])


FIELDS: Mapping[FieldName, Callable[[Any], Any]] = {
    **dict.fromkeys(("id", "title", "introduction", "method"), written),
    "abstract": abstract,
    "authors": people,
    "author_ids": _ids,
    "affiliations": _places,
    "year": year_of,
    "citations": whole,
    "venue": lambda value: written(value) or None,
    "doi": lambda value: doi_of(written(value)),
    "keywords": _keywords,
    "references": entries,
    "core_references": entries,
}
"""The meaning of a value, by field, or several fields of authors; it raises `ValueError` for one without."""
ReadName = Literal[
    "anthology_id", "bibtex_names", "cited_by", "dblp_name", "embase_venue", "embase_year", "latex", "natural_order",
]  # fmt: skip
READ: Mapping[ReadName, Callable[[str], Any]] = {
    "anthology_id": anthology_id, "bibtex_names": bibtex_names, "latex": from_latex, "natural_order": natural_order,
    "cited_by": lambda note: count if (count := note.strip("{} ")).isdigit() else "".join(CITED_BY.findall(note)[:1]),
    "dblp_name": lambda name: NAMESAKE.sub("", name), "embase_venue": lambda source: EMBASE.sub("", source),
    "embase_year": lambda source: "".join(EMBASE.findall(source)[:1]) or source,
}  # fmt: skip
"""How a text is read before its field's own meaning, for what no path says."""
COMPUTED: Mapping[Literal["unarxive"], Callable[[Object], Object]] = {"unarxive": unarxive}
"""Code for several fields of a record."""
