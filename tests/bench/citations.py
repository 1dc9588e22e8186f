"""Whether its measures foretell a paper's citations: AUROC for the top tenth of its venue, with 95 % intervals by bootstrap.

Papers of 2017 are held against ml-venues up to 2016; the folder of the data is `MANYHEADS_DATA`, without it there is no figure.
"""

import gzip
import json
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.embedding import DATA
from bench.figures import Figure, Size
from manyheads.core.texts import Subject
from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions
from manyheads.measures.corpus import MeasuringCorpus
from manyheads.measures.scores import Score, scores

OPTIONS = BuildOptions(
    bound=2015, end=2016, min_past_citations=10, min_contemporary_citations=5, max_scientists=10
)
LATER, ASKED, TOP = 2017, 500, 0.1
FIELDS = {"robotics": ("icra", "iros", "rss"), "vision": ("cvpr", "iccv"), "machine learning": ("nips", "icml", "iclr")}  # fmt: skip
DRAWN = 500


async def bench(size: Size) -> AsyncIterator[Figure]:
    data = Path(os.environ.get(DATA) or "none") / "ml-venues"
    if not data.is_dir():
        return
    with gzip.open(data / "papers.jsonl.gz", "rt", encoding="utf-8") as lines:
        later = [one for one in map(json.loads, lines) if one["year"] == LATER and one["abstract"].strip()]
    asked, top = random.Random(0).sample(later, ASKED), _top(later)
    with tempfile.TemporaryDirectory() as base:
        vectors = data / "vectors.npy", data / "vectors-ids.txt"
        source, folder = data / "papers.jsonl.gz", Path(base) / "corpus"
        build_corpus(source, folder, OPTIONS, load_embedder(), vectors=vectors).close()
        subjects = [Subject(one["id"], one["title"], one["abstract"]) for one in asked]
        found = scores(MeasuringCorpus.open(folder), subjects, rnd=(100, 50), density="abstract")
    outcome = np.array([one["id"] in top for one in asked])
    columns = {
        name: np.array([_value(one, name) for one in found]) for name in ("ci", "on", "hd", "cd", "rnd")
    }
    columns["hd/cd"] = columns["hd"] / columns["cd"]
    for name, values in columns.items():
        low, high = interval(values, outcome)
        note = f"95 % interval {low:.2f} to {high:.2f}; {ASKED} papers of {LATER}, {outcome.sum()} in the top tenth"
        value = auroc(values, outcome)
        yield Figure(
            f"citations: {name.upper()}", value, "AUROC", auroc(columns["ci"], outcome), "CI alone", "", note
        )
    overall = float(np.median(columns["on"]))
    for field, venues in FIELDS.items():
        rows = [row for row, one in enumerate(asked) if one["venue"] in venues]
        note = f"{len(rows)} papers; CI {median(columns['ci'][rows]):.2f}, HD/CD {median(columns['hd/cd'][rows]):.2f}"
        yield Figure(
            f"  ON of {field}", median(columns["on"][rows]), "median", overall, "all papers", "", note
        )


def _top(papers: Sequence[Any]) -> set[str]:
    """Ids of the most cited tenth of each venue."""
    venues = defaultdict[str, list[Any]](list)
    for one in papers:
        venues[one["venue"]].append(one)
    ranked = (sorted(some, key=lambda one: (-one["citations"], one["id"])) for some in venues.values())
    return {one["id"] for some in ranked for one in some[: round(TOP * len(some))]}


def _value(score: Score, name: str) -> float:
    value = getattr(score, name)
    assert value is not None, score.missing
    return float(value)


def auroc(values: NDArray[Any], outcome: NDArray[Any]) -> float:
    """The chance that one of the top has a higher value than one of the others."""
    yes, no = values[outcome], values[~outcome]
    return float(np.mean((yes[:, None] > no) + 0.5 * (yes[:, None] == no)))


def interval(values: NDArray[Any], outcome: NDArray[Any]) -> tuple[float, float]:
    rng, drawn = np.random.default_rng(0), list[float]()
    for _ in range(DRAWN):
        rows = rng.integers(len(values), size=len(values))
        drawn.append(auroc(values[rows], outcome[rows]))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)
