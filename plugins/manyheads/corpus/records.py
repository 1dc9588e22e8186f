"""Records of corpus readers: papers and authors with real names, rejected records, and files as streams of lines.

A record (a line, an XML element, a table's row) that cannot be read is a `Reject`: counted, named by file, record and
field, written to a file; never dropped silently.
"""

import gzip
import hashlib
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Annotated, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from manyheads.base.errors import CorpusError
from manyheads.base.files import opened
from manyheads.base.papers import Paper
from manyheads.base.text import has_markup, plain_text

if TYPE_CHECKING:
    from manyheads.documents.sections import Core

# Text files: plain, gzip, or inside a zip, with clear errors.

LONGEST = 2**24
"""Maximum bytes of a line: a file with longer ones has another format and would fill the memory."""
_SHORT, MOST_OBJECTS, MOST_VALUES = 2**20, 100_000, 500_000
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"


def lines(source: Path, member: str | None = None) -> Generator[tuple[int, bytes], None, None]:
    """The non-blank lines of a file (of a zip with several files, of one `member`), with their numbers from 1.

    Drops the byte order mark. Raises `CorpusError` if the file is missing, a folder, cut off, compressed differently than its
    name says, UTF-16, or binary.
    """
    number = 0
    with open_file(source, member, where=lambda: f" after line {number}" if number else "") as stream:
        while line := stream.readline(LONGEST):
            if len(line) == LONGEST:
                hint = "check that it is a text file"
                raise CorpusError(f"{source}: a line of more than {LONGEST >> 20} MB", hint=hint)
            number += 1
            line = line.removeprefix(UTF8_MARK) if number == 1 else line
            if line.strip():
                yield number, line


def crowded(line: bytes) -> tuple[str, str] | None:
    """Why a line of JSON is not read, as field and reason: many small values would take a hundred times its size."""
    if len(line) > _SHORT:
        objects, values = line.count(b"[") + line.count(b"{"), line.count(b",")
        if objects > MOST_OBJECTS or values > MOST_VALUES:
            return "json", f"{max(objects, values):,} values in one line"
    return None


@contextmanager
def open_file(
    source: Path, member: str | None = None, *, where: Callable[[], str] = str
) -> Generator[IO[bytes]]:
    """The file's bytes, unpacked; a file that clearly has another format is rejected here.

    For a zip with several files, `member` is read. `where` gives the position for errors within the block.
    """
    start = head(source)
    if source.suffix == ".gz" and not start.startswith(GZIP):
        hint = "rename it, or compress it with gzip"
        raise CorpusError(f"{source}: has the ending .gz but is not gzip", hint=hint)
    if start.startswith(UTF16):
        raise CorpusError(f"{source}: UTF-16, not UTF-8", hint=f"iconv -f utf-16 -t utf-8 {source.name}")
    with reading(source, where), ExitStack() as held:
        raw: IO[bytes] = held.enter_context(opened(source))
        if start.startswith(GZIP):
            yield cast(IO[bytes], held.enter_context(gzip.GzipFile(fileobj=raw)))
        elif start.startswith(ZIP):
            archive = held.enter_context(zipfile.ZipFile(raw))
            names = [member] if member else _files_of(archive)
            if len(names) != 1:
                hint = f"unzip {source.name}"
                raise CorpusError(f"{source}: contains {len(names)} files, not one", hint=hint)
            yield held.enter_context(archive.open(names[0]))
        else:
            yield raw


def members(source: Path) -> list[str | None]:
    """The files inside a zip; [None] for any other file."""
    if not head(source).startswith(ZIP):
        return [None]
    with reading(source), zipfile.ZipFile(source) as archive:
        return [*_files_of(archive)]


def head(source: Path, size: int = 4) -> bytes:
    """The first bytes of a file on disk; raises CorpusError if it cannot be read."""
    if source.is_dir() or not source.exists():
        what = "a folder, not a file" if source.is_dir() else "no such file"
        raise CorpusError(f"{source}: {what}", hint="name a file of papers, such as papers.jsonl.gz")
    try:
        with opened(source) as raw:
            return raw.read(size)
    except OSError as wrong:
        raise CorpusError(f"{source}: cannot be read: {wrong.strerror or wrong}") from wrong


