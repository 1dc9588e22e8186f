"""Corpora of the tests' own: built once a worker for the same papers, and copied for whoever changes them."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions
from support.papers import write_corpus

BLOCK = 1 << 20
ZEROS = bytes(BLOCK)


def built(folder: Path, records: Iterable[dict[str, Any]], options: BuildOptions) -> Path:
    """A corpus of records with lexical vectors, at `folder`, which is not there yet."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = _built(json.dumps([*records]), options.model_dump_json(), folder.name)
    return copied(made, folder)


def copied(corpus: Path, folder: Path) -> Path:
    """A copy of a corpus that nobody writes to."""
    return shutil.copytree(corpus, folder, copy_function=_copied)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="manyheads-corpora-")


@cache
def _built(records: str, options: str, name: str) -> Path:
    base = Path(tempfile.mkdtemp(dir=_folder().name))
    source = write_corpus(base / f"{name}.jsonl", json.loads(records))
    chosen = BuildOptions.model_validate_json(options)
    build_corpus(source, base / "whole", chosen, load_embedder("lexical"), name=name).close()
    return copied(base / "whole", base / name)


def _copied(source: str, target: str) -> None:
    """Leaves holes where there are but zeros: the engine's files hold 160 MB of them a corpus."""
    with open(source, "rb") as given, open(target, "wb") as made:
        size, place = os.fstat(given.fileno()).st_size, 0
        while place < size:
            try:
                begin = os.lseek(given.fileno(), place, os.SEEK_DATA)
            except OSError:  # holes to the end
                break
            place = os.lseek(given.fileno(), begin, os.SEEK_HOLE)
            for start in range(begin, place, BLOCK):
                block = os.pread(given.fileno(), min(BLOCK, place - start), start)
                if block != ZEROS[: len(block)]:
                    os.pwrite(made.fileno(), block, start)
        os.truncate(made.fileno(), size)
