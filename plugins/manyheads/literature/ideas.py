"""Ideas that runs have come to, or that a user gives, and the target that they are ranked beside."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from manyheads.bank.corpus import RawPaper, Rejects
from manyheads.config import read_yaml
from manyheads.core.results import RESULT, Evidence, Idea, Part, read_result
from manyheads.errors import CorpusError, EmbeddingError, SubjectError
from manyheads.papers import Paper
from manyheads.replies import Proposal
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

KINDS = "the folder of a run that has come to an idea, a text file, or a text in quotes"
TARGETS = "a text, Markdown or JSON file, the folder of a run that wrote an abstract, or a text in quotes"


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
    """

    source: str
    title: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    round: int | None = None
    settled: bool | None = None
    indicator: str = ""


@dataclass(frozen=True)
class Contest:
    """The ideas that are ranked beside a target's abstract."""

    target: Subject
    ideas: tuple[Entry, ...]

    def __str__(self) -> str:
        words = count(len(self.target.text.split()), "word")
        return f"{count(len(self.ideas), 'idea')}, and a target of {words}"


class RunIdea(Idea):
    """An idea of any result: of a team, or as a proposer has given it."""

    experiment: str | None = None
    problem: str | None = None
    objective: str | None = None
    hypothesis: str | None = None
    method: str | None = None
    expected_impact: str | None = None

    @property
    def text(self) -> str:
        """Without its title."""
        parts = (self.idea, f"Experiment: {self.experiment}" if (self.experiment or "").strip() else "")
        return "\n\n".join(part for part in parts if part.strip())

    @property
    def fields(self) -> Mapping[str, str]:
        """The six fields of a proposal; none of an idea that has not all of them."""
        told: dict[str, str] = {name: getattr(self, name) or "" for name in Proposal.model_fields}
        return told if all(text.strip() for text in told.values()) else {}


class _Version(Part):
    round: int
    idea: RunIdea


class _Course(Part):
    indicator: str | None = None


class _Wrote(Part):
    idea: RunIdea | None = None
    rounds: tuple[_Version, ...] = ()
    rebuttal: _Course = _Course()


def read_contest(named: str | None, ideas: Sequence[str], after: int | None = None) -> Contest:
    """The target, and the ideas beside it.

    Args:
        after: see `read_idea`.

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
    if path is not None and path.is_dir():
        return _of_run(named, path, after)
    subject = text_of(named, "the idea", KINDS) if path is None else read_subject(path)
    return Entry(subject.source, subject.title, subject.text)


def _of_run(named: str, folder: Path, after: int | None) -> Entry:
    wrote = read_result(folder, _Wrote).result
    final = [_Version(round=wrote.idea.number, idea=wrote.idea)] if wrote.idea else []
    versions = (
        [one for one in wrote.rounds if one.round <= after] if wrote.rounds and after is not None else final
    )
    if not versions or not (idea := versions[-1].idea).text:
        raise SubjectError(f"{named}: this run has come to no idea", hint="name the folder of one that has")
    found = Entry(named, idea.title, idea.text, idea.fields, indicator=wrote.rebuttal.indicator or "")
    if not wrote.rounds:
        return found
    settled = after is None or wrote.rounds[-1].round <= after
    return replace(found, round=versions[-1].round, settled=settled)


# What an idea starts from: abstracts of a file of papers, a text, or what an earlier run has come to.

BACKGROUND_KINDS = "a file of papers (.bib, .jsonl, .csv, …), a text file, or a text in quotes"


@dataclass(frozen=True)
class Background:
    """The abstracts behind an idea, and the idea itself where there is one already.

    Attributes:
        source: what they were read from, as the config names it; empty for a text.
        works: abstracts with their titles; of a work known by its title alone the text is empty.
        idea: an idea to begin with.
        without: papers of the source that have no abstract, or are none, and are left out.
    """

    source: str = ""
    works: tuple[Subject, ...] = ()
    idea: Subject | None = None
    without: int = 0

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

    A run's idea brings the references that it was written beside, where no background is named.

    Args:
        most: abstracts that are allowed.

    Raises:
        SubjectError: a file is not there, cannot be read, or holds no abstract, or more than `most`.
        CorpusError: a file of papers cannot be read.
    """
    idea = _idea(given) if given else None
    if isinstance(named, tuple):
        found = Background("", tuple(map(_text, named)))
    elif named is not None:
        found = _read(named, most)
    else:
        found = _behind(given, most) if given else Background()
    return _few(replace(found, idea=idea), most)


