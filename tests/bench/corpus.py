"""Corpora: memory of a reader on a large file against a small one, and papers built per second."""

import gzip
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.figures import Figure, Size, Watch
from bench.memory import peak
from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import CachedEmbedder, load_embedder
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.vectors import Embedder

READ = """\
import sys
from pathlib import Path
from manyheads.corpus.records import Rejects
from manyheads.datasets.opening import SourceOptions, open_corpus
reader = open_corpus(Path(sys.argv[2]), SourceOptions(sys.argv[1]))
assert sum(1 for _ in reader.papers(Rejects())) == int(sys.argv[3])
"""
SMALLER = 10
"""How many times smaller the file is that a reader's memory is held against."""
BUILT = 29
"""How many times fewer papers are built into a corpus than other benchmarks look up in."""
WORDS = "robust sparse probes of layered membranes under slow tides " * 8


async def bench(size: Size) -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as base:
        for kind in ("aminer", "oag"):
            yield _memory(kind, Path(base), size.records)
        source = Path(base) / "papers.jsonl"
        source.write_text("".join(map(_paper, range(size.papers // BUILT))), encoding="utf-8")
        _build(source, Path(base) / "warm", load_embedder("lexical"))
        for choice in size.embeddings:
            yield _building(choice, source, Path(base) / choice)


def _memory(kind: str, base: Path, records: int) -> Figure:
    peaks = [
        peak_of_reading(kind, base / f"{kind}-{count}", count) for count in (records, records // SMALLER)
    ]
    name = f"corpus: reading {records:,} papers, {kind}"
    return Figure(name, peaks[0], "MB", peaks[1], f"{records // SMALLER:,} papers", "ratio ~1")


def peak_of_reading(kind: str, folder: Path, count: int) -> float:
    folder.mkdir()
    name, write = {"aminer": ("AMiner-Paper.txt.gz", _block), "oag": ("oag_publication_1.json.gz", _line)}[
        kind
    ]
    with gzip.open(folder / name, "wt", encoding="utf-8", compresslevel=1) as file:
        file.writelines(map(write, range(count)))
    try:
        return peak([sys.executable, "-c", READ, kind, str(folder), str(count)])
    finally:
        (folder / name).unlink()


def _block(number: int) -> str:
    cited = "".join(f"#% {number * step % (number + 1)}\n" for step in (3, 7))
    head = (
        f"#index {number}\n#* Study {number}\n#@ A. Lang;B. Faro\n#o -;-\n#t {2000 + number % 20}\n#c Tides\n"
    )
    return f"{head}{cited}#! {WORDS}\n\n"


def _line(number: int) -> str:
    people = [
        {"id": str(number + each), "name": f"Person {number + each}", "org": "Basin"} for each in range(3)
    ]
    fields = {"id": str(number), "title": f"Study {number}", "abstract": WORDS, "authors": people}
    return (
        json.dumps(fields | {"year": 2000 + number % 20, "n_citation": number % 99, "keywords": ["tides"]})
        + "\n"
    )


def _paper(number: int) -> str:
    text = f"Probe {number} of membrane {number % 7} drifts under slow tides; robust layers hold it in place."
    fields = {
        "id": str(number),
        "title": f"Probe {number}",
        "abstract": text,
        "keywords": ["tides", "probes", "drift"],
    }
    return json.dumps(fields | {"authors": [f"Ada Lang {number % 9}"], "year": 2000 + number % 2}) + "\n"


def _building(choice: str, source: Path, base: Path) -> Figure:
    base.mkdir()
    cached = CachedEmbedder(load_embedder(choice), base / "vectors.sqlite")
    cached.embed(["warm"])
    try:
        first, again = (_build(source, base / name, cached) for name in ("first", "again"))
    finally:
        cached.close()
    return Figure(f"corpus: building, {choice}, vectors cached", again, "papers/s", first, "not cached")


def _build(source: Path, target: Path, model: Embedder) -> float:
    """Papers per second."""
    watch = Watch()
    with build_corpus(source, target, BuildOptions(bound=2001), model) as made:
        return made.meta.counts.read / watch.read().wall
