"""AMiner's two datasets: its academic network of computer science (aminer.cn/aminernetwork, VirSci 2025, App. C.2.1), and,
below, the Open Academic Graph.

A folder of text files: `AMiner-Paper`, and optionally `AMiner-Author`, `AMiner-Coauthor` and `AMiner-Author2Paper`, which
identifies authors of the same name. Plain, gzip or zip.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import CorpusError
from manyheads.corpus.records import RawAuthor, RawPaper, Reader, Record, Rejects, lines, members, shards
from manyheads.datasets.common import (
    count_of,
    mapping,
    objects,
    paper,
    sequence,
    terms,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# AMiner's network: citations, authorships and joint papers, in a few bytes each.


MOST_DIGITS = 18
LAST_PLACE = 2**31 - 1


class CitationCounts:
    """Number of citations of each paper: papers that list it among their references."""

    def __init__(self, papers: Path) -> None:
        import numpy as np

        cited, seen = array("q"), set[bytes]()
        with closing(lines(papers)) as stream:
            for _, line in stream:
                if line.startswith(b"#index"):
                    seen.clear()
                elif line.startswith(b"#%") and (index := line[2:].strip()) not in seen:
                    seen.add(index)
                    cited.append(hash(index))
        self._keys, self._counts = np.unique(np.asarray(cited), return_counts=True)

    def times(self, index: str) -> int:
        key = hash(index.encode())
        place = int(self._keys.searchsorted(key))
        return int(self._counts[place]) if place < len(self._keys) and self._keys[place] == key else 0


class Authorships:
    """The authors of papers: parallel arrays, sorted by paper, then by position in the byline.

    Lines of the file have four numbers: line, author, paper, position; others go to `rejects`.
    """

    def __init__(self, file: Path, rejects: Rejects) -> None:
        import numpy as np

        rejects.file, rejects.unit = file.name, "line"
        authors, papers, places = array("q"), array("q"), array("i")
        for number, row in numbers(file, 4):
            if row is None:
                rejects.note(number, "authorship", "not four numbers")
                continue
            authors.append(row[1])
            papers.append(row[2])
            places.append(min(row[3], LAST_PLACE))
        by_paper, author_of, place_of = (np.asarray(column) for column in (papers, authors, places))  # views
        order = np.lexsort((place_of, by_paper))
        self._papers: NDArray[np.int64] = by_paper[order]
        self._authors: NDArray[np.int64] = author_of[order]
        self._places: NDArray[np.int32] = place_of[order]

    def of(self, paper: str, count: int) -> list[str]:
        """The index of each of a paper's `count` authors, in the order of its byline; "" if unknown."""
        if not paper.isdecimal() or len(paper) > MOST_DIGITS:
            return [""] * count
        start, end = self._papers.searchsorted(int(paper)), self._papers.searchsorted(int(paper), "right")
        authors: list[str] = [*map(str, self._authors[start:end].tolist())]
        if len(authors) == count:
            return authors
        by_place: dict[int, str] = dict(zip(self._places[start:end].tolist(), authors, strict=True))
        return [by_place.get(place, "") for place in range(1, count + 1)]


