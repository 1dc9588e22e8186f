"""A system's run, and the settings of a team's discussion."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from pydantic import BaseModel, Field, model_validator
from typing_extensions import TypeVar

from manyheads.asking.replies import ReplyModel
from manyheads.asking.roles import Roles
from manyheads.base.errors import ModelError, ReplyError
from manyheads.base.papers import Hit, Literature, Scientist
from manyheads.config import HUMAN, PERSON, RunConfig, Section, Strict
from manyheads.core import Host, Image, Message, Ordinals, Reply, Speaker, Tally, Tool, Turn, Usage, safe_name
from manyheads.core.events import Asked, Emit, Retrieved, Said, Stage, Warned
from manyheads.core.results import EvidenceList, Part, PersonWord, Retrieval
from manyheads.literature.library import Library
from manyheads.models.governor import ToolsRefusedError

if TYPE_CHECKING:
    from manyheads.core import ManagedHost, Meter
    from manyheads.engine.budget import Budget


class TeamConfig(Strict):
    """Collaborator selection (VirSci 2025, §3.2)."""

    size: int = Field(default=4, ge=1)
    """Number of members, including the leader."""
    leader: str | None = None
    """Masked name of the leader; random if omitted."""
    members: tuple[str, ...] | None = Field(default=None, exclude_if=lambda value: value is None)
    """Masked names of all members but the leader, who has a name too: the team is given, nobody is invited, and `size` does not count."""
    exploration: Literal["uniform", "normal", "small", "history", "none"] = "uniform"
    """Increment of the adjacency matrix: +1, or abs(x) with x ~ N(1, 1) (App. D.4, Eq. 7), or none; `small`: at most 0.01, where the
    row's sum is 1; `history`: 0.3 times the rows of the leader's collaborators."""
    freshness: float | None = Field(default=None, ge=0, le=1)
    """Target share of members without earlier joint papers (§4.4, Fig. 5); no target if omitted."""
    diversity: float | None = Field(default=None, ge=0, le=1)
    """Target share of members who share no interest with another (§4.4, Fig. 6); no target if omitted."""
    max_invitations: int = Field(default=40, ge=1)
    """Maximum candidates asked; the team then starts with those who joined."""

    @model_validator(mode="after")
    def _whole_team(self) -> "TeamConfig":
        """A given team has a leader, and nobody twice."""
        if self.members is not None:
            if not self.leader:
                raise ValueError("members without a leader: name the leader, too")
            if len({self.leader, *self.members}) <= len(self.members):
                raise ValueError("members: one is named twice, or is the leader")
        return self


class TurnsConfig(Strict):
    """Turns of each stage. A plain number in a config sets all of them."""

    plain = "default"
    default: int = Field(default=5, ge=1)
    """For all other stages."""
    adaptive: bool = False
    """The leader decides after each turn whether the stage continues; the numbers are then limits (App. D.3.2)."""

    def of(self, stage: str) -> int:
        return getattr(self, stage, None) or self.default


class InvitationConfig(Strict):
    """Advice from scientists outside the team (App. D.2.1)."""

    enabled: bool = True
    """Whether members may ask outside scientists."""
    per_turn: int = Field(default=1, ge=1)
    """Maximum guests per speaker and turn."""
    suggestions: int = Field(default=4, ge=1)
    """Number of outside scientists whose profiles the retrieval hook shows."""


class DiscussionSettings(Section):
    """Settings of a team's discussion."""

    team: TeamConfig = TeamConfig()
    turns: TurnsConfig = TurnsConfig()
    topology: Literal["sequential", "random"] = "sequential"
    """Round table, or random speakers, never the same twice in a row (App. D.3.1)."""
    invitation: InvitationConfig = InvitationConfig()


OWN_WORKS = 3
"""Number of own papers listed in a scientist's system prompt."""
R = TypeVar("R", bound=ReplyModel)
T = TypeVar("T")
C = TypeVar("C", bound=Section, covariant=True, default=Any)
M = TypeVar("M", covariant=True, default=Any)
Result = TypeVar("Result", bound=BaseModel, default=Any)


@dataclass(frozen=True)
class Remark:
    """A message for later speakers. `guest` marks an invited scientist; `idea` is an idea's number."""

    name: str
    text: str
    guest: bool = False
    idea: int | None = None


