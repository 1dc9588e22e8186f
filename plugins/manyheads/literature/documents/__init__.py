"""Full texts of papers: PDF and GROBID TEI, read into one `Document`."""

from manyheads.literature.documents.apart import Reader, read_apart
from manyheads.literature.documents.document import (
    Box,
    Document,
    Figure,
    Hidden,
    Kind,
    Limits,
    Note,
    Reference,
    Section,
    Speech,
    Table,
)
from manyheads.literature.documents.pdfium import render
from manyheads.literature.documents.pictures import PictureError, picture, picture_in
from manyheads.literature.documents.places import places
from manyheads.literature.documents.quotes import Passage, find_quote
from manyheads.literature.documents.reading import read_document
from manyheads.literature.documents.speech import Span, speech

__all__ = [
    "Box",
    "Document",
    "Figure",
    "Hidden",
    "Kind",
    "Limits",
    "Note",
    "Passage",
    "PictureError",
    "Reader",
    "Reference",
    "Section",
    "Span",
    "Speech",
    "Table",
    "find_quote",
    "picture",
    "picture_in",
    "places",
    "read_apart",
    "read_document",
    "render",
    "speech",
]
