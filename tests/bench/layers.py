"""A corpus that grows: looking papers up under twenty layers against the corpus alone, and opening both with as many scientists."""

import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from statistics import median

from bench.figures import Figure, Size, _seconds, typical
from bench.memory import peak
from bench.retrieval import CHUNK, DIM, MODEL, K, _clustered, _papers
from manyheads.base.papers import Scientist
from manyheads.corpus.ecosystem import Collection, Ecosystem, KnowledgeBank
from manyheads.corpus.layers import write_layer
from manyheads.corpus.meta import AUTHORS, META, SCIENTISTS, BuildOptions, Counts, EmbeddingMeta, Meta
from manyheads.corpus.stores import Filter

LAYERS, PER = 20, 20
"""Layers, and papers of the corpus for one in them."""
BOUND = 2024
PAST = Filter({"period": "past"})
OPEN = """\
import sys
from pathlib import Path
from bench.layers import MODEL
from manyheads.corpus.ecosystem import Ecosystem
Ecosystem.open(Path(sys.argv[1]), MODEL).papers.store.count()
"""


async def bench(size: Size) -> AsyncIterator[Figure]:
    count = size.papers * 100 // 29
    with tempfile.TemporaryDirectory() as place:
        base = top = _corpus(Path(place) / "base", count)
        with Ecosystem.open(base, MODEL) as bare_corpus:
            wrote = 0.0
            for number in range(1, LAYERS + 1):
                with nullcontext(bare_corpus) if top == base else bare_corpus.with_layers(top) as below:
                    top = Path(place) / f"{number:03}"
                    wrote += (
                        _seconds(lambda at=top, under=below, n=number: _layer(at, under, n, count)) / LAYERS
                    )
        opened, alone = (_seconds(lambda at=at: Ecosystem.open(at, MODEL).close()) for at in (top, base))
        name, against = f"layers: {LAYERS} over {count:,} papers", "the corpus alone"
        yield Figure(f"{name}, opening", opened, "s", alone, against, "", f"{count:,} scientists")
        yield Figure(f"{name}, writing one", wrote, "s", alone, "opening the corpus")
        most, bare = (peak([sys.executable, "-c", OPEN, str(at)]) for at in (top, base))
        yield Figure(f"{name}, memory", most, "MB", bare, against)
        with Ecosystem.open(top, MODEL) as world:
            stores = (world.papers.store, world.base.papers.store)
            times = [  # in turn, so that the machine's other work falls on both
                [typical(lambda s=store, q=query: s.query(q[None], K, PAST), 3) for store in stores]
                for query in _clustered(size.queries, seed=1)
            ]
        layered, plain = (median(each) * 1000 for each in zip(*times, strict=True))
        yield Figure(f"{name}, top {K}", layered, "ms", plain, against, "≤ 1.3×")


def _corpus(folder: Path, count: int) -> Path:
    """With as many scientists as papers, each with three collaborators."""
    with (
        KnowledgeBank.create(folder, MODEL) as bank,
        Collection.create(folder, MODEL, name=AUTHORS) as authors,
    ):
        for start in range(0, count, CHUNK):
            papers = _papers(min(CHUNK, count - start), start)
            vectors = _clustered(len(papers), start)
            bank.add(papers, vectors, period="past")
            authors.add_items(((f"Scientist{start + n}", "", {}) for n in range(len(papers))), vectors)
    scientists = [_scientist(number, count) for number in range(count)]
    (folder / SCIENTISTS).write_text(json.dumps([one.model_dump(mode="json") for one in scientists]))
    counts = Counts(
        read=count, rejected=0, rejected_by_field={}, removed={}, past=count, contemporary=0, scientists=count,
        mean_coauthors=3, vectors_imported=count,
    )  # fmt: skip
    meta = Meta(
        name="grown", source="none", options=BuildOptions(bound=BOUND), past_years=(2000, BOUND - 1), contemporary_years=None,
        counts=counts, embedding=EmbeddingMeta(name=MODEL.name, dim=DIM), fingerprint="none", seconds=0,
    )  # fmt: skip
    (folder / META).write_text(meta.model_dump_json())
    return folder


def _scientist(number: int, count: int) -> Scientist:
    peers = {f"Scientist{(number + step) % count}": 1 for step in (1, 2, 3)}
    return Scientist(name=f"Scientist{number}", interests=("tides", "probes"), papers=9, collaborators=peers)


def _layer(folder: Path, below: Ecosystem, number: int, count: int) -> None:
    papers = max(1, count // PER // LAYERS)
    written = [
        one.model_copy(update={"id": f"epoch-{number}-team-{n}", "year": BOUND + number})
        for n, one in enumerate(_papers(papers))
    ]
    changed = [_scientist(number * papers + n, count) for n in range(papers)]
    write_layer(
        folder, below=below, year=BOUND + number, papers=written, vectors=_clustered(papers, -number % 1000),
        scientists=changed, citations={f"p{n}": 1 for n in range(papers)},
    )  # fmt: skip
