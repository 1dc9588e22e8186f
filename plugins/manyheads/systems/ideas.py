"""Ideas that runs have come to, or that a user gives; the target that they are ranked beside, and what they start from."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from manyheads.bank.corpus import RawPaper, Rejects
from manyheads.config import RunConfig
from manyheads.core.results import RESULT, Evidence, Idea
from manyheads.engine.folder import CONFIG
from manyheads.engine.system import Revisions, system_of
from manyheads.errors import CorpusError, EmbeddingError, SubjectError, UserError
from manyheads.systems.loading import reopen
from manyheads.systems.results import load, own
from manyheads.texts import (
    LINES,
    TEXTS,
    Subject,
    count,
    path_of,
    read_subject,
    read_subjects,
    subject_of,
    text_of,
)

TOLD = 5
"""Entries without an abstract that a warning names."""
KINDS = "the folder of a run that has come to an idea, a text file, or a text in quotes"
TARGETS = "a text, Markdown or JSON file, the folder of a run that wrote an abstract, or a text in quotes"
BACKGROUND_KINDS = "a file of papers (.bib, .jsonl, .csv, …), a text file, or a text in quotes"


@dataclass(frozen=True)
class Entry:
    """One idea.

    Attributes:
        source: the file or folder that it was read from; empty for a text.
        title: empty where none is told.
        text: without the title.
        fields: the six fields of a proposal by name, where the idea is in that form; else empty.
        round: revisions that led to it; None where nobody has counted any.
        settled: whether its run had ended by the round that was asked for; None where there were no rounds.
        indicator: the quality that its run improved it for; empty where none is known.
        area: the field of research in which its run did so; empty where none is known.
    """

    source: str
    title: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    round: int | None = None
    settled: bool | None = None
    indicator: str = ""
    area: str = ""


@dataclass(frozen=True)
class Contest:
    """The ideas that are ranked beside a target's abstract."""

    target: Subject
    ideas: tuple[Entry, ...]

    def __str__(self) -> str:
        words = count(len(self.target.text.split()), "word")
        return f"{count(len(self.ideas), 'idea')}, and a target of {words}"


def read_contest(named: str | None, ideas: Sequence[str], after: int | None = None) -> Contest:
    """The target, and the ideas beside it, each as `read_idea` reads it.

    Raises:
        SubjectError: one of them is not there, cannot be read, or holds no idea, or no abstract.
    """
    target = subject_of(named or "", "the target", TARGETS)
    return Contest(target, tuple(read_idea(each, after) for each in ideas))


def read_idea(named: str, after: int | None = None) -> Entry:
    """The idea that is named: the folder of a run, a text file, or a text.

    Args:
        after: of a run that has revised its idea, the version after so many revisions, or the last; the final idea
            when left out. What was never revised is taken as it is.

    Raises:
        SubjectError: it is not there, cannot be read, or holds no idea.
    """
    path = path_of(named, KINDS)
    if path is None or not path.is_dir():
        subject = text_of(named, "the idea", KINDS) if path is None else read_subject(path)
        return Entry(subject.source, subject.title, subject.text)
    run = load(path, unfinished=False)
    revisions = own(run.system).revisions(run.result) or Revisions(())
    versions, idea = revisions.versions, getattr(run.result, "idea", None)
    if versions and after is not None:
        idea = next((each for each in reversed(versions) if each.number <= after), None)
    if not isinstance(idea, Idea) or not idea.body.strip():
        raise SubjectError(f"{named}: this run has come to no idea", hint="name the folder of one that has")
    entry = Entry(named, idea.title, idea.body, idea.form, indicator=revisions.indicator, area=revisions.area)
    if not versions:
        return entry
    return replace(entry, round=idea.number, settled=after is None or versions[-1].number <= after)


