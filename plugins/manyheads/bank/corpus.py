"""What every corpus reader gives: papers and authors with real names, and the records that are neither.

A record (a line, an XML element, a table's row) that cannot be read is a `Reject`: counted, named by file,
record and field, written down; never silently dropped.
"""

import gzip
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Annotated, ClassVar, cast

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

from manyheads.bank.sections import Core, Section, core_of
from manyheads.errors import CorpusError

FIRST_YEAR, LAST_YEAR = 1500, 2100
REFERENCE = ("id", "paperId", "corpusid", "doi", "title", "raw", "text")
"""What a reference that is an object may be known by, surest first."""
LISTED, TOLD, LOGGED = 10, 3, 100_000
"""Rejects listed by a build, told in an error, and written to `rejects.jsonl`; all of them are counted."""
GIVE_UP_AFTER = 1000
"""Records without a single paper among them after which the source is taken for something else."""
MOST_BROKEN, MOST_UNDECODABLE = 0.5, 0.01
"""Shares of broken, and of not UTF-8, records above which a corpus is refused."""

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
"""By pydantic's type of error; its own words speak of inputs and types, not of papers."""


def _told(given: object, texts: ValidatorFunctionWrapHandler) -> tuple[str, ...]:
    """References, however a dataset writes them; what is none of these says nothing, and never spoils a paper."""
    if not isinstance(given, list | tuple):
        return ()
    try:
        return texts(given)  # the usual case, and the quick one
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
_Terms = Annotated[tuple[str, ...], Field(strict=False), _OR_EMPTY]
References = Annotated[tuple[str, ...], Field(strict=False), WrapValidator(_told)]
_Ids = Annotated[
    tuple[Annotated[str, StringConstraints(strip_whitespace=True), _OR_BLANK], ...],
    Field(strict=False),
    _OR_EMPTY,
]


class RawPaper(BaseModel):
    """One paper of a dataset, with real names. What is given as null is not given.

    `byline` (`authors` in a file) is the list of names as given, which in real data may hold a name twice;
    `author_ids`, where the dataset has them, runs beside it, empty where an author has none.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    id: _Text
    title: _Text
    abstract: Annotated[str, _OR_BLANK]
    byline: Annotated[_Names, Field(alias="authors")]
    author_ids: _Ids = ()
    year: Annotated[int, Field(ge=FIRST_YEAR, le=LAST_YEAR)]
    citations: Annotated[int | None, Field(ge=0)] = None
    """None where the dataset does not say: never taken for 0."""
    venue: str | None = None
    keywords: _Terms = ()
    affiliations: _Terms = ()
    references: References = ()
    """What it cites, where the dataset tells: ids of the same dataset, or entries of a bibliography as they stand."""
    core_references: References = ()
    """Those of them that its introduction or its method cites (SciPIP, §3.1); empty where nobody knows where it cites what."""
    introduction: Annotated[str, _OR_BLANK] = ""
    method: Annotated[str, _OR_BLANK] = ""
    """Of the full text; empty where the dataset has none."""

    @field_validator("author_ids")
    @classmethod
    def _beside_the_byline(cls, ids: tuple[str, ...], given: ValidationInfo) -> tuple[str, ...]:
        byline = given.data.get("byline", ids)
        if ids and len(ids) != len(byline):
            raise ValueError(f"{len(ids)} ids for {len(byline)} authors")
        return ids

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Who each name of the byline is: the author's id in the dataset, or the name where there is none."""
        if not self.author_ids:
            return self.byline
        return tuple(given or name for given, name in zip(self.author_ids, self.byline, strict=True))

    @cached_property
    def authors(self) -> tuple[str, ...]:
        """The authors' keys, each once, in the order given."""
        return tuple(dict.fromkeys(self.keys))

    def affiliations_of(self, author: str) -> tuple[str, ...]:
        """The affiliations here of an author (by key): a lone one is everyone's, as many as the byline go one by one.

        A list of another length says not whose each is, so it is nobody's.
        """
        if len(self.affiliations) == 1:
            return self.affiliations
        if len(self.affiliations) != len(self.byline):
            return ()
        pairs = zip(self.keys, self.affiliations, strict=True)
        return tuple(dict.fromkeys(place for key, place in pairs if key == author and place))


