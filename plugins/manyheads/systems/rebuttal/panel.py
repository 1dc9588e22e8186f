"""Proposer, reviewer and area chair at work on one idea, and what they have said of it so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from manyheads.core import Speaker
from manyheads.core.events import Judged, Stage
from manyheads.discussion import Run
from manyheads.discussion.run import Question
from manyheads.errors import ConfigError
from manyheads.literature.ideas import Background
from manyheads.replies import Abstract, FirstIdea, Proposal, ReplyModel, Rethought, Review, Verdict
from manyheads.systems.rebuttal.ready import AREA_CHAIR, PROPOSER, REVIEWER, traits_of
from manyheads.texts import Subject

R = TypeVar("R", bound=ReplyModel)

INITIAL, REBUTTAL, WRITING = "initial", "rebuttal", "writing"
TITLES = {INITIAL: "Initial idea", REBUTTAL: "Review and rebuttal", WRITING: "Abstract"}
NAMES = {PROPOSER: "Proposer", REVIEWER: "Reviewer", AREA_CHAIR: "AreaChair"}


@dataclass
class Round:
    """A version of the idea with what was said of it; round 0 is the idea that all begins with.

    Attributes:
        idea: as its author gave it; a `Subject` where the user did.
    """

    number: int
    idea: FirstIdea | Proposal | Subject
    review: Review | None = None
    verdict: Verdict | None = None

    @property
    def text(self) -> str:
        """The idea as others are shown it."""
        if isinstance(self.idea, Subject):
            return "\n\n".join(filter(None, (self.idea.title, self.idea.text)))
        return self.idea.spoken()

    @property
    def improved(self) -> bool | None:
        """Whether it was found significantly better than the one before; None where nobody has judged."""
        if isinstance(self.idea, Rethought):
            return self.idea.improved
        return self.verdict.improved if self.verdict else None


@dataclass
class Panel:
    """Who takes part in a run, and its rounds.

    Attributes:
        traits: of the quality indicator, a list in Markdown.
        people: who takes part, by role.
        stopped: what has ended the rounds.
        asked: replies that were asked for: the inference cost.
    """

    run: Run
    background: Background
    traits: str
    people: Mapping[str, Speaker]
    rounds: list[Round] = field(default_factory=list[Round])
    stopped: str = ""
    asked: int = 0

    @classmethod
    def of(cls, run: Run) -> "Panel":
        """The panel of a run; all three are told the traits, the paper's area chair the indicator alone (Fig. 7).

        Raises:
            ConfigError: nothing tells the traits, or there is no background.
        """
        traits = traits_of(run.config, run.roles)
        if run.given is None or not traits:
            raise ConfigError(
                f"{run.config.system}: needs a background, and traits of its quality indicator",
                hint="manyheads check CONFIG",
            )
        chosen = run.settings
        wanted = {
            PROPOSER: True,
            REVIEWER: chosen.method == "rebuttal" and chosen.reviewer,
            AREA_CHAIR: chosen.method == "rebuttal" and chosen.area_chair,
        }
        profile = {"area": chosen.area, "indicator": chosen.indicator, "traits": traits}
        people = {
            role: run.speaker(role, NAMES[role], **profile) for role, needed in wanted.items() if needed
        }
        return cls(run, run.given, traits, people)

    @property
    def stages(self) -> list[str]:
        chosen = self.run.settings
        return [INITIAL, *[REBUTTAL] * (chosen.method != "initial"), *[WRITING] * chosen.abstract]

    def begin(self, stage: str) -> None:
        """Tell the listeners that a stage begins."""
        number, total = self.stages.index(stage) + 1, len(self.stages)
        self.run.emit(Stage(stage=stage, title=TITLES[stage], number=number, total=total))

    async def propose(self) -> None:
        """The initial idea: the user's, or one from the abstracts of the background (Fig. 8)."""
        works, given = self.background.works, self.background.idea
        idea = given or await self._ask(INITIAL, 1, PROPOSER, "propose", FirstIdea, abstracts=works)
        self.rounds.append(Round(0, idea))

    async def revise(self, turn: int) -> Round:
        """The next version, after the review of the last one, or without any.

        The paper's template holds the review alone (Fig. 9). Here no thread is kept, so the background and the idea
        are shown again.
        """
        last = self.rounds[-1]
        shown = {"abstracts": self.background.works, "idea": last.text}
        review = last.review.spoken() if last.review else None
        idea = await self._ask(REBUTTAL, turn, PROPOSER, "revise", Proposal, **shown, review=review)
        self.rounds.append(Round(turn, idea))
        return self.rounds[-1]

    async def reflect(self, turn: int) -> Round:
        """The next version of a proposer who is left alone (§4.2), shown the background again as in `revise`."""
        last = self.rounds[-1]
        shown = {"abstracts": self.background.works, "idea": last.text}
        self.rounds.append(
            Round(turn, await self._ask(REBUTTAL, turn, PROPOSER, "reflect", Rethought, **shown))
        )
        return self.rounds[-1]

    async def review(self, one: Round) -> None:
        """The review of a version, where there is a reviewer (Fig. 10)."""
        if REVIEWER in self.people:
            stage, turn = (REBUTTAL, one.number) if one.number else (INITIAL, 1)
            one.review = await self._ask(stage, turn, REVIEWER, "review", Review, idea=one.text)

    async def compare(self, before: Round, one: Round) -> None:
        """The area chair's comparison of a version with the one before, where there is an area chair.

        It gives its reasoning before its verdict, where the paper asks for Yes or No and nothing else (Fig. 11).
        """
        if AREA_CHAIR in self.people:
            shown = {"previous": before.text, "revised": one.text}
            one.verdict = await self._ask(REBUTTAL, one.number, AREA_CHAIR, "compare", Verdict, **shown)

    async def write(self, final: Round) -> Abstract:
        """The abstract of the final idea."""
        self.begin(WRITING)
        return await self._ask(WRITING, 1, PROPOSER, "abstract", Abstract, idea=final.text)

    def judge(self, turn: int, subject: str, outcome: str, reasoning: str = "") -> None:
        """Tell the listeners of a decision."""
        self.run.emit(
            Judged(stage=REBUTTAL, turn=turn, subject=subject, outcome=outcome, reasoning=reasoning)
        )

    async def _ask(self, stage: str, turn: int, role: str, task: str, like: type[R], **variables: Any) -> R:
        question = Question(stage, turn, self.people[role], role, task, variables)
        reply = await self.run.ask(question, self.run.reply_type(role, task, like))
        self.asked += 1
        return reply.value