def with_ideas(named: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is named, without folders that hold no idea, and why each of these is left out: `runs/*` names many folders.

    Raises:
        SubjectError: nothing would be left.
    """
    kept, left, wrong = list[str](), list[str](), None
    for each in named:
        folder = False
        with suppress(OSError):  # a text, which no file could be called
            folder = Path(each).is_dir()
        try:
            if folder:
                read_idea(each)
            kept.append(each)
        except SubjectError as error:
            wrong = wrong or error
            left.append(error.message)
    if wrong and not kept:
        raise wrong
    return kept, left


def read_ideas(named: str) -> tuple[Entry, ...]:
    """All ideas that a run has come to in the end, its `final` ones; else the one that is named, as `read_idea` reads it.

    Raises:
        SubjectError: it is not there, cannot be read, or holds no idea.
    """
    path = path_of(named, KINDS)
    if path is None or not path.is_dir():
        return (read_idea(named),)
    run = load(path, unfinished=False)
    found: Sequence[object] = getattr(run.result, "final", None) or ()
    ideas = [each for each in found if isinstance(each, Idea) and each.body.strip()]
    return tuple(Entry(named, each.title, each.body, each.form) for each in ideas) or (read_idea(named),)


@dataclass(frozen=True)
class Background:
    """The abstracts behind an idea, and the idea itself where there is one already.

    Attributes:
        source: what they were read from, as the config names it; empty for a text.
        works: abstracts with their titles; of a work known by its title alone the text is empty.
        idea: an idea to begin with.
        without: papers of the source that have no abstract, or are none, and are left out.
        such: the first few of these, with what is wrong with each.
    """

    source: str = ""
    works: tuple[Subject, ...] = ()
    idea: Subject | None = None
    without: int = 0
    such: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{'an idea to begin with, and ' if self.idea else ''}{count(len(self.works), 'abstract')}"

    @property
    def untold(self) -> int:
        """How many works are known by their title alone."""
        return sum(not work.text for work in self.works)

    @property
    def sha256(self) -> str:
        """Of all works: the same background is the same wherever it is kept."""
        return hashlib.sha256("".join(work.sha256 for work in self.works).encode()).hexdigest()


def read_background(named: str | tuple[str, ...] | None, most: int, given: str | None = None) -> Background:
    """The background that is named, and the idea that is given.

    A run's idea brings what it was written beside, where no background is named.

    Args:
        most: abstracts that are allowed.

    Raises:
        SubjectError: a file is not there, cannot be read, or holds no abstract, or more than `most`.
        CorpusError: a file of papers cannot be read.
    """
    idea = read_idea(given) if given else None
    if isinstance(named, tuple):
        background = Background("", tuple(map(_text, named)))
    elif named is not None:
        background = _read(named, most)
    else:
        background = _behind(given) if given else Background()
    if len(background.works) > most:
        raise SubjectError(
            f"{background.source or 'the background'}: holds more than {most} abstracts, which all would stand in "
            "each prompt of the proposer",
            hint="name a file with the ones that matter, or allow more: --set rebuttal.most=N",
        )
    return replace(background, idea=idea and Subject(idea.source, idea.title, idea.text))


def _text(text: str) -> Subject:
    return text_of(text, "the background", BACKGROUND_KINDS)


def _read(named: str, most: int) -> Background:
    path = path_of(named, BACKGROUND_KINDS)
    if path is None:
        return Background("", (_text(named),))
    if path.suffix.lower() in TEXTS or not path.exists():  # the line of a file
        return Background(named, (read_subject(path),))
    if path.suffix.lower() in LINES and not _begins_with_a_paper(path):
        blank = list[str]()
        subjects = read_subjects(path, blank)
        works = tuple(replace(one, source=f"{path.name}:{number}") for number, one in enumerate(subjects, 1))
        such = tuple(f"line {line.rpartition(':')[2]}: no abstract" for line in blank[:TOLD])
        return Background(named, works, without=len(blank), such=such)
    if (path / RESULT).is_file():
        raise SubjectError(f"{named}: a run, not a file of papers", hint=f"take its idea up: --idea {named}")
    return _papers(path, named, most)


def _begins_with_a_paper(path: Path) -> bool:
    """Whether JSON Lines are papers as corpora have them, and not just abstracts and their titles."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            RawPaper.model_validate_json(file.readline())
    except (OSError, ValueError):
        return False
    return True


def _papers(path: Path, named: str, most: int) -> Background:
    """The abstracts of a file of papers; what is no paper, or has no abstract, is counted."""
    from manyheads.literature.readers.formats import open_corpus

    rejects, works, bare = Rejects(), list[Subject](), list[str]()
    try:
        for _, paper in open_corpus(path).papers(rejects):
            if abstract := paper.abstract.strip():
                works.append(Subject(paper.id, paper.title, abstract))
            else:
                bare.append(paper.id)
            if len(works) > most:
                break
    except CorpusError as error:
        if error.hint and "--columns" in error.hint:  # options of `corpus build`, which a run has not
            error.hint = "call its columns title, abstract, authors and year"
        elif error.hint and "--format" in error.hint:
            error.tried, error.hint = None, f"name {BACKGROUND_KINDS}"
        raise
    if not works:
        why = f" ({rejects.summary()})" if rejects.total else ""
        raise SubjectError(f"{named}: no paper in it has an abstract{why}", hint=f"name {BACKGROUND_KINDS}")
    such = (*(f"{paper}: no abstract" for paper in bare), *map(str, rejects.first))[:TOLD]
    return Background(named, tuple(works), without=len(bare) + rejects.total, such=such)


def _behind(named: str) -> Background:
    """What a run's idea was written beside: the background that the run was given, or the references of its idea."""
    path = path_of(named, BACKGROUND_KINDS)
    if path is None or not path.is_dir():
        return Background()  # nothing is known of any other idea
    try:
        run = load(path, unfinished=False)
        config = reopen(path) if (path / CONFIG).is_file() else None
        background = system_of(config).read(config) if config else None
        if not isinstance(background, Background):
            background = Background("", tuple(_known(config, run.cited(run.result.idea.references))))
    except UserError as error:
        raise SubjectError(
            f"{named}: what it began with cannot be read any more: {error}",
            hint="name its abstracts again: --background FILE",
        ) from error
    return replace(background, source=background.source or named)


def _known(config: RunConfig | None, references: Sequence[Evidence]) -> Iterator[Subject]:
    """References with the abstracts that the run's corpus knows, where it is still to be had; else titles alone."""
    from manyheads.bank.corpora import resolve_corpus
    from manyheads.bank.ecosystem import Ecosystem

    papers, ids = {}, [each.paper for each in references if each.paper]
    if config and ids:
        try:
            with Ecosystem.open(resolve_corpus(config.corpus, embedding=config.embedding)) as ecosystem:
                papers = ecosystem.papers.get(ids)
        except (CorpusError, EmbeddingError):
            pass  # told by the number of works that are known by title alone
    for each in references:
        paper = papers.get(each.paper)
        yield Subject(each.paper, each.title, paper.abstract if paper else "")
