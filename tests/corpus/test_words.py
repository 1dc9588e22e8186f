"""Papers by their words: BM25 kept on disk."""

from pathlib import Path

import numpy as np
import pytest

from manyheads.base.errors import CacheError
from manyheads.base.papers import Paper
from manyheads.corpus.words import WordIndex

TEXTS = [
    "Tactile grasping of soft fruit",
    "Dense retrieval",
    "",
    "机器人 抓取 研究",
    "Grasping, grasping and tactile skin",
]


def index(folder: Path, texts: list[str], print_: str = "one") -> WordIndex:
    return WordIndex.of(
        folder / "bm25", print_, (Paper(id=f"p{n}", title=text) for n, text in enumerate(texts))
    )


def test_papers_that_hold_the_words(tmp_path: Path) -> None:
    everything = np.ones(len(TEXTS), dtype=bool)
    for words in (index(tmp_path, TEXTS), index(tmp_path, [])):  # the second is read from the disk
        found = words.nearest("Tactile grasping!", 9, everything)
        assert {*found} == {"p0", "p4"}
        assert [*found.values()] == sorted(found.values(), reverse=True)
        assert [*words.nearest("tactile grasping", 1, everything)] == [next(iter(found))]
        assert {*words.nearest("抓取", 9, everything)} == {"p3"}
        assert words.nearest("unheard", 9, everything) == words.nearest("the of", 9, everything) == {}
        assert {*words.nearest("tactile", 9, everything & (np.arange(5) != 0))} == {"p4"}
    assert index(tmp_path, ["another"], "two").ids == ["p0"]


def test_a_corpus_without_words(tmp_path: Path) -> None:
    assert index(tmp_path, ["", "of the"]).nearest("tactile", 3, np.ones(2, dtype=bool)) == {}


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CacheError, match="cannot be written"):
        index(tmp_path / "file", TEXTS)
