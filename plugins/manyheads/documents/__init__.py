"""Full texts of papers: PDF and GROBID TEI, read into one `Document`."""

from manyheads.documents.apart import Reader, read_apart
from manyheads.documents.document import (
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
from manyheads.documents.pdfium import render
from manyheads.documents.pictures import PictureError, picture, picture_in
from manyheads.documents.places import places
from manyheads.documents.quotes import Passage, find_quote
from manyheads.documents.reading import read_document
from manyheads.documents.speech import Span, speech

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
