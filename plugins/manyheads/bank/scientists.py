"""Profiles of scientists: what a dataset knows of them, else what their past papers say (VirSci 2025, §3.1, App. C.2.2)."""

import random
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from manyheads.bank import phrases
from manyheads.bank.corpus import RawAuthor, RawPaper
from manyheads.bank.lexical import some_texts
from manyheads.papers import Paper, Scientist

# Who has written with whom, and whom a leader asks next (VirSci 2025, §3.1, §3.2, App. D.4).


Exploration = Literal["uniform", "normal", "none"]


def count_collaborations(teams: Iterable[Sequence[str]]) -> dict[str, dict[str, int]]:
    """The rows of A: how many papers each pair wrote together, from the authors of each paper, no one twice.

    Symmetric, no diagonal, zeros left out.
    """
    rows: dict[str, dict[str, int]] = {}
    counts = defaultdict[str, Counter[str]](Counter)
    for team in teams:
        for one in team:
            counts[one].update(team)
    while counts:  # one row at a time: of thousands who all wrote together, two copies would fill the memory
        one, row = counts.popitem()
        del row[one]
        rows[one] = dict(sorted(row.items()))
    return rows


def raised_row(
    rng: random.Random, scientists: Sequence[Scientist], leader: Scientist, exploration: Exploration
) -> dict[str, float]:
    """The leader's row of A, raised as `draw` says, by masked name; the leader and zeros left out."""
    row = dict[str, float]()
    for peer in scientists:
        if peer.name != leader.name:
            raised = abs(rng.normalvariate(1, 1)) if exploration == "normal" else exploration == "uniform"
            if weight := leader.collaborators.get(peer.name, 0) + raised:
                row[peer.name] = weight
    return row


def draw(
    rng: random.Random,
    scientists: Sequence[Scientist],
    leader: Scientist,
    *,
    exploration: Exploration = "uniform",
) -> Iterator[str]:
    """Candidates for a leader's team, one at a time, no one twice, never the leader.

    Each comes with P_ij = A_ij / sum_j A_ij over those still left, where every A_ij was raised first: by 1
    ("uniform", §3.1), by |x| with x ~ N(1, 1) drawn for each j ("normal", App. D.4, Eq. 7), or by nothing
    ("none": past collaborators only).
    """
    left = raised_row(rng, scientists, leader, exploration)
    while left:
        [candidate] = rng.choices(list(left), list(left.values()))
        del left[candidate]
        yield candidate


TOP_INTERESTS = 8
ENOUGH_KEYWORDS = 3
"""Fewer distinct keywords than this over an author's papers are filled up with phrases from the texts."""
TOP_AFFILIATIONS = 3
MOST_TERMS, MOST_TITLES = 200, 60
"""Keywords, or titles, of an author that are given to a model to condense."""
DATASET, KEYWORDS, TEXTS = "dataset", "keywords", "texts"


