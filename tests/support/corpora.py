"""Corpora of the tests' own: built once a worker for the same papers, and copied for whoever changes them."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from manyheads.base.files import CHECKSUMS
from manyheads.corpus.building import build_corpus
from manyheads.corpus.ecosystem import PAPERS
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import AUTHORS, BuildOptions
from manyheads.corpus.qdrant import EdgeStore
from manyheads.corpus.retrieval import LiteratureDatabase
from support.papers import write_corpus


def built(folder: Path, records: Iterable[dict[str, Any]], options: BuildOptions) -> Path:
    """A corpus of records with lexical vectors, at `folder`, which is not there yet."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = _built(json.dumps([*records]), options.model_dump_json(), folder.name)
    return copied(made, folder)


def copied(corpus: Path, folder: Path) -> Path:
    """A copy of a corpus that nobody writes to, with holes for zeros: the engine's files hold 160 MB of them a corpus."""
    sparse = ["--sparse=always"] if sys.platform == "linux" else []
    subprocess.run(["cp", "-r", *sparse, corpus, folder], check=True)
    return folder


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


def contents(corpus: Path) -> dict[str, object]:
    """What a corpus holds: its files' bytes without the time of the build, and its banks' records with the bytes of their
    vectors: the engine names its files by chance, and orders their content so."""
    files = (path for path in corpus.iterdir() if path.is_file() and path.suffix != ".lock")
    found: dict[str, object] = {path.name: path.read_bytes() for path in files if path.name != CHECKSUMS}
    found["meta.json"] = {**json.loads((corpus / "meta.json").read_text()), "seconds": 0}
    for name in (PAPERS, AUTHORS):
        with EdgeStore.open(corpus / name, read_only=True) as bank:
            found[name] = sorted(
                (one.id, json.dumps(one.payload, sort_keys=True), one.vector.tobytes())
                for one in bank.scroll(vectors=True)
                if one.vector is not None
            )
    return found


def vector_sources(database: LiteratureDatabase) -> dict[str, int]:
    """Number of a database's records by the source of their vectors."""
    with database._open_records() as bank:
        return Counter(str(one.payload["vectors"]) for one in bank.store.scroll())