@dataclass(frozen=True, slots=True)
class RawAuthor:
    """What a dataset itself knows of an author, over all its papers; None is not known, and is then counted."""

    key: str
    """As in `RawPaper.keys`."""
    name: str
    affiliations: tuple[str, ...] | None = None
    interests: tuple[str, ...] | None = None
    papers: int | None = None
    citations: int | None = None
    coauthors: Mapping[str, int] | None = None
    """Key of each co-author, and how many papers they wrote together."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that is no paper: its number in its file (from 1), the field at fault and why."""

    number: int
    field: str
    reason: str
    unit: str = "line"
    """What the number counts: line, entry, row, paper."""
    file: str = ""
    """Name of the file, in a corpus of several."""

    def __str__(self) -> str:
        return (
            f"{self.file + ', ' if self.file else ''}{self.unit} {self.number}, {self.field}: {self.reason}"
        )


@dataclass
class Rejects:
    """What was rejected: all counted, many written to `log`, the first few kept to be told.

    A reader of several files, or of other records than lines, says in `file` and `unit` where it is, before it
    gives a record of that place: whoever finds fault with a paper later names it by them.
    """

    log: IO[str] | None = None
    first: list[Reject] = field(default_factory=list[Reject])
    by_field: Counter[str] = field(default_factory=Counter[str])
    unit: str = "line"
    file: str = ""
    faulty: int = 0
    """Records that were taken, of which not all could be read."""

    @property
    def total(self) -> int:
        return self.by_field.total()

    def place(self, number: int) -> str:
        """Where the record of this number stands, in words."""
        return f"{self.file}, {self.unit} {number}" if self.file else f"{self.unit} {number}"

    def note(self, number: int, at_fault: str, reason: str) -> None:
        """Add the record of this number, of the place where the reader is."""
        reject = Reject(number, at_fault, reason, self.unit, self.file)
        self.by_field[at_fault] += 1
        if len(self.first) < LISTED:
            self.first.append(reject)
        if self.total <= LOGGED:
            self._write(number, field=at_fault, reason=reason)

    def remark(self, number: int, faults: Sequence[str]) -> None:
        """Tell what could not be read of the record of this number, which is taken all the same."""
        if faults:
            self.faulty += 1
            if self.faulty <= LOGGED:
                self._write(number, faults=[*faults])

    def _write(self, number: int, **told: object) -> None:
        if self.log:
            where: dict[str, object] = {"file": self.file} if self.file else {}
            self.log.write(json.dumps(where | {self.unit: number} | told, ensure_ascii=False) + "\n")

    def summary(self, most: int = TOLD) -> str:
        """The first few in one sentence, and how many more there are."""
        more = self.total - len(self.first[:most])
        return "; ".join(map(str, self.first[:most])) + (f"; and {more:,} more" if more else "")


def at_fault(wrong: ValidationError) -> tuple[str, str]:
    """The first field that did not fit, and why."""
    first = wrong.errors(include_url=False, include_input=False)[0]
    ours = _REASONS.get(first["type"])
    told = ours.format(**first.get("ctx", {})) if ours else first["msg"].removeprefix("Value error, ")
    return ".".join(map(str, first["loc"])) or "json", told


Record = tuple[int, RawPaper | tuple[str, str]]
"""A record's number in its file, and the paper in it or the field at fault and why."""


# Files of text as streams of lines: plain, gzip, or inside a zip; a clear word on what cannot be read.


LONGEST = 2**24
"""Bytes of a line above which a file is taken for another kind of file, instead of filling the memory."""
_SHORT, MOST_OBJECTS, MOST_VALUES = 2**20, 100_000, 500_000
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"