class Guest(Part):
    """An outside scientist's answer."""

    name: str
    by: str
    stage: str
    turn: int
    question: str
    advice: str


@dataclass(frozen=True)
class Question:
    """A question to a speaker: a role's task with its variables, at a stage and turn.

    Example:
        Question("panel", 1, speaker, "advocate", "argue", {"claim": claim, "arguments": ()})

    Attributes:
        role: the role with the task.
        recall: query for the retrieval hook.
        asker: the member for whom a guest is asked; part of the turn's place.
        nested, check, spare: see `Turn`.
        names: labels of the numbers in the reply, from 1 on, for readers who do not know them.
        after: messages after the rendered prompt, such as a guest's advice.
        images: images shown with the prompt.
    """

    stage: str
    turn: int
    speaker: Speaker
    role: str
    task: str
    variables: Mapping[str, object]
    part: Literal["member", "leader", "guest", "candidate", "person"] = "member"
    recall: str | None = None
    tools: tuple[Tool, ...] = ()
    after: tuple[Message, ...] = ()
    images: tuple[Image, ...] = ()
    asker: str = ""
    nested: bool = False
    check: Callable[[Any], str | None] | None = None
    spare: bool = False
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Cited(Hit):
    """A retrieved paper, with its id in the result's evidence."""

    evidence: str


@dataclass(frozen=True)
class Below:
    """What runs below another one's folder need of it; see `engine/children.py`.

    Attributes:
        make_host: makes their hosts.
        budget: the run's own, which is theirs too, open.
        meter: counts their requests besides.
        accept_changes: whether they resume with another config or other prompts.
        go_live: from now on the folder describes this start.
    """

    make_host: "Callable[..., ManagedHost]"
    budget: "Budget"
    meter: "Meter"
    accept_changes: bool
    go_live: Callable[[], None]


