"""Records of papers without a model: key phrases as entities, sentences of the abstract as background, summary and main ideas.

It stands in for the model of SciPIP (§3.1, Tables 7–9) where there is none, and says so: `made_by` is `lexical`. It copies,
and adds nothing.
"""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple
from weakref import WeakSet

from manyheads.bank.building import Progress
from manyheads.bank.database import LiteratureDatabase
from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.extraction import LEXICAL, MOST_ENTITIES, Basis, Extraction
from manyheads.bank.graph import Text
from manyheads.bank.knowledge import CHUNK
from manyheads.bank.lexical import stems
from manyheads.bank.phrases import Phrases
from manyheads.bank.records import Source
from manyheads.disk import FileLock, LockedError
from manyheads.errors import CorpusError
from manyheads.papers import Paper

RECIPE = "2"
"""Of its records: the number of the rules below."""
MOST_BACKGROUND, MOST_IDEAS = 2, 3
"""Sentences of the background, and main ideas, at most (SciPIP, Table 8)."""
MOST_LETTERS, MOST_SENTENCES = 800, 40
"""Of a sentence, and of a text, that are looked at: what is longer has no sentences, or is no abstract."""
SAMPLE = 5_000
"""Papers that tell which phrases are common."""

_END = re.compile(r"(?<=[.!?])[\"'”’)\]]?\s+(?=[^a-z\s])|(?<=[。！？])\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|al|resp|approx|Eqs?|Figs?|Secs?|Refs?|Nos?|Dr|Prof|St)|\b[A-Z])\.$"
)
_HEADING = re.compile(
    r"(?:abstract|background|motivation|objectives?|purpose|introduction|methods?|results?|conclusions?|summary)"
    r"\s*[:.—–-]\s*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")

# What the sentences of an abstract do, by their words.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AUTHORS = _words("we here i")
_WORK = _words("paper work article study letter thesis report contribution contributions")
_THIS = _words("this present our the")
_PROPOSES = _words(
    "propose proposes proposed present presents presented introduce introduces introduced develop develops developed describe "
    "describes described"
)
_DOES = _PROPOSES | _words(
    "address addresses addressed analyse analyses analyze analyzes argue argues concerned consider considers considered "
    "deals demonstrate demonstrates design designed examine examines explore explores explored focuses formulate formulates give "
    "gives investigate investigates investigated offer offers provide provides report reports show shows studied studies study suggest suggests "
    "tackle tackles"
)
_ASIDE = _words("also finally furthermore moreover results additionally")
_IS = _words("is are")
_PROBLEM = _words(
    "although bottleneck but challenge challenges challenging complex costly critical crucial despite difficult difficulties "
    "difficulty drawback drawbacks essential expensive fail fails hard however important intractable key lack lacking lacks "
    "limit limitation limitations limited limits need needed needs noisy open problem problems rarely remain remains require "
    "required requires scarce shortcoming shortcomings suffer suffers unclear unfortunately unknown yet"
)
_METHOD = _words(
    "adopt algorithm approach apply architecture based build combination combine combines combining consists define derive "
    "design employ exploit extend first formulate framework learn method methods model network new novel our propose prove "
    "scheme strategy system technique train use uses using"
)
_RESULT = _words(
    "accuracy achieve achieves achieving benchmark benchmarks demonstrate demonstrates evaluate evaluated evaluation experiment "
    "experimental experiments faster improve improved improvement improves outperform outperforms results show shows "
    "significantly simulation simulations state validate validated"
)


class Reading(NamedTuple):
    """What there is to read of a paper."""

    paper: Paper
    text: Text = Text("", "")

    @property
    def basis(self) -> Basis:
        """The best that there is."""
        if self.text.introduction or self.text.method:
            return "full text"
        return "abstract" if self.paper.abstract.strip() else "title"


class Digest(NamedTuple):
    """What a text says, in its own sentences."""

    background: str
    summary: str
    main_ideas: tuple[str, ...]