def lines(source: Path, member: str | None = None) -> Generator[tuple[int, bytes], None, None]:
    """The lines of a file (of a zip with several files, of one `member`) that are not blank, with their numbers from 1.

    The byte order mark is left out. Raises `CorpusError` where it is missing, a folder, cut off, of another compression than
    its name says, UTF-16, or binary.
    """
    number = 0
    with open_file(source, member, where=lambda: f" after line {number}" if number else "") as stream:
        while line := stream.readline(LONGEST):
            if len(line) == LONGEST:
                raise CorpusError(
                    f"{source}: a line of more than {LONGEST >> 20} MB", hint="is it text at all?"
                )
            number += 1
            if line.strip():
                yield number, line.removeprefix(UTF8_MARK) if number == 1 else line


def crowded(line: bytes) -> tuple[str, str] | None:
    """Why a line of JSON is not read, as field and reason: its many small values would take a hundred times its room."""
    if len(line) > _SHORT:
        objects, values = line.count(b"[") + line.count(b"{"), line.count(b",")
        if objects > MOST_OBJECTS or values > MOST_VALUES:
            return "json", f"{max(objects, values):,} values in one line"
    return None


@contextmanager
def open_file(
    source: Path, member: str | None = None, *, where: Callable[[], str] = str
) -> Generator[IO[bytes]]:
    """The file's bytes, unpacked; a file that plainly holds something else is refused here.

    Of a zip with several files, `member` is read. `where` says how far the reading came, for what goes wrong in the block.
    """
    start = head(source)
    if source.suffix == ".gz" and not start.startswith(GZIP):
        raise CorpusError(
            f"{source}: named .gz but not gzip", hint="rename it to what it is, or pack it with gzip"
        )
    if start.startswith(UTF16):
        raise CorpusError(f"{source}: UTF-16, not UTF-8", hint=f"iconv -f utf-16 -t utf-8 {source.name}")
    with reading(source, where), ExitStack() as held:
        raw: IO[bytes] = held.enter_context(source.open("rb"))
        if start.startswith(GZIP):
            yield cast(IO[bytes], held.enter_context(gzip.GzipFile(fileobj=raw)))
        elif start.startswith(ZIP):
            archive = held.enter_context(zipfile.ZipFile(raw))
            names = [member] if member else _files_of(archive)
            if len(names) != 1:
                raise CorpusError(f"{source}: holds {len(names)} files, not one", hint=f"unzip {source.name}")
            yield held.enter_context(archive.open(names[0]))
        else:
            yield raw


def members(source: Path) -> list[str | None]:
    """The files inside a zip; [None] for a file that is none."""
    if not head(source).startswith(ZIP):
        return [None]
    with reading(source), zipfile.ZipFile(source) as archive:
        return [*_files_of(archive)]


def head(source: Path, size: int = 4) -> bytes:
    """The first bytes of a file as they lie on the disk; raises CorpusError when there is none to read."""
    if source.is_dir() or not source.exists():
        what = "a folder, not a file" if source.is_dir() else "no such file"
        raise CorpusError(f"{source}: {what}", hint="name a file of papers, such as papers.jsonl.gz")
    try:
        with source.open("rb") as raw:
            return raw.read(size)
    except OSError as wrong:
        raise CorpusError(f"{source}: cannot be read: {wrong.strerror or wrong}") from wrong


