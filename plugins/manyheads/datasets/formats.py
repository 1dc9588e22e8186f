"""Formats of corpora as data: how records are found in a file, which path gives which field of a paper, what a value means.

A format is a YAML file, `configs/formats/NAME.yaml`. A path has the keys of nested objects, joined by dots; a number takes one
element of a list, any other key is looked up in each object of a list.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import chain, repeat
from operator import methodcaller
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import Field, ValidationError

from manyheads.base.entry_points import folders
from manyheads.base.errors import CorpusError, describe, did_you_mean
from manyheads.base.papers import fold
from manyheads.base.resources import Resources
from manyheads.config import Strict
from manyheads.config.files import read_yaml
from manyheads.corpus.records import (
    MOST_BROKEN,
    RawAuthor,
    RawPaper,
    Reader,
    Record,
    Rejects,
    at_fault,
    members,
    shards,
)
from manyheads.datasets import records, values
from manyheads.datasets.records import REMARK, Columns, Fault, Records
from manyheads.datasets.values import FieldName, Object, ReadName, text

FOLDER, GROUP = "formats/", "manyheads.formats"
"""Folder of formats in `configs/`, and the entry points of packages that bring some."""
UNITS = {"json": "line", "parts": "line", "csv": "row", "parquet": "row", "xml": "paper"}
"""What the numbers of records count, by notation; records by default."""
NEEDED: tuple[FieldName, ...] = ("title", "year")
NAME = "@name"
"""Path of the name of a record's file, without its ending; `=` begins a value that all records have."""
Get: TypeAlias = Callable[[Any], Any]
Paths: TypeAlias = str | tuple[str | tuple[str, ...], ...]
"""A path, or several: the first with a value counts. Several in a list of their own are joined by spaces."""


class Value(Strict):
    """A value that its path alone does not tell."""

    path: Paths
    """Its path, or several."""
    read: ReadName | None = None
    """How its text is read."""
    split: str = ""
    """What separates the values in one text: the first of these characters that it contains."""
    unknown: tuple[str, ...] = ()
    """Values for something that is not known."""


class Authors(Strict):
    """Authors as a list of objects, or of texts."""

    each: Paths
    """Path of the list."""
    name: Paths | None = None
    """Path inside an object. [default: its `name`, `full_name` or `author`]"""
    id: Paths | None = None
    """Path of what identifies an author in the dataset; `.` is the name as it is written."""
    affiliation: Paths | None = None
    """Path of an author's affiliation in this paper."""
    read: ReadName | None = None
    """How a name is read."""
    nameless: Literal["reject", "skip"] = "reject"
    """Whether an author without a name makes the record a reject."""


class Signs(Strict):
    """How a format is told from others, in this order; one without signs must be named."""

    names: re.Pattern[str] | None = None
    """Regular expression for the name, in lower case, of a file that only its folders have."""
    parts: tuple[str, ...] = ()
    """Subfolders, or beginnings of file names, that its folders have."""
    content: re.Pattern[str] | None = None
    """Regular expression for the first letters of its files."""
    keys: tuple[tuple[str, ...], ...] = ()
    """Paths in its first record, or columns of its tables: all of one list. The format with the longest list wins."""
    endings: tuple[str, ...] = ()
    """Endings of files that tell a folder."""