def read_coauthors(file: Path, keys: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """For each author in `keys` (index to key), by index: the co-authors with the numbers of joint papers.

    A co-author is named by key if in `keys`, else by index. Lines without exactly three numbers are skipped.
    """
    met: dict[str, dict[str, int]] = defaultdict(dict)
    for _, row in numbers(file, 3):
        one, other, together = map(str, row or (0, 0, 0))
        for own, theirs in ((one, other), (other, one)):
            if own in keys:
                met[own][keys.get(theirs, theirs)] = int(together)
    return met


def numbers(file: Path, count: int) -> Iterator[tuple[int, tuple[int, ...] | None]]:
    """Each line's `count` numbers, after an optional `#`; None for any other line."""
    with closing(lines(file)) as stream:
        for number, line in stream:
            parts = line.removeprefix(b"#").split()
            fit = len(parts) == count and all(part.isdigit() and len(part) <= MOST_DIGITS for part in parts)
            yield number, tuple(map(int, parts)) if fit else None


# AMiner's text files: blocks of lines with a tag each, beginning with `#index`.


TAG = re.compile(rb"#(?:([*@%!])|(index|upi|pc|cn|hi|pi|[notca])(?=\s|$))")
"""A symbol may be followed directly by its value, a word may not."""
MOST_LINES, MOST_BYTES = 100_000, 2**22
"""Maximum lines of a block; a longer one means another format."""
NOTHING = "-"
"""Placeholder of an unknown affiliation."""


class Block:
    """A paper or an author: the values of each tag, in order."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = defaultdict(list)
        self.lines = self.size = 0
        self.undecodable = ""
        """Why a line is not text; empty if all are."""

    def add(self, tag: str, number: int, raw: bytes, *, goes_on: bool) -> None:
        """Add a line; one without a tag continues the value before."""
        try:
            text = raw.decode("utf-8").strip()
        except UnicodeDecodeError as wrong:
            self.undecodable = (
                self.undecodable or f"line {number}: byte {wrong.start} of its text is not UTF-8"
            )
            text = raw.decode("utf-8", errors="replace").strip()
        values = self.values[tag]
        if goes_on and values:
            values[-1] += f" {text}"
        else:
            values.append(text)
        self.lines, self.size = self.lines + 1, self.size + len(raw)

    def text(self, tag: str) -> str:
        """The value of a tag, "" if missing."""
        return " ".join(self.values.get(tag, ())).strip()

    def list(self, tag: str) -> list[str]:
        """The values between semicolons, "" for an unknown one; [] if all are missing."""
        whole = self.text(tag)
        parts = (part.strip() for part in whole.split(";")) if whole else ()
        return ["" if part == NOTHING else part for part in parts]


def blocks(file: Path) -> Iterator[Block]:
    """The blocks of a file. Raises `CorpusError` if the file cannot be read, or does not begin with `#index`."""
    block, tag = Block(), ""
    with closing(lines(file)) as stream:
        for number, raw in stream:
            match = TAG.match(raw)
            begins = match is not None and match[0] == b"#index"
            if not tag and not begins:
                raise CorpusError(
                    f"{file}: line {number} is not #index: not AMiner's format",
                    hint="use the academic network's AMiner-Paper.txt, or its citation network's JSON files",
                )
            if begins and block.lines:
                yield block
                block = Block()
            if block.lines == MOST_LINES or block.size + len(raw) > MOST_BYTES:
                raise CorpusError(
                    f"{file}: no #index in the {block.lines:,} lines before line {number:,}, or they are too long: not AMiner's format",
                    hint="use the folder with AMiner-Paper.txt",
                )
            tag = (match[1] or match[2]).decode() if match else tag
            block.add(tag, number, raw[match.end() :] if match else raw, goes_on=not match)
    if block.lines:
        yield block


PAPER, AUTHOR, COAUTHOR, AUTHORSHIP = "paper", "author", "coauthor", "author2paper"


class AMiner(Reader):
    """A `Reader` of the dataset: a folder, or a file of papers with any name.

    Papers have no citation counts: citations are counted over the whole file first. An author's key is the dataset's index if
    `AMiner-Author2Paper` is there, else the name.
    """

    unit = "record"
    example = "records that begin with a line `#index NUMBER`, then `#* title`, `#@ names;…`, `#t year`, `#! abstract`"

    def __init__(self, path: Path) -> None:
        self._folder = path if path.is_dir() else path.parent
        super().__init__(self._folder)
        self._papers = None if path.is_dir() else path

    def records(self, rejects: Rejects) -> Iterator[Record]:
        """Raises `CorpusError` if there are no papers, or a file cannot be read."""
        if (file := self._papers or self._file(PAPER)) is None:
            packed = any(self._folder.glob("*.rar"))
            raise CorpusError(
                f"{self._folder}: contains no AMiner-Paper.txt",
                hint="unpack it: unrar x AMiner-Paper.rar"
                if packed
                else "use the folder with AMiner-Paper.txt",
            )
        ties = self._file(AUTHORSHIP)
        cited = CitationCounts(file)
        authorships = Authorships(ties, rejects) if ties else None
        rejects.file, rejects.unit = file.name if ties else "", self.unit
        for number, block in enumerate(blocks(file), 1):
            yield number, _paper(block, cited, authorships)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`. Without indices, only authors with unique names are known."""
        if (file := self._file(AUTHOR)) is None:
            return {}
        by_index, by_key, shared = self._file(AUTHORSHIP) is not None, dict[str, Block](), set[str]()
        for block in blocks(file):
            keys = [block.text("index")] if by_index else [*map(_text, block.list("n"))]
            for key in keys:
                if key in wanted:
                    shared |= {key} & by_key.keys()
                    by_key[key] = block
        for key in shared:
            del by_key[key]
        pairs = self._file(COAUTHOR)
        met = pairs and read_coauthors(pairs, {block.text("index"): key for key, block in by_key.items()})
        return {
            key: RawAuthor(
                key=key,
                name=next(map(_text, filter(None, block.list("n"))), key),
                affiliations=tuple(filter(None, block.list("a"))) or None,
                interests=tuple(filter(None, block.list("t"))) or None,
                papers=count_of(block.text("pc")),
                citations=count_of(block.text("cn")),
                coauthors=None if met is None else met.get(block.text("index"), {}),
            )
            for key, block in by_key.items()
        }

    def _file(self, part: str) -> Path | None:
        """The file of a part of the dataset, by its name in any case, or None."""
        names = {file: file.name.lower() for file in sorted(self._folder.glob("*")) if file.is_file()}
        return next(
            (
                file
                for file, name in names.items()
                if name.partition(".")[0] == f"aminer-{part}" and name.endswith((".txt", ".gz", ".zip"))
            ),
            None,
        )


def _paper(
    block: Block, cited: CitationCounts, authorships: Authorships | None
) -> RawPaper | tuple[str, str]:
    if block.undecodable:
        return "encoding", block.undecodable
    index, names, places = block.text("index"), block.list("@"), block.list("o")
    ids = [""] * len(names) if authorships is None else authorships.of(index, len(names))
    places = places if len(places) == len(names) else [""] * len(names)
    return paper(
        {
            "id": index,
            "title": block.text("*"),
            "abstract": block.text("!"),
            **_byline(zip(names, ids, places, strict=True)),
            "year": block.text("t"),
            "citations": cited.times(index),
            "venue": block.text("c") or None,
            "references": block.values.get("%"),
        }
    )


def _byline(people: Iterable[tuple[str, str, str]]) -> dict[str, list[str]]:
    """Authors' names, ids and affiliations as fields of a paper; a list is empty if all its values are unknown."""
    named = [one for one in people if one[0]]
    columns = ([one[place] for one in named] for place in range(3))
    fields = ("authors", "author_ids", "affiliations")
    return {name: column if any(column) else [] for name, column in zip(fields, columns, strict=True)}


# Open Academic Graph 3.1 (open.aminer.cn), the second dataset of VirSci 2025, App. C.2.2: JSON Lines in many files.

OTHERS = ("author", "venue", "affiliation", "linking")
"""Parts of file names that mark files without papers."""


class Oag(Reader):
    """A `Reader` of the dataset: a file of publications, or the folder with all of them and the authors' files.

    Plain, gzip or zip. An author's key is the dataset's id if there is one, else the name. The dataset has authors' names and
    affiliations, in earlier versions also their interests and counts.
    """

    kind = "Open Academic Graph"
    endings = (".json", ".jsonl", ".txt", ".gz", ".zip")
    example = 'lines such as {"id": "…", "title": "…", "authors": [{"id": "…", "name": "…", "org": "…"}], "year": 2015, …}'

    def records(self, rejects: Rejects) -> Iterator[Record]:
        files = [file for file in self._files() if not any(other in file.name.lower() for other in OTHERS)]
        if not files and self.path.is_dir():
            raise CorpusError(
                f"{self.path}: contains no publications", hint="use the folder of the downloads"
            )
        for file in files or [self.path]:
            where, inside = "" if file == self.path else str(file.relative_to(self.path)), members(file)
            for member in inside:
                rejects.file = "/".join(filter(None, (where, member))) if len(inside) > 1 else where
                yield from self.records_of(file, member)

    def records_of(self, file: Path, member: str | None = None) -> Iterator[Record]:
        for number, row in objects(file, member):
            yield number, _oag_paper(row) if isinstance(row, dict) else row

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`; {} without files of authors."""
        files = [file for file in self._files() if "author" in file.name.lower() and file != self.path]
        rows = (row for file in files for member in members(file) for _, row in objects(file, member))
        authors = (_oag_author(row) for row in rows if isinstance(row, dict) and _id(row.get("id")) in wanted)
        return {one.key: one for one in authors}

    def _files(self) -> list[Path]:
        """Sort key with numbers, so that 2 comes before 10."""
        return sorted(
            shards(self.path, self.endings, self.kind),
            key=lambda file: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", str(file))],
        )


def _oag_paper(row: Mapping[str, Any]) -> RawPaper | tuple[str, str]:
    people, words = row.get("authors"), row.get("keywords")
    if not isinstance(people, list):
        return "authors", "no list" if people is not None else "missing"
    authors = [mapping(one) or {"name": one} for one in sequence(people)]
    byline = ((_text(one.get("name")), _id(one.get("id")), _text(one.get("org"))) for one in authors)
    return paper(
        {
            "id": _id(row.get("id")),
            "title": row.get("title"),
            "abstract": row.get("abstract"),
            **_byline((name or key, key, place) for name, key, place in byline),
            "year": row.get("year"),
            "citations": row.get("n_citation"),
            "venue": _venue(row.get("venue")),
            "keywords": terms(words)
            if isinstance(words, str)
            else [*filter(None, map(_text, sequence(words)))],
            "references": row.get("references"),
        }
    )


def _oag_author(row: Mapping[str, Any]) -> RawAuthor:
    key = _id(row.get("id"))
    places = [row.get("org"), *sequence(row.get("orgs"))]
    tags = [mapping(tag).get("t") if isinstance(tag, dict) else tag for tag in sequence(row.get("tags"))]
    return RawAuthor(
        key=key,
        name=_text(row.get("name")) or key,
        affiliations=tuple(dict.fromkeys(filter(None, map(_text, places)))) or None,
        interests=tuple(filter(None, map(_text, tags))) or None,
        papers=count_of(row.get("n_pubs")),
        citations=count_of(row.get("n_citation")),
    )


def _venue(value: object) -> str | None:
    """A venue's name, given as a text or in an object."""
    about = mapping(value) or {"name": value}
    names = (about.get(field) for field in ("name", "raw", "name_d", "sid"))
    return next(filter(None, map(_text, names)), None)


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _id(value: object) -> str:
    """An id, a number in some versions."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value)
