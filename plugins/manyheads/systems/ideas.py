"""Ideas of runs or users; the target that they are ranked against, and their background."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator, BaseModel

from manyheads.asking.forms import shipped_forms
from manyheads.asking.prompts import Prompts
from manyheads.base.errors import CorpusError, EmbeddingError, SubjectError, UserError
from manyheads.base.files import opened
from manyheads.base.folders import CONFIG, source_of
from manyheads.base.text import count, hash_of
from manyheads.config import RunConfig
from manyheads.core import texts
from manyheads.core.results import RESULT, Evidence, Idea
from manyheads.core.texts import Given, Subject, path_of, read_subject, run_and_number, text_of
from manyheads.corpus.records import RawPaper, Rejects
from manyheads.systems.loading import reopen
from manyheads.systems.results import load, own
from manyheads.team.system import Revisions, system_of

if TYPE_CHECKING:
    from manyheads.systems.rebuttal.replies import Condensed


def _each_once(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) < len(values):
        raise ValueError("one is named twice")
    return values


Several = Annotated[tuple[Given, ...], AfterValidator(_each_once)]  # several paths or texts, each once


def read_paper_or_text(path: Path, *, idea: bool = False) -> Subject:
    """The text at a path, as `read_subject`; of a paper its title, abstract and sections, or of an idea its abstract alone.

    Raises:
        DocumentError, SubjectError: it cannot be read, or has no text.
    """
    from manyheads.documents import read_apart
    from manyheads.documents.folders import PAPERS, main_tex

    path = (path.is_dir() and main_tex(path)) or path
    if path.suffix.lower() not in PAPERS or path.is_dir():
        return read_subject(path)
    document = read_apart(path)
    whole = "\n\n".join(
        filter(None, (document.abstract, document.text() * (not idea or not document.abstract)))
    )
    return Subject(source_of(path), document.title, whole)


NAMED = 5  # entries without an abstract in a warning
KINDS = "the folder of a run with an idea, one of its ideas as RUN#NUMBER, a text file, or a text in quotes"
TARGETS = "a text, Markdown or JSON file, the folder of a run that wrote an abstract, or a text in quotes"
BACKGROUND_KINDS = "a file of papers (.bib, .jsonl, .csv, …), a text file, or a text in quotes"


@dataclass(frozen=True)
class Entry:
    """One idea.

    Attributes:
        source: the file or folder that it was read from; empty for a text.
        title: empty without one.
        text: without the title.
        fields: the six fields of a proposal by name; empty if the idea is not in that form.
        round: number of revisions; None if unknown.
        settled: whether its run had ended by the requested round; None without rounds.
        indicator, area: the quality that its run improved, and its research field; empty if unknown.
        topic: of its run; empty without one.
    """

    source: str
    title: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    round: int | None = None
    settled: bool | None = None
    indicator: str = ""
    area: str = ""
    topic: str = ""

    @property
    def whole(self) -> str:
        """The text with its title."""
        return "\n\n".join(filter(None, (self.title, self.text)))


@dataclass(frozen=True)
class GivenIdeas:
    """Ideas that a run begins with; of a scientist who is asked about one, what they said when it was found."""

    ideas: tuple[Entry, ...]
    own_words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (
            f"{count(len(self.ideas), 'idea')}: {'; '.join(one.title or one.text[:60] for one in self.ideas)}"
        )


def condensing_fault(reply: "Condensed", prompts: Prompts) -> str | None:
    """The fault of a form that leaves nothing to judge, or that a judge would recognise by its missing fields."""
    half, empty = reply.contradictions(), reply.contents().keys() <= {"title"}
    fault = {"fault": "nothing" if empty else "contradiction", "fields": half}
    return prompts.render("judge/invalid.md.j2", fault).strip() if empty or half else None


@dataclass(frozen=True)
class Contest:
    """Ideas to rank against a target's abstract."""

    target: Subject
    ideas: tuple[Entry, ...]

    def __str__(self) -> str:
        words = count(len(self.target.text.split()), "word")
        return f"{count(len(self.ideas), 'idea')} and a target of {words}"


def read_contest(named: str | None, ideas: Sequence[str], after: int | None = None) -> Contest:
    """The target and the ideas, each read by `read_idea`; raises `SubjectError` as that does."""
    target = texts.subject_of(named or "", "the target", TARGETS)
    return Contest(target, tuple(read_idea(each, after) for each in ideas))


