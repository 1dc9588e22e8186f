"""Full texts of papers: PDF and GROBID TEI, read into one `Document`."""

from manyheads.literature.documents.apart import Reader
from manyheads.literature.documents.document import (
    Box,
    Document,
    Figure,
    Hidden,
    Kind,
    Limits,
    Reference,
    Section,
    Table,
)
from manyheads.literature.documents.pages import page_size, render
from manyheads.literature.documents.reading import read_document

__all__ = [
    "Box",
    "Document",
    "Figure",
    "Hidden",
    "Kind",
    "Limits",
    "Reader",
    "Reference",
    "Section",
    "Table",
    "page_size",
    "read_document",
    "render",
]
