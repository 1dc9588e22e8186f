"""Search by words: BM25 over titles and abstracts, and the papers in which a phrase appears."""

import json
import logging
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.base.files import folder_beside, unwritable
from manyheads.base.papers import Paper
from manyheads.corpus.phrases import stems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_IDS, _ARRAYS = "ids.json", ("numbers.npy", "places.npy", "bounds.npy")


def okapi() -> Any:
    """The BM25 library, without its own log."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


class WordIndex:
    """An index on disk, mapped into memory; `ids` are its papers in order. Created by `of`.

    Besides BM25's weights: the number of each word of all texts, a 0 after each text, and the places of each number.
    """

    def __init__(self, folder: Path) -> None:
        import numpy as np

        self.ids: list[str] = json.loads((folder / _IDS).read_text(encoding="utf-8"))
        self._index = okapi().BM25.load(folder, mmap=True)
        arrays = (np.load(folder / name, mmap_mode="r") for name in _ARRAYS)
        self._numbers, self._places, self._bounds = arrays

    @classmethod
    def of(cls, folder: Path, fingerprint: str, papers: Iterable[Paper]) -> "WordIndex":
        """The index of a corpus, made on first use. Raises `CacheError` if it cannot be written."""
        import numpy as np

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
                    index = okapi().BM25()
                    index.index((tokens, vocabulary), create_empty_token=True, show_progress=False)
                    index.save(made, show_progress=False)
                    (made / _IDS).write_text(json.dumps(ids), encoding="utf-8")
                    texts = ((*own, 0) if own[0] else own for own in tokens)
                    numbers = np.fromiter(chain.from_iterable(texts), dtype=np.int32)
                    places = np.argsort(numbers, kind="stable").astype(np.int32)
                    bounds = np.append(0, np.bincount(numbers, minlength=len(vocabulary)).cumsum())
                    for name, array in zip(_ARRAYS, (numbers, places, bounds), strict=True):
                        np.save(made / name, array)
            except OSError as wrong:
                raise unwritable(place, wrong) from wrong
        return cls(place)

    def nearest(self, query: str, k: int, wanted: "NDArray[np.bool_]") -> dict[str, float]:
        """The k best wanted papers, (n,) of the index's n, with scores above zero, best first, ties by position."""
        import numpy as np

        words = [word for word in dict.fromkeys(stems(query)) if word in self._index.vocab_dict]
        if not words:
            return {}
        scores = np.where(wanted, self._index.get_scores(words), 0.0)
        best: list[int] = np.argsort(-scores, kind="stable")[:k].tolist()
        return {self.ids[row]: float(scores[row]) for row in best if scores[row] > 0}

    def having(self, phrase: str) -> "NDArray[np.int64]":
        """Positions of the papers in which the words of a phrase follow each other, whatever their endings and the stop words
        between them."""
        import numpy as np

        numbers = [self._index.vocab_dict.get(word) for word in stems(phrase)]
        if not numbers or None in numbers:
            return np.empty(0, dtype=np.int64)
        starts = self._places_of(numbers[0])
        for step, number in enumerate(numbers):  # a match does not run over the 0 after a text
            starts = starts[self._numbers[starts + step] == number]
        return np.unique(np.searchsorted(self._places_of(0), starts))

    def _places_of(self, number: int) -> "NDArray[np.int64]":
        return self._places[self._bounds[number] : self._bounds[number + 1]]
