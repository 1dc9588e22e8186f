"""Records of papers without a model: key phrases as entities, sentences of the abstract for all other fields.

Replaces SciPIP's model (§3.1, Tables 7–9) and is labelled as such: `made_by` is `lexical`. It only copies sentences.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from manyheads.base.papers import Paper
from manyheads.corpus.graph import Basis, Extraction, Text
from manyheads.corpus.phrases import LEXICAL, MOST_ENTITIES, WORDS, KeyPhrases, stems, word_set

RECIPE = "2"
"""Version of the rules below."""
MOST_BACKGROUND, MOST_IDEAS = 2, 3
"""Maximum sentences of the background, and main ideas (SciPIP, Table 8)."""
MOST_LETTERS, MOST_SENTENCES = 800, 40
"""Maximum length of a sentence, and of a text: longer ones are not made of sentences, or not an abstract."""

_END = re.compile(r"(?<=[.!?])[\"'”’)\]]?\s+(?=[^a-z\s])|(?<=[。！？])\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|al|resp|approx|Eqs?|Figs?|Secs?|Refs?|Nos?|Dr|Prof|St)|\b[A-Z])\.$"
)
_HEADING = re.compile(
    r"^(?:abstract|background|motivation|objectives?|purpose|introduction|methods?|results?|conclusions?|summary)"
    r"\s*[:.—–-]\s*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")

# The role of an abstract's sentences, by their words.


_AUTHORS = word_set("we here i")
_WORK = word_set("paper work article study letter thesis report contribution contributions")
_THIS = word_set("this present our the")
_PROPOSES = WORDS["proposes"]
_DOES = _PROPOSES | WORDS["does"]
_ASIDE = word_set("also finally furthermore moreover results additionally")
_IS = word_set("is are")
_PROBLEM, _METHOD, _RESULT = WORDS["problem"], WORDS["method"], WORDS["result"]


class PaperTexts(NamedTuple):
    """The texts of a paper."""

    paper: Paper
    text: Text = Text("", "")

    @property
    def basis(self) -> Basis:
        """The best available text."""
        if self.text.introduction or self.text.method:
            return "full text"
        return "abstract" if self.paper.abstract.strip() else "title"


class Digest(NamedTuple):
    """A text's content, in its own sentences."""

    background: str
    summary: str
    main_ideas: tuple[str, ...]


def digest(title: str, text: str) -> Digest:
    """The background, the summary and the main ideas among an abstract's sentences.

    Summary: the first sentence about what is proposed or presented, not in passing; else the first about the authors' work;
    else the one with the most words in common with the title. Background: of the sentences before it, the first and the next
    that names a problem; if there are none, the first later one that names a problem without authors or results, else the
    summary again. Main ideas: of the sentences after the summary (of all others if none follow), those about the method, then
    about results, then the rest, in their order in the text. A single sentence is background and summary; without any, the
    title is both.
    """
    found = sentences(text)
    if not found:
        return Digest(title, title, ())
    words = [{*_WORD.findall(sentence.lower())} for sentence in found]
    at = _summary(title, words)
    problems = [place for place, said in enumerate(words) if said & _PROBLEM]
    if at:
        background = [0, *(place for place in problems if 0 < place < at)][:MOST_BACKGROUND]
    else:
        own = (each for each in problems if each and not (words[each] & _RESULT or _is_own(words[each])))
        background = [next(own, 0)]
    rest = [place for place in range(len(found)) if place != at and place not in background]
    after = [place for place in rest if place > at] or rest
    after.sort(key=lambda place: (not words[place] & _METHOD, not words[place] & _RESULT, place))
    return Digest(
        " ".join(found[place] for place in background),
        found[at],
        tuple(found[place] for place in sorted(after[:MOST_IDEAS])),
    )


def _summary(title: str, words: list[set[str]]) -> int:
    """The position of the summary, from the words of each sentence."""
    done = [place for place, said in enumerate(words) if _is_own(said)]
    if not done:
        own = {*stems(title)}
        shared = [len(own.intersection(stems(" ".join(said)))) for said in words]
        return shared.index(max(shared))
    proposed = (place for place in done if words[place] & _PROPOSES and not words[place] & _ASIDE)
    return next(proposed, done[0])


def _is_own(words: set[str]) -> bool:
    """Whether a sentence describes the authors' work."""
    theirs = words & _AUTHORS or (words & _WORK and words & _THIS) or (words & _IS and words & _PROPOSES)
    return bool(theirs and words & _DOES)


def sentences(text: str) -> list[str]:
    """The sentences of a text, without headings such as `Results:`; a long one is cut at a word."""
    found, open_ = list[str](), ""
    for part in _END.split(" ".join(text.split())):
        open_ = f"{open_} {part}" if open_ else part
        if _ABBREVIATION.search(open_[-10:]):
            continue
        found.append(open_)
        open_ = ""
        if len(found) == MOST_SENTENCES:
            break
    headless = (_HEADING.sub("", sentence) for sentence in (*found, open_))
    return [one if len(one) <= MOST_LETTERS else _cut(one) for one in headless if one]


def _cut(sentence: str) -> str:
    kept = sentence[:MOST_LETTERS]
    return f"{kept[: kept.rfind(' ', MOST_LETTERS // 2)].rstrip()} …"


def extract(readings: Iterable[PaperTexts], phrases: KeyPhrases) -> Iterator[Extraction]:
    """A record for each paper, from its abstract, else from the introduction, else from the title."""
    for reading in readings:
        paper = reading.paper
        text = paper.abstract.strip() or reading.text.introduction or reading.text.method
        parts = digest(paper.title, text)
        yield Extraction(
            paper=paper.id,
            entities=phrases.best(paper.title, text, MOST_ENTITIES),
            background=parts.background,
            summary=parts.summary,
            main_ideas=parts.main_ideas,
            made_by=LEXICAL,
            recipe=RECIPE,
            basis="abstract" if paper.abstract.strip() else reading.basis,
        )