@dataclass
class Run(Generic[Result, C, M]):
    """The context of one run. `rng` is used only between turns, never in concurrent branches.

    Example:
        async def panel(run: Run) -> None:
            run.emit(Stage(stage="panel", title="Panel", number=1, total=1))
            speaker = run.speaker("advocate", "For", side="for")
            reply = await run.ask(Question("panel", 1, speaker, "advocate", "argue", {"claim": "…"}), Argument)
            run.result.arguments.append(reply.value)
    """

    config: RunConfig
    host: Host
    roles: Roles
    literature: Literature
    """The corpus; of a run whose stages see several, that of the stage."""
    emit: Emit
    result: Result
    """The result, filled during the run."""
    insiders: set[str] = field(default_factory=set[str])
    """Names of the team's current members; the retrieval hook shows others."""
    library: Library | None = None
    """The literature library for agents and systems."""
    material: M = field(default=cast(Any, None))
    """The inputs, as the system read them."""
    folder: Path | None = None
    """The run folder; None if nothing is saved."""
    below: Below | None = None
    """Of a system that runs others; None if nothing is saved."""
    below_spent: Tally = field(default_factory=Tally)
    """Usage of the runs below its folder, by stage."""
    rng: random.Random = field(init=False)
    ordinals: Ordinals = field(default_factory=Ordinals)
    guests: list[Guest] = field(default_factory=list[Guest])
    evidence: EvidenceList = field(default_factory=EvidenceList)
    """Papers that the result may cite."""
    warned: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Fallbacks and failures, by stage."""
    people: list[PersonWord] = field(default_factory=list[PersonWord])
    """What people contributed."""
    remarks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What the person who steers has said to the team, by stage; all prompts of the stage show it."""
    for_next: list[str] = field(default_factory=list[str])
    """The same for the stage that begins next."""
    open_world: Callable[[str], Awaitable[Literature]] | None = None
    """Opens another corpus for the rest of the run, to be its `literature`; None if nothing is saved."""
    switched: Callable[[str], bool] = lambda stage: False
    """Whether steering after a stage was switched on while the run went on."""
    sent_back: Counter[str] = field(default_factory=Counter[str])
    """How often the person has sent a stage back."""
    long_queries: set[str] = field(default_factory=set[str])
    """Stages with a text longer than the embedding model's limit."""
    spent: Tally = field(default_factory=Tally)
    """Usage by stage."""
    writers: set[str] = field(default_factory=set[str])
    """Names of the models that replied."""

    def __post_init__(self) -> None:
        self.rng = random.Random(self.config.seed)

    @property
    def settings(self) -> C:
        """The system's own section of the config."""
        return self.config.settings

    def speaker(self, role: str, name: str, **variables: object) -> Speaker:
        """A speaker in a role, with system prompt and model."""
        model = self.config.alias_of(role, self.roles.card(role).model)
        system, persona = self.roles.shared_and_own(role, variables)
        return Speaker(safe_name(name), role, system, model, persona)

    def scientist(self, role: str, scientist: Scientist) -> Speaker:
        """A speaker with a scientist's record: profile, some of their papers, the last year of the work they know."""
        works, last_year = self.literature.works(scientist.name, OWN_WORKS), self.literature.last_year
        return self.speaker(role, scientist.name, scientist=scientist, works=works, last_year=last_year or 0)

    def calls_tools(self, speaker: Speaker) -> bool:
        return self.config.models[speaker.model].calls_tools

    async def ask(self, question: Question, like: type[R]) -> Reply[R]:
        """Ask one speaker for a `reply_type` reply, and emit the events; it may raise `ToolsRefusedError`."""
        reply_type = self.reply_type(question.role, question.task, like)
        await self.host.gate()
        speaker, label = question.speaker, f"{question.task} {question.asker}".rstrip()
        place = self.ordinals.place(question.stage, question.turn, speaker.name, label)
        prompt = self.roles.prompt(question.role, question.task, question.variables)
        if question.part != PERSON and (remarks := self.remarks.get(question.stage)):
            prompt += "\n" + self.roles.prompts.render("partials/steering.md.j2", {"remarks": remarks})
        if speaker.persona:
            prompt += "\n" + self.roles.prompts.render("partials/persona.md.j2", {"persona": speaker.persona})
        thread = (Message(prompt, images=question.images), *question.after)
        # The hook shows possible guests; without invitations there are none.
        recall, nested = question.recall if self.invites else None, question.nested
        turn = Turn(
            place, speaker, thread, reply_type, question.tools, recall, question.check, self.roles.forms,
            nested=nested, task=f"{question.role}.{question.task}", spare=question.spare,
        )  # fmt: skip
        self.emit(Asked(stage=place.stage, turn=place.turn, speaker=speaker.name, task=place.task))
        try:
            reply = await self.host.ask(turn)
        except ToolsRefusedError:
            self.ordinals.subtract([(place.stage, place.turn, place.speaker, place.task)])
            told = f"models.{speaker.model}: the server refused tools; fields of the reply, or more text in the prompt, replace them"
            if all(told not in messages for messages in self.warned.values()):
                self.warn(question.stage, told)
            raise
        self._account(question, reply)
        return reply

    async def hear(self, question: Question, like: type[R]) -> R | None:
        """The reply of one whom the run can do without; None, with a warning, if no attempt gives a valid one."""
        reply = await self.spare(question.stage, self.ask(replace(question, spare=True), like))
        return reply and reply.value

    async def spare(self, stage: str, reply: Awaitable[T]) -> T | None:
        """What comes of a question that is `spare`, see `hear`."""
        try:
            return await reply
        except ReplyError as error:
            self.warn(stage, f"{error.message}; the run continues without it")
            return None

    @property
    def invites(self) -> bool:
        """Whether members may ask outside scientists."""
        settings = self.config.settings
        return isinstance(settings, DiscussionSettings) and settings.invitation.enabled

    def _account(self, question: Question, reply: Reply[Any]) -> None:
        for message in reply.warnings:
            self.warn(question.stage, message)
        for call in reply.tool_calls:
            if call.failed:
                why = f"{question.speaker.name} called {call.name} without success: {call.result}"
                self.warn(question.stage, why)
        self.writers.add(reply.model)
        self.spent.pay(question.stage, reply.usage)
        value, text = reply.value, self.wording(reply.value, names=question.names)
        at: dict[str, Any] = {"stage": question.stage, "turn": question.turn, "task": question.task}
        at["speaker"] = question.speaker.name
        if reply.model.startswith(f"{HUMAN}/") or question.part == PERSON:
            action = str(getattr(value, "action", question.task)) if question.part == PERSON else "reply"
            self.people.append(PersonWord(**at, action=action, text=text, by=reply.model))
        said = Said(
            **at, verb=self.roles.prompts.verb(value), part=question.part, text=text, data=value.model_dump(mode="json"),
            model=reply.model, usage=reply.usage, seconds=reply.seconds, tool_calls=reply.tool_calls,
        )  # fmt: skip
        self.emit(said)

    def wording(self, value: object, *, names: Sequence[str] = ()) -> str:
        """A reply, or a part of a result, as shown to other speakers; see `Prompts.wording`."""
        return self.roles.prompts.wording(value, names=names)

    def reply_type(self, role: str, task: str, like: type[R]) -> type[R]:
        """The reply type of a task, which must be `like` or narrower; `like` itself if that is narrower."""
        kind = self.roles.reply(role, task)
        if not issubclass(kind, like):
            if issubclass(like, kind):
                return like
            raise TypeError(f"{role}.{task} replies with {kind.__name__}, not {like.__name__}")
        return kind

    async def references(
        self, stage: str, turn: int, queries: list[str], k: int, draw: Callable[[list[Hit]], list[Hit]] = list
    ) -> list[list[Cited]]:
        """B_past of each query, `k` papers each or those of them that are drawn, stored as evidence; no look-up if `k` is 0.

        Called only between turns, never in concurrent branches: the order determines the evidence ids.
        """
        if not k:
            return [[] for _ in queries]
        answers = list(zip(queries, map(draw, await self.literature.past(queries, k)), strict=True))
        rest = max((tokens or 0 for tokens in await self.literature.unread(queries)), default=0)
        if rest and stage not in self.long_queries:
            self.long_queries.add(stage)
            self.warn(
                stage,
                f"a query for papers exceeds the embedding model's limit by {rest} tokens; it was embedded in parts, and "
                "their vectors averaged",
            )
        for query, hits in answers:
            papers = ((hit.paper, round(hit.score, 4)) for hit in hits)
            rows = ({"id": p.id, "title": p.title, "year": p.year, "score": score} for p, score in papers)
            self.emit(Retrieved(stage=stage, turn=turn, query=query, hits=tuple(rows)))
        return [[self._cite(hit, query, stage, turn) for hit in hits] for query, hits in answers]

    def _cite(self, hit: Hit, query: str, stage: str, turn: int) -> Cited:
        paper, corpus = hit.paper, self.config.literature.references != "services"
        retrieval = Retrieval(
            source=self.config.corpus if corpus else paper.id.partition(":")[0],
            query=query.split("\n", 1)[0], score=round(hit.score, 4), stage=stage, turn=turn,
        )  # fmt: skip
        ways = [
            retrieval.model_copy(update={"channel": channel, "reason": reason})
            for channel, reason in hit.channels
        ]
        [evidence, *_] = [
            self.evidence.cite(paper.id, paper.title, way, year=paper.year, of=paper)
            for way in ways or [retrieval]
        ]
        return Cited(paper, hit.score, evidence)

    def begin(
        self, stage: str, titles: Mapping[str, str], title: str | None = None, *, turns: int | None = None
    ) -> None:
        """Emit the start of a stage.

        Args:
            titles: all stages, in order; `title` overrides this one's.
            turns: maximum number of turns.
        """
        if self.for_next:
            self.remarks.setdefault(stage, []).extend(self.for_next)
            self.for_next.clear()
        number, total = list(titles).index(stage) + 1, len(titles)
        title = title or titles[stage]
        self.emit(Stage(stage=stage, title=title, number=number, total=total, turns=turns))

    def expect(self, *queries: str, recall: bool = False) -> None:
        """Start embedding upcoming queries; with `recall`, those of the retrieval hook."""
        if self.invites or not recall:
            self.literature.expect(*queries)

    def warn(self, stage: str, message: str) -> None:
        """Warn the user about a fallback; it is also stored in the result."""
        self.warned.setdefault(stage, []).append(message)
        self.emit(Warned(stage=stage, message=message))

    @property
    def warnings(self) -> list[str]:
        """All warnings; sorted within a stage, whose questions may be concurrent, so that equal runs have equal results."""
        return [message for messages in self.warned.values() for message in sorted(messages)]

    @property
    def usage(self) -> Usage:
        return self.spent.total


def need_one(voices: Sized, what: str) -> None:
    """Raises `ModelError` if all spare replies of a kind are missing, so that the run cannot continue."""
    if not voices:
        raise ModelError(
            f"{what}: none was valid, see the warnings",
            hint="resume the run: they are asked for again; or give the role another model: --set roles.<role>.model=<alias>",
        )
