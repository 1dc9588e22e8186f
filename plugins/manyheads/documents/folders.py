"""Papers in folders and archives: the papers of a folder, and the main file of a LaTeX folder."""

import re
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO

from manyheads.base.errors import DocumentError
from manyheads.base.files import make_folder, opened

PAPERS = frozenset(
    re.findall(
        r"\.\w+",
        ".pdf .tei .xml .nxml .tex .ltx .latex .html .htm .xhtml .docx .docm .doc .odt .rtf .ps .epub .rst .rest .typ .typst",
    )
)
"""Suffixes of files that always contain papers, never a single abstract."""
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
MAIN = ("main", "paper", "ms", "article", "manuscript", "root", "submission", "arxiv")
"""Usual names of main files."""
DOCUMENT = re.compile(r"^[^%\n]*\\document(?:class|style)\b", re.M)
INCLUDED = re.compile(
    r"\\(?:input|include|subfile|includegraphics\*?|includepdf)\s*(?:\[[^\]]*\]\s*)?\{\s*([^{}]+?)\s*\}"
)
UNPACKED, MEMBERS = 300_000_000, 3_000
"""Maximum bytes and files of an archive, unpacked."""
TEXT = 2_000_000
"""Maximum bytes of a source that is searched for the files that it includes."""
BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError,
)  # fmt: skip
"""Errors of archives that cannot be unpacked."""


def main_tex(folder: Path) -> Path | None:
    """The file of a LaTeX folder that begins the document; None if the folder is none.

    A folder is LaTeX if one file in it begins a document and every other paper in it belongs to that: it is included, is a
    figure, or has the same name. Of several that begin a document, the one with a usual name, such as `main.tex`, is taken.

    Raises:
        DocumentError: it is both a LaTeX paper and a folder of others, or has several main files.
    """
    sources = {path: _source(path) for path in sorted(folder.glob("*.tex")) if not path.name.startswith(".")}
    mains = [path for path, text in sources.items() if DOCUMENT.search(text)]
    named = sorted(
        (path for path in mains if path.stem.lower() in MAIN), key=lambda path: MAIN.index(path.stem.lower())
    )
    if not mains or (len(mains) > 1 and not named):
        return None
    main = (named or mains)[0]
    used = {PurePosixPath(name).stem for text in sources.values() for name in INCLUDED.findall(text)}
    others = [
        path.name
        for path in _papers(folder)
        if path not in sources and path.stem not in {*used, *(one.stem for one in mains)}
    ]
    if others:
        raise DocumentError(
            f"{folder} is unclear: {main.name} is a LaTeX paper, of which {', '.join(others[:3])} is no part",
            hint=f"name the papers: {main}, or the files that you mean",
        )
    return main


def papers_in(folder: Path) -> tuple[list[Path], list[str]]:
    """The papers of a folder, in order, with LaTeX folders and archives in it; and the names of what else is in it."""
    papers, left = _papers(folder), list[str]()
    for path in sorted(folder.iterdir()):
        if path in papers or path.name.startswith("."):
            continue
        if path.name.lower().endswith(ARCHIVES) or (path.is_dir() and main_tex(path)):
            papers.append(path)
        else:
            left.append(path.name)
    return sorted(papers), left


def unpacked(archive: Path, folder: Path) -> Path:
    """The paper of an archive, unpacked into a folder: the main file of its LaTeX, or its only paper.

    Raises:
        DocumentError: the archive is broken or too large, names files outside of it, or has no paper.
    """
    left, count = UNPACKED, 0
    try:
        with opened(archive) as file, _members(archive, file) as members:
            for name, content in members:
                pure, count = PurePosixPath(name.replace("\\", "/")), count + 1
                if pure.is_absolute() or ".." in pure.parts or ":" in name or "\0" in name:
                    raise ValueError(f"it names a file outside of it: {name[:60]!r}")
                if any(part.startswith((".", "__MACOSX")) for part in pure.parts):
                    continue
                data = content.read(left + 1)
                left -= len(data)
                if left < 0 or count > MEMBERS:
                    raise ValueError(f"more than {UNPACKED:,} bytes or {MEMBERS:,} files when unpacked")
                make_folder((folder / pure).parent)
                with opened(folder / pure, "wb") as new:
                    new.write(data)
    except BROKEN as error:
        hint = "unpack it yourself, and name the paper in it"
        raise DocumentError(f"{archive} cannot be unpacked: {error}", hint=hint) from error
    for each in (folder, *sorted(path for path in folder.rglob("*") if path.is_dir())):
        if main := main_tex(each):
            return main
    papers = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in PAPERS]
    if len(papers) == 1:
        return papers[0]
    what = f"{len(papers)} papers" if papers else "no LaTeX file with \\documentclass, and no other paper"
    raise DocumentError(f"{archive} has {what}", hint="unpack it, and name the paper in it")


@contextmanager
def _members(archive: Path, file: IO[bytes]) -> Generator[Iterator[tuple[str, IO[bytes]]]]:
    """The files of an archive, each with its content; links and devices are left out."""
    if archive.name.lower().endswith(".zip"):
        with zipfile.ZipFile(file) as zipped:
            yield ((one.filename, zipped.open(one)) for one in zipped.infolist() if not one.is_dir())
    else:
        with tarfile.open(fileobj=file, mode="r|*") as tarred:
            yield ((one.name, data) for one in tarred if one.isfile() and (data := tarred.extractfile(one)))


def _papers(folder: Path) -> list[Path]:
    return [
        path for path in sorted(folder.iterdir())
        if path.suffix.lower() in PAPERS and path.is_file() and not path.name.startswith((".", "~$"))
    ]  # fmt: skip


def _source(path: Path) -> str:
    with suppress(OSError), opened(path) as file:
        return file.read(TEXT).decode("utf-8", "replace")
    return ""