@contextmanager
def reading(source: Path, where: Callable[[], str] = str) -> Generator[None]:
    """Add file and position to errors in reading a file's bytes."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as wrong:
        hint = "download the file again"
        raise CorpusError(f"{source}: cannot be read{where()}: {wrong}", hint=hint) from wrong


def _files_of(archive: zipfile.ZipFile) -> list[str]:
    files = (each.filename for each in archive.infolist() if not each.is_dir())
    return [name for name in files if not name.startswith("__MACOSX/")]


# Papers, authors and rejects.

FIRST_YEAR, LAST_YEAR = 1500, 2100
WORDS_OF_ID = 5
REFERENCE = ("id", "paperId", "corpusid", "doi", "title", "raw", "text")
"""Keys that identify a reference given as an object, most reliable first."""
LISTED, TOLD, LOGGED = 10, 3, 100_000
"""Number of rejects shown by a build, shown in an error, and written to `rejects.jsonl`; all are counted."""
GIVE_UP_AFTER = 1000
"""Number of records without a single paper after which the source has another format."""
MOST_BROKEN, MOST_UNDECODABLE = 0.5, 0.01
"""Maximum shares of broken, and of non-UTF-8, records in a corpus."""

_REASONS = {
    "missing": "missing",
    "string_type": "not a text",
    "string_unicode": "not a text that can be written",
    "string_too_short": "empty",
    "int_type": "not a whole number",
    "int_from_float": "not a whole number",
    "int_parsing_size": "not a whole number of this size",
    "greater_than_equal": "less than {ge}",
    "less_than_equal": "more than {le}",
    "tuple_type": "not a list",
    "model_type": "not an object",
    "json_invalid": "not valid JSON: {error}",
}
"""Messages by pydantic's type of error, in terms of papers."""


def _reference_texts(given: object, texts: ValidatorFunctionWrapHandler) -> tuple[str, ...]:
    """References in any notation; an unusable one is dropped without rejecting the paper."""
    if not isinstance(given, list | tuple):
        return ()
    try:
        return texts(given)  # the usual case, and the fastest
    except ValidationError:
        listed = cast("Sequence[object]", given)
        return tuple(text for one in listed if (text := _reference(one)))


def _reference(one: object) -> str:
    """A text, a number, or an object's id, else its title."""
    if isinstance(one, Mapping):
        about = cast("Mapping[str, object]", one)
        return next(filter(None, (_reference(about.get(key)) for key in REFERENCE)), "")
    return str(one).strip() if isinstance(one, str | int) and not isinstance(one, bool) else ""


_Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
_Name = Annotated[_Text, AfterValidator(lambda name: " ".join(name.split()))]
_Names = Annotated[tuple[_Name, ...], Field(strict=False)]
_OR_EMPTY = BeforeValidator(lambda value: () if value is None else value)
_OR_BLANK = BeforeValidator(lambda value: "" if value is None else value)
_OR_UNDATED = WrapValidator(
    lambda value, year: 0 if value is None or (type(value) is int and not value) else year(value)
)
_KNOWN = BeforeValidator(lambda value: None if type(value) is int and value < 0 else value)
_NUMBER_OR_TEXT = BeforeValidator(
    lambda value: "" if value is None else str(value) if type(value) is int else value
)
_Terms = Annotated[tuple[str, ...], Field(strict=False), _OR_EMPTY]
References = Annotated[tuple[str, ...], Field(strict=False), WrapValidator(_reference_texts)]
_Ids = Annotated[
    tuple[Annotated[str, StringConstraints(strip_whitespace=True), _OR_BLANK], ...],
    Field(strict=False),
    _OR_EMPTY,
]


