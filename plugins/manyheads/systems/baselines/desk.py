"""The tokens that a baseline may use. What a reply will cost is judged from what the replies before it cost."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from manyheads.core import Reply, Speaker, Tool, Usage
from manyheads.core.events import Judged
from manyheads.core.results import Draft, Person, ScoredIdea, Topic
from manyheads.discussion.run import Cited, Question
from manyheads.errors import BudgetError
from manyheads.replies import Abstract, Idea, ReplyModel
from manyheads.systems.baselines.config import Like
from manyheads.systems.baselines.result import BaselineRun, Course
from manyheads.systems.virsci.ideas import scored
from manyheads.tools import literature_tools


@dataclass
class Allowance:
    """Tokens of a whole run, input and output together, and the replies that were paid from them.

    No question is put once they are spent: a run exceeds them by less than its last reply, whatever replies cost.

    Attributes:
        limit: tokens that may be used; None for as many as it takes.
        paid: what each reply has cost, by the task that it answered.
    """

    limit: int | None = None
    paid: dict[str, list[Usage]] = field(default_factory=dict[str, list[Usage]])

    @property
    def used(self) -> int:
        return sum(usage.tokens for usage in self._of(self.paid))

    def need(self, what: str) -> None:
        """Raises `BudgetError` where the allowance is spent and `what` cannot be asked for any more."""
        if self.limit is not None and self.used >= self.limit:
            raise BudgetError(
                f"the allowance of {self.limit} tokens is spent, used are {self.used}: none is left for {what}",
                hint="allow more: manyheads resume RUN --accept-changes --set like=null --set tokens=<larger>",
            )

    def pay(self, task: str, usage: Usage) -> None:
        """Note a reply; raises `BudgetError` where a limit cannot be kept, as the model counts no tokens."""
        if self.limit is not None and usage.tokens == 0:
            raise BudgetError(
                "the model does not say how many tokens it has used: an allowance of tokens cannot be kept",
                hint="take a server that reports usage; self-reflection and discussion can go by rounds and turns, "
                "without tokens and like",
            )
        self.paid.setdefault(task, []).append(usage)

    def leaves(self, *costs: int) -> bool:
        """Whether so many tokens are left."""
        return self.limit is None or self.used + sum(costs) <= self.limit

    def expected(self, task: str) -> int:
        """Tokens that one more reply to a task may take: as many as the dearest so far.

        One that was never asked for is taken to read the longest prompt so far and another reply, and to be as long.
        """
        if task in self.paid:
            return max(usage.tokens for usage in self.paid[task])
        replies = self._of(self.paid)
        longest = max((reply.output_tokens for reply in replies), default=0)
        return max((reply.input_tokens for reply in replies), default=0) + 2 * longest

    def reading(self, tasks: Collection[str], shown: int = 1) -> int:
        """Tokens that a reply may take which is shown so many replies to these tasks, and is as long as one.

        What else stands in its prompt is taken to be as long as their prompts were, as often as it is shown one.
        """
        replies = self._of(tasks)
        longest = max((reply.output_tokens for reply in replies), default=0)
        return shown * min((reply.input_tokens for reply in replies), default=0) + (shown + 1) * longest

    def _of(self, tasks: Collection[str]) -> list[Usage]:
        return [usage for task in tasks for usage in self.paid.get(task, ())]


R = TypeVar("R", bound=ReplyModel)

RESEARCHER = "researcher"
IDEA_TASKS = frozenset({"propose", "reflect", "develop"})
"""Tasks of the researcher that are answered with an idea."""
IDEA, NOVELTY, ABSTRACT = "idea", "novelty", "abstract"
"""The stages of a baseline, named as a team's are."""


