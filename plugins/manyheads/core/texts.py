"""Texts to review, rate or measure: read from text files, JSON, JSON Lines and run folders."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ValidationError

from manyheads.base.errors import SubjectError, describe
from manyheads.base.files import expanded, read_text
from manyheads.base.folders import ABSTRACTS
from manyheads.base.papers import web_address
from manyheads.base.resources import parse_json
from manyheads.base.text import count, hash_of
from manyheads.core.results import RESULT, Part, read_result

LARGEST = 4_000_000
"""Maximum bytes of a text: more than a book, less than a dataset named by mistake."""
HEADING = re.compile(r"\A\s*#\s+(.+?)\s*#*\s*(?:\n|\Z)")
LINE = re.compile(r"(.+\.jsonl):[1-9][0-9]*", re.DOTALL)
"""A line of a file with several texts: `FILE.jsonl:LINE`."""
IDEA = re.compile(r"(.+)#([0-9]{1,9})")
"""An idea of a run by its number: `RUN#NUMBER`."""
KINDS = "a text, Markdown or JSON file, or the folder of a run that wrote an abstract"


def _path_in_full(name: str | None) -> str | None:
    path = expanded(name or "")
    return name if not name or (web_address(name) and not path.exists()) else str(path.resolve())


PathInFull = Annotated[str | None, AfterValidator(_path_in_full)]
"""A path, kept in full wherever the run is resumed; or a paper's address."""


@dataclass(frozen=True)
class Subject:
    """One text."""

    source: str
    """The file or folder as the user named it; with the line for a file of several texts."""
    title: str
    """Empty if there is none."""
    text: str

    @property
    def sha256(self) -> str:
        """Hash of title and text: the same for the same text in any file."""
        return hash_of(f"{self.title}\n\n{self.text}")

    def __str__(self) -> str:
        return f"{self.name}: {count(len(self.text.split()), 'word')}"

    @property
    def name(self) -> str:
        """The text's name in tables."""
        return self.title or Path(self.source).stem


class NoTextError(SubjectError):
    """A file or folder has no text."""


class _Abstract(BaseModel):
    title: str = ""
    text: str


class _TextEntry(BaseModel):
    """A JSON object with a text: `abstract` (a text, or one with its title) or `text`."""

    title: str = ""
    abstract: str | _Abstract | None = None
    text: str | None = None


class _WithAbstract(Part):
    abstract: _Abstract | None = None


def is_there(path: Path) -> bool:
    """Whether the file or folder exists. For `FILE:LINE` and `RUN#NUMBER`, whether the file or the run does."""
    line, (run, number) = LINE.fullmatch(str(path)), run_and_number(str(path))
    of_line, of_run = line is not None and Path(line[1]).is_file(), number is not None and run.exists()
    return path.exists() or of_line or of_run


def run_and_number(named: str) -> tuple[Path, int | None]:
    """The folder of a run and the number of one of its ideas, of `RUN#7`; any other name has no number."""
    with suppress(OSError, ValueError):  # a text, not a valid file name
        part = None if Path(named).exists() else IDEA.fullmatch(named)
        if part and (Path(part[1]) / RESULT).is_file():
            return Path(part[1]), int(part[2])
    return Path(named), None


def read_subject(path: Path) -> Subject:
    """The one text in a text, Markdown or JSON file, or in a run folder with an abstract; else `SubjectError`."""
    subjects = read_subjects(path)
    if len(subjects) > 1:
        hint = f"select one by its line: {path}:1"
        raise SubjectError(f"{path}: has {len(subjects)} texts", hint=hint)
    return subjects[0]


def read_subjects(path: Path, blank: list[str] | None = None) -> list[Subject]:
    """The texts at a path: one, or one per line of a `.jsonl` file, each named `FILE.jsonl:LINE`.

    Args:
        blank: receives the lines without text if other lines have one. Without it they are an error.

    Raises:
        SubjectError: not there, not readable, or no text.
    """
    if (path / ABSTRACTS).is_file():
        return read_subjects(path / ABSTRACTS, blank)
    if path.is_dir():
        run = read_result(path, _WithAbstract)
        if run.result.abstract is None:
            raise SubjectError(f"{path}: this run of {run.system} wrote no abstract", hint=f"name {KINDS}")
        return [_subject(str(path), run.result.abstract.title, run.result.abstract.text)]
    if (line := LINE.fullmatch(str(path))) and not path.exists():
        subjects = [each for each in read_subjects(Path(line[1])) if each.source == str(path)]
        if not subjects:
            hint = f"name a line of {line[1]}"
            raise SubjectError(f"{path}: this line does not exist or has no text", hint=hint)
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


