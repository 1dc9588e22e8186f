"""Texts embedded per second by each model, against the default model in padded batches; and remembered, against embedded."""

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
from manyheads.corpus.embedding import OnnxEmbedder, load_embedder
from manyheads.corpus.vectors import INT8, CachedEmbedder, Embedder, unit_rows

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

DATA = "MANYHEADS_DATA"
"""In the environment, the folder of `ml-venues`: its abstracts are taken in place of the sample's, and more of them."""
MORE = 4
NEAREST = 10
AIMS = {INT8: 5}
PADDED = 32
"""Texts of a batch, in the order given, each filled up to the longest."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    texts, where = abstracts(size.texts)
    reference = load_embedder() if "auto" in size.embeddings else None
    if isinstance(reference, OnnxEmbedder):
        right, padded = reference.embed(texts), _padded(reference, texts)
        for choice in (*size.embeddings, INT8):
            embedder = load_embedder(choice)
            embedder.embed(texts[:1])
            watch = Watch()
            vectors = embedder.embed(texts)
            rate = len(texts) / watch.read().cpu
            note = f"{overlap(right, vectors):.2f} of the {NEAREST} nearest the same; {where}"
            aim = f"≥ {AIMS[choice]}×" if choice in AIMS else ""
            against = f"auto in padded batches of {PADDED}"
            yield Figure(f"embedding: {choice}", rate, "texts/CPU-s", padded, against, aim, note)
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


def _padded(embedder: OnnxEmbedder, texts: list[str]) -> float:
    """Texts a CPU second as before: in the order given, padded, one session with all threads."""
    import onnxruntime as ort
    from tokenizers import Tokenizer

    options: Any = ort.SessionOptions()  # pyright: ignore[reportAttributeAccessIssue]
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(
        str(embedder.folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(embedder.folder / "tokenizer.json"))
    tokenizer.enable_truncation(max_length=256)
    tokenizer.enable_padding()

    def embed(some: list[str]) -> "Vectors":
        encoded: list[Any] = tokenizer.encode_batch(some)
        ids, mask = (np.array([getattr(one, name) for one in encoded]) for name in ("ids", "attention_mask"))
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden: Any = session.run(None, inputs)[0]
        total = hidden.sum(axis=1, where=mask[:, :, np.newaxis].astype(bool), dtype=np.float64)
        return unit_rows(total / mask.sum(axis=1, keepdims=True))

    embed(texts[:1])
    watch = Watch()
    for start in range(0, len(texts), PADDED):
        embed(texts[start : start + PADDED])
    return len(texts) / watch.read().cpu
