"""Real names out, `Scientist{n}` in: nothing an agent can see tells who anyone is (VirSci 2025, §3.1, §7)."""

import random
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from manyheads.bank.corpus import RawAuthor, RawPaper
from manyheads.bank.records import Paper

_WORD = re.compile(r"\w+")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")
ADDRESS = "(address)"
"""Stands for an e-mail address, which mostly says who has it."""


def assign_masks(authors: Sequence[str], seed: int) -> dict[str, str]:
    """Key to masked name, in the order Scientist0, Scientist1, …; the seed decides who is which."""
    shuffled = sorted(authors)
    random.Random(seed).shuffle(shuffled)
    return {real: f"Scientist{number}" for number, real in enumerate(shuffled)}


class Masker:
    """Hides the scientists of S in papers.

    In the list of authors, the scientists stand masked and everyone else is left out. In titles, abstracts,
    keywords, venues and affiliations, a scientist's full name of two words or more is replaced by the mask; a name of one word is
    left alone there, since it may as well be a method's (Adam). Of scientists with the same name, the first
    one's mask stands for it in texts. No e-mail address is left, whoever's it is.

    Args:
        masks: key to masked name.
        spellings: the names that a key is known under; the key itself if not given.
    """

    def __init__(
        self, masks: Mapping[str, str], spellings: Mapping[str, Collection[str]] | None = None
    ) -> None:
        self._masks = masks
        self._by_name: dict[str, str] = {}
        self._by_last_word: dict[str, list[str]] = defaultdict(list)
        for key, mask in masks.items():
            for real in sorted(chain.from_iterable(map(_orders, (spellings or {}).get(key, (key,))))):
                words = _WORD.findall(real)
                if len(words) > 1 and real not in self._by_name:
                    self._by_name[real] = mask
                    self._by_last_word[words[-1]].append(real)

    def text(self, text: str) -> str:
        text = _EMAIL.sub(ADDRESS, text) if "@" in text else text
        last_words = set(_WORD.findall(text)) & self._by_last_word.keys()
        known = (real for word in last_words for real in self._by_last_word[word])
        named = {real for real in known if real.split()[0] in text}
        for real in sorted(named, key=lambda name: (-len(name), name)):  # a long name before one it holds
            words = r"\s+".join(map(re.escape, real.split()))  # abstracts come with their lines broken
            text = re.sub(rf"(?<!\w){words}(?!\w)", self._by_name[real], text)
        return text

    def wording(self, paper: RawPaper) -> RawPaper:
        """The paper with names out of its texts; `byline` stays real."""
        texts = {
            "title": self.text(paper.title),
            "abstract": self.text(paper.abstract),
            "keywords": tuple(self.text(keyword) for keyword in paper.keywords),
            "venue": None if paper.venue is None else self.text(paper.venue),
            "affiliations": tuple(map(self.text, paper.affiliations)),
        }
        return paper.model_copy(update=texts)

    def author(self, author: RawAuthor) -> RawAuthor:
        """What a dataset knows of an author, with names out of its texts; the own name stays real."""
        texts = {
            name: None if given is None else tuple(map(self.text, given))
            for name, given in (("affiliations", author.affiliations), ("interests", author.interests))
        }
        return replace(author, **texts)

    def paper(self, paper: RawPaper) -> Paper:
        """What the bank keeps of a paper whose wording is masked."""
        return Paper(
            id=paper.id,
            title=paper.title,
            abstract=paper.abstract,
            year=paper.year,
            citations=paper.citations,
            authors=tuple(self._masks[author] for author in paper.authors if author in self._masks),
            venue=paper.venue,
            keywords=paper.keywords,
            affiliations=tuple(dict.fromkeys(filter(None, paper.affiliations))),
        )


def _orders(name: str) -> tuple[str, ...]:
    """A name as given and, where the family name comes first with a comma, as texts have it."""
    family, comma, given = name.partition(",")
    return (name, f"{given.strip()} {family.strip()}") if comma else (name,)
