"""Ideas that runs have come to, or that a user gives, and the target that they are ranked beside."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.config import RunConfig
from manyheads.errors import SubjectError
from manyheads.literature.given import path_of, text_of
from manyheads.replies import Proposal
from manyheads.roles import describe
from manyheads.subjects import RESULT, Subject, read_result, read_subject

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


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Reference(_Part):
    """A paper that an idea was written beside, as a result names it."""

    id: str = ""
    title: str = ""


class RunIdea(_Part):
    """An idea of a result: title and text of a team, or what else a proposer has given it."""

    title: str = ""
    idea: str = ""
    experiment: str = ""
    problem: str = ""
    objective: str = ""
    hypothesis: str = ""
    method: str = ""
    expected_impact: str = ""
    number: int = 0
    references: list[Reference] = []

    @property
    def text(self) -> str:
        """Without its title."""
        parts = (self.idea, f"Experiment: {self.experiment}" if self.experiment.strip() else "")
        return "\n\n".join(part for part in parts if part.strip())

    @property
    def fields(self) -> Mapping[str, str]:
        """The six fields of a proposal; none of an idea that has not all of them."""
        told: dict[str, str] = {name: getattr(self, name) for name in Proposal.model_fields}
        return told if all(text.strip() for text in told.values()) else {}


class _Version(_Part):
    round: int
    idea: RunIdea


class _Course(_Part):
    indicator: str = ""


class _Wrote(_Part):
    idea: RunIdea | None = None
    rounds: list[_Version] = []
    rebuttal: _Course = _Course()


def read_contest(config: RunConfig) -> Contest:
    """The target and the ideas that `ranking` names.

    Raises:
        SubjectError: one of them is not there, cannot be read, or holds no idea, or no abstract.
    """
    chosen = config.ranking
    named = chosen.target or ""
    path = path_of(named, TARGETS)
    target = text_of(named, "the target", TARGETS) if path is None else read_subject(path)
    return Contest(target, tuple(read_idea(each, chosen.round) for each in chosen.ideas))


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


def idea_of(folder: Path) -> RunIdea | None:
    """The idea that a finished run has come to, None where it has not come to any.

    Raises:
        SubjectError: the folder has no readable result.
    """
    return _wrote(folder).idea


def _of_run(named: str, folder: Path, after: int | None) -> Entry:
    wrote = _wrote(folder)
    final = [_Version(round=wrote.idea.number, idea=wrote.idea)] if wrote.idea else []
    versions = (
        [one for one in wrote.rounds if one.round <= after] if wrote.rounds and after is not None else final
    )
    if not versions or not (idea := versions[-1].idea).text:
        raise SubjectError(f"{named}: this run has come to no idea", hint="name the folder of one that has")
    found = Entry(named, idea.title, idea.text, idea.fields, indicator=wrote.rebuttal.indicator)
    if not wrote.rounds:
        return found
    settled = after is None or wrote.rounds[-1].round <= after
    return replace(found, round=versions[-1].round, settled=settled)


def _wrote(folder: Path) -> _Wrote:
    try:
        return _Wrote.model_validate(read_result(folder))
    except ValidationError as error:
        raise SubjectError(f"{folder / RESULT}: {describe(error)}", hint=f"name {KINDS}") from error
