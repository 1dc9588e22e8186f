"""Words of a text: vectors by word hashing, and key phrases.

Word hashing needs no model. It matches words, not meanings, and is used only if the user chooses it or is warned. Key phrases are
runs of words between function words and verbs, weighted higher the fewer papers contain them.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Self

from manyheads.base.errors import EmbeddingError
from manyheads.base.resources import data_file

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors


# Word hashing.

LEXICAL = "lexical"
"""Embedding without a model, and `made_by` of records without one."""
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s")
_SHORTEST_STEM = 4
_SLOTS = 4  # each word sets four slots, so that one collision costs a quarter of it
_PARAGRAPHS = data_file("configs/corpora/words.txt").read_text(encoding="utf-8").split("\n\n")[1:]
WORDS = {
    name: frozenset(words.split())
    for name, _, words in (one.partition("\n")[2].partition(": ") for one in _PARAGRAPHS)
}
"""Lists of words, by name."""
STOP_WORDS, EVERYWHERE = WORDS["stop"], WORDS["everywhere"]


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
            hint = "use lexical, or lexical-hash-384 with another size"
            raise EmbeddingError(f"unknown embedding {name}", hint=hint)
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


# Key phrases.

FEWEST_WORDS, MOST_WORDS = 2, 5
"""Minimum and maximum words of a phrase (SciPIP, Table 7)."""
MOST_ENTITIES = 5
"""Maximum entities of a paper (SciPIP, Table 7)."""

LONGEST = 20
"""Maximum words of a run: longer ones are lists or tables."""
IN_TITLE, LONE, LONGER = 1.8, 0.6, 0.25
"""Weights: of a phrase in the title, of one in a single paper, and of each further word."""
RAREST = 50
"""Number of papers below which a phrase gains nothing by being rarer: a phrase shared by several connects them."""
_ENDING = re.compile(r"(?:ly|ous|ful|able|ible|less|ed|al|ive|ic|ar|i[zs]es?|ifies)$")
_VERB = re.compile(r"(?:ize|ise|ify|ate|ly|izes|ises|ifies|ates|ed by)$")
_TOKEN = re.compile(r"[^\W_]+(?:[-'’/+][^\W_]+)*|[^\w\s]")
SHORT, ENGLISH, FEW = 3, 0.12, 12
"""Minimum share of English function words, except in a short text: one with fewer is in another language, where words of
this many letters count as function words."""
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_PARTICLES = re.compile(
    r"[的了和与及或在是为对于中上下以从被把将其等之而并也都我们本文一种基于通过提出\u3040-\u309f]+"
)
"""Cuts a run of Chinese or Japanese letters: the most frequent function words, and all of hiragana."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOUNS, ADJECTIVES, _NOUN_ENDINGS = WORDS["nouns"], WORDS["adjectives"], WORDS["noun endings"]
_GERUNDS, _NO_VERBS, _THINGS = WORDS["gerunds"], WORDS["no verbs"], WORDS["things"]
_COMMON = EVERYWHERE | NOUNS

# A word's part of speech, by its neighbours: in the corpus, and here.

_BEFORE_VERBS = word_set("to we they can could will would may might must cannot not then also i")
_DETERMINERS = word_set("the a an this that these those its their our each every any some such both several")
_BEFORE_NOUNS = _DETERMINERS | word_set("of in for with by from on into over under between without as")
_AFTER_NOUNS = word_set(". , ; : ) is are was were has have can and or in for with by on to using via based")
_AFTER_PARTICIPLES = _DETERMINERS | word_set("of it them")
_BEFORE_PREDICATES = word_set(
    "is are was were be been being has have had that which who we they it not also often only well can"
)
LEAST_VERB = 3
"""Minimum times that a corpus's sample uses a word as a verb."""