class Condense(Protocol):
    """A model that makes interests of keywords, or of titles where there are none (VirSci 2025, App. C.2.2)."""

    @property
    def name(self) -> str:
        """What a corpus says its interests are by."""
        ...

    def __call__(self, terms: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
        """Interests of each scientist (by masked name) from keywords or titles, the most frequent first."""
        ...


@dataclass(frozen=True)
class Profiles:
    """The scientists, in the order of their masks, and for how many the interests come from where."""

    scientists: list[Scientist]
    interests_by: Counter[str]


@dataclass
class _Work:
    """What an author's past papers say."""

    papers: "array[int]" = field(default_factory=lambda: array("L"))
    """Numbers of the papers, from 0."""
    citations: int | None = None
    keywords: Counter[str] = field(default_factory=Counter[str])
    affiliations: Counter[str] = field(default_factory=Counter[str])
    titles: list[str] = field(default_factory=list[str])

    def add(self, number: int, author: str, paper: RawPaper) -> None:
        self.papers.append(number)
        if paper.citations is not None:
            self.citations = (self.citations or 0) + paper.citations
        self.keywords.update(filter(None, (" ".join(word.split()).lower() for word in paper.keywords)))
        self.affiliations.update(paper.affiliations_of(author))
        if len(self.titles) < MOST_TITLES:
            self.titles.append(paper.title)


def profile(
    papers: Iterable[RawPaper],
    masks: Mapping[str, str],
    *,
    again: Iterable[Paper] | None = None,
    known: Mapping[str, RawAuthor] | None = None,
    condense: Condense | None = None,
) -> Profiles:
    """One profile per masked name, in the order of `masks`, from B_past.

    Args:
        papers: B_past, its texts masked.
        masks: key to masked name, for every author in S.
        again: the same papers for a second pass over the texts; `papers` if not given.
        known: what the dataset itself says of an author, which goes before what is counted.
        condense: makes the interests that the dataset does not have.
    """
    known, works, total = known or {}, {key: _Work() for key in masks}, 0

    def teams() -> Iterator[list[str]]:
        """The scientists of each paper, masked; what the paper says of them is noted."""
        nonlocal total
        for number, paper in enumerate(papers):
            total = number + 1
            team = [author for author in paper.authors if author in masks]
            for author in team:
                works[author].add(number, author, paper)
            yield [masks[author] for author in team]

    rows = count_collaborations(teams())
    # A dataset's own numbers of papers written together, where it has them, go before what was counted.
    for key, author in known.items():
        for other, together in (author.coauthors or {}).items():
            if key in masks and other in masks and key != other:
                one, two = masks[key], masks[other]
                rows.setdefault(one, {})[two] = rows.setdefault(two, {})[one] = together
    texts = (f"{one.title}. {one.abstract}" for one in (papers if again is None else again))
    interests, interests_by = _interests(works, masks, (texts, total), known, condense)
    scientists: list[Scientist] = []
    for key, mask in masks.items():
        work, own = works[key], known.get(key) or RawAuthor(key, "")
        profile_ = Scientist(
            name=mask,
            affiliations=(own.affiliations or _most(work.affiliations, TOP_AFFILIATIONS))[:TOP_AFFILIATIONS],
            interests=interests[key],
            papers=len(work.papers) if own.papers is None else own.papers,
            citations=work.citations if own.citations is None else own.citations,
            collaborators=dict(sorted(rows.pop(mask, {}).items())),
        )
        scientists.append(profile_)
    return Profiles(scientists, interests_by)


def profile_text(scientist: Scientist) -> str:
    """What the author knowledge bank embeds of a scientist."""
    parts = (", ".join(scientist.interests), "; ".join(scientist.affiliations))
    return ". ".join(filter(None, parts)) or scientist.name


def _most(counts: Counter[str], top: int) -> tuple[str, ...]:
    """The most frequent terms, ties in alphabetical order."""
    return tuple(sorted(counts, key=lambda term: (-counts[term], term))[:top])


def _interests(
    works: Mapping[str, _Work],
    masks: Mapping[str, str],
    texts: tuple[Iterable[str], int],
    known: Mapping[str, RawAuthor],
    condense: Condense | None,
) -> tuple[dict[str, tuple[str, ...]], Counter[str]]:
    """The dataset's own; else by a model if there is one; else the keywords, filled up from the `texts` of all papers, which
    come with their number. Also for how many authors they come from where.
    """
    found = {
        key: own[:TOP_INTERESTS] for key in works if key in known and (own := known[key].interests or ())
    }
    by = Counter({DATASET: len(found)})
    rest = {key: work for key, work in works.items() if key not in found}
    if condense is not None and rest:
        terms = {
            masks[key]: _most(own.keywords, MOST_TERMS) or tuple(own.titles) for key, own in rest.items()
        }
        condensed = condense(terms)
        by[condense.name] = len(rest)
        return found | {key: condensed[masks[key]] for key in rest}, +by
    found |= {key: _most(own.keywords, TOP_INTERESTS) for key, own in rest.items()}
    poor = {key: own.papers for key, own in rest.items() if len(found[key]) < ENOUGH_KEYWORDS}
    by.update({KEYWORDS: len(rest) - len(poor), TEXTS: len(poor)})
    if poor:
        own = phrases.interests(*some_texts(*texts, poor), TOP_INTERESTS)
        for key in poor:
            found[key] = tuple(dict.fromkeys((*found[key], *own[key])))[:TOP_INTERESTS]
    return found, +by


# The names that people are known under, where a dataset knows them by more than their names.


Spellings = Mapping[str, Counter[str]]
"""Key to each name that stands for it, with the number of papers where it does."""


def spellings(
    authors: Iterable[str], papers: Iterable[RawPaper], known: Mapping[str, RawAuthor]
) -> Spellings:
    """Every name under which these authors (by key) stand in papers and in the dataset's own records."""
    found = {key: Counter[str]() for key in authors}
    for paper in papers:
        for key, name in zip(paper.keys, paper.byline, strict=True):
            if key in found:
                found[key][name] += 1
    for key, author in known.items():
        if key in found:
            found[key][author.name] += 1
    return found


def display_name(key: str, names: Counter[str], known: Mapping[str, RawAuthor]) -> str:
    """A person's name: the dataset's, or the most usual one; with the key where that is another."""
    usual = min(names, key=lambda name: (-names[name], name), default=key)
    name = known[key].name if key in known else usual
    return name if name == key else f"{name} ({key})"


# Real names out, `Scientist{n}` in: nothing an agent can see tells who anyone is (VirSci 2025, §3.1, §7).


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
    full texts, keywords, venues and affiliations, a scientist's full name of two words or more is replaced by the mask; a name of one word is
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
            names = {*(spellings or {}).get(key, (key,))}
            # Texts have a name in its usual order, also where the family name came first with a comma.
            turned = (name.partition(",") for name in names if "," in name)
            names |= {f"{given.strip()} {family.strip()}" for family, _, given in turned}
            for real in sorted(names):
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
            "introduction": self.text(paper.introduction),
            "method": self.text(paper.method),
            "keywords": tuple(self.text(keyword) for keyword in paper.keywords),
            "venue": None if paper.venue is None else self.text(paper.venue),
            "affiliations": tuple(map(self.text, paper.affiliations)),
        }
        return paper.model_copy(update=texts)

    def author(self, author: RawAuthor) -> RawAuthor:
        """What a dataset knows of an author, with names out of its texts; the own name stays real."""
        affiliations, interests = author.affiliations, author.interests
        return replace(
            author,
            affiliations=affiliations and tuple(map(self.text, affiliations)),
            interests=interests and tuple(map(self.text, interests)),
        )

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