class Format(Strict):
    """A format of papers that `manyheads corpus build` reads."""

    about: str
    """What it is."""
    example: str
    """A source, as it is named in a command."""
    kind: str
    """Its name in messages."""
    records: Literal[
        "json", "csv", "parquet", "xml", "tags", "bibtex", "papers", "aminer", "parts", "search", "documents"
    ]
    """How records are found: `json` is a list or lines of objects, `csv` and `parquet` are tables, `xml` has an `element` a record,
    `tags` begins each line with a tag. The others are read by code of their own."""
    sample: str = ""
    """What a record looks like, for messages."""
    endings: tuple[str, ...] = ()
    """Names of its files in a folder end so."""
    skip: tuple[str, ...] = ()
    """Parts of names of files without papers."""
    most_broken: float = Field(default=MOST_BROKEN, ge=0, le=1)
    """Share of rejected records above which the dataset is refused."""
    signs: Signs = Signs()
    inside: str | tuple[str, ...] = ()
    """`json`: key, or keys, of a list of records, or of a record, in an object around them, such as a service's page."""
    table: bool = False
    """`json`: whether paths are columns, compared by letters and digits alone. Those of `csv` and `parquet` always are."""
    element: str = ""
    """`xml`: the tags from the root to a record, such as `collection/volume/paper`; `*` is any tag. A path that begins with `^volume`
    is of the element around the record, `@id` is an attribute; `a|b` are two tags."""
    tag: re.Pattern[str] | None = None
    """`tags`: regular expression for a tag at the beginning of a line, in groups."""
    begins: str = ""
    """`tags`: the tag that begins a record, with all that the expression takes."""
    ends: str = ""
    """`tags`: the tag that ends a record, if there is one."""
    ignored: re.Pattern[str] | None = None
    """`tags`: regular expression for lines before and between records that may be there."""
    lists: tuple[str, ...] = ()
    """`tags`: tags each of whose lines is a value of its own."""
    like: str | None = None
    """Another format, whose fields these are."""
    fields: dict[FieldName, Paths | Value | Authors] = Field(default_factory=dict[FieldName, Any])
    """Path, or paths, of each field of a paper; in tables, names of its column, best first."""
    authors_in: str = ""
    """Part of the names of files with the dataset's own data on authors."""
    author: dict[
        Literal["key", "name", "affiliations", "interests", "papers", "citations"], Paths | Value
    ] = Field(default_factory=dict[Any, Any])
    """Paths in these files; `key` is what papers call the author's id."""
    computed: Literal["unarxive"] | None = None
    """Code for the fields that no path gives."""

    @property
    def has_columns(self) -> bool:
        """Whether its records are rows of a table."""
        return self.table or self.records in ("csv", "parquet")

    @cached_property
    def reading(self) -> "FieldReader":
        """The fields of a format without columns."""
        return FieldReader(self)

    def columns(self, header: Sequence[str], chosen: Mapping[str, str]) -> dict[FieldName, tuple[str, ...]]:
        """Field to columns for those in the header, best first; the user's alone if there is one."""
        folded = {fold(column): column for column in reversed(header)}
        columns = dict[FieldName, tuple[str, ...]]()
        for name, given in self.fields.items():
            known = (folded.get(fold(path)) for path in _paths(given))
            own = (chosen[name],) if name in chosen and is_column(chosen[name], header) else ()
            if found := own or tuple(filter(None, dict.fromkeys(known))):
                columns[name] = found
        return columns


def is_column(path: str, header: Collection[str]) -> bool:
    """Whether a table has a column, or one whose objects have the keys after a dot."""
    return path in header or path.partition(".")[0] in header or path == NAME or path.startswith("=")


def _paths(given: Paths | Value | Authors) -> Iterator[str]:
    paths = given.path if isinstance(given, Value) else given.each if isinstance(given, Authors) else given
    for path in [paths] if isinstance(paths, str) else paths:
        yield from [path] if isinstance(path, str) else path


# Paths as functions of a record, made once.


def value_at(path: str) -> Get:
    """The value at a path of an object; None if there is none."""
    first, *below = path.split(".")

    def value(record: Object) -> Any:
        found = record.get(first)
        for key in below:
            found = cast(Object, found).get(key) if isinstance(found, dict) else _of_list(found, key)
        return found

    return value if below else methodcaller("get", first)


def _of_list(value: object, key: str) -> Any:
    if not isinstance(value, list):
        return None
    some = cast("list[Any]", value)
    if key.isdecimal():
        return some[int(key)] if len(key) < 9 and int(key) < len(some) else None
    values = (cast(Object, one).get(key) for one in some if isinstance(one, dict))
    return [one for one in values if one is not None]


def _get(paths: Paths) -> Get:
    """The first value of some paths that is not empty."""
    if isinstance(paths, str):
        return value_at(paths)
    gets = [value_at(one) if isinstance(one, str) else _joined(one) for one in paths]
    return _first(gets, [any(f"{other}".startswith(f"{one}.") for other in paths) for one in paths])