class RawPaper(BaseModel):
    """One paper of a dataset, with real names. Null counts as missing.

    `byline` (`authors` in a file) is the list of names as given, which may contain a name twice; `author_ids`, if the dataset
    has them, has one entry per name, empty for an author without id.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    id: Annotated[str, StringConstraints(strip_whitespace=True), _NUMBER_OR_TEXT] = ""
    """Numbers are taken as text; readers make a missing one from title, year and authors, see `made_id`."""
    title: _Text
    abstract: Annotated[str, _OR_BLANK] = ""
    byline: Annotated[_Names, Field(alias="authors"), _OR_EMPTY] = ()
    author_ids: _Ids = ()
    year: Annotated[int, Field(ge=FIRST_YEAR, le=LAST_YEAR), _OR_UNDATED] = 0
    """0 if the dataset has none: then it is rejected, unless it is to be completed."""
    citations: Annotated[int | None, _KNOWN] = None
    """None if unknown, as some datasets write by a number below 0: never taken for 0."""
    venue: str | None = None
    keywords: _Terms = ()
    affiliations: _Terms = ()
    references: References = ()
    """Its references, if known: ids in the same dataset, or entries of a bibliography."""
    core_references: References = ()
    """The references cited in introduction or method (SciPIP, §3.1); empty if unknown."""
    introduction: Annotated[str, _OR_BLANK] = ""
    method: Annotated[str, _OR_BLANK] = ""
    """From the full text; empty if the dataset has none."""
    doi: str | None = None

    @field_validator("author_ids")
    @classmethod
    def _beside_the_byline(cls, ids: tuple[str, ...], given: ValidationInfo) -> tuple[str, ...]:
        byline = given.data.get("byline", ids)
        if ids and len(ids) != len(byline):
            raise ValueError(f"{len(ids)} ids for {len(byline)} authors")
        return ids

    def as_published(self) -> Paper:
        """The paper without its texts, with its real authors."""
        return Paper(
            id=self.id, title=self.title, authors=self.byline, year=self.year, venue=self.venue, doi=self.doi
        )

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Identity of each name in the byline: the author's id in the dataset, or the name without an id."""
        if not self.author_ids:
            return self.byline
        return tuple(given or name for given, name in zip(self.author_ids, self.byline, strict=True))

    @cached_property
    def authors(self) -> tuple[str, ...]:
        """The authors' keys in order, without duplicates."""
        return tuple(dict.fromkeys(self.keys))

    def affiliations_of(self, author: str) -> tuple[str, ...]:
        """An author's affiliations (by key) here: a single one is everyone's, a list as long as the byline has one each.

        With any other length the assignment is unknown, and nobody has one.
        """
        if len(self.affiliations) == 1:
            return self.affiliations
        if len(self.affiliations) != len(self.byline):
            return ()
        pairs = zip(self.keys, self.affiliations, strict=True)
        return tuple(dict.fromkeys(place for key, place in pairs if key == author and place))


def made_id(paper: RawPaper) -> str:
    """The id of a paper that its file gives none: the first words of its title, the year, and a hash, also of its authors."""
    title = " ".join(paper.title.casefold().split())
    words = re.findall(r"\w+", title)[:WORDS_OF_ID]
    digest = hashlib.blake2b("\n".join((title, *paper.byline)).encode(), digest_size=3)
    return "-".join((*words, str(paper.year or "undated"), digest.hexdigest()))


@dataclass(frozen=True, slots=True)
class RawAuthor:
    """A dataset's own data on an author, over all papers; None is unknown, and is then counted."""

    key: str
    """As in `RawPaper.keys`."""
    name: str
    affiliations: tuple[str, ...] | None = None
    interests: tuple[str, ...] | None = None
    papers: int | None = None
    citations: int | None = None
    coauthors: Mapping[str, int] | None = None
    """Key of each co-author, with the number of joint papers."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that is not a paper: its number in its file (from 1), the faulty field and the reason."""

    number: int
    field: str
    reason: str
    unit: str = "line"
    """Unit of the number: line, entry, row, paper."""
    file: str = ""
    """Name of the file, in a corpus of several files."""

    def __str__(self) -> str:
        place = f"{self.file}, " if self.file else ""
        return f"{place}{self.unit} {self.number}, {self.field}: {self.reason}"


