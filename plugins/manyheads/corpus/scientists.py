"""Profiles of scientists: from the dataset, else from their past papers (VirSci 2025, §3.1, App. C.2.2)."""

import random
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from manyheads.base.papers import Paper, People, Scientist
from manyheads.corpus import phrases
from manyheads.corpus.phrases import some_texts
from manyheads.corpus.records import RawAuthor, RawPaper

# Co-authors, and the choice of a leader's candidates (VirSci 2025, §3.1, §3.2, App. D.4).


Exploration = Literal["uniform", "normal", "small", "history", "none"]
SMALL, MOST_SMALL = 0.005, 0.01
"""Mean and deviation of a small increment, and its limit, on weights whose sum is 1."""
FAR = 0.3
"""Weight of a joint paper of a collaborator's, beside one's own."""


def count_collaborations(teams: Iterable[Sequence[str]]) -> dict[str, dict[str, int]]:
    """The rows of A: number of joint papers of each pair, from the distinct authors of each paper.

    Symmetric, no diagonal, zeros omitted.
    """
    rows: dict[str, dict[str, int]] = {}
    counts = defaultdict[str, Counter[str]](Counter)
    for team in teams:
        for one in team:
            counts[one].update(team)
    while counts:  # one row at a time: with thousands of joint authors, two copies would fill the memory
        one, row = counts.popitem()
        del row[one]
        rows[one] = dict(sorted(row.items()))
    return rows


def raised_row(
    rng: random.Random, scientists: Sequence[Scientist], leader: Scientist, exploration: Exploration
) -> dict[str, float]:
    """The leader's row of A, incremented by `draw`, by masked name, without the leader and zeros."""
    row, known, people = dict[str, float](), Counter[str](leader.collaborators), People.of(scientists)
    far, whole = Counter[str](), known.total() or 1
    if exploration == "history":
        for name in filter(people.__contains__, known):
            far.update(people.scientist(name).collaborators)
    for peer in people.names:
        if peer != leader.name:
            weight: float = known[peer]
            match exploration:
                case "uniform":
                    weight += 1
                case "normal":
                    weight += abs(rng.normalvariate(1, 1))
                case "small":
                    weight = weight / whole + min(abs(rng.normalvariate(SMALL, SMALL)), MOST_SMALL)
                case "history":
                    weight += FAR * far[peer]
                case "none":
                    pass
            if weight:
                row[peer] = weight
    return row


def draw(
    rng: random.Random,
    scientists: Sequence[Scientist],
    leader: Scientist,
    *,
    exploration: Exploration = "uniform",
) -> Iterator[str]:
    """Candidates for a leader's team, one at a time, without repetition and without the leader.

    Each comes with P_ij = A_ij / sum_j A_ij over the remaining ones, after incrementing every A_ij: by 1 ("uniform", §3.1), by
    |x| with x ~ N(1, 1) for each j ("normal", App. D.4, Eq. 7), or not at all ("none": past collaborators only). Two more are of
    the authors' second code base: |x| with x ~ N(0.005, 0.005), at most 0.01, on a row of sum 1 ("small"), and 0.3 times the rows
    of the leader's collaborators ("history": nobody more than two steps away).
    """
    left = raised_row(rng, scientists, leader, exploration)
    while left:
        [candidate] = rng.choices(list(left), list(left.values()))
        del left[candidate]
        yield candidate


TOP_INTERESTS = 8
ENOUGH_KEYWORDS = 3
"""Minimum distinct keywords of an author; fewer are supplemented with phrases from the texts."""
TOP_AFFILIATIONS = 3
MOST_TERMS, MOST_TITLES = 200, 60
"""Maximum keywords, or titles, of an author in a model's question."""
DATASET, KEYWORDS, TEXTS = "dataset", "keywords", "texts"


