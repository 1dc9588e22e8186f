"""Builds a `Document` from the parts that a format provides."""

import datetime as dt
from dataclasses import dataclass, field

from manyheads.documents.bibliography import Citations
from manyheads.documents.document import (
    Document,
    Figure,
    Hidden,
    Note,
    Reference,
    Section,
    Table,
    letter_count,
)
from manyheads.documents.sections import Division, set_kinds
from manyheads.documents.speech import heard, seen

WHOLE = 0.8
"""Minimum share of a reader's letters that are in the document."""
LONGEST = 500
"""Maximum words of an abstract of several paragraphs."""


@dataclass
class Draft:
    """The parts of a paper; `document` finds citations, kinds of sections, missing parts, and text addressed to reviewers."""

    title: str = ""
    abstract: str = ""
    abstract_starts: tuple[tuple[int, int], ...] = ()
    """As in a section."""
    authors: tuple[str, ...] = ()
    year: int | None = None
    made: dt.date | None = None
    numbers: tuple[str, ...] = ()
    divisions: list[Division] = field(default_factory=list[Division])
    references: list[Reference] = field(default_factory=list[Reference])
    figures: list[Figure] = field(default_factory=list[Figure])
    tables: list[Table] = field(default_factory=list[Table])
    notes: list[Note] = field(default_factory=list[Note])
    hidden: list[Hidden] = field(default_factory=list[Hidden])
    pages: int = 0
    letters: int = 0
    """Letters and digits that its reader saw; 0 if unknown."""
    faults: list[str] = field(default_factory=list[str])

    def document(self, *, kinds: bool = True) -> Document:
        """The document; with `kinds`, the sections' kinds are inferred from titles and positions."""
        self._shorten_abstract()
        spelled = self._cleared()
        if kinds:
            set_kinds(self.divisions)
        citations = Citations(self.references)
        sections = tuple(
            Section(
                title=one.title,
                number=one.number,
                kind=one.kind,
                text=one.text,
                pages=one.pages,
                starts=one.starts,
                cites=citations.of(one.text) if one.cites is None else one.cites,
            )
            for one in self.divisions
            if (one.title or one.text) and not one.references
        )
        share = self.read() / self.letters if self.letters else 1.0
        faults = [
            *self.faults,
            *[f"only {share:.0%} of its letters were read: parts of its text are missing"] * (share < WHOLE),
            *["no title found"] * (not self.title),
            *["no abstract found"] * (not self.abstract),
            *["no reference list found"] * (not self.references),
            *["only an abstract: no sections found"] * (bool(self.abstract) and not sections),
        ]
        parts = {name: part for name, part in vars(self).items() if name in Document.model_fields} | {
            "abstract_page": next((page for page, _ in self.abstract_starts), 0),
            "sections": sections,
            "hidden": (*self.hidden, *(Hidden(text=text, page=0, why="invisible") for text in spelled)),
            "faults": faults,
        }
        document = Document.model_validate(parts)
        return document.model_copy(update={"speech": heard(document)})

    def read(self) -> int:
        """Number of letters and digits in all parts."""
        cells = (cell for one in self.tables for row in one.rows for cell in row)
        sections = (f"{one.number} {one.title} {one.text}" for one in self.divisions if not one.references)
        parts = (one.text for one in (*self.references, *self.notes))
        captions = (one.caption for one in (*self.figures, *self.tables))
        return sum(
            map(
                letter_count, (self.title, self.abstract, *self.authors, *sections, *parts, *captions, *cells)
            )
        )

    def _shorten_abstract(self) -> None:
        """End a too long abstract at its first paragraph: what follows is the text, whose heading was not found."""
        abstract, _, rest = self.abstract.partition("\n")
        if not rest or len(self.abstract.split()) <= LONGEST:
            return
        cut = len(abstract) + 1
        begun = [(page, start - cut) for page, start in self.abstract_starts if start > cut]
        before = [(page, 0) for page, start in self.abstract_starts if start <= cut]
        starts = (*before[-1:], *begun)
        self.abstract = abstract
        self.divisions.insert(
            0, Division("", text=rest, starts=starts, pages=tuple(page for page, _ in starts))
        )
        self.faults.append(
            f"the abstract was longer than {LONGEST} words: it was ended at its first paragraph"
        )

    def _cleared(self) -> list[str]:
        """Remove invisible letters, and return the text that they spell."""
        spelled = list[str]()

        def clear(text: str) -> str:
            text, more = seen(text)
            spelled.extend(more)
            return text

        self.title, self.abstract = clear(self.title), clear(self.abstract)
        for one in self.divisions:
            one.title, one.text = clear(one.title), clear(one.text)
        self.figures = [one.model_copy(update={"caption": clear(one.caption)}) for one in self.figures]
        self.tables = [one.model_copy(update={"caption": clear(one.caption)}) for one in self.tables]
        self.notes = [one.model_copy(update={"text": clear(one.text)}) for one in self.notes]
        self.references = [one.model_copy(update={"text": clear(one.text)}) for one in self.references]
        return spelled
