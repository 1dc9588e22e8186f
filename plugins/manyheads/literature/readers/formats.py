"""The formats of corpora that can be read, told apart by their content and their names."""

import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from manyheads.bank.files import GZIP, UTF8_MARK, ZIP, head, opened, reading
from manyheads.errors import CorpusError
from manyheads.literature.readers.bibtex import BEGIN
from manyheads.literature.readers.semantic_scholar import part_files
from manyheads.literature.readers.table import delimiter_of, header_of
from manyheads.literature.readers.table_columns import NEEDED, recognised

SNIFFED = 2**16
"""Bytes from which a format is told."""
SEARCH = "s2:"
"""Before the words of a search instead of a path."""
API = "semantic-scholar-api"


@dataclass(frozen=True)
class Format:
    """A format by name, with what it looks like and how a source of it is named."""

    name: str
    about: str
    example: str


FORMATS = {
    one.name: one
    for one in (
        Format("jsonl", "JSON Lines, one paper a line", "papers.jsonl.gz"),
        Format("aminer", "AMiner's text files of papers, authors and co-authors", "aminer/ with AMiner-Paper.txt"),
        Format("oag", "Open Academic Graph: JSON Lines with n_citation and author ids", "oag/ with v3.1_oag_publication_1.json"),
        Format("semantic-scholar", "Semantic Scholar's dumps", "s2ag/ with papers/, abstracts/ and authors/"),
        Format(API, "Semantic Scholar's search, year by year", '"s2:graph retrieval" --start 2010 --end 2018'),
        Format("unarxive", "unarXive: arXiv's papers in full, with their bibliographies", "unarxive/ with 2212/arXiv_src_2212_001.jsonl"),
        Format("anthology", "ACL Anthology XML", "data/xml/ or 2023.acl.xml"),
        Format("bibtex", "BibTeX and BibLaTeX", "library.bib"),
        Format("csv", "CSV, TSV and other tables with a header", "papers.csv --columns title=Title,year=Year"),
        Format("parquet", "Hugging-Face-style parquet", "data/ with train-00000-of-00002.parquet"),
    )
}  # fmt: skip
"""By name, as `--format` takes them."""
UNARXIVE = (b'"paper_id":', b'"metadata":', b'"authors_parsed":')
PACKED, MOST_SNIFFED = (".json", ".jsonl", ".gz", ".zip", ".txt"), 20
ENDINGS = (
    (".xml", "anthology"), (".bib", "bibtex"), (".parquet", "parquet"), (".csv", "csv"), (".tsv", "csv"),
)  # fmt: skip


def known(name: str) -> str:
    """A format's name; raises `CorpusError`, which lists them all, for one that is none."""
    if name not in FORMATS:
        raise CorpusError(
            f"--format {name!r}: no such format", tried=listed(), hint="manyheads corpus formats"
        )
    return name


def listed() -> str:
    """The formats with an example each."""
    return "; ".join(f"{one.name} ({one.example})" for one in FORMATS.values())


def detect(path: Path) -> str:
    """The format of a file or a folder.

    Raises:
        CorpusError: there is nothing, it cannot be read, or it is of no known format.
    """
    if not path.exists():
        raise CorpusError(
            f"{path}: no such file or folder", hint=f"name a dataset, or a search: {SEARCH}WORDS"
        )
    if path.is_file() and not _start(path).strip():
        raise CorpusError(f"{path}: empty", hint="fetch the file again")
    if found := _of_folder(path) if path.is_dir() else _of_file(path):
        return found
    raise CorpusError(
        f"{path}: not of a format that is known", tried=listed(), hint="say which it is: --format NAME"
    )


def _of_folder(folder: Path) -> str | None:
    names = sorted(file.name.lower() for file in folder.rglob("*") if file.is_file())
    if any("aminer-paper" in name for name in names):
        return "aminer"
    if part_files(folder, "papers") and part_files(folder, "abstracts"):
        return "semantic-scholar"
    for ending, name in ENDINGS:
        if _any_ends(names, (ending, f"{ending}.gz")):
            return name
    files = sorted(file for file in folder.rglob("*") if file.name.lower().endswith(PACKED))
    found = [_of_file(file) for file in files[:MOST_SNIFFED]]
    return "oag" if "oag" in found else next(filter(None, found), None)


def _any_ends(names: Iterable[str], endings: tuple[str, ...]) -> bool:
    return any(name.endswith(endings) for name in names)


def _of_file(file: Path) -> str | None:
    start = _start(file)
    if start.startswith(b"PAR1"):
        return "parquet"
    text = start.removeprefix(UTF8_MARK).lstrip()
    if text.startswith(b"{"):
        return _of_json(text.split(b"\n", 1)[0])
    if text.startswith(b"<"):
        return "anthology" if b"<collection" in text else None
    if text.startswith((b"#index", b"#*")):
        return "aminer"
    if any(BEGIN.match(line) for line in text.splitlines()):
        return "bibtex"
    return _of_table(file, text)


def _start(file: Path) -> bytes:
    """The first bytes, unpacked; of a zip, those of its first file."""
    with reading(file):
        packed = head(file)
        if packed.startswith(ZIP):
            with zipfile.ZipFile(file) as archive:
                names = [one for one in archive.infolist() if not one.is_dir()]
                return archive.open(names[0]).read(SNIFFED) if names else b""
        if packed == b"PAR1" or (file.suffix == ".gz") != packed.startswith(GZIP):
            return head(file, SNIFFED)
        with opened(file) as stream:
            return stream.read(SNIFFED)


def _of_json(line: bytes) -> str:
    """OAG's records have author objects; what cannot be told is JSON Lines, whose reader says what is wrong."""
    if all(key in line for key in UNARXIVE):  # its lines are longer than what was read of them
        return "unarxive"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return "jsonl"
    if not isinstance(record, dict):
        return "jsonl"
    if "corpusid" in record:
        return "semantic-scholar"
    return "oag" if "n_citation" in record or b'"authors": [{' in line or b'"authors":[{' in line else "jsonl"


def _of_table(file: Path, text: bytes) -> str | None:
    """A table has a name that says so, or most of the columns that a paper needs."""
    header = text.decode("utf-8", "replace").strip()
    found = recognised(header_of(header, delimiter_of(header)), {})
    named = file.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    return "csv" if named or len(found.keys() & set(NEEDED)) > 1 else None
