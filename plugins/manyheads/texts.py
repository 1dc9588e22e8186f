"""Texts that are reviewed, rated or measured: read from text files, JSON, JSON Lines and the folders of runs."""

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ValidationError

from manyheads.core.results import Part, read_result
from manyheads.disk import expanded, read_text
from manyheads.errors import SubjectError, describe
from manyheads.resources import parse_json

LARGEST = 4_000_000
"""Bytes of a text: whole books stay below it, a data set named by mistake does not."""
HEADING = re.compile(r"\A\s*#\s+(.+?)\s*#*\s*(?:\n|\Z)")
LINE = re.compile(r"(.+\.jsonl):[1-9][0-9]*", re.DOTALL)
"""How a line of a file of many texts is named."""
KINDS = "a text, Markdown or JSON file, or the folder of a run that wrote an abstract"


def count(things: int, word: str) -> str:
    """`1 vote`, `20 votes`."""
    return f"{things:,} {word}{'' if things == 1 else 's'}"


@dataclass(frozen=True)
class Subject:
    """One text.

    Attributes:
        source: the file or folder that it was read from, as it was named; with its line, where a file holds many.
        title: empty where none is told.
        text: without the title.
    """

    source: str
    title: str
    text: str

    @property
    def sha256(self) -> str:
        """Of title and text: the same text is the same wherever it is kept."""
        return hashlib.sha256(f"{self.title}\n\n{self.text}".encode("utf-8", "surrogatepass")).hexdigest()

    def __str__(self) -> str:
        return f"{self.name}: {count(len(self.text.split()), 'word')}"

    @property
    def name(self) -> str:
        """What a table calls it."""
        return self.title or Path(self.source).stem


class NoTextError(SubjectError):
    """What should hold a text holds none."""


class _Abstract(BaseModel):
    title: str = ""
    text: str


class _Entry(BaseModel):
    """A JSON object with a text: `abstract` (a text, or one with its title) or `text`."""

    title: str = ""
    abstract: str | _Abstract | None = None
    text: str | None = None


class _Wrote(Part):
    abstract: _Abstract | None = None


def is_there(path: Path) -> bool:
    """Whether there is a file or folder of this name, or the file of which it names a line."""
    line = LINE.fullmatch(str(path))
    return path.exists() or (line is not None and Path(line[1]).is_file())


def read_subject(path: Path) -> Subject:
    """The one text that a path names: a text, Markdown or JSON file, or a run folder with an abstract.

    Raises:
        SubjectError: it is not there, cannot be read, holds no text, or more than one.
    """
    subjects = read_subjects(path)
    if len(subjects) > 1:
        hint = f"name one of them by its line: {path}:1"
        raise SubjectError(f"{path}: holds {len(subjects)} texts", hint=hint)
    return subjects[0]


def read_subjects(path: Path, blank: list[str] | None = None) -> list[Subject]:
    """The texts that a path names: one, or as many as a `.jsonl` file has lines, each of which is `FILE.jsonl:LINE`.

    Args:
        blank: takes the lines of a `.jsonl` file that have no text, if some have one; else they are an error.

    Raises:
        SubjectError: it is not there, cannot be read, or holds no text.
    """
    if path.is_dir():
        run = read_result(path, _Wrote)
        if run.result.abstract is None:
            raise SubjectError(f"{path}: this run of {run.system} wrote no abstract", hint=f"name {KINDS}")
        return [_subject(str(path), run.result.abstract.title, run.result.abstract.text)]
    if (line := LINE.fullmatch(str(path))) and not path.exists():
        subjects = [each for each in read_subjects(Path(line[1])) if each.source == str(path)]
        if not subjects:
            raise SubjectError(f"{path}: no such line, or none with a text", hint=f"name a line of {line[1]}")
        return subjects
    content, kind = _read(path), path.suffix.lower()
    if kind == ".jsonl":
        subjects, wrong = list[Subject](), None
        for number, line in enumerate(content.split("\n"), 1):
            try:
                subjects += [_of_json(f"{path}:{number}", line)] if line.strip() else []
            except NoTextError as error:
                if blank is None:
                    raise
                wrong = wrong or error
                blank.append(f"{path}:{number}")
        if not subjects:
            raise wrong or SubjectError(f"{path}: empty")
        return subjects
    if kind == ".json":
        return [_of_json(str(path), content)]
    heading = HEADING.match(content)
    title, text = (heading[1], content[heading.end() :]) if heading else ("", content)
    return [_subject(str(path), title, text)]


