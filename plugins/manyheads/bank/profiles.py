"""Profiles of scientists: what a dataset knows of them, else what their past papers say (VirSci 2025, §3.1, App. C.2.2)."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from manyheads.bank.collaboration import count_collaborations
from manyheads.bank.corpus import RawAuthor, RawPaper
from manyheads.bank.phrases import some_texts, standout_phrases
from manyheads.bank.records import Paper, Scientist

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


@dataclass
class _Past:
    """What B_past says of each author, and how many papers it has."""

    by_author: dict[str, _Work]
    papers: int = 0


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
    past = _Past({key: _Work() for key in masks})
    rows = count_collaborations(_teams(papers, masks, past))
    _correct(rows, masks, known or {})
    texts = (f"{one.title}. {one.abstract}" for one in (papers if again is None else again))
    interests, interests_by = _interests(past, masks, texts, known or {}, condense)
    scientists = [
        _scientist(mask, past.by_author[key], interests[key], rows.pop(mask, {}), (known or {}).get(key))
        for key, mask in masks.items()
    ]
    return Profiles(scientists, interests_by)


def profile_text(scientist: Scientist) -> str:
    """What the author knowledge bank embeds of a scientist."""
    parts = (", ".join(scientist.interests), "; ".join(scientist.affiliations))
    return ". ".join(filter(None, parts)) or scientist.name


def _teams(papers: Iterable[RawPaper], masks: Mapping[str, str], past: _Past) -> Iterator[list[str]]:
    """The scientists of each paper, masked; what the paper says of them goes to `past`."""
    for number, paper in enumerate(papers):
        past.papers += 1
        team = [author for author in paper.authors if author in masks]
        for author in team:
            past.by_author[author].add(number, author, paper)
        yield [masks[author] for author in team]


def _correct(
    rows: dict[str, dict[str, int]], masks: Mapping[str, str], known: Mapping[str, RawAuthor]
) -> None:
    """Put a dataset's own numbers of papers written together, where it has them, into the rows of A."""
    for key, author in known.items():
        for other, together in (author.coauthors or {}).items():
            if key in masks and other in masks and key != other:
                one, two = masks[key], masks[other]
                rows.setdefault(one, {})[two] = rows.setdefault(two, {})[one] = together


def _scientist(
    mask: str,
    work: _Work,
    interests: tuple[str, ...],
    row: Mapping[str, int],
    known: RawAuthor | None,
) -> Scientist:
    own = known or RawAuthor(key="", name="")
    return Scientist(
        name=mask,
        affiliations=(own.affiliations or ())[:TOP_AFFILIATIONS]
        or _most(work.affiliations, TOP_AFFILIATIONS),
        interests=interests,
        papers=len(work.papers) if own.papers is None else own.papers,
        citations=work.citations if own.citations is None else own.citations,
        collaborators=dict(sorted(row.items())),
    )


def _most(counts: Counter[str], top: int) -> tuple[str, ...]:
    """The most frequent terms, ties in alphabetical order."""
    return tuple(sorted(counts, key=lambda term: (-counts[term], term))[:top])


def _interests(
    past: _Past,
    masks: Mapping[str, str],
    texts: Iterable[str],
    known: Mapping[str, RawAuthor],
    condense: Condense | None,
) -> tuple[dict[str, tuple[str, ...]], Counter[str]]:
    """The dataset's own; else by a model if there is one; else the keywords, filled up from the texts.

    Also for how many authors they come from where.
    """
    found = {key: (known[key].interests or ())[:TOP_INTERESTS] for key in past.by_author if key in known}
    found = {key: own for key, own in found.items() if own}
    by = Counter({DATASET: len(found)})
    rest = {key: own for key, own in past.by_author.items() if key not in found}
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
        phrases = standout_phrases(*some_texts(texts, past.papers, poor), TOP_INTERESTS)
        for key in poor:
            found[key] = tuple(dict.fromkeys((*found[key], *phrases[key])))[:TOP_INTERESTS]
    return found, +by
