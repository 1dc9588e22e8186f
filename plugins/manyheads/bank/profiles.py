"""Profiles of scientists from their past papers (VirSci 2025, §3.1, App. C.2.2)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from manyheads.bank.collaboration import count_collaborations
from manyheads.bank.corpus import RawPaper
from manyheads.bank.phrases import standout_phrases
from manyheads.bank.records import Scientist

TOP_INTERESTS = 8
ENOUGH_KEYWORDS = 3
"""Fewer distinct keywords than this over an author's papers are filled up with phrases from the texts."""
TOP_AFFILIATIONS = 3


def profile(papers: Sequence[RawPaper], masks: Mapping[str, str]) -> tuple[list[Scientist], int]:
    """One profile per masked name, everything counted over `papers` (B_past), in the order of `masks`.

    Also the number of scientists whose interests are keywords alone.

    Args:
        masks: real name to masked name, for every author in S.
    """
    by_author: dict[str, list[int]] = defaultdict(list)
    for index, paper in enumerate(papers):
        for author in paper.authors:
            if author in masks:
                by_author[author].append(index)
    rows = count_collaborations([masks[a] for a in paper.authors if a in masks] for paper in papers)
    interests, from_keywords = _interests(papers, {author: by_author[author] for author in masks})
    scientists = [
        Scientist(
            name=mask,
            affiliations=_most(place for i in by_author[real] for place in papers[i].affiliations_of(real)),
            interests=interests[real],
            papers=len(by_author[real]),
            citations=_sum(papers[i].citations for i in by_author[real]),
            collaborators=rows.get(mask, {}),
        )
        for real, mask in masks.items()
    ]
    return scientists, from_keywords


def profile_text(scientist: Scientist) -> str:
    """What the author knowledge bank embeds of a scientist."""
    parts = (", ".join(scientist.interests), "; ".join(scientist.affiliations))
    return ". ".join(filter(None, parts)) or scientist.name


def _sum(counts: Iterable[int | None]) -> int | None:
    """What is known, added up; None where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _most(terms: Iterable[str], top: int = TOP_AFFILIATIONS) -> tuple[str, ...]:
    """The most frequent terms, ties in alphabetical order."""
    counts = Counter(filter(None, terms))
    return tuple(sorted(counts, key=lambda term: (-counts[term], term))[:top])


def _keywords(papers: Sequence[RawPaper], own: Iterable[int]) -> tuple[str, ...]:
    return _most((" ".join(word.split()).lower() for i in own for word in papers[i].keywords), TOP_INTERESTS)


def _interests(
    papers: Sequence[RawPaper], by_author: Mapping[str, list[int]]
) -> tuple[dict[str, tuple[str, ...]], int]:
    """Keywords by frequency where given; where there are too few, phrases that stand out in the texts too.

    Also for how many authors the keywords were enough.
    """
    found = {author: _keywords(papers, own) for author, own in by_author.items()}
    poor = {author: by_author[author] for author, words in found.items() if len(words) < ENOUGH_KEYWORDS}
    if poor:
        phrases = standout_phrases([f"{p.title}. {p.abstract}" for p in papers], poor, TOP_INTERESTS)
        for author in poor:
            found[author] = tuple(dict.fromkeys((*found[author], *phrases[author])))[:TOP_INTERESTS]
    return found, len(found) - len(poor)