class Condense(Protocol):
    """A model that derives interests from keywords, or from titles without them (VirSci 2025, App. C.2.2)."""

    @property
    def name(self) -> str:
        """The source of interests, as named in a corpus."""
        ...

    def __call__(self, terms: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
        """Interests of each scientist (by masked name) from keywords or titles, most frequent first."""
        ...


@dataclass(frozen=True)
class Profiles:
    """The scientists, in the order of their masks, and the number of scientists by source of interests."""

    scientists: list[Scientist]
    interests_by: Counter[str]


@dataclass
class _Work:
    """Data from an author's past papers."""

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
        again: the same papers for a second pass over the texts; `papers` if omitted.
        known: the dataset's own data on an author, which has priority over counts.
        condense: derives interests that the dataset does not have.
    """
    known, works, total = known or {}, {key: _Work() for key in masks}, 0

    def teams() -> Iterator[list[str]]:
        """The masked scientists of each paper, whose data is collected."""
        nonlocal total
        for number, paper in enumerate(papers):
            total = number + 1
            team = [author for author in paper.authors if author in masks]
            for author in team:
                works[author].add(number, author, paper)
            yield [masks[author] for author in team]

    rows = count_collaborations(teams())
    # A dataset's own numbers of joint papers have priority.
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
    """The dataset's own interests, else a model's, else the keywords, supplemented from the `texts` of all papers, which come with
    their numbers. Also the number of authors by source.
    """
    found = {key: own[:TOP_INTERESTS] for key in works if key in known and (own := known[key].interests)}
    by = Counter({DATASET: len(found)})
    rest = {key: work for key, work in works.items() if key not in found}
    if condense is not None and rest:
        terms = {masks[key]: _most(own.keywords, MOST_TERMS) or (*own.titles,) for key, own in rest.items()}
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


# People's names, if a dataset has ids for them.


Spellings = Mapping[str, Counter[str]]
"""Key to each of its names, with the number of papers that use it."""


def spellings(
    authors: Iterable[str], papers: Iterable[RawPaper], known: Mapping[str, RawAuthor]
) -> Spellings:
    """Every name of these authors (by key) in papers and in the dataset's own records."""
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
    """A person's name: the dataset's, or the most usual one; with the key if that differs."""
    usual = min(names, key=lambda name: (-names[name], name), default=key)
    name = known[key].name if key in known else usual
    return name if name == key else f"{name} ({key})"


# Masking: real names are replaced by `Scientist{n}`, so that agents cannot identify anyone (VirSci 2025, §3.1, §7).


_WORD = re.compile(r"\w+")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}")
ADDRESS = "(address)"
"""Replaces e-mail addresses, which often contain names."""


def assign_masks(authors: Sequence[str], seed: int) -> dict[str, str]:
    """Key to masked name, in the order Scientist0, Scientist1, …; the seed determines the assignment."""
    shuffled = sorted(authors)
    random.Random(seed).shuffle(shuffled)
    return {real: f"Scientist{number}" for number, real in enumerate(shuffled)}


class Masker:
    """Masks the scientists of S in papers.

    In the list of authors, scientists are masked and others dropped. In titles, abstracts, full texts, keywords, venues and
    affiliations, a scientist's full name of two words or more is masked; a name of one word is not, since it may be a
    method's (Adam). Scientists with the same name share the first one's mask in texts. All e-mail addresses are removed.

    Args:
        masks: key to masked name.
        spellings: the names of each key; the key itself if omitted.
    """

    def __init__(
        self, masks: Mapping[str, str], spellings: Mapping[str, Collection[str]] | None = None
    ) -> None:
        self._masks = masks
        self._by_name: dict[str, str] = {}
        self._by_last_word: dict[str, list[str]] = defaultdict(list)
        for key, mask in masks.items():
            names = {*(spellings or {}).get(key, (key,))}
            # Texts have names in the usual order, even if the dataset has the family name first with a comma.
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
        for real in sorted(named, key=lambda name: (-len(name), name)):  # long names before their parts
            words = r"\s+".join(map(re.escape, real.split()))  # abstracts may have line breaks
            text = re.sub(rf"(?<!\w){words}(?!\w)", self._by_name[real], text)
        return text

    def wording(self, paper: RawPaper) -> RawPaper:
        """The paper with masked texts; `byline` stays real."""
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
        """The dataset's data on an author with masked texts; the own name stays real."""
        affiliations, interests = author.affiliations, author.interests
        return replace(
            author,
            affiliations=affiliations and tuple(map(self.text, affiliations)),
            interests=interests and tuple(map(self.text, interests)),
        )

    def paper(self, paper: RawPaper) -> Paper:
        """The stored paper, from one with masked texts."""
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
