"""Builds a `Document` from the parts that a format provides."""

from dataclasses import dataclass, field

from manyheads.literature.documents.bibliography import Citations
from manyheads.literature.documents.document import Document, Figure, Hidden, Note, Reference, Section, Table
from manyheads.literature.documents.sections import Division, set_kinds
from manyheads.literature.documents.speech import heard, seen


@dataclass
class Draft:
    """The parts of a paper; `document` finds citations, kinds of sections, missing parts, and text addressed to reviewers."""

    title: str = ""
    abstract: str = ""
    abstract_page: int = 0
    authors: tuple[str, ...] = ()
    year: int | None = None
    numbers: tuple[str, ...] = ()
    divisions: list[Division] = field(default_factory=list[Division])
    references: list[Reference] = field(default_factory=list[Reference])
    figures: list[Figure] = field(default_factory=list[Figure])
    tables: list[Table] = field(default_factory=list[Table])
    notes: list[Note] = field(default_factory=list[Note])
    hidden: list[Hidden] = field(default_factory=list[Hidden])
    pages: int = 0
    faults: list[str] = field(default_factory=list[str])

    def document(self, *, kinds: bool = True) -> Document:
        """The document; with `kinds`, the sections' kinds are inferred from titles and positions."""
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
        faults = [
            *self.faults,
            *["no abstract found"] * (not self.abstract),
            *["no reference list found"] * (not self.references),
            *["only an abstract: no sections found"] * (bool(self.abstract) and not sections),
        ]
        document = Document(
            title=self.title,
            abstract=self.abstract,
            abstract_page=self.abstract_page,
            authors=self.authors,
            year=self.year,
            numbers=self.numbers,
            sections=sections,
            references=tuple(self.references),
            figures=tuple(self.figures),
            tables=tuple(self.tables),
            notes=tuple(self.notes),
            hidden=(*self.hidden, *(Hidden(text=text, page=0, why="invisible") for text in spelled)),
            pages=self.pages,
            faults=tuple(faults),
        )
        return document.model_copy(update={"speech": heard(document)})

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