@dataclass
class Rejects:
    """The rejected records: all counted, many written to `log`, the first few kept for messages.

    A reader of several files, or of other units than lines, sets `file` and `unit` before it yields a record: later faults
    of the paper are reported with them.
    """

    log: IO[str] | None = None
    first: list[Reject] = field(default_factory=list[Reject])
    by_field: Counter[str] = field(default_factory=Counter[str])
    unit: str = "line"
    file: str = ""
    undated: bool = False
    """Whether papers without a year are read, too."""
    faulty: int = 0
    """Accepted records that could be read only in part, or otherwise than they say."""
    left_out: int = 0
    """Papers that a filter left out."""

    @property
    def total(self) -> int:
        return self.by_field.total()

    def place(self, number: int) -> str:
        """The location of a record, in words."""
        return f"{self.file}, {self.unit} {number}" if self.file else f"{self.unit} {number}"

    def note(self, number: int, at_fault: str, reason: str) -> None:
        """Add a record of the current file."""
        reject = Reject(number, at_fault, reason, self.unit, self.file)
        self.by_field[at_fault] += 1
        if len(self.first) < LISTED:
            self.first.append(reject)
        if self.total <= LOGGED:
            self._write(number, field=at_fault, reason=reason)

    def remark(self, number: int, faults: Sequence[str]) -> None:
        """Add the unreadable part of an accepted record."""
        if faults:
            self.faulty += 1
            if self.faulty <= LOGGED:
                self._write(number, faults=[*faults])

    def leave_out(self, number: int, paper: "RawPaper", reason: str) -> None:
        """List a paper that a filter leaves out."""
        self.left_out += 1
        if self.left_out <= LOGGED:
            self._write(number, id=paper.id, title=paper.title, left_out=reason)

    def _write(self, number: int, **told: object) -> None:
        if self.log:
            where: dict[str, object] = {"file": self.file} if self.file else {}
            self.log.write(json.dumps(where | {self.unit: number} | told, ensure_ascii=False) + "\n")

    def summary(self, most: int = TOLD) -> str:
        """The first few in one sentence, and the number of others."""
        more = self.total - len(self.first[:most])
        return "; ".join(map(str, self.first[:most])) + (f"; and {more:,} more" if more else "")


def at_fault(wrong: ValidationError) -> tuple[str, str]:
    """The first invalid field, and the reason."""
    first = wrong.errors(include_url=False, include_input=False)[0]
    ours = _REASONS.get(first["type"])
    told = ours.format(**first.get("ctx", {})) if ours else first["msg"].removeprefix("Value error, ")
    return ".".join(map(str, first["loc"])) or "json", told


Record = tuple[int, RawPaper | tuple[str, str]]
"""A record's number in its file, with the paper in it, or the faulty field and the reason."""


# Datasets: records in a file, or in all matching files of a folder.


class Reader:
    """A dataset of papers: a file, or all files of a format in a folder; subclasses yield `records`.

    Reads as a stream: memory does not grow with the dataset. `papers` and `authors` may be called repeatedly, and raise
    `CorpusError` if the dataset cannot be read.
    """

    kind: str = ""
    endings: tuple[str, ...] = ()
    unit: str = "line"
    """Unit of the records' numbers."""
    example: str = ""
    """Expected form of a record, or what to do if there are none."""
    most_broken: float = MOST_BROKEN
    step: str = "reading papers"
    completed: Mapping[str, Mapping[str, int]] = MappingProxyType({})
    """By field, how many papers got it from which service, see `literature.completion`."""

    def __init__(self, path: Path) -> None:
        self.name, self.path = path.resolve().name, path
        """`name` is the source named in the corpus."""

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """Each paper with its record's number in its file, its texts without markup; other records go to `rejects`. Raises `CorpusError` if there is no
        record, too many are not UTF-8 (field `encoding`), or most are broken."""
        rejects.unit, good = self.unit, 0
        for number, record in self.records(rejects):
            if isinstance(record, RawPaper) and (record.year or rejects.undated):
                good += 1
                paper = _plain(record)
                yield number, paper if paper.id else paper.model_copy(update={"id": made_id(paper)})
                continue
            rejects.note(number, *(("year", "missing") if isinstance(record, RawPaper) else record))
            if not good and rejects.total >= GIVE_UP_AFTER:
                break
        total, units, hint = good + rejects.total, f"{rejects.unit}s", self.example
        if not total:
            raise CorpusError(f"{self.path}: contains no {rejects.unit}", hint=hint)
        if (undecodable := rejects.by_field["encoding"]) > MOST_UNDECODABLE * total:
            raise CorpusError(
                f"{self.path}: {undecodable:,} of {total:,} {units} are not UTF-8: {rejects.summary()}",
                hint="convert it first, for example: iconv -f latin1 -t utf-8 FILE",
            )
        if not good or rejects.total > self.most_broken * total:
            problem = f"{rejects.total:,} of {total:,} {units} are not papers"
            raise CorpusError(f"{self.path}: {problem}: {rejects.summary()}", hint=hint)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """The dataset's own data on these authors, by key; {} if it has only papers."""
        return {}

    def records(self, rejects: Rejects) -> Iterator[Record]:
        for file in self.each(shards(self.path, self.endings, self.kind), rejects):
            yield from self.records_of(file)

    def records_of(self, file: Path) -> Iterator[Record]:
        raise NotImplementedError

    def each(self, files: Iterable[Path], rejects: Rejects) -> Generator[Path]:
        """Each file in turn; rejects then belong to that file, named if the dataset is a folder."""
        for file in files:
            if file != self.path:
                rejects.file = str(file.relative_to(self.path))
            yield file


