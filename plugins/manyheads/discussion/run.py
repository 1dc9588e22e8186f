"""What a system holds while it runs, and the settings of one that is a team's discussion."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, cast

from pydantic import BaseModel, Field
from typing_extensions import TypeVar

from manyheads.config import RunConfig, Section, Strict
from manyheads.core import Host, Image, Message, Ordinals, Reply, Speaker, Tally, Tool, Turn, Usage, safe_name
from manyheads.core.events import Asked, Emit, Retrieved, Said, Stage, Warned
from manyheads.core.results import EvidenceList, Part, Retrieval
from manyheads.literature.library import Library
from manyheads.papers import Hit, Literature, Scientist
from manyheads.replies import ReplyModel
from manyheads.roles import Roles


class TeamConfig(Strict):
    """Collaborator selection (VirSci 2025, §3.2)."""

    size: int = Field(default=4, ge=1)
    """Members, the leader counted."""
    leader: str | None = None
    """Masked name of the leader; drawn at random when left out."""
    exploration: Literal["uniform", "normal", "none"] = "uniform"
    """Increment of the adjacency matrix: +1, or abs(x) with x ~ N(1, 1) (App. D.4, Eq. 7), or nothing."""
    freshness: float | None = Field(default=None, ge=0, le=1)
    """Share of members who have written with no other member (§4.4, Fig. 5) that is drawn for; none when left out."""
    diversity: float | None = Field(default=None, ge=0, le=1)
    """Share of members none of whose interests another member has (§4.4, Fig. 6) that is drawn for; none when left out."""
    max_invitations: int = Field(default=40, ge=1)
    """How many candidates are asked before the team goes on with those who joined."""


class TurnsConfig(Strict):
    """Turns of each stage. A plain number in a config sets all of them."""

    plain = "default"
    default: int = Field(default=5, ge=1)
    """For the stages not named."""
    adaptive: bool = False
    """The leader decides after each turn whether the stage goes on; the numbers become caps (App. D.3.2)."""

    def of(self, stage: str) -> int:
        return getattr(self, stage, None) or self.default


class InvitationConfig(Strict):
    """Advice from scientists outside the team (App. D.2.1)."""

    enabled: bool = True
    """Whether members may ask outsiders."""
    per_turn: int = Field(default=1, ge=1)
    """Guests that one speaker may hear in one turn."""
    suggestions: int = Field(default=4, ge=1)
    """Outside scientists whose profiles the retrieval hook shows."""


class DiscussionSettings(Section):
    """What a team discussion goes by."""

    team: TeamConfig = TeamConfig()
    turns: TurnsConfig = TurnsConfig()
    topology: Literal["sequential", "random"] = "sequential"
    """Round table, or a random next speaker who is never the previous one (App. D.3.1)."""
    invitation: InvitationConfig = InvitationConfig()


OWN_WORKS = 3
"""Papers of their own whose titles a scientist's system prompt names."""
R = TypeVar("R", bound=ReplyModel)
C = TypeVar("C", bound=Section, covariant=True, default=Any)
M = TypeVar("M", covariant=True, default=Any)
Result = TypeVar("Result", bound=BaseModel, default=Any)


@dataclass(frozen=True)
class Remark:
    """Something said that later speakers are shown. `guest` marks an invited scientist; `idea` is the number of one."""

    name: str
    text: str
    guest: bool = False
    idea: int | None = None


class Guest(Part):
    """An outside scientist's one answer."""

    name: str
    by: str
    stage: str
    turn: int
    question: str
    advice: str


@dataclass(frozen=True)
class Question:
    """What is asked of a speaker: a role's task with its variables, at a stage and turn.

    Attributes:
        role: whose card holds the task.
        recall: query for the retrieval hook.
        asker: who wants to know, where a guest is asked for a member; part of the turn's place.
        nested, check, spare: see `Turn`.
        names: what numbers in the reply stand for, from 1 on; others have not seen them.
        after: messages that follow the rendered prompt, such as a guest's advice.
        images: shown with the prompt.
    """

    stage: str
    turn: int
    speaker: Speaker
    role: str
    task: str
    variables: Mapping[str, object]
    part: Literal["member", "leader", "guest", "candidate"] = "member"
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
    """A paper found, with the id under which the result's evidence has it."""

    evidence: str


