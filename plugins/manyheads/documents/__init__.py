"""Full texts of papers, read from any format into one `Document`; their pictures; quotes looked up in them."""

from manyheads.documents.annotations import Comment, annotated
from manyheads.documents.document import (
    Document,
    Figure,
    Hidden,
    Kind,
    Limits,
    Note,
    Reference,
    Section,
    Table,
)
from manyheads.documents.draft import Division, Draft, speech
from manyheads.documents.pictures import PictureError, picture, picture_in, render
from manyheads.documents.quotes import Passage, find_quote, quote_boxes
from manyheads.documents.reading import DocumentReader, read_apart, read_document

__all__ = [
    "Comment", "Division", "Document", "DocumentReader", "Draft", "Figure", "Hidden", "Kind", "Limits", "Note", "Passage", "PictureError",
    "Reference", "Section", "Table", "annotated", "find_quote", "picture", "picture_in", "quote_boxes", "read_apart", "read_document",
    "render", "speech",
]  # fmt: skip
