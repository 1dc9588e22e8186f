"""Datasets read as a corpus is built from them."""

from pathlib import Path
from typing import Any

from manyheads.corpus.records import RawPaper, Reader, Rejects
from manyheads.datasets.opening import SourceOptions, open_corpus


def read_papers(source: Reader | Path, name: str = "auto", **options: Any) -> tuple[list[RawPaper], Rejects]:
    """The papers of a reader, or of a file or folder in a format, and the rejected records."""
    reader = source if isinstance(source, Reader) else open_corpus(source, SourceOptions(name, **options))
    rejects = Rejects()
    return [paper for _, paper in reader.papers(rejects)], rejects