def read_idea(named: str, after: int | None = None) -> Entry:
    """An idea by name: the folder of a run, an idea of it as `RUN#NUMBER`, a text file, or a text.

    Args:
        after: for a run that revised its idea, the version after this number of revisions, or the last; default: the final one.

    Raises:
        SubjectError: it is missing, cannot be read, or has no idea.
    """
    path = path_of(named, KINDS)
    folder, number = run_and_number(named)
    if path is None or not folder.is_dir():
        subject = text_of(named, "the idea", KINDS) if path is None else read_paper_or_text(path, idea=True)
        return Entry(subject.source, subject.title, subject.text)
    run = load(folder, unfinished=False)
    revisions = own(run.system).revisions(run.result) or Revisions(())
    versions, idea = revisions.versions, idea_of(run.result, number, folder)
    if versions and after is not None and number is None:
        idea = next((each for each in reversed(versions) if each.number <= after), None)
    if not isinstance(idea, Idea) or not idea.body.strip():
        hint = "name the folder of a run with an idea"
        raise SubjectError(f"{named}: this run did not produce an idea", hint=hint)
    entry = Entry(named, idea.title, idea.body, idea.form, indicator=revisions.indicator, area=revisions.area)
    entry = replace(entry, topic=getattr(getattr(run.result, "topic", None), "topic", ""))
    if not versions:
        return entry
    return replace(entry, round=idea.number, settled=after is None or versions[-1].number <= after)


def listed_ideas(result: BaseModel) -> list[tuple[str, Idea]]:
    """Every idea in the lists of a result, including rounds, with the name of its list; without lists, the idea."""
    lists: dict[str, list[Any]] = {name: each for name, each in result if isinstance(each, list)}
    entries = ((name, entry) for name, listed in lists.items() for entry in listed)
    ideas = [(name, one if isinstance(one, Idea) else getattr(one, "idea", None)) for name, one in entries]
    found = [(name, idea) for name, idea in ideas if isinstance(idea, Idea)]
    best = getattr(result, "idea", None)
    return found or ([("", best)] if isinstance(best, Idea) else [])


def ideas_by_number(result: BaseModel) -> dict[int, Idea]:
    """The ideas of a result: the final ones of a run that ends with several, else all; of two with one number, the later one."""
    ideas = listed_ideas(result)
    final = [(name, idea) for name, idea in ideas if name == "final"]
    return {idea.number: idea for _, idea in final or ideas if idea.body.strip()}


def idea_of(result: BaseModel, number: int | None, folder: Path) -> object:
    """The idea of a result, or the one of a number; raises `SubjectError` if there is none of this number."""
    if number is None:
        return getattr(result, "idea", None)
    if number not in (ideas := ideas_by_number(result)):
        tried = "; ".join(f"{each.number} {each.title or each.body[:60]}" for each in ideas.values())
        hint = "name one of these" if ideas else "name the folder of a run with ideas"
        raise SubjectError(f"{folder}: has no idea {number}", tried=tried or None, hint=hint)
    return ideas[number]


