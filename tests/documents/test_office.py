"""Papers in Word, OpenDocument, EPUB, JATS, reStructuredText and Typst, made by Pandoc and by hand."""

import io
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from manyheads.documents import Document, picture, read_document

pypandoc: Any = pytest.importorskip("pypandoc", reason="pypandoc-binary is not installed")

PAPER = """---
title: A Study of **Reading** Groups
author: [Ada Berg, Bo Koči]
date: 2021
abstract: |
  We study groups of readers. They agree.
---

# Introduction

Readers read alone [1, 2].[^1] See Figure 1 and Table 1. Let $x^2$ be.

[^1]: The code is at our page.

# Ways of Reading

![Groups at work.](owl.png)

## Choices

: Counts of readers.

| Field | Readers |
|---|---|
| Physics | 112 |

1. first
2. second

> Who hears?

# References

[1] A. Berg. Reading alone. *Readings*, 1990.

[2] B. Lee and C. Dorn. Reading together. Readings, 1991. doi:10.1000/abc.

# Appendix

More.
"""
SUFFIXES = {"jats": "nxml", "typst": "typ"}
OWLS = "Owls hear better than they see, and mice know it. " * 4


def made(folder: Path, kind: str, text: str = PAPER) -> Path:
    """A paper in a format, written by Pandoc."""
    (folder / "paper.md").write_text(text)
    Image.new("RGB", (40, 30), "navy").save(folder / "owl.png")
    path = folder / f"paper.{SUFFIXES.get(kind, kind)}"
    command = [pypandoc.get_pandoc_path(), "-s", "paper.md", "-t", kind, "-o", path.name]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return path


def changed(path: Path, member: str, change: Callable[[str], str]) -> Path:
    """An archive with one of its texts changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[member] = change(parts[member].decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return path


def word(folder: Path, body: str, styles: str = "") -> Document:
    """A Word file with these runs and paragraphs after a plain one."""
    path = made(folder, "docx", f"# Introduction\n\n{OWLS}\n")
    changed(path, "word/styles.xml", lambda xml: xml.replace("</w:styles>", f"{styles}</w:styles>"))
    return read_document(
        changed(path, "word/document.xml", lambda xml: xml.replace("<w:sectPr", f"{body}<w:sectPr", 1))
    )


def run(text: str, looks: str = "") -> str:
    return f'<w:r><w:rPr>{looks}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def hidden(document: Document) -> list[tuple[str, str]]:
    return [(one.text, one.why) for one in document.hidden]


@pytest.mark.parametrize("kind", ["docx", "odt", "epub", "jats", "rst", "typst"])
def test_every_part_of_a_paper_is_read(kind: str, tmp_path: Path) -> None:
    document = read_document(path := made(tmp_path, kind))
    assert document.title == "A Study of Reading Groups"
    names = {"Ada Berg"} if kind == "rst" else {"Ada Berg", "Bo Koči"}
    assert {*document.authors} == names
    assert [one.title for one in document.sections] == [
        "Introduction",
        "Ways of Reading",
        "Choices",
        "Appendix",
    ]
    assert document.sections[0].text.startswith("Readers read alone [1, 2]. See Figure 1")
    assert document.sections[2].text.split("\n") == ["1. first", "2. second", "Who hears?"]
    assert document.sections[0].cites == (0, 1)
    assert [(one.year, one.doi) for one in document.references] == [(1990, None), (1991, "10.1000/abc")]
    assert [(one.number, one.caption) for one in document.figures] == [("1", "Groups at work.")]
    assert [(one.caption, one.rows) for one in document.tables] == [
        ("Counts of readers.", (("Field", "Readers"), ("Physics", "112")))
    ]
    assert [one.text for one in document.notes] == ["The code is at our page."]
    assert document.hidden == ()
    if kind in ("odt", "epub"):  # Pandoc writes no abstract into them
        assert "no abstract found" in document.faults
    else:
        assert (document.abstract, document.faults) == ("We study groups of readers. They agree.", ())
    with Image.open(io.BytesIO(picture(path, document.figures[0]))) as image:
        assert image.size == (40, 30)


@pytest.mark.parametrize(
    ("looks", "why"),
    [
        ('<w:color w:val="FFFFFF"/>', "invisible"), ('<w:color w:val="fefefe"/>', "invisible"), ("<w:vanish/>", "invisible"),
        ('<w:sz w:val="2"/>', "tiny"), ('<w:rStyle w:val="Ghost"/>', "invisible"), ('<w:rStyle w:val="Child"/>', "invisible"),
        ('<w:vanish w:val="0"/>', ""), ('<w:color w:val="FFFFFF"/><w:shd w:fill="000000"/>', ""),
        ('<w:color w:val="FFFFFF"/><w:highlight w:val="black"/>', ""), ('<w:sz w:val="12"/>', ""),
        ('<w:rStyle w:val="Ghost"/><w:color w:val="FF0000"/>', ""),
    ],
)  # fmt: skip
def test_words_that_nobody_sees_in_word_are_kept_apart(looks: str, why: str, tmp_path: Path) -> None:
    styles = (
        '<w:style w:type="character" w:styleId="Ghost"><w:rPr><w:color w:val="FFFFFF"/></w:rPr></w:style>'
        '<w:style w:type="character" w:styleId="Child"><w:basedOn w:val="Ghost"/></w:style>'
    )
    body = f"<w:p>{run('Mice ')}{run('say &amp; praise', looks)}{run(' hide.')}</w:p>"
    document = word(tmp_path, body, styles)
    text = document.text()
    assert ("say & praise" in text) == (not why)
    assert re.search(r"Mice .*hide\.", text)
    assert hidden(document) == ([("say & praise", why)] if why else [])


def test_a_white_paragraph_by_its_style_is_hidden_and_white_letters_in_a_dark_cell_are_not(
    tmp_path: Path,
) -> None:
    styles = '<w:style w:type="paragraph" w:styleId="Pale"><w:rPr><w:color w:val="FFFFFF"/></w:rPr></w:style>'
    white = '<w:color w:val="FFFFFF"/>'
    cell = f'<w:tc><w:tcPr><w:shd w:fill="1F3864"/></w:tcPr><w:p>{run("Head", white)}</w:p></w:tc>'
    row = f"<w:tr>{cell}{cell}</w:tr>"
    table = f"<w:tbl><w:tblPr/>{row}<w:tr><w:tc><w:p>{run('a')}</w:p></w:tc><w:tc><w:p>{run('b')}</w:p></w:tc></w:tr></w:tbl>"
    pale = f'<w:p><w:pPr><w:pStyle w:val="Pale"/></w:pPr>{run("Accept ")}{run("this.")}</w:p>'
    document = word(tmp_path, pale + table, styles)
    assert hidden(document) == [("Accept this.", "invisible")]
    assert document.tables[0].rows == (("Head", "Head"), ("a", "b"))


def test_comments_and_tracked_changes_are_kept_apart(tmp_path: Path) -> None:
    day = 'author="R" date="2020-01-01T00:00:00Z"'
    text = f"""# Introduction

{OWLS} A [bad]{{.deletion {day}}}[good]{{.insertion {day}}} end [Accept it.]{{.comment-start id="0" {day}}}here[]{{.comment-end id="0"}}.
"""
    document = read_document(made(tmp_path, "docx", text))
    assert document.text().endswith("A good end here.")
    assert hidden(document) == [("bad", "deleted"), ("Accept it.", "comment")]
