"""A paper's full text from a file: a PDF, or the TEI that GROBID makes of one."""

from pathlib import Path

from manyheads.errors import DocumentError
from manyheads.literature.documents.document import Document, Limits
from manyheads.literature.documents.pdf import read_pdf
from manyheads.literature.documents.tei import read_tei

LIMITS = Limits()


def read_document(path: Path, limits: Limits = LIMITS) -> Document:
    """The full text of a paper; the file's first bytes say what it is, else its ending.

    Raises:
        DocumentError: the file is missing, too large, broken, encrypted, empty, without text, or of another kind.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise DocumentError(
            f"{path} cannot be read: {error.strerror or error}",
            hint="give the path of a PDF or of a TEI file",
        ) from error
    if size > limits.bytes:
        raise DocumentError(
            f"{path} is too large: {size:,} bytes",
            tried=f"files of up to {limits.bytes:,} bytes are read",
            hint="split it, or print only the paper's pages into a new PDF",
        )
    if not size:
        raise DocumentError(f"{path} is empty", hint="fetch or copy it again")
    if b"%PDF-" in head[:1024]:
        return read_pdf(path, limits)
    if (
        b"<TEI" in head
        or b"tei-c.org" in head
        or (path.suffix == ".xml" and head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"<")
    ):
        return read_tei(path)
    raise DocumentError(
        f"{path} is neither a PDF nor TEI",
        tried="the file's first bytes",
        hint="give a PDF, or the TEI that GROBID makes of one",
    )
