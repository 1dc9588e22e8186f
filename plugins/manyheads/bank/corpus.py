"""Raw corpora: JSON Lines of papers, plain or gzip, read as a stream.

A line is an object with `id, title, abstract, authors, year, citations` and, where known, `venue,
keywords, affiliations`. A line that cannot be read is a `Reject`: counted, named by line and field,
written down; never silently dropped.
"""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import IO, Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from manyheads.errors import CorpusError

FIRST_YEAR, LAST_YEAR = 1500, 2100
LISTED, TOLD = 10, 3
"""Rejected lines listed by a build, and in an error; all of them are counted and written to `rejects.jsonl`."""
GIVE_UP_AFTER = 1000
"""Lines without a single paper among them after which the file is taken for another kind of file."""
MOST_BROKEN, MOST_UNDECODABLE = 0.5, 0.01
"""Shares of broken, and of not UTF-8, lines above which a corpus is refused."""
GZIP, UTF16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"
LINE = '{"id": "…", "title": "…", "abstract": "…", "authors": ["…"], "year": 2015, "citations": 3}'


def _or_empty(value: object) -> object:
    return () if value is None else value


def _or_blank(value: object) -> object:
    return "" if value is None else value


def _even(name: str) -> str:
    return " ".join(name.split())


_Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
_Names = tuple[Annotated[_Text, AfterValidator(_even)], ...]
_Terms = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(_or_empty)]


class RawPaper(BaseModel):
    """One line of a corpus, with real names. An author or an abstract given as null is one not given.

    `byline` is the list as given, which in real data may name an author twice; `authors` names each once.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    id: _Text
    title: _Text
    abstract: Annotated[str, BeforeValidator(_or_blank)]
    byline: Annotated[_Names, Field(alias="authors")]
    year: Annotated[int, Field(ge=FIRST_YEAR, le=LAST_YEAR)]
    citations: Annotated[int, Field(ge=0)]
    venue: str | None = None
    keywords: _Terms = ()
    affiliations: _Terms = ()

    @cached_property
    def authors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.byline))

    def affiliations_of(self, author: str) -> tuple[str, ...]:
        """An author's affiliations here: a lone one is everyone's, as many as the byline go one by one.

        A list of another length says not whose each is, so it is nobody's.
        """
        if len(self.affiliations) == 1:
            return self.affiliations
        if len(self.affiliations) != len(self.byline):
            return ()
        pairs = zip(self.byline, self.affiliations, strict=True)
        return tuple(dict.fromkeys(place for name, place in pairs if name == author and place))


@dataclass(frozen=True, slots=True)
class Reject:
    """A line that is no paper: its number (from 1), the field at fault and why."""

    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.field}: {self.reason}"


@dataclass
class Rejects:
    """What was rejected: all counted and written to `log`, the first few kept to be told."""

    log: IO[str] | None = None
    first: list[Reject] = field(default_factory=list[Reject])
    by_field: Counter[str] = field(default_factory=Counter[str])

    @property
    def total(self) -> int:
        return self.by_field.total()

    def add(self, reject: Reject) -> None:
        self.by_field[reject.field] += 1
        if len(self.first) < LISTED:
            self.first.append(reject)
        if self.log:
            self.log.write(json.dumps(asdict(reject), ensure_ascii=False) + "\n")

    def told(self, most: int = TOLD) -> str:
        """The first few in one sentence, and how many more there are."""
        more = self.total - len(self.first[:most])
        return "; ".join(map(str, self.first[:most])) + (f"; and {more:,} more" if more else "")


def read_papers(source: Path, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
    """The papers of a corpus with their line numbers, one at a time; broken lines go to `rejects`.

    Raises:
        CorpusError: the file is missing, no gzip although named so, cut off, not JSON Lines, not UTF-8, or
            more than half of its lines are broken.
    """
    good = 0
    with closing(_lines(source)) as lines:
        for number, line in lines:
            paper = _parse(number, line)
            if isinstance(paper, RawPaper):
                good += 1
                yield number, paper
                continue
            rejects.add(paper)
            if not good and rejects.total >= GIVE_UP_AFTER:
                break
    _refuse_if_mostly_broken(source, good, rejects)


def _parse(number: int, line: bytes) -> RawPaper | Reject:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as wrong:
        return Reject(number, "encoding", f"byte {wrong.start} is not UTF-8")
    try:
        return RawPaper.model_validate_json(text)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False)[0]
        named = ".".join(map(str, first["loc"])) or "json"
        return Reject(number, named, first["msg"])


def _lines(source: Path) -> Generator[tuple[int, bytes], None, None]:
    number = 0
    try:
        with _open(source) as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line.removeprefix(UTF8_MARK) if number == 1 else line
    except (OSError, EOFError, zlib.error) as wrong:
        where = f" after line {number}" if number else ""
        raise CorpusError(f"{source}: cannot be read{where}: {wrong}", hint="fetch the file again") from wrong


def _open(source: Path) -> BufferedReader | gzip.GzipFile:
    """The file's bytes, unpacked; a file that plainly holds something else is refused here."""
    if source.is_dir() or not source.exists():
        what = "a folder, not a file" if source.is_dir() else "no such file"
        raise CorpusError(f"{source}: {what}", hint="name a .jsonl or .jsonl.gz file of papers")
    with source.open("rb") as raw:
        start = raw.read(2)
    packed = start == GZIP
    if source.suffix == ".gz" and not packed:
        raise CorpusError(
            f"{source}: named .gz but not gzip", hint="rename it to .jsonl, or pack it with gzip"
        )
    if start in UTF16:
        raise CorpusError(f"{source}: UTF-16, not UTF-8", hint=f"iconv -f utf-16 -t utf-8 {source.name}")
    return gzip.open(source, "rb") if packed else source.open("rb")


def _refuse_if_mostly_broken(source: Path, good: int, rejects: Rejects) -> None:
    lines = good + rejects.total
    if not lines:
        raise CorpusError(f"{source}: no line in it", hint=f"one paper a line: {LINE}")
    if rejects.by_field["encoding"] > MOST_UNDECODABLE * lines:
        raise CorpusError(
            f"{source}: {rejects.by_field['encoding']:,} of {lines:,} lines are not UTF-8: {rejects.told()}",
            hint=f"convert it first, for example: iconv -f latin1 -t utf-8 {source.name}",
        )
    if rejects.total > MOST_BROKEN * lines:
        raise CorpusError(
            f"{source}: {rejects.total:,} of {lines:,} lines are no papers: {rejects.told()}",
            hint=f"JSON Lines, one paper a line: {LINE}",
        )
