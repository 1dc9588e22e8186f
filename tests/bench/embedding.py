"""Texts embedded per second: by the model, against fastembed alone; and remembered, against by the model."""

import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.figures import Figure, Size, Watch
from manyheads.bank.embedding import OnnxEmbedder, load_embedder
from manyheads.bank.vectors import CachedEmbedder, Embedder
from manyheads.resources import data_file


async def bench(size: Size) -> AsyncIterator[Figure]:
    lines = data_file("configs/corpora/sample.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [str(json.loads(line)["abstract"]) for line in lines[: size.texts]]
    for choice in size.embeddings:
        embedder = load_embedder(choice)
        embedder.embed(texts[:1])
        rate = _rate(embedder, texts)
        if isinstance(embedder, OnnxEmbedder):
            yield _figure(
                f"embedding: {choice}", rate, _fastembed(embedder, texts), "fastembed, its own batches"
            )
        with tempfile.TemporaryDirectory() as base:
            cached = CachedEmbedder(embedder, Path(base) / "vectors.sqlite")
            cached.embed(texts)
            yield _figure(f"embedding: {choice}, remembered", _rate(cached, texts), rate, "not remembered")
            cached.close()


def _figure(name: str, rate: float, baseline: float, against: str) -> Figure:
    return Figure(name, rate, "texts/s", baseline, against, note="abstracts of the sample")


def _rate(embedder: Embedder, texts: list[str]) -> float:
    watch = Watch()
    embedder.embed(texts)
    return len(texts) / watch.read().wall


def _fastembed(embedder: OnnxEmbedder, texts: list[str]) -> float:
    from fastembed import TextEmbedding

    model = TextEmbedding(embedder.name, specific_model_path=str(embedder.folder))
    list(model.embed(texts[:1]))
    watch = Watch()
    list(model.embed(texts))
    return len(texts) / watch.read().wall
