"""Interests taken from titles and abstracts, against the keywords that the papers have: precision at 5, against the words and
pairs of words of the highest TF-IDF."""

import gzip
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from bench.embedding import DATA
from bench.figures import Figure, Size
from manyheads.base.resources import data_file
from manyheads.corpus.phrases import interests

TOP, OTHERS = 5, 3000
"""Interests compared, and papers without keywords that tell what is common."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    keyed, others, where = _papers(min(OTHERS, size.papers // 9))
    texts = [f"{one['title']}. {one['abstract']}" for one in chain(keyed, others)]
    authors = defaultdict[str, list[int]](list)
    for row, paper in enumerate(keyed):
        for author in paper["authors"]:
            authors[author].append(row)
    kinds = {
        "papers": {str(row): [row] for row in range(len(keyed))},
        "authors of several": {author: rows for author, rows in authors.items() if len(rows) > 1},
    }
    for kind, rows_of in kinds.items():
        keywords = {
            one: {_plain(word) for row in rows for word in keyed[row]["keywords"]}
            for one, rows in rows_of.items()
        }
        ours = _precision(interests(texts, rows_of, TOP), keywords)
        baseline = max(_precision(_tfidf(texts, rows_of), keywords), 0.1)
        note = f"{len(rows_of):,} {kind}, {where}"
        yield Figure(f"interests: precision at {TOP}, {kind}", ours, "%", baseline, "TF-IDF", "≥ 2×", note)


def _papers(most: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """Papers with keywords, some without, and what dataset they are of."""
    path = Path(os.environ.get(DATA) or "none") / "ml-venues" / "papers.jsonl.gz"
    if not path.is_file():
        lines = data_file("configs/corpora/sample.jsonl").read_text(encoding="utf-8").splitlines()
        return [*map(json.loads, lines)], [], "sample"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        papers = [one for one in map(json.loads, file) if one["abstract"]]
    others = [one for one in papers if not one.get("keywords")]
    return [one for one in papers if one.get("keywords")], others[:: len(others) // most], "ml-venues"


def _plain(phrase: str) -> str:
    """In lower case, without hyphens and the plural's ending."""
    words = phrase.lower().replace("-", " ").split()
    return " ".join(word.removesuffix("s") if len(word) > 3 and word[-2:] != "ss" else word for word in words)


def _precision(found: Mapping[str, Sequence[str]], right: Mapping[str, set[str]]) -> float:
    """Mean share of the first five that are keywords, a place left empty counted as wrong."""
    shares = [len({_plain(each) for each in some[:TOP]} & right[one]) / TOP for one, some in found.items()]
    return 100 * sum(shares) / len(shares)


def _tfidf(texts: Sequence[str], rows_of: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer: Any = TfidfVectorizer(ngram_range=(1, 2), stop_words="english", sublinear_tf=True, min_df=3)
    weights: Any = vectorizer.fit_transform(texts)
    terms: list[str] = vectorizer.get_feature_names_out().tolist()
    best = dict[str, list[str]]()
    for one, rows in rows_of.items():
        sums: Any = weights[list(rows)].sum(axis=0).A1
        best[one] = [terms[place] for place in (-sums).argsort()[:TOP].tolist()]
    return best