def _first(gets: Sequence[Get], opened: Iterable[bool] = repeat(False)) -> Get:
    """The first value that is not empty; of those `opened` by another path, an object is none."""
    if len(gets) == 1:
        return gets[0]
    each = [*zip(gets, opened, strict=False)]

    def first(record: Object) -> Any:
        for get, is_opened in each:
            value = get(record)
            if value in (None, "", [], {}) or value != value or (is_opened and isinstance(value, dict)):
                continue
            if not isinstance(value, dict) or "" not in value or text(cast(Object, value)):  # XML
                return value
        return None

    return first


def _joined(paths: Sequence[str]) -> Get:
    gets = [value_at(path) for path in paths]
    return lambda record: " ".join([part for get in gets if (part := text(get(record)))])


def _column(column: str) -> Get:
    if column.startswith("="):
        return lambda record: column[1:]
    above = value_at(column) if "." in column else None
    return lambda record: record[column] if column in record else above and above(record)


def _value(given: Paths | Value, columns: Sequence[str] = ()) -> Get:
    """A value as its record writes it, after `split`, `unknown` and `read`."""
    paths = given.path if isinstance(given, Value) else given
    get = _first([*map(_column, columns)]) if columns else _get(paths)
    if not isinstance(given, Value):
        return get
    read, split, unknown = given.read and values.READ[given.read], given.split, given.unknown

    def value(record: Object) -> Any:
        found = get(record)
        if split and isinstance(found, str):
            mark = next((one for one in split if one in found), split[0])
            parts = ["" if (one := part.strip()) in unknown else one for part in found.split(mark)]
            return [read(one) for one in parts if one] if read else parts
        if read and found is not None:
            return read(found if isinstance(found, str) else text(found))
        return "" if isinstance(found, str) and found in unknown else found

    return value


def _authors(given: Authors) -> Get:
    """Names, ids and affiliations of the authors in a list; raises `ValueError` if it is none."""
    listed, read = _get(given.each), given.read and values.READ[given.read]
    paths = (given.name, None if given.id == "." else given.id, given.affiliation)
    name_of, own_of, place_of = [_get(path) if path else None for path in paths]

    def person(one: Any) -> tuple[str, str, str]:
        if not isinstance(one, dict):
            return values.person(one), "", ""
        own, place = [text(get(one)) if get else "" for get in (own_of, place_of)]
        return values.written(name_of(one)) if name_of else values.person(cast(Object, one)), own, place

    def people(record: Object) -> Object:
        found = listed(record)
        if not isinstance(found, dict | list | str | None):
            raise ValueError("no list")
        each = cast("list[Any]", found or [] if found is None or isinstance(found, list) else [found])
        byline = [one for one in map(person, each) if one[0] or given.nameless == "reject"]
        names, ids, places = zip(*byline, strict=True) if byline else ((), (), ())
        ids = names if given.id == "." else ids
        names = [*map(read, names)] if read else names
        known = {"author_ids": ids, "affiliations": places}
        return {"authors": names} | {key: each if any(each) else () for key, each in known.items()}

    return people


class FieldReader:
    """Reads papers from the records of a format; from rows of a table by `columns`, field to column."""

    def __init__(self, format: Format, columns: Mapping[FieldName, Sequence[str]] | None = None) -> None:  # noqa: A002
        self._gets = list[tuple[FieldName, Get, Get]]()
        for name in format.fields if columns is None else columns:
            given = format.fields[name]
            if isinstance(given, Authors):
                get, meaning = _authors(given), dict
            else:
                get, meaning = _value(given, columns[name] if columns else ()), values.FIELDS[name]
            self._gets.append((name, get, meaning))
        self._computed = values.COMPUTED[format.computed] if format.computed else None

    def fields(self, record: Object) -> dict[str, Any] | tuple[str, str]:
        """The fields of a paper, or the faulty one and the reason."""
        made: dict[str, Any] = {}
        for name, get, meaning in self._gets:
            try:
                value = meaning(get(record))
            except ValueError as wrong:
                return name, str(wrong)
            if isinstance(value, dict):  # of authors
                made.update(value)
            else:
                made[name] = value
        return {**made, **self._computed(record)} if self._computed else made

    def paper(self, record: Object) -> RawPaper | tuple[str, str]:
        """The paper of a record, or the faulty field and the reason."""
        made = self.fields(record)
        return made if isinstance(made, tuple) else validated(made)


