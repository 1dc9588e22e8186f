"""A scientist answers a question about an idea, from their record and from what they said in the run that found it."""

from collections.abc import Iterator
from typing import Annotated

from manyheads.asking.replies import Advice
from manyheads.base.errors import SubjectError
from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.core.events import Said
from manyheads.core.results import Part, Person
from manyheads.core.texts import FileOrText, run_and_number
from manyheads.report.record import read_run
from manyheads.systems.ideas import GivenIdeas, read_idea
from manyheads.systems.results import load
from manyheads.systems.virsci.config import TextOrNone
from manyheads.team.run import Question, Run
from manyheads.team.system import System

STAGE, TASK = "answer", ("scientist", "answer")
LATEST = 5  # remarks of the run that its scientist is reminded of


class InterviewInputs(Inputs):
    """Whom to ask, and what about."""

    idea: Annotated[FileOrText, Slot(file=True, metavar="RUN|FILE|TEXT", required=True)] = None
    """The idea: of a run, as RUN or RUN#NUMBER, a text file, or the text itself."""
    scientist: Annotated[TextOrNone, Slot(metavar="NAME", required=True)] = None
    """Masked name of the scientist, such as Scientist12."""
    question: Annotated[TextOrNone, Slot("all", required=True)] = None
    """The question to the scientist."""


class InterviewResult(Part):
    """The question and its answer; `title` is the idea's, `source` its run or file."""

    team: list[Person] = []
    source: str = ""
    title: str = ""
    question: str = ""
    answer: str = ""


def read(config: RunConfig) -> GivenIdeas:
    """The idea, and what the scientist said in its run; raises `SubjectError` if they took no part in its team."""
    asked = config.inputs
    idea, (run, _) = read_idea(asked.idea), run_and_number(asked.idea)
    if not idea.source or not run.is_dir():
        return GivenIdeas((idea,))
    people: list[str] = getattr(load(run).result, "people", [])
    if people and asked.scientist not in people:
        problem = f"{asked.scientist}: did not take part in {run}"
        raise SubjectError(problem, tried=", ".join(people), hint="name one of these")
    said = read_run(run, Part).of(Said)
    own_words = [each.text for each in said if each.speaker == asked.scientist]
    return GivenIdeas((idea,), tuple(own_words[-LATEST:]))


async def interview(run: Run[InterviewResult, Section, GivenIdeas]) -> None:
    """Ask one question; raises `CorpusError` if the corpus has no scientist of this name."""
    asked, result, [idea] = run.config.inputs, run.result, run.material.ideas
    scientist = run.literature.scientist(asked.scientist)
    result.team, result.question = [Person(name=scientist.name)], asked.question
    result.source, result.title = idea.source, idea.title
    run.begin(STAGE, {STAGE: "Answer"})
    told = {"idea": idea.whole, "own_words": run.material.own_words, "question": asked.question}
    question = Question(STAGE, 1, run.scientist(TASK[0], scientist), *TASK, told)
    result.answer = (await run.ask(question, Advice)).value.advice


def essence(result: InterviewResult) -> Iterator[tuple[str, str]]:
    """The idea, the question and the answer."""
    rows = [("Idea", result.title), ("Question", result.question), ("Answer", result.answer)]
    yield from ((name, text) for name, text in rows if text)


INTERVIEW = System(
    name="interview",
    title="Interview",
    about="A scientist of the corpus who answers a question about an idea.",
    config=Section,
    inputs=InterviewInputs,
    result=InterviewResult,
    run=interview,
    essence=essence,
    needs=lambda config: {TASK: Advice},
    corpus=lambda config: True,
    read=read,
)