class KeyPhrases:
    """Number of a corpus's papers with each phrase, and from that a paper's key phrases.

    A phrase is two to five words within a run of words without function words and verbs, of abstracts or of the corpus
    (`verbs_of`). It ends with a possible noun, and has at least one word that is not common to all fields. A run also stops at
    an adverb, a participle after a plural (`images captured`, `tasks involving`), a predicate (`are considered`), or a word
    on -ing before an article. A phrase's weight grows with its frequency in the paper and its rarity in the corpus; it is
    higher if the title has the phrase, lower if no other paper has it.
    """

    def __init__(self, papers: int, having: Counter[str], verbs: frozenset[str]) -> None:
        self._papers, self._having, self._verbs = max(papers, 1), having, verbs

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """From titles with texts: of all papers, or of a sample."""
        sample, having = [*texts], Counter[str]()
        verbs = verbs_of(sample)
        for text in sample:
            having.update({key for key, _, _ in _candidates(text, verbs)})
        return cls(len(sample), Counter({key: count for key, count in having.items() if count > 1}), verbs)

    def best(self, title: str, text: str, most: int) -> tuple[str, ...]:
        """The paper's key phrases, best first, as first written; none is part of another."""
        places = _candidates(title, self._verbs)
        titled = {key for key, _, _ in places}
        places += _candidates(text, self._verbs)
        whole = {key for key, _, all_of_it in places if all_of_it}
        least, ranked = min(RAREST, self._papers / 10), list[tuple[float, int, str]]()
        for place, (key, count) in enumerate(Counter([key for key, _, _ in places]).items()):
            having = self._having.get(key, 1)
            if having > 1 or key in whole:  # else part of a phrase in no other paper
                weight = (1 + math.log(count)) * math.log(1 + self._papers / max(having, least))
                weight *= LONE if having == 1 else 1 + LONGER * key.count(" ")
                weight *= IN_TITLE if key in titled else 1
                ranked.append((-weight, place, key))
        runs = {key: run for key, run, _ in reversed(places)}
        return tuple(_written(key, runs[key]) for key in _apart(ranked, most))


NESTED = 0.6
"""Share of a phrase's occurrences within one longer phrase, above which only the longer one is a term (C-value's rule)."""
SHARED = 1.5
"""Gain of a phrase from being in more papers: a field's shared phrases are interests, a single paper's are not."""


def interests(
    texts: Sequence[str], by_author: Mapping[str, Sequence[int]], top: int
) -> dict[str, tuple[str, ...]]:
    """Up to `top` phrases of each author, best first, no phrase part of another.

    `by_author` has the indices of each author's papers in `texts`, titles with abstracts. A phrase's weight grows with the
    number of the author's papers that have it, and is lower if hardly any or most papers have it.
    """
    verbs = verbs_of(texts)
    found = [Counter[str]() for _ in texts]
    runs: list[dict[str, list[str]]] = [{} for _ in texts]
    having, places, within = Counter[str](), Counter[str](), Counter[str]()
    for text, counts, own in zip(texts, found, runs, strict=True):
        for key, run, _ in _candidates(text, verbs):
            counts[key] += 1
            own.setdefault(key, run)
        having.update(counts.keys())
        places.update(counts)
    for key, count in places.items():
        words = key.split() if count > 1 else []
        for size in range(2, len(words)):
            for start in range(len(words) - size + 1):
                part = " ".join(words[start : start + size])
                within[part] = max(within[part], count)
    phrases: dict[str, tuple[str, ...]] = {}
    for author, rows in by_author.items():
        papers, times = Counter[str](), Counter[str]()
        for row in rows:
            papers.update(found[row].keys())
            times.update(found[row])
        ranked = list[tuple[float, int, str]]()
        for place, (key, count) in enumerate(papers.items()):
            if within[key] <= NESTED * places[key]:
                weight = 1 + math.log(count) + 0.3 * math.log(times[key])
                weight *= math.log(1 + having[key]) ** SHARED * math.log(1 + len(texts) / having[key])
                weight *= 1 + LONGER * key.count(" ")
                weight *= LONE / 2 if count == 1 and len(rows) >= SEVERAL else 1
                ranked.append((-weight, place, key))
        best = _apart(ranked, top)
        first = {key: next(row for row in rows if key in runs[row]) for key in best}
        phrases[author] = tuple(_written(key, runs[row][key]) for key, row in first.items())
    return phrases


def verbs_of(texts: Iterable[str]) -> frozenset[str]:
    """Stems of words used as verbs in titles with texts: more often after `to`, `we`, `can` than in a noun's position; those on
    -ing, more often before an object or after a plural than where a noun may end."""
    verbs, nouns, participles, gerunds = (Counter[str]() for _ in range(4))
    for text in texts:
        tokens = [token.lower() for token in _TOKEN.findall(text)]
        for before, word, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if before in _BEFORE_VERBS:
                verbs[word] += 1
            elif before in _BEFORE_NOUNS:
                nouns[word] += 1
            if word.endswith("ing") and word not in _GERUNDS:
                if after in _AFTER_PARTICIPLES or (before not in STOP_WORDS and _word(before).plural):
                    participles[word] += 1
                elif after in _AFTER_NOUNS:
                    gerunds[word] += 1
    finite = (word for word, count in verbs.items() if count >= LEAST_VERB and count > 2 * nouns[word])
    others = (word for word, count in participles.items() if count > gerunds[word])
    return frozenset(_word(word).stem for word in (*finite, *others))


