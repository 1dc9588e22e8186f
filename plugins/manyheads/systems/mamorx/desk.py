"""The participants of a review, and what they see of the paper: in prompts, or by tools that read and search it."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from manyheads.asking.replies import ReplyModel
from manyheads.base.text import count
from manyheads.core import Message, Reply, Speaker, Tool
from manyheads.core.results import Person
from manyheads.documents import Figure
from manyheads.models.governor import ToolsRefusedError
from manyheads.models.requests import size_of
from manyheads.systems.mamorx import tools
from manyheads.systems.mamorx.config import EXPERTS, LEADER, REVIEWER, role_of
from manyheads.systems.mamorx.paper import ABSTRACT, Chapter, MamorxRun, ranked
from manyheads.systems.mamorx.replies import SectionChoice
from manyheads.systems.mamorx.result import CitedWork, FigureNote
from manyheads.systems.mamorx.review import ReviewForm, form_of
from manyheads.systems.mamorx.tools import FIND_CITED, FIND_PASSAGES, LOOK, READ, READ_TABLE
from manyheads.team.run import Question
from manyheads.team.tools import ToolRefusedError, literature_tools, tool

PART = 12_000  # letters of a section per call; longer ones come in parts


def tool_answer(run: MamorxRun, name: str, *, refuse: bool = False, **variables: object) -> str:
    """A tool's answer, by the template of its name; raises it as a `ToolRefusedError` if the call is refused."""
    text = run.roles.prompts.render(f"tools/{name}.md.j2", variables).strip()
    if refuse:
        raise ToolRefusedError(text)
    return text


def reading_tools(run: MamorxRun, listed: Collection[str]) -> tuple[Tool, ...]:
    """The tools of a role card for the paper and the literature; those with nothing to read are left out."""
    paper, prompts = run.material, run.roles.prompts

    answer = partial(tool_answer, run)

    async def read(arguments: tools.SectionArguments) -> str:
        chapter = paper.chapter(arguments.name)
        texts = [*parts(chapter.text)] if chapter else []
        missing = not chapter or arguments.part > len(texts)
        return answer(
            READ, refuse=missing, chapter=chapter, part=arguments.part, parts=texts,
            names=[one.name for one in paper.chapters],
        )  # fmt: skip

    async def passages(arguments: tools.PassageArguments) -> str:
        return answer(FIND_PASSAGES, passages=paper.search(arguments.words, arguments.limit))

    async def table(arguments: tools.NameArguments) -> str:
        found = paper.table(arguments.name)
        names = [f"Table {one.number}" for one in paper.document.tables]
        return answer(READ_TABLE, refuse=not found, table=found, names=names)

    async def figure(arguments: tools.NameArguments) -> str:
        found = figure_note(run, arguments.name)
        names = [f"Figure {one.number}" for one in paper.document.figures]
        return answer(LOOK, refuse=not found, figure=found, names=names)

    async def cited(arguments: tools.CitedArguments) -> str:
        listed = run.result.references
        works = search_cited(listed, arguments.words, arguments.limit)
        citing = {one.name: [each.name for each in listed if one.name in each.cites] for one in works}
        return answer(FIND_CITED, works=works, citing=citing, count=len(listed))

    runs: dict[str, tuple[Callable[[Any], Awaitable[str]], object]] = {
        READ: (read, paper.chapters),
        FIND_PASSAGES: (passages, paper.chapters),
        READ_TABLE: (table, paper.document.tables),
        LOOK: (figure, paper.document.figures),
        FIND_CITED: (cited, run.result.references),
    }
    offered = ((name, call) for name, (call, there) in runs.items() if there and name in listed)
    own = (replace(tool(name, prompts, call, tools.TOOLS[name]), material=True) for name, call in offered)
    return (*own, *literature_tools(run.library, listed, prompts))


def parts(text: str) -> Iterator[str]:
    """A text in parts, which end with a paragraph where possible."""
    part = ""
    for paragraph in text.splitlines():
        if part and len(part) + len(paragraph) > PART:
            yield part
            part = ""
        part = f"{part}\n{paragraph}".strip("\n")
        while len(part) > PART:
            yield part[:PART]
            part = part[PART:]
    if part or not text:
        yield part


def figure_note(run: MamorxRun, name: str) -> FigureNote | None:
    """The critic's note of a figure, or else its caption."""
    if not (figure := run.material.figure(name)):
        return None
    own = note_of(figure)
    return next((each for each in run.result.figures if each.name == own.name), own)


def note_of(figure: Figure) -> FigureNote:
    """The note of a figure with only its caption and page."""
    return FigureNote(name=f"Figure {figure.number}", caption=figure.caption, page=figure.page or None)


def search_cited(works: Sequence[CitedWork], words: str, limit: int) -> list[CitedWork]:
    """Cited works, by words of their titles, abstracts and passages or by name, such as `[12]`."""
    named = [work for work in works if work.name in words]
    texts = [f"{work.found or work.title} {work.text} {work.abstract} {work.passage}" for work in works]
    found = [works[at] for at in ranked(texts, words, limit)]
    return [*named, *(work for work in found if work not in named)][:limit]


def fitting(chapters: Sequence[Chapter], letters: int) -> list[Chapter]:
    """The sections that fit into a number of letters; the first is cut if none does."""
    fit, left = list[Chapter](), letters
    for chapter in chapters:
        if len(chapter.text) <= left:
            left -= len(chapter.text)
            fit.append(chapter)
    return fit or [replace(chapters[0], text=chapters[0].text[:letters], cut=True)]


