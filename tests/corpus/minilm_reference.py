"""Reference vectors of all-MiniLM-L6-v2 by a plain NumPy forward pass in float64: no ONNX, no torch, no fastembed.

    python tests/corpus/minilm_reference.py > tests/corpus/minilm_reference.json

An independent route to the same numbers: Devlin et al. (NAACL 2019), mean pooling over the tokens, unit length.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from manyheads.corpus.minilm import MAX_TOKENS, package_folder, read_safetensors

LAYERS, HEADS, EPSILON = 6, 12, 1e-12
TEXTS = [
    "Robots that ask before they act.",
    "",
    "Ein Ausschuss prüft Übersetzungen – naïve façades, 東京, and 🤖 included.",
    "We study how small groups of simulated researchers choose a topic, argue over it, and settle on one idea. "
    "Groups that mix strangers with old partners propose rarer combinations of methods.",
    "retrieval-augmented generation; k=8, λ≈0.25; O(n log n)",
    "the committee reads every page twice and still disagrees about the third figure. " * 40,
]
Array = NDArray[np.float64]


def embed(texts: list[str], folder: Path) -> Array:
    """(n, 384) float64 with rows of length one, one text at a time and without padding."""
    weights = {
        name: value.astype(np.float64)
        for name, value in read_safetensors(folder / "model.safetensors").items()
    }
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    means = np.stack([forward(tokenizer.encode(text).ids, weights).mean(axis=0) for text in texts])
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def forward(ids: list[int], weights: dict[str, NDArray[Any]]) -> Array:
    """(tokens, 384): the last hidden state."""

    def dense(x: Array, name: str) -> Array:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            np.stack(np.split(dense(x, f"{name}.attention.self.{part}"), HEADS, axis=-1))
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(key.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = np.concatenate(list(shares / shares.sum(axis=-1, keepdims=True) @ value), axis=-1)
        x = norm(dense(mixed, f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm")
        inner = dense(x, f"{name}.intermediate.dense")
        inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        x = norm(dense(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    return x


if __name__ == "__main__":
    vectors = [[round(number, 6) for number in row] for row in embed(TEXTS, package_folder()).tolist()]
    entries = [
        f"  {json.dumps({'text': text, 'vector': row})}" for text, row in zip(TEXTS, vectors, strict=True)
    ]
    sys.stdout.write("[\n" + ",\n".join(entries) + "\n]\n")