def digest(title: str, text: str) -> Digest:
    """The background, the summary and the main ideas among an abstract's sentences.

    The summary is the first sentence that says what is proposed or presented, not in passing; else the first that says what
    the authors do; else the one that shares the most words with the title. The background is, of the sentences before it,
    the first one and the next that names a problem; where none stands before it, the first later one that names a problem
    and speaks neither of the authors nor of results, else the summary again. The main ideas are, of the other sentences behind the
    summary (of all others where none is), those that speak of the method, then those of results, then the rest; in their
    order in the text. One sentence alone is background and summary; where there is none, the title is both.
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
        background = [
            next(
                (each for each in problems if each and not (words[each] & _RESULT or _is_own(words[each]))), 0
            )
        ]
    rest = [place for place in range(len(found)) if place != at and place not in background]
    after = [place for place in rest if place > at] or rest
    after.sort(key=lambda place: (not words[place] & _METHOD, not words[place] & _RESULT, place))
    return Digest(
        " ".join(found[place] for place in background),
        found[at],
        tuple(found[place] for place in sorted(after[:MOST_IDEAS])),
    )


def _summary(title: str, words: list[set[str]]) -> int:
    """The place of the summary, from the words of each sentence."""
    done = [place for place, said in enumerate(words) if _is_own(said)]
    if not done:
        own = {*stems(title)}
        return max(
            range(len(words)),
            key=lambda place: (len(own.intersection(stems(" ".join(words[place])))), -place),
        )
    proposed = (place for place in done if words[place] & _PROPOSES and not words[place] & _ASIDE)
    return next(proposed, done[0])


def _is_own(words: set[str]) -> bool:
    """Whether a sentence says what its authors do."""
    theirs = words & _AUTHORS or (words & _WORK and words & _THIS) or (words & _IS and words & _PROPOSES)
    return bool(theirs and words & _DOES)


def sentences(text: str) -> list[str]:
    """The sentences of a text, headings such as `Results:` left out; one that is too long is cut at a word."""
    found, open_ = list[str](), ""
    for part in _END.split(" ".join(text.split())):
        open_ = f"{open_} {part}" if open_ else part
        if _ABBREVIATION.search(open_[-10:]):
            continue
        found.append(open_)
        open_ = ""
        if len(found) == MOST_SENTENCES:
            break
    headless = (_unheaded(sentence) for sentence in (*found, open_))
    return [
        sentence if len(sentence) <= MOST_LETTERS else _cut(sentence) for sentence in headless if sentence
    ]


def _unheaded(sentence: str) -> str:
    heading = _HEADING.match(sentence)
    return sentence[heading.end() :] if heading else sentence


def _cut(sentence: str) -> str:
    kept = sentence[:MOST_LETTERS]
    return f"{kept[: kept.rfind(' ', MOST_LETTERS // 2)].rstrip()} …"


def extract(readings: Iterable[Reading], phrases: Phrases) -> Iterator[Extraction]:
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


# The papers of a corpus.


STEP = "extracting"
"""What bars of progress call it."""
_complete: WeakSet[LiteratureDatabase] = WeakSet()
"""Databases that need not be looked at again."""
LOCK = "records.lock"
"""Held in a corpus's folder by who puts records into its database."""


def readings(database: LiteratureDatabase, papers: Sequence[str]) -> Iterator[Reading]:
    """What there is to read of papers, by id and in their order; a few hundred are in memory at once."""
    for start in range(0, len(papers), CHUNK):
        chunk = papers[start : start + CHUNK]
        known, texts = database.papers(chunk), database.graph.texts(chunk)
        yield from (Reading(known[one], texts.get(one, Text("", ""))) for one in chunk if one in known)


def extract_papers(
    database: LiteratureDatabase,
    papers: Sequence[str],
    tell: Progress = lambda step, done, total: None,
    vectors: Source = "abstract",
) -> int:
    """Put lexical records of papers into a database, some hundreds at a time; how many there were.

    Raises:
        CorpusError: the database cannot be written.
    """
    bank, done = database.ecosystem.papers, 0
    every = max(1, bank.count() // SAMPLE)
    phrases = Phrases.of(f"{one.title}. {one.abstract}" for one in islice(bank.papers(), None, None, every))

    def more(count: int) -> None:
        nonlocal done
        tell(STEP, done := done + count, len(papers))

    return database.put(extract(readings(database, papers), phrases), vectors, more)


@contextmanager
def extracting(ecosystem: Ecosystem, *, wait: bool = False) -> Generator[None]:
    """Around what puts records into a corpus's database: one process does at a time.

    Args:
        wait: until another has done with it.

    Raises:
        CorpusError: the folder cannot be written, or another process is at it.
    """
    folder = ecosystem.folder
    try:
        lock = FileLock(folder / LOCK, wait=wait)
    except LockedError as error:
        raise CorpusError(
            f"{folder}: another process extracts its papers", hint="wait for it or end it"
        ) from error
    except OSError as error:
        raise CorpusError(
            f"{folder} cannot be written: {error.strerror}",
            hint="its papers have no records; copy the corpus to where you may write",
        ) from error
    with lock:
        yield


def open_database(ecosystem: Ecosystem, say: Callable[[str], None] = lambda line: None) -> LiteratureDatabase:
    """The literature database of a corpus; where no model has made a record, each paper without one gets a lexical record first.

    Args:
        say: told once, in a line, that this is done.

    Raises:
        CorpusError: there are no records, and none can be written.
    """
    database = LiteratureDatabase.of(ecosystem)

    def missing() -> list[str]:
        return database.missing() if database.graph.recipes().keys() <= {RECIPE} else []

    if database not in _complete and missing():
        with extracting(ecosystem, wait=True):
            if papers := missing():  # and no other process has extracted them meanwhile
                say(
                    f"corpus {ecosystem.meta.name}: {len(papers):,} papers have no records yet: they are extracted without a "
                    f"model; one does it better: manyheads corpus extract {ecosystem.folder} --model PROVIDER/NAME"
                )
                extract_papers(database, papers)
    _complete.add(database)
    return database
