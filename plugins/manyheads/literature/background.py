"""What an idea starts from: abstracts of a file of papers, a text, or what an earlier run has come to."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from manyheads.bank.corpus import RawPaper, Rejects
from manyheads.bank.records import Paper
from manyheads.config import RunConfig, read_yaml
from manyheads.errors import CorpusError, EmbeddingError, SubjectError
from manyheads.literature.given import LINES, TEXTS, path_of, text_of
from manyheads.literature.ideas import Reference, idea_of, read_idea
from manyheads.subjects import RESULT, Subject, read_subject, read_subjects

KINDS = "a file of papers (.bib, .jsonl, .csv, …), a text file, or a text in quotes"


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

    @property
    def untold(self) -> int:
        """How many works are known by their title alone."""
        return sum(not work.text for work in self.works)

    @property
    def sha256(self) -> str:
        """Of all works: the same background is the same wherever it is kept."""
        return hashlib.sha256("".join(work.sha256 for work in self.works).encode()).hexdigest()


def read_background(config: RunConfig) -> Background:
    """The background that a config names, and the idea of `rebuttal.idea`.

    A run's idea brings the references that it was written beside, where no background is named.

    Raises:
        SubjectError: a file is not there, cannot be read, or holds no abstract, or more than `rebuttal.most`.
        CorpusError: a file of papers cannot be read.
    """
    named, most, given = config.background, config.rebuttal.most, config.rebuttal.idea
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
    path = path_of(named, KINDS)
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
    return text_of(text, "the background", KINDS)


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
    from manyheads.literature.readers.opening import open_corpus

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
        told = f" ({rejects.told()})" if rejects.total else ""
        raise SubjectError(f"{named}: no paper in it has an abstract{told}", hint=f"name {KINDS}")
    return Background(named, tuple(works), without=bare + rejects.total)


def _idea(named: str) -> Subject:
    """An idea to begin with."""
    found = read_idea(named)
    return Subject(found.source, found.title, found.text)


def _behind(named: str, most: int) -> Background:
    """What an idea was written beside, where a run came to it; nothing is known of any other."""
    path = path_of(named, KINDS)
    if path is None or not path.is_dir():
        return Background()
    try:
        idea = idea_of(path)
        found = _beside(path, idea.references if idea else (), most)
    except (SubjectError, CorpusError) as error:
        raise SubjectError(
            f"{named}: what it began with cannot be read any more: {error}",
            hint="name its abstracts anew: --background FILE",
        ) from error
    return replace(found, source=found.source or named)


def _beside(folder: Path, references: Sequence[Reference], most: int) -> Background:
    """What a run's idea was written beside: its own background, that of the run it took up, or its references."""
    config = _config_of(folder)
    if isinstance(config.get("background"), list):
        return Background("", tuple(map(_text, config["background"])))
    if config.get("background"):
        return _read(str(config["background"]), most)
    if taken_up := (config.get("rebuttal") or {}).get("idea"):
        return _behind(str(taken_up), most)
    return Background("", tuple(_known(config, references)))


def _config_of(folder: Path) -> Mapping[str, Any]:
    """The config of a run as data; nothing where its folder has none."""
    path = folder / "config.yaml"
    return read_yaml(path) if path.is_file() else {}


def _known(config: Mapping[str, Any], references: Sequence[Reference]) -> Iterator[Subject]:
    """References with the abstracts that the run's corpus knows; a result keeps titles alone."""
    papers = _in_corpus(config, [each.id for each in references])
    for each in references:
        paper = papers.get(each.id)
        yield Subject(each.id, each.title, paper.abstract if paper else "")


def _in_corpus(config: Mapping[str, Any], ids: Sequence[str]) -> Mapping[str, Paper]:
    """What the corpus of a run knows of papers; nothing where it is not to be had any more."""
    from manyheads.bank.ecosystem import Ecosystem
    from manyheads.bank.named import resolve_corpus

    if not config or not any(ids):
        return {}
    corpus, embedding = str(config.get("corpus", "sample")), str(config.get("embedding", "auto"))
    try:
        with Ecosystem.open(resolve_corpus(corpus, embedding=embedding)) as ecosystem:
            return ecosystem.papers.get([each for each in ids if each])
    except (CorpusError, EmbeddingError):
        return {}  # told by the number of works that are known by title alone
