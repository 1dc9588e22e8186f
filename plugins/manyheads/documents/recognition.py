"""Text recognition of a PDF's pages that have no text, by OCRmyPDF or Tesseract, where they are installed and named."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from manyheads.base.errors import DocumentError
from manyheads.documents.pdfium import LOCK, opened
from manyheads.documents.pictures import render
from manyheads.documents.programs import run_program

TOOLS = ("ocrmypdf", "tesseract")
"""Names of readers; `tesseract:deu+eng` names languages, too."""
EACH = 60.0
"""Seconds for a page."""
WIDE = 2000
"""Pixels across a page that Tesseract is shown."""


def recognised(path: Path, tool: str, pages: Sequence[int], folder: Path) -> Path:
    """A copy of a PDF, in a folder, some of whose pages have recognised text.

    Args:
        tool: one of `TOOLS`, with languages after a colon.
        pages: from 1.

    Raises:
        DocumentError: the tool is not installed, or failed.
    """
    program, _, language = tool.partition(":")
    made = folder / "recognised.pdf"
    options = ["-l", language] if language else []
    if program == "ocrmypdf":
        numbers = ",".join(map(str, pages))
        more = ["--force-ocr", "--pages", numbers, "--output-type", "pdf", "--quiet"]
        _run([program, *more, *options, str(path.resolve()), str(made)], len(pages))
        return made
    pictures = [folder / f"{page}.png" for page in pages]
    for page, picture in zip(pages, pictures, strict=True):
        picture.write_bytes(render(path, page, margin=0, width=WIDE))
    with LOCK, opened(path) as document:
        across = document.get_page_size(pages[0] - 1)[0]
    # The PNG's own width is in its header: a large page is drawn smaller.
    options += ["--dpi", str(round(72 * int.from_bytes(pictures[0].read_bytes()[16:20], "big") / across))]
    shown = folder / "pages.txt"
    shown.write_text("\n".join(map(str, pictures)), encoding="utf-8")
    _run([program, str(shown), str(folder / "pages"), *options, "pdf"], len(pages))
    _replace(path, folder / "pages.pdf", pages, made)
    return made


def _run(command: Sequence[str], pages: int) -> None:
    program = command[0]
    if not (found := shutil.which(program)):
        raise DocumentError(
            f"text recognition needs {program}, which is not installed",
            tried=f"{program} on the PATH",
            hint="install it (apt install ocrmypdf, brew install ocrmypdf; tesseract comes with it), or name the reader `auto`",
        )
    ended = run_program([found, *command[1:]], seconds=(seconds := EACH * (1 + pages)))
    if ended.late:
        raise DocumentError(f"{program} took more than {seconds:g} s", tried=" ".join(command))
    if ended.code:
        told = ended.said.splitlines()[-1:] or [f"exit code {ended.code}"]
        raise DocumentError(f"{program} failed: {told[0]}", tried=" ".join(command))


def _replace(path: Path, pages: Path, numbers: Sequence[int], made: Path) -> None:
    """Write a PDF with some of its pages replaced by those of another."""
    with LOCK, opened(path) as document, opened(pages) as others:
        for index, number in enumerate(numbers):
            del document[number - 1]
            document.import_pages(others, [index], number - 1)
        document.save(made)
