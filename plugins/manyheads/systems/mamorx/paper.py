"""The paper under review: its text, and the names agents use for its parts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

from manyheads.base.files import sha256_of
from manyheads.base.folders import source_of
from manyheads.base.papers import fold
from manyheads.base.text import count
from manyheads.config import RunConfig
from manyheads.core.texts import LINE, read_subject
from manyheads.corpus.phrases import stems
from manyheads.corpus.words import okapi
from manyheads.documents import Document, Figure, Reference, Section, Table, read_apart
from manyheads.documents.document import BLANK, word_count
from manyheads.documents.folders import main_tex
from manyheads.systems.mamorx.config import MamorxConfig
from manyheads.systems.mamorx.result import Anchor, HiddenText, MamorxResult
from manyheads.team.run import Run

F = TypeVar("F", Figure, Table)
ABSTRACT = "Abstract"
ALONE = "this is an abstract alone: there are no sections, figures, tables or references"
PASSAGE = 90  # words of a passage in search results, if a sentence ends before that
PREFIX = 40  # letters of a passage used to find its place again
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z가-힣(\[“\"])|(?<=[。！？])\s*")


@dataclass(frozen=True)
class FoundPassage:
    """Some sentences of the paper, word for word."""

    text: str
    where: str
    """The name of the section."""
    pages: tuple[int, ...]


@dataclass(frozen=True)
class Chapter:
    """A section with its subsections, or the abstract."""

    name: str
    text: str
    pages: tuple[int, ...] = ()
    cut: bool = False
    """Whether the text is cut to its beginning."""
    starts: tuple[tuple[int, int], ...] = ()
    """Pages, each with the index in `text` of its first character."""

    def pages_of(self, first: int, last: int) -> tuple[int, ...]:
        """The pages of a range of characters; all of its pages if unknown."""
        pages = [max((page for page, start in self.starts if start <= at), default=0) for at in (first, last)]
        return tuple(page for page in self.pages if not all(pages) or pages[0] <= page <= pages[1])


@dataclass(frozen=True)
class Manuscript:
    """A paper under review.

    Attributes:
        path: the file, or the folder of the run that wrote it.
        source: as the user named it.
        sha256: of the file; of title and text if a run wrote it.
    """

    document: Document
    path: Path
    source: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.title or self.path.name}: {count(self.words, 'word')}"

    @property
    def title(self) -> str:
        return self.document.title

    @property
    def abstract(self) -> str:
        return self.document.abstract

    @cached_property
    def words(self) -> int:
        return sum(map(word_count, (self.abstract, *(one.text for one in self.document.sections))))

    @cached_property
    def anchor(self) -> Anchor:
        """Its description in a result."""
        document = self.document
        hidden = [
            HiddenText(
                text=one.text,
                page=one.page or None,
                why=one.why,
                figure=one.figure and f"Figure {one.figure}",
            )
            for one in document.hidden
        ]
        speech = [
            HiddenText(text=one.text, page=one.page, why=one.why, shown=True) for one in document.speech
        ]
        return Anchor(
            source=self.source, title=self.title, sha256=self.sha256, words=self.words, pages=document.pages,
            year=document.year, sections=[*map(section_name, document.sections)], faults=[*document.faults],
            hidden=[*hidden, *speech],
        )  # fmt: skip

    @cached_property
    def chapters(self) -> list[Chapter]:
        """The abstract, then each section by itself."""
        abstract = [Chapter(ABSTRACT, self.abstract)] if self.abstract else []
        sections = (
            Chapter(section_name(one), one.text, one.pages, starts=one.starts)
            for one in self.document.sections
        )
        return [*abstract, *sections]

    @cached_property
    def all_chapters(self) -> list[Chapter]:
        """The same, then each figure's caption, each table and the list of references: everything a prompt can show."""
        document, works = self.document, self.references
        figures = [Chapter(f"Figure {one.number}", one.caption, _page(one.page)) for one in document.figures]
        rows = ("\n".join([one.caption, *map(" | ".join, one.rows)]) for one in document.tables)
        tables = [
            Chapter(f"Table {one.number}", text, _page(one.page))
            for one, text in zip(document.tables, rows, strict=True)
        ]
        listed = [
            one.text if one.text.startswith(name) else f"{name} {one.text}" for name, one in works.items()
        ]
        ends = "–".join(dict.fromkeys(([*works] or [""])[at] for at in (0, -1)))
        return [*self.chapters, *figures, *tables, *[Chapter(ends, "\n".join(listed))] * bool(listed)]

    def chapter(self, name: str) -> Chapter | None:
        """A section with its subsections, by number, title or both, such as `4.2` or `Section 4.2 Results`."""
        if fold(name) == fold(ABSTRACT):
            return next((one for one in self.chapters if one.name == ABSTRACT), None)
        sections = self.document.sections
        wanted = re.sub(r"(?i)^\s*(section|sec\.?|appendix|§)\s*", "", name).strip()
        number = re.match(r"([A-Z]|\d+)(\.\d+)*(?=\W|$)", wanted)
        named = (one for one in sections if fold(wanted) in (fold(section_name(one)), fold(one.title)))
        found = next(named, None)
        if not found and number:
            found = next((one for one in sections if one.number == number[0]), None)
        if not found and number and any(one.number.startswith(f"{number[0]}.") for one in sections):
            found = Section(title="", number=number[0])
        if not found:
            return None
        below = [one for one in sections if found.number and one.number.startswith(f"{found.number}.")]
        whole = [found, *(one for one in below if one is not found)]
        texts = (f"{section_name(one)}\n{one.text}" if one is not found else one.text for one in whole)
        pages = sorted({page for one in whole for page in one.pages})
        return Chapter(section_name(found), "\n\n".join(filter(None, texts)), tuple(pages))

    def figure(self, name: str) -> Figure | None:
        """Figure 2, Fig. 2, 2, or 2a of Figure 2."""
        return _numbered(self.document.figures, name, FIGURE)

    def table(self, name: str) -> Table | None:
        return _numbered(self.document.tables, name, TABLE)

    @cached_property
    def references(self) -> dict[str, Reference]:
        """References by their names in the result, such as `[12]`: the label, else the place in the list."""
        labels = [one.number or str(at) for at, one in enumerate(self.document.references, 1)]
        if len({*labels}) < len(labels):
            labels = [str(at) for at in range(1, len(labels) + 1)]
        return {
            f"[{label.strip('[]')}]": one for label, one in zip(labels, self.document.references, strict=True)
        }

    def reference(self, name: str) -> str | None:
        """The name of a reference written as `[12]`, `Reference 12` or `Smith et al., 2020`."""
        for label in re.findall(r"[\w+-]+", re.sub(r"(?i)^\s*ref(erence|\.)?", "", name)):
            if f"[{label}]" in self.references:
                return f"[{label}]"
        years = re.findall(r"\b(?:19|20)\d\d\b", name)
        for key, one in self.references.items():
            if one.authors and fold(one.authors[0]) in fold(name) and years and str(one.year) == years[0]:
                return key
        return None

    @cached_property
    def passages(self) -> list[FoundPassage]:
        """The whole text in passages of a few sentences."""
        found = list[FoundPassage]()
        for chapter in self.chapters:
            end = 0
            for text in (part for paragraph in chapter.text.splitlines() for part in _cut(paragraph)):
                start = max(end, chapter.text.find(text[:PREFIX], end))
                end = min(start + len(text), len(chapter.text))
                found.append(FoundPassage(text, chapter.name, chapter.pages_of(start, end - 1)))
        return found

    def search(self, words: str, limit: int) -> list[FoundPassage]:
        """Passages with some of the words, best first (BM25)."""
        return [self.passages[at] for at in ranked([one.text for one in self.passages], words, limit)]


