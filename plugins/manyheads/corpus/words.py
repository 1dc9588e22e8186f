"""Retrieval by words: BM25 over titles and abstracts."""

import json
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.base.files import folder_beside, unwritable
from manyheads.base.papers import Paper
from manyheads.corpus.lexical import stems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_IDS = "ids.json"


def okapi() -> Any:
    """The BM25 library, without its own log."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


class WordIndex:
    """An index on disk, mapped into memory; `ids` are its papers in order. Created by `of`."""

    def __init__(self, ids: Sequence[str], index: Any) -> None:
        self.ids = ids
        self._index = index

    @classmethod
    def of(cls, folder: Path, fingerprint: str, papers: Iterable[Paper]) -> "WordIndex":
        """The index of a corpus, made on first use. Raises `CacheError` if it cannot be written."""
        bm25s = okapi()
        place = folder.with_name(f"{folder.name}-{fingerprint[:12]}")
        if not place.is_dir():
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                with folder_beside(place) as made:
                    ids, vocabulary, tokens = list[str](), {"": 0}, list[list[int]]()
                    for paper in papers:
                        ids.append(paper.id)
                        words = stems(f"{paper.title}\n{paper.abstract}")
                        own = [vocabulary.setdefault(word, len(vocabulary)) for word in words]
                        tokens.append(own or [0])  # as the library does not accept a text without words
                    index = bm25s.BM25()
                    index.index((tokens, vocabulary), create_empty_token=True, show_progress=False)
                    index.save(made, show_progress=False)
                    (made / _IDS).write_text(json.dumps(ids), encoding="utf-8")
            except OSError as wrong:
                raise unwritable(place, wrong) from wrong
        index = bm25s.BM25.load(place, mmap=True)
        return cls(json.loads((place / _IDS).read_text(encoding="utf-8")), index)

    def nearest(self, query: str, k: int, wanted: "NDArray[np.bool_]") -> dict[str, float]:
        """The k best wanted papers, (n,) of the index's n, with scores above zero, best first, ties by position."""
        import numpy as np

        words = [word for word in dict.fromkeys(stems(query)) if word in self._index.vocab_dict]
        if not words:
            return {}
        scores = np.where(wanted, self._index.get_scores(words), 0.0)
        best: list[int] = np.argsort(-scores, kind="stable")[:k].tolist()
        return {self.ids[row]: float(scores[row]) for row in best if scores[row] > 0}