R = TypeVar("R", bound=ReplyModel)
FIGURES, NOVELTY, REFERENCES = "figures", "novelty", "references"
PLAN, EXCHANGES, WRITING, VERIFICATION = "plan", "exchanges", "writing", "verification"
TITLES = {
    REFERENCES: "References",
    FIGURES: "Figures",
    NOVELTY: "Novelty",
    PLAN: "Plan",
    EXCHANGES: "Questions to experts",
    WRITING: "Review",
    VERIFICATION: "Verification",
}
NAMES = {LEADER: "Leader", REVIEWER: "Reviewer", **{role_of(each): each.capitalize() for each in EXPERTS}}
SHARE = 0.5  # of a model's context for the text of the paper, if the role has no tools


@dataclass
class ReviewDesk:
    """The people of a run, and the form of the review."""

    run: MamorxRun
    people: Mapping[str, Speaker]
    form: ReviewForm
    stages: Mapping[str, str]

    @classmethod
    def of(cls, run: MamorxRun, roles: Sequence[str], stages: Sequence[str]) -> "ReviewDesk":
        """The people of some roles; the result names them and the paper."""
        people = {role: run.speaker(role, NAMES[role], area=run.settings.area) for role in roles}
        result, paper = run.result, run.material
        result.maker, result.title, result.paper = run.settings.maker, paper.title, paper.anchor
        result.team = [Person(name=each.name, role=role) for role, each in people.items()]
        for fault in paper.document.faults:
            run.warn("", f"{paper.path.name}: {fault}")
        if telling := [one for one in paper.anchor.hidden if not one.figure]:
            passages = f"{count(len(telling), 'passage')}, see the report"
            run.warn("", f"{paper.path.name} hides text or addresses its reviewer: {passages}")
        titles = {name: title for name, title in TITLES.items() if name in stages}
        return cls(run, people, form_of(run.settings.form, run.roles.prompts), titles)

    def begin(self, stage: str) -> None:
        self.run.begin(stage, self.stages)

    async def ask(
        self, stage: str, role: str, task: str, like: type[R], *,
        turn: int = 1, tools: tuple[Tool, ...] = (), asker: str = "", nested: bool = False, **variables: Any,
    ) -> Reply[R]:  # fmt: skip
        """A reply to a role's task, counted in the result."""
        spare = role not in (LEADER, REVIEWER)  # a review goes without an expert's missing answer
        question = Question(
            stage, turn, self.people[role], role, task, variables,
            tools=tools, asker=asker, nested=nested, spare=spare,
        )  # fmt: skip
        reply = await self.run.ask(question, like)
        self.run.result.count(stage)
        return reply

    async def ask_reader(
        self, stage: str, role: str, task: str, like: type[R], *,
        purpose: str, tools: tuple[Tool, ...] = (), turn: int = 1, asker: str = "", nested: bool = False, **variables: Any,
    ) -> Reply[R]:  # fmt: skip
        """A reply by one who reads the paper: by tools, with which come others, or in the prompt if the model or its server takes
        none."""
        ask = partial(
            self.ask, stage, role, task, like, turn=turn, asker=asker, nested=nested, manuscript=self.overview(), **variables,
        )  # fmt: skip
        if self.uses_tools(role):
            with suppress(ToolsRefusedError):
                return await ask(tools=(*self.tools(role), *tools), chapters=[], left_out=[])
        return await ask(**await self.text(stage, role, turn=turn, nested=nested, purpose=purpose))

    def uses_tools(self, role: str) -> bool:
        return self.run.calls_tools(self.people[role])

    def tools(self, role: str) -> tuple[Tool, ...]:
        """The reading tools of a role."""
        return reading_tools(self.run, self.run.roles.card(role).tools)

    async def text(self, stage: str, role: str, *, purpose: str, **question: Any) -> Mapping[str, Any]:
        """The paper in a prompt: all that its overview does not tell, if it fits; else sections chosen by the role, as many as fit."""
        overview, every = self.overview(), self.run.material.all_chapters
        in_overview = {ABSTRACT, *(figure.name for figure in overview["figures"])}
        chapters = [one for one in every if one.name not in in_overview] or every
        room = int(4 * SHARE * self.run.config.models[self.people[role].model].window)  # in letters
        if 4 * size_of([Message("".join(one.text for one in chapters))]) <= room:
            return {"chapters": chapters, "left_out": []}
        shown: dict[str, Any] = {"purpose": purpose, "manuscript": overview}
        reply = await self.ask(stage, role, "choose", SectionChoice, **question, **shown)
        named = (self.run.material.chapter(name) for name in reply.value.sections)
        choice = {one.name: one for one in named if one and one.name not in in_overview}
        chosen = fitting(list(choice.values()) or chapters, room)
        names = {one.name for one in chosen}
        return {"chapters": chosen, "left_out": [one.name for one in chapters if one.name not in names]}

    def overview(self) -> Mapping[str, Any]:
        """The overview for everybody: title, abstract and outline of the paper, and the findings about it."""
        run, paper, result = self.run, self.run.material, self.run.result
        return {
            "title": paper.title,
            "abstract": paper.abstract,
            "chapters": paper.chapters,
            "figures": [*filter(None, (figure_note(run, one.number) for one in paper.document.figures))],
            "tables": paper.document.tables,
            "references": len(paper.references),
            "novelty": result.novelty,
            "cited": result.references,
            "speech": paper.document.speech,
        }