MamorxRun: TypeAlias = Run[MamorxResult, MamorxConfig, Manuscript]
FIGURE, TABLE = re.compile(r"(?i)^\s*fig(ure|\.)?s?\s*"), re.compile(r"(?i)^\s*tab(le|\.)?s?\s*")


def section_name(section: Section) -> str:
    """Such as `4.2 Results`."""
    return section.name or "Text without a heading"


def _numbered(parts: Sequence[F], name: str, word: re.Pattern[str]) -> F | None:
    wanted = re.sub(r"[\s.:()]+$", "", word.sub("", name)).split(":")[0].strip()
    numbers = (wanted, re.sub(r"(?i)\s*\(?[a-z]\)?$", "", wanted))
    by_number = {one.number.casefold(): one for one in reversed(parts) if one.number}
    return next((by_number[number.casefold()] for number in numbers if number.casefold() in by_number), None)


def _page(number: int) -> tuple[int, ...]:
    return (number,) if number else ()


def _cut(paragraph: str) -> Iterator[str]:
    """A paragraph in passages that end with a sentence."""
    passage = ""
    for sentence in SENTENCE_END.split(paragraph.strip()):
        if passage and word_count(passage) + word_count(sentence) > PASSAGE:
            yield passage
            passage = ""
        passage = BLANK.sub("", f"{passage} {sentence}".strip())
    if passage:
        yield passage


def ranked(texts: Sequence[str], words: str, limit: int) -> list[int]:
    """The places of the texts with some of the words, best first (BM25), ties by place."""
    import numpy as np

    vocabulary = {"": 0}
    tokens = [[vocabulary.setdefault(word, len(vocabulary)) for word in stems(text)] or [0] for text in texts]
    asked = [word for word in dict.fromkeys(stems(words)) if word in vocabulary]
    if not asked:
        return []
    index = okapi().BM25()
    index.index((tokens, vocabulary), create_empty_token=True, show_progress=False)
    scores = index.get_scores(asked)
    best: list[int] = np.argsort(-scores, kind="stable")[:limit].tolist()
    return [at for at in best if scores[at] > 0]


def read_paper(config: RunConfig) -> Manuscript | None:
    """The paper that a run reviews; a PDF is read in a separate process.

    Raises:
        DocumentError: the file is missing, or cannot be read.
        SubjectError: the folder is not a run that wrote an abstract.
    """
    named: str | None = config.inputs.paper
    if named is None:
        return None
    path = Path(named)
    path = (path.is_dir() and main_tex(path)) or path
    if path.is_dir() or (LINE.fullmatch(named) and not path.exists()):
        subject = read_subject(path)
        document = Document(title=subject.title, abstract=subject.text, faults=(ALONE,))
        return Manuscript(document, path, named, subject.sha256)
    document = read_apart(path, reader=config.settings.reader)
    return Manuscript(document, path, source_of(path), sha256_of(path))
