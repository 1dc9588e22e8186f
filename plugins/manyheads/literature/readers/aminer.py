"""AMiner's academic network of computer science (aminer.cn/aminernetwork), the first dataset of VirSci 2025, App. C.2.1.

A folder of text files: `AMiner-Paper`, and beside it, where one has them, `AMiner-Author`, `AMiner-Coauthor` and
`AMiner-Author2Paper`, which says which of two authors of one name wrote a paper. Plain, gzip or zip.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, sifted
from manyheads.errors import CorpusError
from manyheads.literature.readers.aminer_network import Authorships, Cited, read_coauthors
from manyheads.literature.readers.aminer_text import Block, blocks
from manyheads.literature.readers.common import paper, whole

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
        yield from sifted(file, records, rejects, example=EXAMPLE)

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
        papers=_count(block, "pc"),
        citations=_count(block, "cn"),
        coauthors=None if met is None else met.get(block.text("index"), {}),
    )


def _count(block: Block, tag: str) -> int | None:
    try:
        return whole(block.text(tag))
    except ValueError:
        return None
