"""Texts embedded per second by each model, against the default model; and remembered, against embedded."""

import gzip
import json
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.figures import Figure, Size, Watch
from manyheads.base.resources import data_file
from manyheads.corpus.embedding import CachedEmbedder, load_embedder
from manyheads.corpus.vectors import INT8, Embedder

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

DATA = "MANYHEADS_DATA"
"""In the environment, the folder of `ml-venues`: its abstracts are taken in place of the sample's, and more of them."""
MORE = 4
NEAREST = 10
AIMS = {INT8: "≥ 1.5×"}


async def bench(size: Size) -> AsyncIterator[Figure]:
    texts, where = abstracts(size.texts)
    choices = (*size.embeddings, INT8) if "auto" in size.embeddings else ()
    made = {choice: _made(choice, texts) for choice in choices}
    for choice, (vectors, rate) in made.items():
        right, usual = made["auto"]
        note = f"{overlap(right, vectors):.2f} of the {NEAREST} nearest the same; {where}"
        yield Figure(f"embedding: {choice}", rate, "texts/CPU-s", usual, "auto", AIMS.get(choice, ""), note)
    for choice in size.embeddings:
        embedder = load_embedder(choice)
        with (
            tempfile.TemporaryDirectory() as base,
            CachedEmbedder(embedder, Path(base) / "vectors.sqlite") as cached,
        ):
            first, again = _rate(cached, texts), _rate(cached, texts)
        yield Figure(f"embedding: {choice}, remembered", again, "texts/s", first, "not remembered", "", where)


def abstracts(count: int) -> tuple[list[str], str]:
    """Abstracts, spread over a dataset, and what it is."""
    papers = Path(os.environ.get(DATA) or "none") / "ml-venues" / "papers.jsonl.gz"
    if papers.is_file():
        with gzip.open(papers, "rt", encoding="utf-8") as file:
            texts = [text for line in file if (text := str(json.loads(line)["abstract"]))]
        return texts[:: len(texts) // (MORE * count)][: MORE * count], "abstracts of ml-venues"
    lines = data_file("configs/corpora/sample.jsonl").read_text(encoding="utf-8").splitlines()
    return [str(json.loads(line)["abstract"]) for line in lines[:count]], "abstracts of the sample"


def _made(choice: str, texts: list[str]) -> "tuple[Vectors, float]":
    """Vectors of a model, and how many texts it embeds in a second of a processor."""
    embedder = load_embedder(choice)
    embedder.embed(texts[:1])
    watch = Watch()
    vectors = embedder.embed(texts)
    return vectors, len(texts) / watch.read().cpu


def overlap(right: "Vectors", vectors: "Vectors") -> float:
    """Share of each text's nearest others that two models agree on."""

    def nearest(rows: "Vectors") -> Any:
        scores = rows @ rows.T
        np.fill_diagonal(scores, -2)
        return np.argpartition(-scores, NEAREST, axis=1)[:, :NEAREST]

    pairs = zip(nearest(right).tolist(), nearest(vectors).tolist(), strict=True)
    return float(np.mean([len({*one} & {*other}) / NEAREST for one, other in pairs]))


def _rate(embedder: Embedder, texts: list[str]) -> float:
    watch = Watch()
    embedder.embed(texts)
    return len(texts) / watch.read().wall