def validated(fields: Object) -> RawPaper | tuple[str, str]:
    """A paper of these fields, or the faulty one and the reason."""
    try:
        return RawPaper.model_validate(fields)
    except ValidationError as wrong:
        return at_fault(wrong)


# Datasets in a format.


class Dataset(Reader):
    """A `Reader` of a file in a format, or of all its files in a folder, in the order of the numbers in their names."""

    def __init__(self, path: Path, format: Format, columns: Mapping[str, str] | None = None) -> None:  # noqa: A002
        super().__init__(path)
        self.format, self._chosen = format, columns or {}
        self.kind, self.endings, self.example = format.kind, format.endings, format.sample
        self.unit, self.most_broken = UNITS.get(format.records, "record"), format.most_broken

    def records(self, rejects: Rejects) -> Iterator[Record]:
        skip = self.format.skip
        files = [file for file in self._files() if not any(part in file.name.lower() for part in skip)]
        if not files and self.path.is_dir():
            hint = "use the folder of the downloads"
            raise CorpusError(f"{self.path}: contains no publications", hint=hint)
        for file in self.each(files or [self.path], rejects):
            where, inside = rejects.file, members(file)
            for member in inside:
                if len(inside) > 1:
                    rejects.file = f"{where}/{member}" if file != self.path else str(member)
                yield from self.records_of(file, member, rejects)

    def records_of(
        self, file: Path, member: str | None = None, rejects: Rejects | None = None
    ) -> Iterator[Record]:
        """The papers of a file, or the faults of their records; remarks on papers go to `rejects`."""
        reading = FieldReader(self.format, {}) if self.format.has_columns else self.format.reading
        name = Path(member or file).name.partition(".")[0]

        def columns(header: Sequence[str]) -> Collection[str]:
            nonlocal reading
            found = self._columns(file, header, undated=rejects is not None and rejects.undated)
            reading = FieldReader(self.format, found)
            needed = dict.fromkeys(chain.from_iterable(found.values()))
            return [one if one in header else one.partition(".")[0] for one in needed if one[0] not in "@="]

        for number, record in self.raw(file, member, columns):
            if isinstance(record, dict):
                record[NAME] = name
            yield number, self.made(reading, number, record, rejects)

    @staticmethod
    def made(
        reading: FieldReader, number: int, record: dict[str, Any] | Fault, rejects: Rejects | None
    ) -> RawPaper | tuple[str, str]:
        """The paper of a record, with a remark in `rejects` on how it was read; or its fault, and where it is."""
        if isinstance(record, tuple):
            return record
        made = reading.paper(record)
        if isinstance(made, tuple):
            return records.at_place(made, place) if (place := record.get("@place")) else made
        if rejects and REMARK in record:
            rejects.remark(number, [record[REMARK]])
        return made

    def raw(self, file: Path, member: str | None = None, columns: Columns = list) -> Records:
        """The records of a file before anything is known of their fields."""
        ours = self.format
        match ours.records:
            case "csv":
                known = partial(ours.columns, chosen=self._chosen)
                return records.csv_records(file, known, columns, member)
            case "parquet":
                return records.parquet_records(file, columns)
            case "xml":
                return records.xml_records(file, ours.element, ours.kind, member)
            case "bibtex":
                return records.bibtex_records(file, member)
            case "aminer" | "tags":
                tag, ignored = (one.pattern if one else "" for one in (ours.tag, ours.ignored))
                return records.tag_records(
                    file, member, ours.kind, ours.sample,
                    marks=tag, begins=ours.begins, ends=ours.ends, ignored=ignored, lists=ours.lists,
                )  # fmt: skip
            case _:
                found = records.json_records(
                    file, member, [ours.inside] if isinstance(ours.inside, str) else ours.inside
                )
                return records.json_table(found, columns) if ours.table else found

    def _columns(
        self, file: Path, header: Sequence[str], *, undated: bool
    ) -> dict[FieldName, tuple[str, ...]]:
        """Field to columns; raises `CorpusError` if a required column, or one of the user's, is missing."""
        shown = ", ".join(name[:40] if name.isprintable() else repr(name[:40]) for name in header[:30])
        tried = f"its columns: {shown}"
        if absent := [column for column in self._chosen.values() if not is_column(column, header)]:
            raise CorpusError(f"{file}: no column {absent[0]!r}", tried=tried, hint="see --columns")
        columns = self.format.columns(header, self._chosen)
        if missing := [name for name in NEEDED if name not in columns and not (undated and name == "year")]:
            unset = (name for name in ("title", "abstract", "authors", "year") if name not in columns)
            hint = f"set it with --columns {','.join(f'{name}=COLUMN' for name in unset)}"
            raise CorpusError(f"{file}: no column found for {' or '.join(missing)}", tried=tried, hint=hint)
        return columns

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`; {} without files of authors."""
        if not self.format.author:
            return {}
        key_of = _value(self.format.author["key"])
        inside = ((file, member) for file in self.author_files() for member in members(file))
        rows = (row for file, member in inside for _, row in self.raw(file, member) if isinstance(row, dict))
        return {key: self.author(row, key) for row in rows if (key := text(key_of(row))) in wanted}

    def author(self, record: Object, key: str) -> RawAuthor:
        """What the dataset says about an author."""
        each = {name: values.entries(_value(given)(record)) for name, given in self.format.author.items()}
        texts = {name: tuple(dict.fromkeys(filter(None, map(text, some)))) for name, some in each.items()}
        return RawAuthor(
            key=key,
            name=next(iter(texts["name"]), key),
            affiliations=texts.get("affiliations") or None,
            interests=texts.get("interests") or None,
            papers=values.count_of("".join(texts.get("papers", ()))),
            citations=values.count_of("".join(texts.get("citations", ()))),
        )

    def author_files(self) -> list[Path]:
        part = self.format.authors_in
        return [file for file in self._files() if part in file.name.lower() and file != self.path]

    def _files(self) -> list[Path]:
        def numbers(file: Path) -> list[int | str]:
            return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(file))]

        return sorted(shards(self.path, self.endings, self.kind), key=numbers)


# The formats that there are.


def formats() -> Mapping[str, Format]:
    """The formats by name: those of installed packages, those that ship, and those of the user's folders."""
    return _formats(_files())


def _files() -> tuple[tuple[str, tuple[Path, ...]], ...]:
    """The file of each format; all of a name, where several packages bring it."""
    files = dict[str, tuple[Path, ...]]()
    for path in chain(*(sorted(folder.glob("*.yaml")) for folder in folders(GROUP))):
        files[path.stem] = (*files.get(path.stem, ()), path)
    files |= {path.stem: (path,) for path in Resources.of().names("configs", ".yaml", FOLDER).values()}
    return tuple(sorted(files.items()))


@cache
def _formats(files: tuple[tuple[str, tuple[Path, ...]], ...]) -> Mapping[str, Format]:
    read = {name: _read(path) for name, (path, *_) in files}
    return {name: _alike(one, read) for name, one in read.items()}


def _read(path: Path) -> Format:
    try:
        return Format.model_validate(read_yaml(path))
    except ValidationError as error:
        hint = "see configs/formats/oag.yaml for an example"
        raise CorpusError(f"{path}: {describe(error)}", hint=hint) from error


def _alike(one: Format, known: Mapping[str, Format]) -> Format:
    """The format with the fields of the one that it is like."""
    if one.like is None:
        return one
    if one.like not in known:
        raise CorpusError(f"like: {one.like!r} is no format", hint=f"choose one of: {', '.join(known)}")
    return one.model_copy(update={"fields": {**known[one.like].fields, **one.fields}})


def format_of(name: str) -> Format:
    """A format by name, or from a YAML file of one's own; raises `CorpusError` if there is none, or it is invalid."""
    known = _formats(files := _files())
    if name.endswith((".yaml", ".yml")):
        return _alike(_read(Path(name)), known)
    if name not in known:
        listed = "manyheads corpus formats lists them; or name a YAML file of your own"
        hint = did_you_mean(name, known, listed)
        raise CorpusError(f"--format {name!r}: no such format", tried=format_examples(), hint=hint)
    if twins := dict(files)[name][1:]:
        tried = ", ".join(map(str, dict(files)[name]))
        hint = f"uninstall one of the packages, or name the file: --format {twins[0]}"
        raise CorpusError(f"--format {name!r}: two packages bring it", tried=tried, hint=hint)
    return known[name]


def format_examples() -> str:
    return "; ".join(f"{name} ({one.example})" for name, one in formats().items())