def _plain(paper: RawPaper) -> RawPaper:
    """The paper without the markup of publishers in its title, abstract, venue, names and keywords."""
    texts = {name: getattr(paper, name) for name in ("title", "abstract", "venue") if getattr(paper, name)}
    lists = {"byline": paper.byline, "keywords": paper.keywords}
    if not any(map(has_markup, chain(texts.values(), *lists.values()))):
        return paper
    found = {name: plain_text(text) or (text if name == "title" else "") for name, text in texts.items()}
    return paper.model_copy(
        update=found | {name: tuple(plain_text(one) or one for one in some) for name, some in lists.items()}
    )


def shards(path: Path, endings: Collection[str], kind: str) -> list[Path]:
    """The files of a dataset: the path itself, or the files in the folder with one of these endings, by name. Raises
    `CorpusError` if there is none."""
    if not path.exists():
        hint = f"use a file of {kind}, or a folder of them"
        raise CorpusError(f"{path}: no such file or folder", hint=hint)
    if path.is_file():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.name.lower().endswith(tuple(endings)))
    if not files:
        hint = f"their names end in {' or '.join(endings)}"
        raise CorpusError(f"{path}: contains no file of {kind}", hint=hint)
    return files


class JsonLines(Reader):
    """A `Reader` of objects with `id, title, abstract, authors, year`, our own format.

    Optional: `citations, venue, keywords, affiliations, author_ids, references`, and for the full text either `introduction,
    method, core_references` or `sections`, each with `title, text, citations`, see `core_of`.
    """

    kind = "JSON Lines"
    endings = (".jsonl", ".jsonl.gz", ".json", ".json.gz")
    example = (
        'JSON Lines, one paper a line: {"id": "…", "title": "…", "abstract": "…", "authors": ["…"], '
        '"year": 2015, "citations": 3}'
    )

    def records_of(self, file: Path) -> Iterator[Record]:
        with closing(lines(file)) as stream:
            for number, line in stream:
                try:
                    yield number, crowded(line) or _paper(line.decode("utf-8"))
                except UnicodeDecodeError as wrong:
                    yield number, ("encoding", f"byte {wrong.start} is not UTF-8")
                except ValidationError as wrong:
                    yield number, at_fault(wrong)


class _Section(BaseModel):
    """A section of a full text; `citations` are some of the references, as given or by position from 0."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    title: Annotated[str, _OR_BLANK] = ""
    text: Annotated[str, _OR_BLANK] = ""
    citations: object = None


class _FullText(BaseModel):
    """Fields of a line besides a paper's own."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    sections: Annotated[tuple[_Section, ...], Field(strict=False), _OR_EMPTY] = ()
    references: object = None

    @property
    def core(self) -> "Core":
        from manyheads.documents.sections import Division, core_of

        given = cast("Sequence[object]", self.references if isinstance(self.references, list) else ())
        texts = [*map(_reference, given)]
        known = set(texts)

        def cites(citations: object) -> Iterator[str]:
            for one in cast("Sequence[object]", citations if isinstance(citations, list) else ()):
                text = _reference(one)
                if text not in known and isinstance(one, int) and 0 <= one < len(texts):
                    text = texts[one]
                if text:
                    yield text

        parts = [Division(one.title, text=one.text) for one in self.sections]
        return core_of(parts, [cites(one.citations) for one in self.sections])


def _paper(line: str) -> RawPaper:
    """Raises `ValidationError` for invalid data."""
    paper = RawPaper.model_validate_json(line)
    if '"sections"' not in line:
        return paper
    core = _FullText.model_validate_json(line).core
    return paper.model_copy(
        update={
            "introduction": paper.introduction or core.introduction,
            "method": paper.method or core.method,
            "core_references": paper.core_references or core.cites,
        }
    )