@dataclass
class Desk:
    """A baseline at work on a topic."""

    run: BaselineRun
    topic: str
    stages: Mapping[str, str]
    """Stage names with their titles, in order."""
    allowance: Allowance
    course: Course
    asked: int = 0
    """Replies that were asked for: the inference cost."""

    @classmethod
    def of(cls, run: BaselineRun, stages: Mapping[str, str]) -> "Desk":
        """The desk of a run."""
        topic, config = run.config.inputs.topic, run.settings
        like = config.like.run if isinstance(config.like, Like) else None
        course = Course(ideas=0, tokens_allowed=config.allowed, tokens_used=0, like=like)
        run.result.topic, run.result.baseline = Topic(topic=topic, fixed=True), course
        return cls(run, topic, stages, Allowance(config.allowed), course)

    def seat(self, *people: Speaker, turns: int | None = None) -> None:
        """Take down who takes part, and begin with ideas: so many turns of them at most."""
        self.run.result.team = [Person(name=each.name, role=each.role) for each in people]
        self.run.begin(IDEA, self.stages, turns=turns)

    @property
    def ideas(self) -> list[ScoredIdea]:
        """All that were put forward, in order."""
        return self.run.result.ideas

    async def ask(self, question: Question, like: type[R]) -> Reply[R]:
        """Ask within the allowance.

        Raises:
            BudgetError: the allowance is spent.
        """
        self.allowance.need(f"{question.speaker.name}: {question.task}")
        reply = await self.run.ask(question, like)
        self.allowance.pay(question.task, reply.usage)
        self.course.tokens_used = self.allowance.used
        self.asked += 1
        return reply

    def tools(self, speaker: Speaker) -> tuple[Tool, ...]:
        """The look-ups that the speaker's card lists, where papers come from services and the model can call tools.

        Where a team's references come from its corpus, a baseline must not know more of the literature than it.
        """
        run = self.run
        if run.config.literature.references != "services" or not run.calls_tools(speaker):
            return ()
        return literature_tools(run.library, run.roles.card(speaker.role).tools, run.roles.prompts)

    async def references(self, turn: int, query: str) -> list[Cited]:
        """Papers close to a topic or an idea, as many as a team would be shown."""
        [hits] = await self.run.references(IDEA, turn, [query], self.run.settings.ideas.references)
        return hits

    async def propose(
        self, author: Speaker, references: Sequence[Cited], turn: int, draft: int | None = None
    ) -> Reply[Idea]:
        """An idea on the topic, one of several independent ones where it has the number of a draft."""
        variables = {"topic": self.topic, "references": references, "draft": draft}
        question = Question(IDEA, turn, author, RESEARCHER, "propose", variables, tools=self.tools(author))
        reply = await self.ask(question, Idea)
        self.add(reply.value, author.name, turn, references)
        return reply

    def add(self, idea: Idea, by: str, turn: int, references: Sequence[Cited] = ()) -> None:
        """Put an idea on the table."""
        self.course.ideas = len(self.ideas) + 1
        weight = self.run.settings.ideas.novelty_weight
        self.ideas.append(scored(idea, self.course.ideas, by, turn, references, weight))

    @property
    def abstract_costs(self) -> int:
        """Tokens to keep for the abstract, which is written from one idea."""
        return self.allowance.reading([task for task in self.allowance.paid if task in IDEA_TASKS])

    def is_done(self, turn: int, why: str) -> bool:
        """Whether the idea was called finished, and that is heeded: then the idea stage ends with this turn."""
        if done := bool(self.course.done_in_turns) and self.run.settings.until_done:
            self._stop(turn, "done", "the idea", "is finished", why)
        return done

    def affords(self, turn: int, task: str, *reserved: int) -> bool:
        """Whether one more reply to a task can be paid, and what must follow; if not, the idea stage ends with this turn."""
        need, limit = self.allowance.expected(task) + sum(reserved), self.allowance.limit
        if enough := self.allowance.leaves(need):
            return enough
        why = f"{self.allowance.used} of {limit} tokens are used; another reply, and what must follow, may take {need}"
        self._stop(turn, "tokens", "tokens", "no further reply", why)
        return False

    def _stop(self, turn: int, cause: str, subject: str, outcome: str, why: str) -> None:
        self.course.stopped_by = cause
        self.run.emit(Judged(stage=IDEA, turn=turn, subject=subject, outcome=outcome, reasoning=why))

    def exhaust(self, cause: str, task: str) -> None:
        """End the idea stage with its last round or turn; warns where the tokens would have paid for another.

        What cost less than what it is compared with is no baseline at equal cost.
        """
        self.course.stopped_by = cause
        allowance = self.allowance
        if allowance.limit is not None and allowance.leaves(allowance.expected(task), self.abstract_costs):
            self.run.warn(
                IDEA,
                f"all {cause} are held, and {allowance.used} of {allowance.limit} tokens are used: "
                f"for equal cost allow more {cause}, --set {self.run.config.system}.{cause}=<larger>",
            )

    async def write(self, kept: Sequence[ScoredIdea], chosen: ScoredIdea, author: Speaker) -> None:
        """The abstract of the chosen idea, in one reply: what goes before is for ideas (App. C.3)."""
        result = self.run.result
        result.choose(kept, chosen, len(result.votes), None)
        self.run.begin(ABSTRACT, self.stages)
        question = Question(ABSTRACT, 1, author, RESEARCHER, "abstract", {"idea": self.run.wording(chosen)})
        abstract = (await self.ask(question, Abstract)).value
        result.write(Draft.of(abstract, chosen.by, 1))
        result.turns = {IDEA: self.ideas[-1].turn, ABSTRACT: 1}
        result.inference_cost = self.asked
