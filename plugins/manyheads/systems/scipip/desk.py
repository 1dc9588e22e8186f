"""The participants of a run of SciPIP, and the count of replies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from manyheads.asking.replies import ReplyModel
from manyheads.core import Speaker
from manyheads.core.results import Person
from manyheads.systems.scipip.config import IDEATOR, INDEXER, JUDGE, RESEARCHER, needs
from manyheads.systems.scipip.result import ScipipRun
from manyheads.team.run import Question

R = TypeVar("R", bound=ReplyModel)

BRAINSTORM, RETRIEVAL, PROBLEM, IDEAS = "brainstorm", "retrieval", "problem", "ideas"
FILTER, REFINEMENT, WRITING = "filter", "refinement", "writing"
TITLES = {
    BRAINSTORM: "Brainstorming",
    RETRIEVAL: "Literature retrieval",
    PROBLEM: "Problem and rationale",
    IDEAS: "Ideas from the literature",
    FILTER: "Filter",
    REFINEMENT: "Refinement",
    WRITING: "Abstract",
}
NAMES = {IDEATOR: "Ideator", INDEXER: "Indexer", JUDGE: "Judge", RESEARCHER: "Researcher"}


@dataclass
class Desk:
    """The people of a run."""

    run: ScipipRun
    people: Mapping[str, Speaker]

    @classmethod
    def of(cls, run: ScipipRun) -> "Desk":
        """The people the run's config needs; the result names them."""
        area = {"area": run.settings.area}
        roles = list(dict.fromkeys(role for role, _ in needs(run.config)))
        people = {
            role: run.speaker(role, NAMES[role], **(area if role in (IDEATOR, JUDGE) else {}))
            for role in roles
        }
        run.result.team = [Person(name=each.name, role=role) for role, each in people.items()]
        return cls(run, people)

    def begin(self, stage: str) -> None:
        """Begin a stage."""
        settings = self.run.settings
        optional = {BRAINSTORM: settings.brainstorms, WRITING: settings.abstract}
        self.run.begin(stage, {name: title for name, title in TITLES.items() if optional.get(name, True)})

    async def ask(
        self, stage: str, role: str, task: str, like: type[R], *, turn: int = 1, **variables: Any
    ) -> R:
        """A reply to a role's task, counted in the result."""
        result = self.run.result
        reply = await self.run.ask(Question(stage, turn, self.people[role], role, task, variables), like)
        result.turns[stage] = result.turns.get(stage, 0) + 1
        result.inference_cost = sum(result.turns.values())
        return reply.value
