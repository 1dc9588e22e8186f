"""The participants of a review, the count of replies, and the parts of the paper they see."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from manyheads.asking.replies import ReplyModel
from manyheads.core import Message, Reply, Speaker, Tool
from manyheads.core.results import Person
from manyheads.core.texts import count
from manyheads.models.governor import ToolsRefusedError
from manyheads.models.requests import size_of
from manyheads.systems.mamorx.config import EXPERTS, LEADER, REVIEWER, role_of
from manyheads.systems.mamorx.forms import ReviewForm, form_of
from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.reading import figure_note, fitting, reading_tools
from manyheads.systems.mamorx.replies import SectionChoice
from manyheads.team.run import Question

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
SHARE = 0.5
"""Share of a model's context for the text of the paper, if the role has no tools."""


@dataclass
class Desk:
    """The people of a run, and the form of the review."""

    run: MamorxRun
    people: Mapping[str, Speaker]
    form: ReviewForm
    stages: Mapping[str, str]

    @classmethod
    def of(cls, run: MamorxRun, roles: Sequence[str], stages: Sequence[str]) -> "Desk":
        """The people of some roles; the result names them and the paper."""
        people = {role: run.speaker(role, NAMES[role], area=run.settings.area) for role in roles}
        result, paper = run.result, run.material
        result.maker, result.title, result.paper = run.settings.maker, paper.title, paper.anchor
        result.team = [Person(name=each.name, role=role) for role, each in people.items()]
        for fault in paper.document.faults:
            run.warn("", f"{paper.path.name}: {fault}")
        if telling := [one for one in paper.anchor.hidden if not one.figure]:
            passages = count(len(telling), "passage")
            run.warn(
                "", f"{paper.path.name} hides text or addresses its reviewer: {passages}, see the report"
            )
        titles = {name: title for name, title in TITLES.items() if name in stages}
        return cls(run, people, form_of(run.settings.form, run.roles.prompts), titles)

    def begin(self, stage: str) -> None:
        """Begin a stage."""
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

    # Parts of the paper shown to participants.

    def uses_tools(self, role: str) -> bool:
        return self.run.calls_tools(self.people[role])

    def tools(self, role: str) -> tuple[Tool, ...]:
        """The reading tools of a role."""
        return reading_tools(self.run, self.run.roles.card(role).tools)

    def room(self, role: str) -> int:
        """Maximum letters of the paper in a role's prompt."""
        return int(4 * SHARE * self.run.config.models[self.people[role].model].window)

    def whole(self, role: str) -> bool:
        """Whether the whole paper fits into a role's prompt."""
        text = "".join(one.text for one in self.run.material.whole)
        return 4 * size_of([Message(text)]) <= self.room(role)

    async def text(
        self, stage: str, role: str, *, turn: int, nested: bool, purpose: str
    ) -> Mapping[str, Any]:
        """The paper in a prompt: all of it if it fits; else sections chosen by the role, as many as fit."""
        chapters = self.run.material.whole
        if not self.whole(role):
            reply = await self.ask(
                stage, role, "choose", SectionChoice,
                turn=turn, nested=nested, purpose=purpose, manuscript=self.overview(),
            )  # fmt: skip
            found = (self.run.material.chapter(name) for name in reply.value.sections)
            wanted = list({one.name: one for one in found if one}.values()) or chapters
            shown, _ = fitting(wanted, self.room(role))
            names = {one.name for one in shown}
            return {"chapters": shown, "left_out": [one.name for one in chapters if one.name not in names]}
        return {"chapters": chapters, "left_out": []}

    def overview(self) -> Mapping[str, Any]:
        """The overview for everybody: title, abstract and outline of the paper, and the findings about it."""
        run, paper = self.run, self.run.material
        result = run.result
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