@dataclass
class Run(Generic[Result, C, M]):
    """The context of one run. Draws of `rng` happen only between turns, never inside concurrent branches."""

    config: RunConfig
    host: Host
    roles: Roles
    literature: Literature
    emit: Emit
    result: Result
    """What it comes to, filled as it goes."""
    insiders: set[str] = field(default_factory=set[str])
    """Names of the team's present members; the retrieval hook shows others."""
    library: Library | None = None
    """Where agents and systems look papers up."""
    material: M = field(default=cast(Any, None))
    """What its system read of the run's inputs."""
    folder: Path | None = None
    """Where it leaves what it comes to; None where it leaves nothing."""
    rng: random.Random = field(init=False)
    ordinals: Ordinals = field(default_factory=Ordinals)
    guests: list[Guest] = field(default_factory=list[Guest])
    evidence: EvidenceList = field(default_factory=EvidenceList)
    """Papers that the result may cite."""
    warned: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What fell back or failed on the way, by stage."""
    long_queries: set[str] = field(default_factory=set[str])
    """Stages in which a text was longer than the embedding model reads at once."""
    spent: Tally = field(default_factory=Tally)
    """Usage by stage."""
    writers: set[str] = field(default_factory=set[str])
    """Names of the models that have replied."""

    def __post_init__(self) -> None:
        self.rng = random.Random(self.config.seed)

    @property
    def settings(self) -> C:
        """The system's own section of the config."""
        return self.config.settings

    def speaker(self, role: str, name: str, **variables: object) -> Speaker:
        """A speaker in a role, with its system prompt rendered and its model chosen."""
        changes = self.config.roles.get(role)
        model = changes.model if changes else self.roles.card(role).model
        return Speaker(safe_name(name), role, self.roles.system(role, variables), model)

    def scientist(self, role: str, scientist: Scientist) -> Speaker:
        """A speaker with the record of a scientist: profile, a few of their papers, the year up to which they know work."""
        works, last_year = self.literature.works(scientist.name, OWN_WORKS), self.literature.last_year
        return self.speaker(role, scientist.name, scientist=scientist, works=works, last_year=last_year or 0)

    def calls_tools(self, speaker: Speaker) -> bool:
        return self.config.models[speaker.model].calls_tools

    async def ask(self, question: Question, like: type[R]) -> Reply[R]:
        """Ask one speaker for a reply as `reply_type` has it, and tell the listeners."""
        reply_type = self.reply_type(question.role, question.task, like)
        await self.host.gate()
        speaker, label = question.speaker, f"{question.task} {question.asker}".rstrip()
        place = self.ordinals.place(question.stage, question.turn, speaker.name, label)
        prompt = self.roles.prompt(question.role, question.task, question.variables)
        thread = (Message(prompt, images=question.images), *question.after)
        # The hook shows whom one could invite; without invitations it has nothing to show.
        recall, nested = question.recall if self.invites else None, question.nested
        turn = Turn(
            place,
            speaker,
            thread,
            reply_type,
            question.tools,
            recall,
            question.check,
            self.roles.forms,
            nested=nested,
            task=f"{question.role}.{question.task}",
            spare=question.spare,
        )
        self.emit(Asked(stage=place.stage, turn=place.turn, speaker=speaker.name, task=place.task))
        reply = await self.host.ask(turn)
        self._account(question, reply)
        return reply

    @property
    def invites(self) -> bool:
        """Whether members may ask outsiders."""
        settings = self.config.settings
        return isinstance(settings, DiscussionSettings) and settings.invitation.enabled

    def _account(self, question: Question, reply: Reply[Any]) -> None:
        for message in reply.warnings:
            self.warn(question.stage, message)
        for call in reply.tool_calls:
            if call.failed:
                self.warn(
                    question.stage, f"{question.speaker.name} called {call.name} in vain: {call.result}"
                )
        self.writers.add(reply.model)
        self.spent.pay(question.stage, reply.usage)
        self.emit(
            Said(
                stage=question.stage,
                turn=question.turn,
                speaker=question.speaker.name,
                task=question.task,
                verb=reply.value.verb,
                part=question.part,
                text=self.wording(reply.value, names=question.names),
                data=reply.value.model_dump(mode="json"),
                model=reply.model,
                usage=reply.usage,
                seconds=reply.seconds,
                tool_calls=reply.tool_calls,
            )
        )

    def wording(self, value: object, *, names: Sequence[str] = ()) -> str:
        """A reply, or a part of a result, as other speakers are shown it; see `Prompts.wording`."""
        return self.roles.prompts.wording(value, names=names)

    def reply_type(self, role: str, task: str, like: type[R]) -> type[R]:
        """The reply type of a task, which must be `like` or narrower; `like` itself where that is the narrower one."""
        kind = self.roles.reply(role, task)
        if not issubclass(kind, like):
            if issubclass(like, kind):
                return like
            raise TypeError(f"{role}.{task} replies with {kind.__name__}, not {like.__name__}")
        return kind

    async def references(self, stage: str, turn: int, queries: list[str], k: int) -> list[list[Cited]]:
        """B_past of each query, `k` papers each, kept as evidence; nothing is looked up when `k` is 0.

        Called only between turns, never inside concurrent branches: the order makes the ids of the evidence.
        """
        if not k:
            return [[] for _ in queries]
        answers = list(zip(queries, await self.literature.past(queries, k), strict=True))
        rest = max((tokens or 0 for tokens in await self.literature.unread(queries)), default=0)
        if rest and stage not in self.long_queries:
            self.long_queries.add(stage)
            self.warn(
                stage,
                f"papers were looked up by a text that is {rest} tokens longer than the embedding model reads at once; such "
                "texts are read in parts, and the parts' vectors averaged",
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
            query=query.split("\n", 1)[0],
            score=round(hit.score, 4),
            stage=stage,
            turn=turn,
        )
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
        """Tell the listeners that a stage begins.

        Args:
            titles: of all stages, in order; `title` is another for this time.
            turns: as many as it has at most.
        """
        number, total = list(titles).index(stage) + 1, len(titles)
        title = title or titles[stage]
        self.emit(Stage(stage=stage, title=title, number=number, total=total, turns=turns))

    def expect(self, *queries: str, recall: bool = False) -> None:
        """Begin to embed queries that will be looked up soon; of `recall`, those of the retrieval hook."""
        if self.invites or not recall:
            self.literature.expect(*queries)

    def warn(self, stage: str, message: str) -> None:
        """Tell the user of something that fell back; it also goes into the result."""
        self.warned.setdefault(stage, []).append(message)
        self.emit(Warned(stage=stage, message=message))

    @property
    def warnings(self) -> list[str]:
        """All warnings; sorted within a stage, whose questions may be asked at once, so that like runs are alike."""
        return [message for messages in self.warned.values() for message in sorted(messages)]

    @property
    def usage(self) -> Usage:
        return self.spent.total
