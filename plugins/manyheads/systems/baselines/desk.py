"""The token allowance of a baseline. The cost of a reply is predicted from earlier replies."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from manyheads.asking.replies import Abstract, Idea, ReplyModel
from manyheads.base.errors import BudgetError
from manyheads.core import Reply, Speaker, Tool, Usage
from manyheads.core.events import Judged
from manyheads.core.results import Draft, Person, ScoredIdea, Topic
from manyheads.models.governor import ToolsRefusedError
from manyheads.systems.baselines.config import Like
from manyheads.systems.baselines.result import BaselineRun, Course
from manyheads.systems.virsci.ideas import scored
from manyheads.team.run import Cited, Question
from manyheads.team.tools import literature_tools


@dataclass
class Allowance:
    """Tokens of a whole run, input and output, and the replies paid from them.

    No question is asked once they are spent: a run exceeds them by less than its last reply.

    Attributes:
        limit: maximum tokens; None for no limit.
        paid: the cost of each reply, by task.
    """

    limit: int | None = None
    paid: dict[str, list[Usage]] = field(default_factory=dict[str, list[Usage]])

    @property
    def used(self) -> int:
        return sum(usage.tokens for usage in self._of(self.paid))

    def need(self, what: str) -> None:
        """Raises `BudgetError` if the allowance is spent and `what` cannot be asked."""
        if self.limit is not None and self.used >= self.limit:
            raise BudgetError(
                f"the {self.limit} tokens of the run are spent ({self.used} used): none are left for {what}",
                hint="allow more: manyheads resume RUN --accept-changes --set like=null --set tokens=<larger>",
            )

    def pay(self, task: str, usage: Usage) -> None:
        """Count a reply; raises `BudgetError` if there is a limit but the model counts no tokens."""
        if self.limit is not None and usage.tokens == 0:
            raise BudgetError(
                "the model reports no token usage, so a limit in tokens cannot be kept",
                hint="use a server that reports usage; self-reflection and discussion can run by rounds and turns, "
                "without tokens and like",
            )
        self.paid.setdefault(task, []).append(usage)

    def leaves(self, *costs: int) -> bool:
        """Whether this many tokens are left."""
        return self.limit is None or self.used + sum(costs) <= self.limit

    def expected(self, task: str) -> int:
        """Expected tokens of another reply to a task: the maximum so far.

        A task without replies is taken to read the longest prompt so far and one more reply, and to write as much.
        """
        if task in self.paid:
            return max(usage.tokens for usage in self.paid[task])
        replies = self._of(self.paid)
        longest = max((reply.output_tokens for reply in replies), default=0)
        return max((reply.input_tokens for reply in replies), default=0) + 2 * longest

    def reading(self, tasks: Collection[str], shown: int = 1) -> int:
        """Expected tokens of a reply that is shown `shown` replies to these tasks.

        The rest of its prompt is taken to be as long as theirs, once for each reply shown.
        """
        replies = self._of(tasks)
        longest = max((reply.output_tokens for reply in replies), default=0)
        return shown * min((reply.input_tokens for reply in replies), default=0) + (shown + 1) * longest

    def _of(self, tasks: Collection[str]) -> list[Usage]:
        return [usage for task in tasks for usage in self.paid.get(task, ())]


R = TypeVar("R", bound=ReplyModel)

RESEARCHER = "researcher"
IDEA_TASKS = frozenset({"propose", "reflect", "develop"})
"""Tasks of the researcher that give an idea."""
IDEA, NOVELTY, ABSTRACT = "idea", "novelty", "abstract"
"""The stages of a baseline, named as a team's."""