def read_each(paths: Sequence[Path]) -> tuple[list[Subject], list[str]]:
    """The texts of several paths, each text once, and what is left out with the reason: `runs/*` names many folders.

    Raises:
        SubjectError: a file cannot be read, or no folder holds a text.
    """
    texts, left, wrong = dict[str, Subject](), list[str](), None
    for path in paths:
        try:
            subjects = read_subjects(path)
        except SubjectError as error:
            if not path.is_dir():
                raise
            wrong = wrong or error
            left.append(error.message)
            continue
        for each in subjects:
            if (first := texts.setdefault(each.sha256, each)) is not each:
                left.append(f"{each.source}: the same text as {first.source}")
    if wrong and not texts:
        raise wrong
    return [*texts.values()], left


def _of_json(source: str, content: str) -> Subject:
    try:
        data = parse_json(content)
    except ValueError as error:
        raise SubjectError(f"{source}: not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise SubjectError(f"{source}: not a JSON object", hint='such as {"title": "…", "abstract": "…"}')
    try:
        entry = _Entry.model_validate(data)
    except ValidationError as error:
        raise SubjectError(f"{source}: {describe(error)}") from error
    match entry.abstract:
        case _Abstract(title=title, text=text):
            return _subject(source, title or entry.title, text)
        case abstract:
            return _subject(source, entry.title, entry.text or "" if abstract is None else abstract)


def _subject(source: str, title: str, text: str) -> Subject:
    if not text.strip():
        raise NoTextError(f"{source}: no text in it", hint=f"name {KINDS}")
    return Subject(source, " ".join(title.split()), text.strip())


def _read(path: Path) -> str:
    try:
        content = read_text(path, LARGEST, "utf-8-sig")
    except OSError as error:
        raise SubjectError(f"{path}: {error.strerror}", hint=f"name {KINDS}") from error
    except UnicodeDecodeError as error:
        raise SubjectError(f"{path}: not UTF-8 text", hint=f"name {KINDS}, saved as UTF-8") from error
    if "\0" in content:
        raise SubjectError(f"{path}: not text, it holds null bytes", hint=f"name {KINDS}")
    return content


# What a user gives as a file or as a text: which of both it is.

TEXTS, LINES = (".md", ".markdown", ".txt"), (".json", ".jsonl")
SUFFIXES = {*TEXTS, *LINES, ".bib", ".csv", ".tsv", ".parquet", ".xml", ".gz", ".zip"}
NAME = re.compile(r"[\w.-]*\w", re.ASCII)
"""A single word without a sentence's end: the name of a folder rather than an idea."""


def path_of(named: str, kinds: str) -> Path | None:
    """The file or folder that is named, None where it is a text; what only looks like a file is taken for one.

    Args:
        kinds: what could be given, in words.

    Raises:
        SubjectError: there is no such file.
    """
    path = Path(named)
    with suppress(OSError):
        if named.strip() and is_there(path):
            return path
    if "\n" not in named and (
        path.is_absolute()
        or path.suffix.lower() in SUFFIXES
        or LINE.fullmatch(named)
        or NAME.fullmatch(named)
        # a slash in a single word tells folders too, but not in a script that parts no words by blanks
        or ("/" in named and named.isascii() and len(named.split()) == 1)
    ):
        raise SubjectError(f"{named}: no such file", hint=f"name {kinds}")
    return None


def text_of(text: str, what: str, kinds: str) -> Subject:
    """A text that was given as it is; `what` is to come of it.

    Raises:
        SubjectError: it is blank.
    """
    if not text.strip():
        raise SubjectError(f"{what}: a text of nothing but blanks", hint=f"give {kinds}")
    return Subject("", "", text.strip())


def subject_of(named: str, what: str, kinds: str) -> Subject:
    """The text of a file or folder that is named, or the text that was given in its place.

    Args:
        what: what is to come of it, such as `the target`.
        kinds: what could be given, in words.

    Raises:
        SubjectError: it is not there, cannot be read, or holds no text.
    """
    path = path_of(named, kinds)
    return text_of(named, what, kinds) if path is None else read_subject(path)


# Texts, and the files that hold them, as a config names them.


def in_full(value: str) -> str:
    """A file or folder, or a line of a file, that is there, named in full so that a run goes on from any directory.

    Anything else is the text itself.
    """
    try:
        path = expanded(value)
        return str(path.resolve()) if is_there(path) else value
    except OSError:  # no name that a file could have
        return value


def file_or_text(value: str | None) -> str | None:
    """The same, None of what is blank."""
    return in_full(value) if value and value.strip() else None


def _no_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank")
    return value


FileOrText = Annotated[str | None, AfterValidator(file_or_text)]
"""The name of a file or folder, or a text; None where it is blank."""
Given = Annotated[str, AfterValidator(_no_blank), AfterValidator(in_full)]
"""One of several that are given: the name of a file or folder, or a text."""
Trait = Annotated[str, AfterValidator(_no_blank)]
"""By what a quality is known."""