class _Word(NamedTuple):
    written: str
    stem: str
    """Key for counting: lower case, without the plural's ending."""
    inside: bool
    """Whether a phrase may contain it, begin with it, end with it; and whether it is specific."""
    begins: bool
    ends: bool
    own: bool
    plural: bool
    past: bool
    gerund: bool
    adverb: bool


@lru_cache(maxsize=200_000)
def _word(token: str) -> _Word:
    word = token.lower()
    written = token if token[1:] != word[1:] else word
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    stem = (word[:-1] if plural else word).replace("-", " ")
    barred = word in STOP_WORDS or word in WORDS["never"] or (word in _COMMON and word not in NOUNS)
    inside = not barred and token[0].isalnum() and len(word) > 1
    inside = inside and not word.isdecimal() and not _WIDE.match(word)
    begins = word in _NO_VERBS or not (_VERB.search(word) or (word.endswith("ing") and word not in _GERUNDS))
    ends = stem in _NOUN_ENDINGS or not (_ENDING.search(word) or word in ADJECTIVES)
    return _Word(
        written, stem, inside, begins, ends and word[0].isalpha(), word not in _COMMON,
        plural and not word.endswith("ics"),
        word.endswith("ed") and len(word) > 4 and stem not in _NOUN_ENDINGS,
        word.endswith("ing") and word not in _THINGS,
        word.endswith("ly") and word not in _NO_VERBS,
    )  # fmt: skip


def _candidates(text: str, verbs: frozenset[str]) -> list[tuple[str, list[str], bool]]:
    """Each occurrence of a phrase: its key, the words of its run, and whether it is the whole run."""
    places = list[tuple[str, list[str], bool]]()
    if _WIDE.search(text):  # two letters count as a word
        parts = (part for run in _WIDE.findall(text) for part in _PARTICLES.split(run))
        places += ((each, [each], True) for each in parts if 2 * FEWEST_WORDS <= len(each) <= 2 * MOST_WORDS)
    for run in _runs(text, verbs):
        count, written = len(run), [word.written for word in run]
        for start in range(count - 1):
            first = run[start]
            if first.begins:
                key, own = first.stem, first.own
                for end, word in enumerate(run[start + 1 : start + MOST_WORDS], start + 2):
                    key = f"{key} {word.stem}"
                    own = own or word.own
                    if own and word.ends:
                        places.append((key, written, end - start == count))
    return places


def _runs(text: str, verbs: frozenset[str]) -> list[list[_Word]]:
    """Runs of words between function words, verbs and punctuation, without a final participle."""
    tokens = _TOKEN.findall(text)
    short = len(tokens) < FEW or sum(map(STOP_WORDS.__contains__, tokens)) >= ENGLISH * len(tokens)
    run, runs, before = list[_Word](), list[list[_Word]](), "."
    for token in (*tokens, "."):
        word = _word(token)
        predicate = word.past and (run[-1].plural if run else before in _BEFORE_PREDICATES)
        participle = word.gerund and run and run[-1].plural
        inside = word.inside and (short or len(word.written) > SHORT) and word.stem not in verbs
        if inside and not predicate and not participle and not (word.adverb and run):
            run.append(word)
        elif run:
            if run[-1].gerund and token in _DETERMINERS:
                run.pop()
            if 1 < len(run) <= LONGEST:
                runs.append(run)
            run = []
        before = token
    return runs


def _written(key: str, run: list[str]) -> str:
    """The part of a run that is this phrase."""
    ends = range(len(run) + 1)
    parts = (run[start:end] for start in ends for end in ends[start + 1 :])
    return next(" ".join(part) for part in parts if " ".join(_word(word).stem for word in part) == key)


def _apart(ranked: list[tuple[float, int, str]], most: int) -> list[str]:
    """The first phrases, of which none is part of another, or shares two words with it."""
    keys, seen = list[str](), list[set[str]]()
    for *_, key in sorted(ranked):
        words = set(key.split())
        if not any(words <= other or other <= words or len(words & other) > 1 for other in seen):
            keys.append(key)
            seen.append(words)
        if len(keys) == most:
            break
    return keys
