"""The runs of the baselines: the token allowance of one, an agent that reflects on its idea again and again, a plain one that
drafts ideas, and a discussion of fixed roles (VirSci 2025, App. C.3).

The cost of a reply is predicted from earlier replies.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from manyheads.asking.replies import Abstract, ReplyModel
from manyheads.config import RunConfig
from manyheads.core import Reply, Speaker, Tool
from manyheads.core.events import Judged, Voted
from manyheads.core.results import Draft, Person, ScoredIdea, Topic
from manyheads.models.governor import ToolsRefusedError
from manyheads.systems import equal_cost
from manyheads.systems.baselines import config as own
from manyheads.systems.baselines.config import (
    BaselineConfig,
    BaselineCourse,
    BaselineInputs,
    BaselineResult,
    BaselineRun,
)
from manyheads.systems.baselines.replies import Analysis, Critique, Reading, Reflection
from manyheads.systems.virsci.ideas import most_confident, papers_for_idea, scored
from manyheads.systems.virsci.replies import Idea, Vote, vote_among
from manyheads.systems.virsci.report import report
from manyheads.systems.virsci.result import work
from manyheads.systems.virsci.vote import ballot_of, candidates_of
from manyheads.team.run import Cited, Question, Remark
from manyheads.team.system import Needs, System
from manyheads.team.tools import literature_tools

R = TypeVar("R", bound=ReplyModel)

RESEARCHER, ENGINEER = "researcher", "engineer"
IDEA_TASKS = frozenset({"propose", "reflect", "develop"})  # of the researcher
IDEA, NOVELTY, ABSTRACT = "idea", "novelty", "abstract"  # stages, named as a team's


@dataclass
class BaselineDesk:
    """A running baseline."""

    run: BaselineRun
    topic: str
    stages: Mapping[str, str]
    allowance: equal_cost.Allowance
    course: BaselineCourse
    asked: int = 0  # replies: the inference cost

    @classmethod
    def of(cls, run: BaselineRun, stages: Mapping[str, str]) -> "BaselineDesk":
        topic, config = run.config.inputs.topic, run.settings
        like = config.like.run if isinstance(config.like, equal_cost.Like) else None
        course = BaselineCourse(ideas=0, tokens_allowed=config.allowed, tokens_used=0, like=like)
        run.result.topic, run.result.baseline = Topic(topic=topic, fixed=True), course
        return cls(run, topic, stages, equal_cost.Allowance(config.allowed), course)

    def seat(self, *people: Speaker, turns: int | None = None) -> None:
        """Record who takes part, and begin the idea stage, of a maximum number of turns."""
        self.run.result.team = [Person(name=each.name, role=each.role) for each in people]
        self.run.begin(IDEA, self.stages, turns=turns)

    @property
    def ideas(self) -> list[ScoredIdea]:
        return self.run.result.ideas

    async def ask(self, question: Question, like: type[R]) -> Reply[R]:
        """Ask within the allowance; raises `BudgetError` if it is spent."""
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
        need, allowance = self.allowance.expected(task) + sum(reserved), self.allowance
        if enough := allowance.leaves(need):
            return enough
        used = f"{allowance.used} of {allowance.limit} tokens are used"
        why = f"{used}; another reply and the remaining stages may take {need}"
        self._stop(turn, "tokens", "tokens", "no further reply", why)
        return False

    def _stop(self, turn: int, cause: str, subject: str, outcome: str, why: str) -> None:
        self.course.stopped_by = cause
        self.run.emit(Judged(stage=IDEA, turn=turn, subject=subject, outcome=outcome, reasoning=why))

    def exhaust(self, cause: str, task: str) -> None:
        """End the idea stage after its last round or turn; warns if the tokens would have paid for another.

        A baseline that costs less than the run it is compared with is not one at equal cost.
        """
        self.course.stopped_by, allowance = cause, self.allowance
        if allowance.limit is not None and allowance.leaves(allowance.expected(task), self.abstract_costs):
            used, key = f"{allowance.used} of {allowance.limit} tokens", f"{self.run.config.system}.{cause}"
            more = f"for equal cost allow more {cause}, --set {key}=<larger>"
            self.run.warn(IDEA, f"only {used} are used after all {cause}: {more}")

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


REFLECTION_NEEDS: Needs = {
    (RESEARCHER, "propose"): Idea,
    (RESEARCHER, "reflect"): Reflection,
    (RESEARCHER, "abstract"): Abstract,
}
SINGLE_NEEDS: Needs = {
    (RESEARCHER, "propose"): Idea,
    (RESEARCHER, "pick"): Vote,
    (RESEARCHER, "abstract"): Abstract,
}
REFLECTION_STAGES = {IDEA: "Idea and self-reflection", ABSTRACT: "Abstract generation"}
SINGLE_STAGES = {IDEA: "Independent ideas", NOVELTY: "Choice", ABSTRACT: "Abstract generation"}


async def self_reflection(run: BaselineRun) -> None:
    """Propose an idea, reflect on it up to `rounds` times, and write the abstract of its last version.

    Turn 1 of the idea stage is the proposal, turn r + 1 is round r. Its prompt has the reflections of earlier rounds, the idea
    with its self-ratings, similar papers, and the last look-ups. An early "done" ends the rounds only with `until_done`; a
    limit in tokens ends them while the abstract can still be paid: if not, this raises `BudgetError`, as all baselines do.
    """
    desk, author = BaselineDesk.of(run, REFLECTION_STAGES), run.speaker(RESEARCHER, "Researcher")
    desk.seat(author, turns=run.settings.rounds + 1)
    look_ups = (await desk.propose(author, await papers_for_idea(run, 1, desk.topic), 1)).tool_calls
    for turn in range(2, run.settings.rounds + 2):
        done = desk.is_done(turn - 1, "the agent calls the idea finished")
        if done or not desk.affords(turn - 1, "reflect", desk.abstract_costs):
            break
        query = desk.ideas[-1].query(run.settings.ideas.queries_whole)
        references = await papers_for_idea(run, turn, query)
        variables = {
            "topic": desk.topic, "current": desk.ideas[-1],
            "earlier": [{"round": idea.turn - 1, "text": idea.reflection} for idea in desk.ideas[1:]],
            "references": references, "found": look_ups, "round": turn - 1, "rounds": run.settings.rounds,
        }  # fmt: skip
        question = Question(IDEA, turn, author, RESEARCHER, "reflect", variables, tools=desk.tools(author))
        reply = await desk.ask(question, Reflection)
        look_ups = reply.tool_calls
        desk.add(reply.value, author.name, turn, references)
        if reply.value.done:
            desk.course.done_in_turns.append(turn)
    else:
        desk.exhaust("rounds", "reflect")
    await desk.write(desk.ideas[-1:], desk.ideas[-1], author)


async def single(run: BaselineRun) -> None:
    """Draft independent ideas while the tokens last, pick the most novel one, write its abstract.

    As in a team, the `ideas.keep` ideas of highest confidence are compared, with their closest papers and without their
    ratings; with `novelty.enabled` off the most confident one is taken.
    """
    desk, author = BaselineDesk.of(run, SINGLE_STAGES), run.speaker(RESEARCHER, "Researcher")
    desk.seat(author)
    references, ideas = await papers_for_idea(run, 1, desk.topic), desk.ideas
    while not ideas or desk.affords(len(ideas), "propose", *_closing(desk, len(ideas) + 1)):
        await desk.propose(author, references, len(ideas) + 1, len(ideas) + 1)
    kept = most_confident(ideas, run.settings.ideas.keep)
    await desk.write(kept, await _pick(desk, author, kept), author)


def _closing(desk: BaselineDesk, drafted: int) -> tuple[int, int]:
    """Tokens to reserve for the choice among the drafts, and for the abstract.

    Each idea is shown with its papers, so that it may take as much reading as the prompt that it was drafted from.
    """
    config = desk.run.settings
    judged = min(drafted, config.ideas.keep) if config.novelty.enabled else 1
    return desk.allowance.reading(["propose"], judged) if judged > 1 else 0, desk.abstract_costs


async def _pick(desk: BaselineDesk, author: Speaker, kept: Sequence[ScoredIdea]) -> ScoredIdea:
    """The most novel of the kept ideas (Eq. 3, asked of one), or the most confident if there is no choice."""
    run, config = desk.run, desk.run.settings.novelty
    run.begin(NOVELTY, SINGLE_STAGES)
    if len(kept) == 1 or not config.enabled:
        return kept[0]
    if not desk.allowance.leaves(*_closing(desk, len(kept))):
        run.warn(NOVELTY, "too few tokens are left to compare the ideas; the most confident one is taken")
        return kept[0]
    queries = [idea.query(run.settings.ideas.queries_whole) for idea in kept]
    closest = await run.references(NOVELTY, 1, queries, config.references)
    ideas, papers = candidates_of([run.wording(idea) for idea in kept], closest)
    shown, names = {"ideas": ideas, "references": papers}, [idea.title for idea in kept]
    question = Question(NOVELTY, 1, author, RESEARCHER, "pick", shown, names=names)
    kind = vote_among(run.reply_type(RESEARCHER, "pick", Vote), len(kept))
    vote = (await desk.ask(question, kind)).value
    run.emit(Voted(stage=NOVELTY, turn=1, voter=author.name, choice=vote.choice, reasoning=vote.thought))
    run.result.votes.append(ballot_of(vote, author.name, 1, kept))
    return kept[vote.choice - 1]


TASKS: dict[str, tuple[str, type[ReplyModel]]] = {
    "analyst": ("analyse", Analysis),
    ENGINEER: ("report", Reading),
    RESEARCHER: ("develop", Idea),
    "critic": ("criticise", Critique),
}
"""The task of each role, in the order in which they speak."""
NEEDS = {(role, task): reply for role, (task, reply) in TASKS.items()} | {(RESEARCHER, "abstract"): Abstract}
STAGES = {IDEA: "Discussion", ABSTRACT: "Abstract generation"}


@dataclass(frozen=True)
class SpokenRemark(Remark):
    """A remark; for an idea its title, marked as a `proposal`."""

    proposal: bool = False


async def discussion(run: BaselineRun) -> None:
    """Discuss a topic for `turns` turns, in each of which everybody speaks once, and write the abstract.

    As in the published system, everybody hears everything, but only the titles of earlier versions of the idea. The critic's
    approval ends the discussion only with `until_done`; a limit in tokens ends it, even within a turn, while the abstract can
    still be paid.
    """
    desk, said = BaselineDesk.of(run, STAGES), list[SpokenRemark]()
    people = {role: run.speaker(role, role.capitalize()) for role in TASKS}
    if not run.settings.ideas.references and not desk.tools(people[ENGINEER]):
        del people[ENGINEER]  # there is no literature to look up
    desk.seat(*people.values(), turns=run.settings.turns)
    for turn in range(1, run.settings.turns + 1):
        done = desk.is_done(turn - 1, "the critic approves the idea")
        if done or not await _turn(desk, list(people.values()), said, turn):
            break
    else:
        desk.exhaust("turns", TASKS[next(iter(people))][0])
    await desk.write(desk.ideas[-1:], desk.ideas[-1], people[RESEARCHER])


async def _turn(desk: BaselineDesk, people: list[Speaker], said: list[SpokenRemark], turn: int) -> bool:
    """Everybody speaks once; False if tokens run short. The first idea is always awaited, and never left out."""
    for speaker in people:
        task, like = TASKS[speaker.role]
        if desk.ideas and not desk.affords(turn, task, desk.abstract_costs):
            return False
        previous, tools = desk.ideas[-1] if desk.ideas else None, ()
        variables: dict[str, object] = {"topic": desk.topic, "previous": previous, "said": list(said)}
        # who alone sees papers, close to the current idea or at first to the topic
        if speaker.role == ENGINEER:
            query = previous.query(desk.run.settings.ideas.queries_whole) if previous else desk.topic
            tools = desk.tools(speaker)
            variables["references"] = await papers_for_idea(desk.run, turn, query)
        spare = bool(desk.ideas) or speaker.role != RESEARCHER
        question = Question(IDEA, turn, speaker, speaker.role, task, variables, tools=tools, spare=spare)
        ask = desk.ask(question, like)
        answer = await (desk.run.spare(IDEA, ask) if spare else ask)
        if answer is None:
            continue
        reply = answer.value
        if isinstance(reply, Critique) and reply.approve:
            desk.course.done_in_turns.append(turn)
        if isinstance(reply, Idea):
            desk.add(reply, speaker.name, turn)
            said.append(SpokenRemark(speaker.name, reply.title, proposal=True))
        else:
            said.append(SpokenRemark(speaker.name, desk.run.wording(reply)))
    return True


def _corpus(config: RunConfig) -> bool:
    """Baselines search the same literature as the team that they are compared with: B_past or services, which may include the corpus
    and its year.
    """
    settings, literature = config.settings, config.literature
    if literature.references != "services":
        return settings.ideas.references + settings.novelty.references > 0
    return "local" in literature.cascade or literature.before == "bound"


def _baseline(
    name: str,
    title: str,
    about: str,
    run: Callable[[BaselineRun], Awaitable[None]],
    needs: Needs,
    prepare: Callable[[RunConfig], RunConfig] = equal_cost.resolve,
    component: tuple[str, ...] = (),
) -> System[BaselineConfig, BaselineInputs, BaselineResult]:
    return System(
        name=name, title=title, about=about, config=BaselineConfig, inputs=BaselineInputs,
        result=BaselineResult, run=run, essence=own.essence, report=partial(report, alone=True), work=work,
        needs=lambda config: needs, corpus=_corpus,
        searches=lambda config, roles: config.literature.references == "services", prepare=prepare,
        component=component, aliases={"baseline": name},
    )  # fmt: skip


SELF_REFLECTION = _baseline(
    "self-reflection", "Self-reflection",
    "A researcher who reflects on one idea about a topic for many rounds and writes its abstract.",
    self_reflection, REFLECTION_NEEDS,
)  # fmt: skip
DISCUSSION = _baseline(
    "discussion", "Discussion",
    "A few fixed roles who discuss an idea about a research topic and write its abstract.",
    discussion, NEEDS,
)  # fmt: skip
SINGLE = _baseline(
    "single", "Single agent",
    "A researcher who drafts ideas about a topic, picks the most novel one and writes its abstract.",
    single, SINGLE_NEEDS, own.held_to_tokens,
    ("tokens=140000",),  # about what a team of VirSci uses as it ships
)  # fmt: skip