@contextmanager
def reading(source: Path, where: Callable[[], str] = str) -> Generator[None]:
    """Say of any trouble with a file's bytes which file it was, and how far the reading came."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as wrong:
        hint = "fetch the file again"
        raise CorpusError(f"{source}: cannot be read{where()}: {wrong}", hint=hint) from wrong


def _files_of(archive: zipfile.ZipFile) -> list[str]:
    return [
        each.filename
        for each in archive.infolist()
        if not (each.is_dir() or each.filename.startswith("__MACOSX/"))
    ]


# Datasets: records in a file, or in all such files of a folder.


class Reader:
    """A dataset of papers: a file, or all files of a format in a folder; the format says what their `records` are.

    Reads as a stream: memory does not grow with the dataset. `papers` and `authors` may be called more than once, and raise
    `CorpusError` when the dataset cannot be read.
    """

    kind: ClassVar[str] = ""
    endings: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "line"
    """What the numbers of records count."""
    example: ClassVar[str] = ""
    """What a record should look like, or what to do where there are none."""
    most_broken: ClassVar[float] = MOST_BROKEN

    def __init__(self, path: Path) -> None:
        self.name, self.path = path.resolve().name, path
        """`name` is what a corpus says it was built from."""

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """Each paper with its record's number in its file; what is no paper goes to `rejects`. Raises
        `CorpusError` where there is no record, too many are not UTF-8 (field `encoding`), or most are broken."""
        rejects.unit, good = self.unit, 0
        for number, record in self.records(rejects):
            if isinstance(record, RawPaper):
                good += 1
                yield number, record
                continue
            rejects.note(number, *record)
            if not good and rejects.total >= GIVE_UP_AFTER:
                break
        total, units, hint = good + rejects.total, f"{rejects.unit}s", self.example
        if not total:
            raise CorpusError(f"{self.path}: no {rejects.unit} in it", hint=hint)
        if (undecodable := rejects.by_field["encoding"]) > MOST_UNDECODABLE * total:
            raise CorpusError(
                f"{self.path}: {undecodable:,} of {total:,} {units} are not UTF-8: {rejects.summary()}",
                hint="convert it first, for example: iconv -f latin1 -t utf-8 FILE",
            )
        if not good or rejects.total > self.most_broken * total:
            problem = f"{rejects.total:,} of {total:,} {units} are no papers"
            raise CorpusError(f"{self.path}: {problem}: {rejects.summary()}", hint=hint)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """What the dataset itself knows of these authors, by key; {} where it knows nothing but what its papers say."""
        return {}

    def records(self, rejects: Rejects) -> Iterator[Record]:
        for file in self.each(shards(self.path, self.endings, self.kind), rejects):
            yield from self.records_of(file)

    def records_of(self, file: Path) -> Iterator[Record]:
        raise NotImplementedError

    def each(self, files: Iterable[Path], rejects: Rejects) -> Generator[Path]:
        """Each file in turn; from then on rejects are of that file, named where the dataset is a folder."""
        for file in files:
            if file != self.path:
                rejects.file = str(file.relative_to(self.path))
            yield file


def shards(path: Path, endings: Collection[str], kind: str) -> list[Path]:
    """The files of a dataset: the path itself, or those in the folder with one of these endings, by name. Raises
    `CorpusError` where nothing is there."""
    if not path.exists():
        raise CorpusError(
            f"{path}: no such file or folder", hint=f"name a file of {kind}, or a folder of them"
        )
    if path.is_file():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.name.lower().endswith(tuple(endings)))
    if not files:
        raise CorpusError(
            f"{path}: no file of {kind} in it", hint=f"their names end in {' or '.join(endings)}"
        )
    return files


class JsonLines(Reader):
    """A `Reader` of objects with `id, title, abstract, authors, year`, for corpora that are not a dataset's own.

    Where known, they have `citations, venue, keywords, affiliations, author_ids, references` too, and of the full text either
    `introduction, method, core_references` or `sections`, each with `title, text, citations`, see `core_of`.
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
    """A section of a full text; `citations` are some of the references, as they are given or by their places from 0."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    title: Annotated[str, _OR_BLANK] = ""
    text: Annotated[str, _OR_BLANK] = ""
    citations: object = None


class _FullText(BaseModel):
    """What a line has beside a paper's own fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    sections: Annotated[tuple[_Section, ...], Field(strict=False), _OR_EMPTY] = ()
    references: object = None

    @property
    def core(self) -> Core:
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

        return core_of([Section(one.title, one.text, [*cites(one.citations)]) for one in self.sections])


def _paper(line: str) -> RawPaper:
    """Raises `ValidationError` for what is none."""
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