def _of_json(source: str, content: str) -> Subject:
    try:
        data = parse_json(content)
    except ValueError as error:
        raise SubjectError(f"{source}: not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise SubjectError(f"{source}: not a JSON object", hint='such as {"title": "…", "abstract": "…"}')
    try:
        entry = _TextEntry.model_validate(data)
    except ValidationError as error:
        raise SubjectError(f"{source}: {describe(error)}") from error
    match entry.abstract:
        case _Abstract(title=title, text=text):
            return _subject(source, title or entry.title, text)
        case abstract:
            return _subject(source, entry.title, entry.text or "" if abstract is None else abstract)


def _subject(source: str, title: str, text: str) -> Subject:
    if not text.strip():
        raise NoTextError(f"{source}: contains no text", hint=f"name {KINDS}")
    return Subject(source, " ".join(title.split()), text.strip())


def _read(path: Path) -> str:
    try:
        content = read_text(path, LARGEST, "utf-8-sig")
    except OSError as error:
        raise SubjectError(f"{path}: {error.strerror}", hint=f"name {KINDS}") from error
    except UnicodeDecodeError as error:
        raise SubjectError(f"{path}: not UTF-8 text", hint=f"name {KINDS}, saved as UTF-8") from error
    if "\0" in content:
        raise SubjectError(f"{path}: not a text file: it contains null bytes", hint=f"name {KINDS}")
    return content


# Arguments that are either a file or a text.

TEXTS, LINES = (".md", ".markdown", ".txt"), (".json", ".jsonl")
SUFFIXES = {*TEXTS, *LINES, ".bib", ".csv", ".tsv", ".parquet", ".xml", ".gz", ".zip"}
NAME = re.compile(r"[\w.-]*\w", re.ASCII)
"""Whether this is a single word without a full stop: a folder's name rather than an idea."""


def path_of(named: str, kinds: str) -> Path | None:
    """The file or folder that the user named, or None for a text. What only looks like a path counts as one.

    Args:
        kinds: the accepted kinds of input, in words.

    Raises:
        SubjectError: the file does not exist.
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
        # a slash in a single word means a folder, except in a script without spaces between words
        or (("/" in named or IDEA.fullmatch(named)) and named.isascii() and len(named.split()) == 1)
    ):
        raise SubjectError(f"{named}: no such file", hint=f"name {kinds}")
    return None


def text_of(text: str, what: str, kinds: str) -> Subject:
    """A text given directly; `what` names its use. Raises `SubjectError` if it is blank."""
    if not text.strip():
        raise SubjectError(f"{what}: the text is blank", hint=f"give {kinds}")
    return Subject("", "", text.strip())


def subject_of(named: str, what: str, kinds: str) -> Subject:
    """The text of the named file or folder, or the text itself.

    Example:
        >>> subject_of("We plan with owls.", "the idea", "a text or a file").text
        'We plan with owls.'

    Args:
        what: the use of the text, such as `the target`.
        kinds: the accepted kinds of input, in words.

    Raises:
        SubjectError: not there, not readable, or no text.
    """
    path = path_of(named, kinds)
    return text_of(named, what, kinds) if path is None else read_subject(path)


# Texts, and the files that contain them, in a config.


def in_full(value: str) -> str:
    """The absolute path of an existing file, folder or line of a file, so that a run resumes from any directory.

    Any other text is returned unchanged.
    """
    try:
        path = expanded(value)
        return str(path.resolve()) if is_there(path) else value
    except OSError:  # not a possible file name
        return value


def file_or_text(value: str | None) -> str | None:
    """As above, but None for a blank text."""
    return in_full(value) if value and value.strip() else None


def _no_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank")
    return value


FileOrText = Annotated[str | None, AfterValidator(file_or_text)]
"""A path or a text; None if blank.

Example:
    >>> TypeAdapter(FileOrText).validate_python("  ") is None
    True
"""
Given = Annotated[str, AfterValidator(_no_blank), AfterValidator(in_full)]
"""One of several inputs: a path or a text."""
Trait = Annotated[str, AfterValidator(_no_blank)]
"""The name of a quality, such as `novelty`."""
