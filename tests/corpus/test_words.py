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


@pytest.mark.parametrize(
    ("phrase", "rows"),
    [
        ("tactile grasping", [0]),  # the last has both words, in another order
        ("Tactile  GRASPING", [0]),
        ("grasping tactile", [4]),
        ("soft fruits", [0]),  # in the plural
        ("grasping soft", [0]),  # a stop word between them
        ("fruit dense", []),  # not over the end of a text
        ("dense retrieval", [1]),
        ("skin", [4]),
        ("skin graft", []),
        ("of the", []),
        ("", []),
        ("抓取", [3]),
    ],
)
def test_papers_in_which_the_words_of_a_phrase_follow_each_other(
    tmp_path: Path, phrase: str, rows: list[int]
) -> None:
    for words in (index(tmp_path, TEXTS), index(tmp_path, [])):  # the second is read from the disk
        assert words.having(phrase).tolist() == rows


def test_a_corpus_without_words(tmp_path: Path) -> None:
    words = index(tmp_path, ["", "of the"])
    assert words.nearest("tactile", 3, np.ones(2, dtype=bool)) == {}
    assert words.having("tactile").tolist() == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CacheError, match="cannot be written"):
        index(tmp_path / "file", TEXTS)
