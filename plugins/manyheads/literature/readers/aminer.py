"""AMiner's two datasets: its academic network of computer science (aminer.cn/aminernetwork, VirSci 2025, App. C.2.1), and,
further down, the Open Academic Graph.

A folder of text files: `AMiner-Paper`, and beside it, where one has them, `AMiner-Author`, `AMiner-Coauthor` and
`AMiner-Author2Paper`, which says which of two authors of one name wrote a paper. Plain, gzip or zip.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, lines, members, sift
from manyheads.errors import CorpusError
from manyheads.literature.readers.common import Record, objects, paper, shards, terms, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# AMiner's network: who cites, who wrote what, and who has written with whom, in a few bytes each.


DENSE = 2**26
"""Below this, an index has a place of its own in one array of counts; the dataset's are below 2.1 million."""
MOST_DIGITS = 18
LAST_PLACE = 2**31 - 1


class Cited:
    """How often each paper is cited: the papers that name it among their references, each counted once."""

    def __init__(self, papers: Path) -> None:
        self._dense, self._sparse = array("I"), Counter[str]()
        seen = set[bytes]()
        with closing(lines(papers)) as found:
            for _, line in found:
                if line.startswith(b"#index"):
                    seen.clear()
                elif line.startswith(b"#%") and (cited := line[2:].strip()) not in seen:
                    seen.add(cited)
                    self._count(cited.decode("utf-8", errors="replace"))

    def times(self, index: str) -> int:
        if (place := _place(index)) is None:
            return self._sparse[index]
        return self._dense[place] if place < len(self._dense) else 0

    def _count(self, index: str) -> None:
        if (place := _place(index)) is None:
            self._sparse[index] += 1
            return
        if place >= len(self._dense):
            self._dense.extend(
                array("I", bytes(self._dense.itemsize * (place + 1 + place // 8 - len(self._dense))))
            )
        self._dense[place] += 1


def _place(index: str) -> int | None:
    """The index as a number; None where it is none, or written in another way than numbers are, or too large."""
    known = int(index) if index.isdecimal() and len(index) <= MOST_DIGITS else DENSE
    return known if known < DENSE and str(known) == index else None


@dataclass(frozen=True)
class Authorships:
    """Which authors wrote a paper: parallel arrays, sorted by paper and, within one, by place in the byline."""

    papers: "NDArray[np.int64]"
    authors: "NDArray[np.int64]"
    places: "NDArray[np.int32]"

    @classmethod
    def read(cls, file: Path, rejects: Rejects) -> "Authorships":
        """From lines of four numbers: the line's, the author's index, the paper's, the place in the byline from 1.

        Lines that are anything else go to `rejects`.
        """
        import numpy as np

        rejects.file, rejects.unit = file.name, "line"
        authors, papers, places = array("q"), array("q"), array("i")
        for number, row in numbers(file, 4):
            if row is None:
                rejects.note(number, "authorship", "not four numbers")
                continue
            _, author, paper, place = row
            authors.append(author)
            papers.append(paper)
            places.append(min(place, LAST_PLACE))
        columns = [np.asarray(column) for column in (papers, authors, places)]  # views, no copies
        order = np.lexsort((columns[2], columns[0]))
        return cls(*(column[order] for column in columns))

    def of(self, paper: str, count: int) -> list[str]:
        """The index of each of a paper's `count` authors, in the order of its byline; "" where not known."""
        if not paper.isdecimal() or len(paper) > MOST_DIGITS:
            return [""] * count
        start, end = self.papers.searchsorted(int(paper)), self.papers.searchsorted(int(paper), "right")
        known: list[str] = [*map(str, self.authors[start:end].tolist())]
        if len(known) == count:
            return known
        by_place: dict[int, str] = dict(zip(self.places[start:end].tolist(), known, strict=True))
        return [by_place.get(place, "") for place in range(1, count + 1)]


def read_coauthors(file: Path, keys: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Of each author in `keys` (index to key), by index: the co-authors, and how many papers they wrote together.

    A co-author is named by key where `keys` has one, else by index. Lines that are no three numbers say nothing.
    """
    met: dict[str, dict[str, int]] = defaultdict(dict)
    for _, row in numbers(file, 3):
        one, other, together = map(str, row or (0, 0, 0))
        for own, theirs in ((one, other), (other, one)):
            if own in keys:
                met[own][keys.get(theirs, theirs)] = int(together)
    return met


def numbers(file: Path, count: int) -> Iterator[tuple[int, tuple[int, ...] | None]]:
    """Each line's numbers, `count` of them, a `#` before the first left out; None for a line of anything else."""
    with closing(lines(file)) as found:
        for number, line in found:
            parts = line.removeprefix(b"#").split()
            fit = len(parts) == count and all(part.isdigit() and len(part) <= MOST_DIGITS for part in parts)
            yield number, tuple(map(int, parts)) if fit else None


# AMiner's text files: blocks of lines that begin with a tag, each block with `#index`.


TAG = re.compile(rb"#(?:([*@%!])|(index|upi|pc|cn|hi|pi|[notca])(?=\s|$))")
"""A sign may be followed by its value at once, a word may not."""
MOST_LINES = 100_000
"""Lines of one block above which a file is taken for something else."""
NOTHING = "-"
"""What stands for an affiliation that is not known."""


class Block:
    """A paper or an author: the values of each tag, in the order given."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = defaultdict(list)
        self.undecodable = ""
        """Why a line of it is no text; empty where all are."""

    def __getitem__(self, tag: str) -> list[str]:
        return self.values.get(tag, [])

    def text(self, tag: str) -> str:
        """The value of a tag, "" where it is not there."""
        return " ".join(self[tag]).strip()

    def list(self, tag: str) -> list[str]:
        """The values between semicolons, "" where one is not known; [] where there is none at all."""
        whole = self.text(tag)
        parts = (part.strip() for part in whole.split(";")) if whole else ()
        return ["" if part == NOTHING else part for part in parts]


def blocks(file: Path) -> Iterator[tuple[int, Block]]:
    """The blocks of a file with their numbers from 1; lines without a tag go on with the value before.

    Raises:
        CorpusError: the file cannot be read, or does not begin with `#index`.
    """
    number, size, block, tag = 0, 0, Block(), ""
    with closing(lines(file)) as found:
        for line, raw in found:
            known = TAG.match(raw)
            if not tag and (not known or known[0] != b"#index"):
                raise CorpusError(
                    f"{file}: line {line} is no #index: not AMiner's format",
                    hint="name the academic network's AMiner-Paper.txt; its citation network's JSON files are read, too",
                )
            if known and known[0] == b"#index" and size:
                number += 1
                yield number, block
                size, block = 0, Block()
            size += 1
            if size > MOST_LINES:
                raise CorpusError(
                    f"{file}: no #index in the {MOST_LINES:,} lines before line {line:,}: not AMiner's format",
                    hint="name the folder that AMiner-Paper.txt is in",
                )
            tag = (known[1] or known[2]).decode() if known else tag
            _take(block, tag, line, raw[known.end() :] if known else raw, goes_on=not known)
    if size:
        yield number + 1, block


def _take(block: Block, tag: str, line: int, raw: bytes, *, goes_on: bool) -> None:
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError as wrong:
        block.undecodable = block.undecodable or f"line {line}: byte {wrong.start} of its text is not UTF-8"
        text = raw.decode("utf-8", errors="replace").strip()
    values = block.values[tag]
    if goes_on and values:
        values[-1] += f" {text}"
    else:
        values.append(text)


PAPER, AUTHOR, COAUTHOR, AUTHORSHIP = "paper", "author", "coauthor", "author2paper"
UNIT = "record"
EXAMPLE = (
    "records that begin with a line `#index NUMBER`, then `#* title`, `#@ names;…`, `#t year`, `#! abstract`"
)


class AMiner:
    """A `Reader` of the dataset.

    Papers carry no citation count: how often each is cited is counted over all of the file first. An author's key
    is the dataset's index where `AMiner-Author2Paper` is there, else the name.

    Args:
        path: the folder, or a file of papers in it, whatever its name.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path if path.is_dir() else path.parent
        self._papers = None if path.is_dir() else path
        self.name = self._folder.resolve().name

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`; a record's number counts the file's papers.

        Raises:
            CorpusError: there are no papers, or a file cannot be read.
        """
        file = self._need_papers()
        ties = self._file(AUTHORSHIP)
        cited = Cited(file)
        authorships = Authorships.read(ties, rejects) if ties else None
        rejects.file, rejects.unit = file.name if ties else "", UNIT
        records = ((number, _paper(block, cited, authorships)) for number, block in blocks(file))
        yield from sift(file, records, rejects, example=EXAMPLE)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`. By name, only authors are known whose name nobody else has."""
        file = self._file(AUTHOR)
        if file is None:
            return {}
        by_index = self._file(AUTHORSHIP) is not None
        found = _Found(by_index, wanted)
        for _, block in blocks(file):
            found.add(block)
        known, pairs = found.known(), self._file(COAUTHOR)
        keys = {block.text("index"): key for key, block in known.items()}
        met = None if pairs is None else read_coauthors(pairs, keys)
        return {key: _author(key, block, met) for key, block in known.items()}

    def _need_papers(self) -> Path:
        if file := self._papers or self._file(PAPER):
            return file
        packed = next((one for one in self._folder.glob("*.rar")), None)
        hint = (
            "unpack it: unrar x AMiner-Paper.rar" if packed else "name the folder that AMiner-Paper.txt is in"
        )
        raise CorpusError(f"{self._folder}: no AMiner-Paper.txt in it", hint=hint)

    def _file(self, part: str) -> Path | None:
        return part_file(self._folder, part)


def part_file(folder: Path, part: str) -> Path | None:
    """The file of a part of the dataset, or None; its name says which, in capitals or not."""
    stem, endings = f"aminer-{part}", (".txt", ".gz", ".zip")
    named = (file for file in sorted(folder.glob("*")) if file.name.lower().partition(".")[0] == stem)
    return next((file for file in named if file.is_file() and file.name.lower().endswith(endings)), None)


class _Found:
    """The records of wanted authors among all, by key: the index, or a name that only one author has."""

    def __init__(self, by_index: bool, wanted: Collection[str]) -> None:
        self.blocks: dict[str, Block] = {}
        self._by_index, self._wanted, self._shared = by_index, wanted, set[str]()

    def add(self, block: Block) -> None:
        keys = [block.text("index")] if self._by_index else [*map(even, block.list("n"))]
        for key in keys:
            if key in self._wanted:
                self._shared |= {key} if key in self.blocks else set()
                self.blocks[key] = block

    def known(self) -> dict[str, Block]:
        """By key; without the names that several have."""
        return {key: block for key, block in self.blocks.items() if key not in self._shared}


def even(name: str) -> str:
    """A name with single blanks, as `RawPaper` has it."""
    return " ".join(name.split())


def _paper(block: Block, cited: Cited, authorships: Authorships | None) -> RawPaper | tuple[str, str]:
    if block.undecodable:
        return "encoding", block.undecodable
    index, names, places = block.text("index"), block.list("@"), block.list("o")
    ids = [""] * len(names) if authorships is None else authorships.of(index, len(names))
    placed = places if len(places) == len(names) else [""] * len(names)
    people = [one for one in zip(names, ids, placed, strict=True) if one[0]]
    return paper(
        {
            "id": index,
            "title": block.text("*"),
            "abstract": block.text("!"),
            "authors": [name for name, _, _ in people],
            "author_ids": [known for _, known, _ in people] if any(ids) else [],
            "affiliations": [place for _, _, place in people] if any(placed) else [],
            "year": block.text("t"),
            "citations": cited.times(index),
            "venue": block.text("c") or None,
            "references": block["%"],
        }
    )


def _author(key: str, block: Block, met: Mapping[str, Mapping[str, int]] | None) -> RawAuthor:
    return RawAuthor(
        key=key,
        name=next(map(even, filter(None, block.list("n"))), key),
        affiliations=tuple(filter(None, block.list("a"))) or None,
        interests=tuple(filter(None, block.list("t"))) or None,
        papers=_count(block.text("pc")),
        citations=_count(block.text("cn")),
        coauthors=None if met is None else met.get(block.text("index"), {}),
    )


# Open Academic Graph 3.1 (open.aminer.cn), the second dataset of VirSci 2025, App. C.2.2: JSON Lines in many files.

ENDINGS = (".json", ".jsonl", ".txt", ".gz", ".zip")
AUTHORS, OTHERS = "author", ("venue", "affiliation", "linking")
"""What stands in the names of files that hold no papers."""
OAG_EXAMPLE = 'lines such as {"id": "…", "title": "…", "authors": [{"id": "…", "name": "…", "org": "…"}], "year": 2015, …}'


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
        yield from sift(self._path, _records(self._path, files, rejects), rejects, example=OAG_EXAMPLE)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`; {} where the files of authors are not there."""
        files = [file for file in self._files() if _holds(file) == AUTHORS and file != self._path]
        rows = (row for file in files for member in members(file) for _, row in objects(file, member))
        found = (_oag_author(row) for row in rows if isinstance(row, dict) and _id(row.get("id")) in wanted)
        return {one.key: one for one in found}

    def _files(self) -> list[Path]:
        found = shards(self._path, ENDINGS, "Open Academic Graph")
        # numbers apart, so that 2 comes before 10
        return sorted(
            found, key=lambda file: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", str(file))]
        )


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
                yield number, _oag_paper(row) if isinstance(row, dict) else row


def _oag_paper(row: Mapping[str, Any]) -> RawPaper | tuple[str, str]:
    given, words = row.get("authors"), row.get("keywords")
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
            "keywords": terms(words) if isinstance(words, str) else [*filter(None, map(_text, _list(words)))],
            "references": row.get("references"),
        }
    )


def _person(one: object) -> tuple[str, str, str]:
    """Name, id and affiliation of an author; each "" where it is not given."""
    about = cast("dict[str, Any]", one) if isinstance(one, dict) else {"name": one}
    return _text(about.get("name")), _id(about.get("id")), _text(about.get("org"))


def _oag_author(row: Mapping[str, Any]) -> RawAuthor:
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
