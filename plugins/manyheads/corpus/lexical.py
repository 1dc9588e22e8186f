"""Word hashing: vectors without a model.

It matches words, not meanings, and is used only if the user chooses it or is warned.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from manyheads.base.errors import EmbeddingError

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

LEXICAL = "lexical"
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s")
_SHORTEST_STEM = 4
_SLOTS = 4  # each word sets four slots, so that one collision costs a quarter of it
_STOP_TEXT = (
    "a also an and are as at be been both but by can do each for from had has have how if in into is it its "
    "may more most not of on or other our over some such than that the their then there these they this to "
    "used using via was we were what when which while who will with within without you your"
)
STOP_WORDS = frozenset(_STOP_TEXT.split())


class LexicalEmbedder:
    """Signed feature hashing of word stems, damped by log frequency (Weinberger et al., ICML 2009).

    Deterministic across processes and machines. A text without words becomes the first unit vector.
    """

    def __init__(self, dim: int = 384) -> None:
        self.dim = dim
        self.name = f"lexical-hash-{dim}"

    @classmethod
    def from_name(cls, name: str) -> "LexicalEmbedder":
        """`lexical` or `lexical-hash-<dim>`; raises EmbeddingError for anything else."""
        dim = "384" if name == LEXICAL else name.removeprefix("lexical-hash-")
        if not dim.isdecimal() or not 1 <= int(dim) <= 65_536:
            raise EmbeddingError(
                f"unknown embedding {name}", hint="use lexical, or lexical-hash-384 with another size"
            )
        return cls(int(dim))

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """(n, dim) float32 with rows of unit length."""
        import numpy as np

        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for stem, count in Counter(stems(text)).items():
                # long words discriminate topics better than short ones
                weight = (1 + math.log(count)) * math.sqrt(min(len(stem), 10))
                for place, sign in _places(stem, self.dim):
                    row[place] += sign * weight
            if not row.any():
                row[0] = 1.0
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def stems(text: str) -> Iterator[str]:
    """A text's words in lower case without endings and stop words."""
    for word in _WORD.findall(text.lower()):
        if len(word) > 1 and word not in STOP_WORDS:
            endings = (end for end in _SUFFIXES if word[_SHORTEST_STEM:].endswith(end))
            yield word.removesuffix(next(endings, ""))


@lru_cache(maxsize=100_000)
def _places(stem: str, dim: int) -> tuple[tuple[int, float], ...]:
    digest = hashlib.blake2b(stem.encode(), digest_size=4 * _SLOTS).digest()
    numbers = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 4 * _SLOTS, 4)]
    return tuple(((number >> 1) % dim, 1.0 if number & 1 else -1.0) for number in numbers)


SEVERAL = 4
"""From this many papers on, a phrase in only one of an author's papers is not typical of the author."""
MOST_TEXTS = 20_000
"""Maximum texts weighted together, at about 15 kB each; of more, a sample is used."""
EVERYWHERE = (
    "able achieve achieved achieves address algorithm algorithms allow allowing allows analysis apply applied "
    "approach approaches available based best better case challenging class common compare compared comparison "
    "consider cost current data dataset datasets demonstrate demonstrated demonstrates describe described describes "
    "develop developed different effective effectively efficient efficiently end evaluate evaluated evaluation "
    "everyday example examples existing experiment experimental experiments extensive form framework freedom "
    "function functions general given good high higher important improve improved include including information "
    "input introduce introduced key known large lead leads learn learned level like local long low lower main make "
    "makes method methods model modeled modeling models multiple necessary need new non novel number obtain "
    "obtained order output outperforms paper perform performance performed point points position possible pre "
    "present presented presents previous problem problems process proposed propose proposes proven provide "
    "provided provides quality real recent recently related report require required requires respect result "
    "results robust second set setting several short show shown shows significant significantly similar simple "
    "simulation simulations single small solution solutions solve space specific standard state states step steps "
    "studied study studies system systems task tasks technique techniques term terms test tested time times type "
    "types unknown use used useful user using various way ways widely work works world"
)
"""Words common in abstracts of any field."""


def some_texts(
    texts: Iterable[str], total: int, by_author: Mapping[str, Sequence[int]]
) -> tuple[list[str], dict[str, list[int]]]:
    """A sample of about MOST_TEXTS of `total` texts, with the positions of each author's own; all if there are no more.

    Half are the authors' own, equally many of each (at least SEVERAL), spread over their papers; the other half are spread
    over all, to determine common words.
    """
    own, others = by_author, range(total)
    if total > MOST_TEXTS:
        each = max(SEVERAL, MOST_TEXTS // 2 // len(by_author))
        own = {author: _spread(rows, each) for author, rows in by_author.items()}
        others = _spread(range(total), MOST_TEXTS // 2)
    chosen = {*others, *chain.from_iterable(own.values())}
    place = {row: new for new, row in enumerate(sorted(chosen))}
    kept = [text for row, text in enumerate(texts) if row in chosen]
    return kept, {author: [place[row] for row in rows] for author, rows in own.items()}


def _spread(rows: Sequence[int], most: int) -> Sequence[int]:
    """A maximum number of the rows, evenly spread."""
    return rows if len(rows) <= most else [rows[number * len(rows) // most] for number in range(most)]
