"""Pages without text: said page by page, and read by text recognition where it is named."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import reportlab
from reportlab.lib.pagesizes import letter
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from manyheads.base.errors import DocumentError
from manyheads.documents import read_apart, read_document, recognition, render
from manyheads.documents.recognition import recognised

READABLE = "A line of the paper that everyone can read"
STUB = """#!{python}
import argparse, json, shutil, sys
told = argparse.ArgumentParser()
if sys.argv[0].endswith("ocrmypdf"):
    told.add_argument("--force-ocr", action="store_true", required=True)
    told.add_argument("--pages", required=True)
    told.add_argument("--output-type", choices=["pdf", "pdfa"])
    told.add_argument("--quiet", "-q", action="store_true")
    told.add_argument("-l", default="eng")
    told.add_argument("source")
    told.add_argument("made")
else:
    told.add_argument("source")
    told.add_argument("made")
    told.add_argument("-l", default="eng")
    told.add_argument("--dpi", type=int, required=True)
    told.add_argument("kind", choices=["pdf"])
given = vars(told.parse_args())
if given["l"] == "tlh":
    sys.exit("Error: the language tlh is not installed")
whole = {whole!r}
if "kind" in given:
    given["shown"] = open(given["source"]).read().splitlines()
    given["made"] += ".pdf"
    whole = {alone!r}
open({asked!r}, "w").write(json.dumps(given))
shutil.copy(whole, given["made"])
"""


def lines(path: Path, *fonts: str) -> Path:
    """A paper with a page of each font."""
    vera = Path(reportlab.__file__).with_name("fonts") / "Vera.ttf"
    pdfmetrics.registerFont(TTFont("Codes", str(vera), asciiReadable=False))
    canvas = Canvas(str(path), pagesize=letter, pageCompression=0)
    for number, font in enumerate(fonts, 1):
        if font == "picture":
            canvas.drawImage(str(path.with_suffix(".png")), 0, 0, *letter)
        else:
            canvas.setFont(font, 10)
            for row in range(30):
                canvas.drawString(72, 690 - 16 * row, f"{READABLE}, on page {number} in row {row}")
        canvas.showPage()
    canvas.save()
    return path


def without_unicode(path: Path, *fonts: str) -> Path:
    """The same, whose fonts do not say which letters they draw."""
    lines(path, *fonts)
    data = path.read_bytes()
    assert b"/ToUnicode" in data
    path.write_bytes(data.replace(b"/ToUnicode", b"/ToUnknown"))
    return path


def mixed_pages(folder: Path, width: int) -> Path:
    """Four pages: of text, without Unicode, a scan of a width in pixels, of text."""
    scan = render(lines(folder / "scan.pdf", "Times-Roman"), 1, width=width, margin=0)
    (folder / "mixed.png").write_bytes(scan)
    return without_unicode(folder / "mixed.pdf", "Times-Roman", "Codes", "picture", "Times-Roman")


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return mixed_pages(tmp_path, 500)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the stubs of both tools, alone on the PATH, write what they were asked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    given = {
        "python": sys.executable, "asked": str(tmp_path / "asked.json"),
        "whole": str(lines(tmp_path / "whole.pdf", *["Times-Roman"] * 4)),
        "alone": str(lines(tmp_path / "alone.pdf", *["Times-Roman"] * 2)),
    }  # fmt: skip
    for tool in ("ocrmypdf", "tesseract"):
        (folder / tool).write_text(STUB.format(**given))
        (folder / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return tmp_path / "asked.json"


def test_each_page_that_cannot_be_read_is_named(mixed: Path) -> None:
    document = read_document(mixed)
    assert document.unread == (2, 3)
    assert any("page 2" in one and "fonts" in one for one in document.faults)
    assert any("page 3" in one and "picture" in one for one in document.faults)
    assert any("`ocrmypdf`" in one for one in document.faults)
    assert [page for one in document.sections for page in one.pages] == [1, 4]
    assert document.text().count(READABLE) == 60


def test_a_paper_without_unicode_is_no_scan(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="fonts") as caught:
        read_document(without_unicode(tmp_path / "codes.pdf", "Codes", "Codes"))
    assert "scan" not in str(caught.value)
    assert "ocrmypdf" in str(caught.value)


def test_ocrmypdf_is_asked_for_the_pages_without_text(mixed: Path, asked: Path, tmp_path: Path) -> None:
    recognised(mixed, "ocrmypdf:deu+eng", [2, 3], tmp_path)
    given = json.loads(asked.read_text())
    assert (given["pages"], given["l"], given["output_type"]) == ("2,3", "deu+eng", "pdf")


@pytest.mark.slow
def test_what_was_recognised_is_read(mixed: Path, asked: Path) -> None:
    document = read_apart(mixed, reader="ocrmypdf:deu+eng")
    assert document.text().count(READABLE) == 120
    assert (document.unread, document.faults[0]) == (
        (),
        "text recognition by ocrmypdf:deu+eng read 2 pages: 2, 3",
    )


def test_tesseract_is_shown_the_pages_without_text(
    mixed: Path, asked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "WIDE", 500)
    document = read_document(recognised(mixed, "tesseract", [2, 3], tmp_path))
    given = json.loads(asked.read_text())
    assert [Path(one).name for one in given["shown"]] == ["2.png", "3.png"]
    assert given["dpi"] == round(72 * 500 / letter[0])
    assert document.pages == 4
    # The stub's two pages stand where the others stood.
    rows = [line for line in document.text().split(READABLE) if line.startswith(", on page")]
    assert [line[10] for line in rows] == ["1"] * 30 + ["1"] * 30 + ["2"] * 30 + ["4"] * 30


@pytest.mark.slow
def test_a_whole_scan_is_read_and_nothing_else_is_recognised(tmp_path: Path, asked: Path) -> None:
    path = without_unicode(tmp_path / "codes.pdf", *["Codes"] * 4)
    assert read_apart(path, reader="ocrmypdf").text().count(READABLE) == 120
    asked.unlink()
    path = lines(tmp_path / "text.pdf", "Times-Roman")
    assert read_apart(path, reader="ocrmypdf").text().count(READABLE) == 30
    assert not asked.exists()


def test_a_tool_that_fails_or_is_missing_or_hangs_is_named(
    mixed: Path, asked: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(recognition, "WIDE", 500)
    with pytest.raises(DocumentError, match="tlh is not installed"):
        recognised(mixed, "tesseract:tlh", [2], tmp_path)
    monkeypatch.setattr(recognition, "EACH", 0.0)
    with pytest.raises(DocumentError, match="ocrmypdf took more than 0 s"):
        recognised(mixed, "ocrmypdf", [2], tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(DocumentError, match="ocrmypdf, which is not installed") as caught:
        recognised(mixed, "ocrmypdf", [2], tmp_path)
    assert "apt install" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["ocrmypdf", "tesseract"])
def test_the_real_tools(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_THREAD_LIMIT", "1")
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed on {os.name}")
    document = read_apart(mixed_pages(tmp_path, 1700), reader=tool)
    assert document.unread == ()
    assert document.text().count(READABLE[2:]) > 100
