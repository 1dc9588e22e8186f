"""Full texts of papers, read from any format into one `Document`; their pictures; quotes looked up in them."""

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
from manyheads.documents.draft import Division, Draft, Span, speech
from manyheads.documents.pictures import PictureError, picture, picture_in, render
from manyheads.documents.quotes import Passage, find_quote, places
from manyheads.documents.reading import DocumentReader, read_apart, read_document

__all__ = [
    "Box",
    "Division",
    "Document",
    "DocumentReader",
    "Draft",
    "Figure",
    "Hidden",
    "Kind",
    "Limits",
    "Note",
    "Passage",
    "PictureError",
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