def _few(background: Background, most: int) -> Background:
    if len(background.works) > most:
        raise SubjectError(
            f"{background.source or 'the background'}: holds more than {most} abstracts, which all would stand in "
            "each prompt of the proposer",
            hint="name a file with the ones that matter, or allow more: --set rebuttal.most=N",
        )
    return background


def _read(named: str, most: int) -> Background:
    path = path_of(named, BACKGROUND_KINDS)
    if path is None:
        return Background("", (_text(named),))
    if path.suffix.lower() in TEXTS or not path.exists():  # the line of a file
        return Background(named, (read_subject(path),))
    if path.suffix.lower() in LINES:
        return _lines(path, named, most)
    if (path / RESULT).is_file():
        raise SubjectError(f"{named}: a run, not a file of papers", hint=f"take its idea up: --idea {named}")
    return _papers(path, named, most)


def _text(text: str) -> Subject:
    return text_of(text, "the background", BACKGROUND_KINDS)


def _lines(path: Path, named: str, most: int) -> Background:
    """JSON Lines of papers as corpora have them, or of nothing but abstracts and their titles."""
    if _begins_with_a_paper(path):
        return _papers(path, named, most)
    found = read_subjects(path)
    works = (replace(one, source=f"{path.name}:{number}") for number, one in enumerate(found, 1))
    return Background(named, tuple(works))


def _begins_with_a_paper(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig") as file:
            RawPaper.model_validate_json(file.readline())
    except (OSError, ValueError):
        return False
    return True


def _papers(path: Path, named: str, most: int) -> Background:
    """The abstracts of a file of papers; what is no paper, or has no abstract, is counted."""
    from manyheads.literature.readers.formats import open_corpus

    rejects = Rejects()
    papers = (paper for _, paper in open_corpus(path).papers(rejects))
    works: list[Subject] = []
    bare = 0
    for paper in papers:
        if not paper.abstract.strip():
            bare += 1
            continue
        works.append(Subject(paper.id, paper.title, paper.abstract.strip()))
        if len(works) > most:
            break
    if not works:
        told = f" ({rejects.summary()})" if rejects.total else ""
        raise SubjectError(f"{named}: no paper in it has an abstract{told}", hint=f"name {BACKGROUND_KINDS}")
    return Background(named, tuple(works), without=bare + rejects.total)


def _idea(named: str) -> Subject:
    """An idea to begin with."""
    found = read_idea(named)
    return Subject(found.source, found.title, found.text)


def _behind(named: str, most: int) -> Background:
    """What an idea was written beside, where a run came to it; nothing is known of any other."""
    path = path_of(named, BACKGROUND_KINDS)
    if path is None or not path.is_dir():
        return Background()
    try:
        run = read_result(path, _Wrote)
        found = _beside(path, run.cited(run.result.idea.references if run.result.idea else ()), most)
    except (SubjectError, CorpusError) as error:
        raise SubjectError(
            f"{named}: what it began with cannot be read any more: {error}",
            hint="name its abstracts anew: --background FILE",
        ) from error
    return replace(found, source=found.source or named)


def _beside(folder: Path, references: Sequence[Evidence], most: int) -> Background:
    """What a run's idea was written beside: its own background, that of the run it took up, or its references."""
    path = folder / "config.yaml"
    config = read_yaml(path) if path.is_file() else {}
    inputs = config.get("inputs") or config
    if isinstance(inputs.get("background"), list):
        return Background("", tuple(map(_text, inputs["background"])))
    if inputs.get("background"):
        return _read(str(inputs["background"]), most)
    if taken_up := inputs.get("idea") or (config.get("rebuttal") or {}).get("idea"):
        return _behind(str(taken_up), most)
    return Background("", tuple(_known(config, references)))


def _known(config: Mapping[str, Any], references: Sequence[Evidence]) -> Iterator[Subject]:
    """References with the abstracts that the run's corpus knows; a result keeps titles alone."""
    papers = _in_corpus(config, [each.paper for each in references])
    for each in references:
        paper = papers.get(each.paper)
        yield Subject(each.paper, each.title, paper.abstract if paper else "")


def _in_corpus(config: Mapping[str, Any], ids: Sequence[str]) -> Mapping[str, Paper]:
    """What the corpus of a run knows of papers; nothing where it is not to be had any more."""
    from manyheads.bank.corpora import resolve_corpus
    from manyheads.bank.ecosystem import Ecosystem

    if not config or not any(ids):
        return {}
    corpus, embedding = str(config.get("corpus", "sample")), str(config.get("embedding", "auto"))
    try:
        with Ecosystem.open(resolve_corpus(corpus, embedding=embedding)) as ecosystem:
            return ecosystem.papers.get([each for each in ids if each])
    except (CorpusError, EmbeddingError):
        return {}  # told by the number of works that are known by title alone