@dataclass
class Desk:
    """A running baseline."""

    run: BaselineRun
    topic: str
    stages: Mapping[str, str]
    """Stage names with their titles, in order."""
    allowance: Allowance
    course: Course
    asked: int = 0
    """Number of replies: the inference cost."""

    @classmethod
    def of(cls, run: BaselineRun, stages: Mapping[str, str]) -> "Desk":
        """The desk of a run."""
        topic, config = run.config.inputs.topic, run.settings
        like = config.like.run if isinstance(config.like, Like) else None
        course = Course(ideas=0, tokens_allowed=config.allowed, tokens_used=0, like=like)
        run.result.topic, run.result.baseline = Topic(topic=topic, fixed=True), course
        return cls(run, topic, stages, Allowance(config.allowed), course)

    def seat(self, *people: Speaker, turns: int | None = None) -> None:
        """Record who takes part, and begin the idea stage, of a maximum number of turns."""
        self.run.result.team = [Person(name=each.name, role=each.role) for each in people]
        self.run.begin(IDEA, self.stages, turns=turns)

    @property
    def ideas(self) -> list[ScoredIdea]:
        """All proposed ideas, in order."""
        return self.run.result.ideas

    async def ask(self, question: Question, like: type[R]) -> Reply[R]:
        """Ask within the allowance.

        Raises:
            BudgetError: the allowance is spent.
        """
        self.allowance.need(f"{question.speaker.name}: {question.task}")
        try:
            reply = await self.run.ask(question, like)
        except ToolsRefusedError:
            reply = await self.run.ask(replace(question, tools=()), like)
        self.allowance.pay(question.task, reply.usage)
        self.course.tokens_used = self.allowance.used
        self.asked += 1
        return reply

    def tools(self, speaker: Speaker) -> tuple[Tool, ...]:
        """The look-up tools of the speaker's card, if papers come from services and the model can call tools.

        A team with references from its corpus has none: a baseline must not know more of the literature.
        """
        run = self.run
        if run.config.literature.references != "services" or not run.calls_tools(speaker):
            return ()
        return literature_tools(run.library, run.roles.card(speaker.role).tools, run.roles.prompts)

    async def references(self, turn: int, query: str) -> list[Cited]:
        """Papers close to a topic or an idea, as many as for a team."""
        [hits] = await self.run.references(IDEA, turn, [query], self.run.settings.ideas.references)
        return hits

    async def propose(
        self, author: Speaker, references: Sequence[Cited], turn: int, draft: int | None = None
    ) -> Reply[Idea]:
        """An idea on the topic; with the number of a draft, one of several independent ones."""
        variables = {"topic": self.topic, "references": references, "draft": draft}
        question = Question(IDEA, turn, author, RESEARCHER, "propose", variables, tools=self.tools(author))
        reply = await self.ask(question, Idea)
        self.add(reply.value, author.name, turn, references)
        return reply

    def add(self, idea: Idea, by: str, turn: int, references: Sequence[Cited] = ()) -> None:
        """Add an idea to the result."""
        self.course.ideas = len(self.ideas) + 1
        weight = self.run.settings.ideas.novelty_weight
        self.ideas.append(scored(idea, self.course.ideas, by, turn, references, weight))

    @property
    def abstract_costs(self) -> int:
        """Tokens to reserve for the abstract of one idea."""
        return self.allowance.reading([task for task in self.allowance.paid if task in IDEA_TASKS])

    def is_done(self, turn: int, why: str) -> bool:
        """Whether the idea was called finished and `until_done` is set; then the idea stage ends with this turn."""
        if done := bool(self.course.done_in_turns) and self.run.settings.until_done:
            self._stop(turn, "done", "the idea", "is finished", why)
        return done

    def affords(self, turn: int, task: str, *reserved: int) -> bool:
        """Whether another reply to a task and the remaining stages can be paid; if not, the idea stage ends with this turn."""
        need, limit = self.allowance.expected(task) + sum(reserved), self.allowance.limit
        if enough := self.allowance.leaves(need):
            return enough
        why = f"{self.allowance.used} of {limit} tokens are used; another reply and the remaining stages may take {need}"
        self._stop(turn, "tokens", "tokens", "no further reply", why)
        return False

    def _stop(self, turn: int, cause: str, subject: str, outcome: str, why: str) -> None:
        self.course.stopped_by = cause
        self.run.emit(Judged(stage=IDEA, turn=turn, subject=subject, outcome=outcome, reasoning=why))

    def exhaust(self, cause: str, task: str) -> None:
        """End the idea stage after its last round or turn; warns if the tokens would have paid for another.

        A baseline that costs less than the run it is compared with is not one at equal cost.
        """
        self.course.stopped_by = cause
        allowance = self.allowance
        if allowance.limit is not None and allowance.leaves(allowance.expected(task), self.abstract_costs):
            self.run.warn(
                IDEA,
                f"only {allowance.used} of {allowance.limit} tokens are used after all {cause}: "
                f"for equal cost allow more {cause}, --set {self.run.config.system}.{cause}=<larger>",
            )

    async def write(self, kept: Sequence[ScoredIdea], chosen: ScoredIdea, author: Speaker) -> None:
        """The abstract of the chosen idea, in one reply: the rounds before are for ideas (App. C.3)."""
        result = self.run.result
        result.choose(kept, chosen, len(result.votes), None)
        self.run.begin(ABSTRACT, self.stages)
        question = Question(ABSTRACT, 1, author, RESEARCHER, "abstract", {"idea": self.run.wording(chosen)})
        abstract = (await self.ask(question, Abstract)).value
        result.write(Draft.of(abstract, chosen.by, 1))
        result.turns = {IDEA: self.ideas[-1].turn, ABSTRACT: 1}
        result.inference_cost = self.asked