def with_ideas(named: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names without folders that have no idea, and the reasons: `runs/*` may include other folders.

    Raises `SubjectError` if nothing is left.
    """
    kept, wrong = list[str](), list[SubjectError]()
    for each in named:
        try:
            with suppress(OSError):  # a text, not a valid file name
                if Path(each).is_dir():
                    read_idea(each)
            kept.append(each)
        except SubjectError as error:
            wrong.append(error)
    if wrong and not kept:
        raise wrong[0]
    return kept, [error.message for error in wrong]


def read_ideas(named: str) -> tuple[Entry, ...]:
    """All final ideas of a run; for other names the idea of `read_idea`; raises `SubjectError` as that does."""
    path = path_of(named, KINDS)
    if path is None or not path.is_dir():
        return (read_idea(named),)
    run = load(path, unfinished=False)
    found: Sequence[object] = getattr(run.result, "final", None) or ()
    ideas = [each for each in found if isinstance(each, Idea) and each.body.strip()]
    return tuple(Entry(named, each.title, each.body, each.form) for each in ideas) or (read_idea(named),)


@dataclass(frozen=True)
class Background:
    """The abstracts behind an idea, and the idea itself if it is given.

    Attributes:
        source: as the config names it; empty for a text.
        works: abstracts with titles; the text is empty if only the title is known.
        without, such: the number of papers left out, without an abstract or invalid; the first few, with the reason.
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
        """Number of works with a title only."""
        return sum(not work.text for work in self.works)

    @property
    def sha256(self) -> str:
        """Digest of all works, independent of their place."""
        return hash_of("".join(work.sha256 for work in self.works))


def read_background(named: str | tuple[str, ...] | None, most: int, given: str | None = None) -> Background:
    """The named background, and the given idea.

    Without a named background, a run's idea brings its own.

    Args:
        most: maximum number of abstracts.

    Raises:
        SubjectError: a file is missing, cannot be read, or has no abstract, or more than `most`.
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
        named = background.source or "the background"
        raise SubjectError(
            f"{named}: has more than {most} abstracts; all of them go into each prompt of the proposer",
            hint="name a file with the ones that matter, or allow more: --set rebuttal.most=N",
        )
    return replace(background, idea=idea and Subject(idea.source, idea.title, idea.text))


def _text(text: str) -> Subject:
    return text_of(text, "the background", BACKGROUND_KINDS)


def _read(named: str, most: int) -> Background:
    path = path_of(named, BACKGROUND_KINDS)
    if path is None:
        return Background("", (_text(named),))
    from manyheads.documents.folders import PAPERS

    if path.suffix.lower() in {*texts.TEXTS, *PAPERS} - {".xml"} or not path.exists():  # the line of a file
        return Background(named, (read_paper_or_text(path, idea=True),))
    if path.suffix.lower() in texts.LINES and not _begins_with_a_paper(path):
        blank = list[str]()
        subjects = texts.read_subjects(path, blank)
        works = tuple(replace(one, source=f"{path.name}:{number}") for number, one in enumerate(subjects, 1))
        such = tuple(f"line {line.rpartition(':')[2]}: no abstract" for line in blank[:NAMED])
        return Background(named, works, without=len(blank), such=such)
    if (path / RESULT).is_file():
        raise SubjectError(f"{named}: a run, not a file of papers", hint=f"use its idea: --idea {named}")
    return _papers(path, named, most)


def _begins_with_a_paper(path: Path) -> bool:
    """Whether JSON Lines are papers as in corpora, not only abstracts with titles."""
    try:
        with opened(path) as file:
            return RawPaper.model_validate_json(file.readline().decode("utf-8-sig")).year > 0
    except (OSError, ValueError):
        return False


def _papers(path: Path, named: str, most: int) -> Background:
    """The abstracts of a file of papers; entries without one are counted."""
    from manyheads.datasets.opening import open_corpus

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
        if error.hint and "--columns" in error.hint:  # an option of `corpus build`
            error.hint = "name its columns title, abstract, authors and year"
        elif error.hint and "--format" in error.hint:
            error.tried, error.hint = None, f"name {BACKGROUND_KINDS}"
        raise
    if not works:
        why = f" ({rejects.summary()})" if rejects.total else ""
        raise SubjectError(f"{named}: no paper in it has an abstract{why}", hint=f"name {BACKGROUND_KINDS}")
    such = (*(f"{paper}: no abstract" for paper in bare), *map(str, rejects.first))[:NAMED]
    return Background(named, tuple(works), without=len(bare) + rejects.total, such=such)


def _behind(named: str) -> Background:
    """The background of a run's idea: that of the run, or the references of the idea."""
    path, number = run_and_number(named)
    if path_of(named, BACKGROUND_KINDS) is None or not path.is_dir():
        return Background()  # nothing is known of any other idea
    try:
        run = load(path, unfinished=False)
        config = reopen(path) if (path / CONFIG).is_file() else None
        background = system_of(config).read(config) if config else None
        if not isinstance(background, Background):
            idea = cast(Idea, idea_of(run.result, number, path))
            background = Background("", tuple(_known(config, run.cited(idea.references))))
    except UserError as error:
        problem = f"{named}: its background can no longer be read: {error}"
        raise SubjectError(problem, hint="name the abstracts again: --background FILE") from error
    return replace(background, source=background.source or named)


def _known(config: RunConfig | None, references: Sequence[Evidence]) -> Iterator[Subject]:
    """References with abstracts from the run's corpus if it is available; else titles alone."""
    from manyheads.corpus.corpora import resolve_corpus
    from manyheads.corpus.ecosystem import Ecosystem

    papers, ids = {}, [each.paper for each in references if each.paper]
    if config and ids:
        try:
            with Ecosystem.open(resolve_corpus(config.corpus, embedding=config.embedding)) as ecosystem:
                papers = ecosystem.papers.get(ids)
        except (CorpusError, EmbeddingError):
            pass  # reported by the number of works with a title only
    for each in references:
        paper = papers.get(each.paper)
        yield Subject(each.paper, each.title, paper.abstract if paper else "")


# The form of a proposal.


def proposal_text(fields: Mapping[str, str]) -> str:
    """A proposal as people see it: its filled fields, each with its name."""
    return shipped_forms().prompts.render("spoken/Proposal.md.j2", {"one": fields}).strip()


def as_ranked(title: str, text: str, fields: Mapping[str, str], shown: Sequence[str]) -> str:
    """An idea as rankings show it: its visible fields, or the original text if it has no fields."""
    if not fields:
        return "\n\n".join(filter(None, (title, text)))
    return proposal_text({name: fields[name] for name in shown if name in fields})
