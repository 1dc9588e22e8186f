"""Open Academic Graph 3.1 (open.aminer.cn), the second dataset of VirSci 2025, App. C.2.2: JSON Lines in many files."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, members, sifted
from manyheads.errors import CorpusError
from manyheads.literature.readers.common import Record, objects, paper, shards, terms, whole

ENDINGS = (".json", ".jsonl", ".txt", ".gz", ".zip")
AUTHORS, OTHERS = "author", ("venue", "affiliation", "linking")
"""What stands in the names of files that hold no papers."""
EXAMPLE = 'lines such as {"id": "…", "title": "…", "authors": [{"id": "…", "name": "…", "org": "…"}], "year": 2015, …}'


class Oag:
    """A `Reader` of the dataset: a file of publications, or the folder with all of them and those of authors.

    Plain, gzip or zip. An author's key is the dataset's id where it has one, else the name. The dataset knows
    authors' names and affiliations, in earlier versions also their interests and counts.
    """

    def __init__(self, path: Path) -> None:
        self.name, self._path = path.resolve().name, path

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`; a record's number is its line's in its file.

        Raises:
            CorpusError: there are no publications, or a file cannot be read.
        """
        files = [file for file in self._files() if file == self._path or _holds(file) == "papers"]
        if not files:
            raise CorpusError(f"{self._path}: no publications in it", hint="name the folder of the downloads")
        yield from sifted(self._path, _records(self._path, files, rejects), rejects, example=EXAMPLE)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`; {} where the files of authors are not there."""
        files = [file for file in self._files() if _holds(file) == AUTHORS and file != self._path]
        rows = (row for file in files for member in members(file) for _, row in objects(file, member))
        found = (_author(row) for row in rows if isinstance(row, dict) and _id(row.get("id")) in wanted)
        return {one.key: one for one in found}

    def _files(self) -> list[Path]:
        found = shards(self._path, ENDINGS, "Open Academic Graph")
        return sorted(found, key=lambda file: [int(n) if n.isdigit() else n for n in _parts(file)])


def _parts(file: Path) -> list[str]:
    """A file's name with its numbers apart, so that 2 comes before 10."""
    return re.split(r"(\d+)", str(file))


def _holds(file: Path) -> str:
    """What a file holds, by its name."""
    name = file.name.lower()
    if AUTHORS in name:
        return AUTHORS
    return "others" if any(other in name for other in OTHERS) else "papers"


def _records(path: Path, files: Sequence[Path], rejects: Rejects) -> Iterator[Record]:
    rejects.unit = "line"
    for file in files:
        where, inside = "" if file == path else str(file.relative_to(path)), members(file)
        for member in inside:
            rejects.file = "/".join(filter(None, (where, member))) if len(inside) > 1 else where
            for number, row in objects(file, member):
                yield number, _paper(row) if isinstance(row, dict) else row


def _paper(row: Mapping[str, Any]) -> RawPaper | tuple[str, str]:
    given = row.get("authors")
    if not isinstance(given, list):
        return "authors", "no list" if given is not None else "missing"
    people = [_person(one) for one in cast(list[object], given)]
    named = [one for one in people if any(one[:2])]
    return paper(
        {
            "id": _id(row.get("id")),
            "title": row.get("title"),
            "abstract": row.get("abstract"),
            "authors": [name or known for name, known, _ in named],
            "author_ids": [known for _, known, _ in named] if any(known for _, known, _ in named) else [],
            "affiliations": [place for *_, place in named] if any(place for *_, place in named) else [],
            "year": row.get("year"),
            "citations": row.get("n_citation"),
            "venue": _venue(row.get("venue")),
            "keywords": _keywords(row.get("keywords")),
            "references": row.get("references"),
        }
    )


def _person(one: object) -> tuple[str, str, str]:
    """Name, id and affiliation of an author; each "" where it is not given."""
    about = cast("dict[str, Any]", one) if isinstance(one, dict) else {"name": one}
    return _text(about.get("name")), _id(about.get("id")), _text(about.get("org"))


def _author(row: Mapping[str, Any]) -> RawAuthor:
    key = _id(row.get("id"))
    places = [row.get("org"), *_list(row.get("orgs"))]
    tags = [tag.get("t") if isinstance(tag, dict) else tag for tag in _list(row.get("tags"))]
    return RawAuthor(
        key=key,
        name=_text(row.get("name")) or key,
        affiliations=tuple(dict.fromkeys(filter(None, map(_text, places)))) or None,
        interests=tuple(filter(None, map(_text, tags))) or None,
        papers=_count(row.get("n_pubs")),
        citations=_count(row.get("n_citation")),
    )


def _venue(value: object) -> str | None:
    """A venue's name, which is a text, or stands in an object."""
    about = cast("dict[str, Any]", value) if isinstance(value, dict) else {"name": value}
    names = (about.get(field) for field in ("name", "raw", "name_d", "sid"))
    return next(filter(None, map(_text, names)), None)


def _keywords(value: object) -> list[str]:
    return terms(value) if isinstance(value, str) else [*filter(None, map(_text, _list(value)))]


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _id(value: object) -> str:
    """An id, which in some versions is a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value)


def _count(value: object) -> int | None:
    try:
        return whole(value)
    except ValueError:
        return None
