"""The system: its section of the run file, its input, its result, and the debate itself."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from manyheads.ext import (
    FileOrText,
    Inputs,
    Judge,
    Part,
    Question,
    Run,
    RunConfig,
    Section,
    Service,
    Slot,
    Stage,
    System,
    subject_of,
)
from manyheads_debate.replies import Argument, Ruling

STAGE = "debate"
SIDES: tuple[Literal["for"], Literal["against"]] = ("for", "against")
NEEDS = {("advocate", "argue"): Argument, ("arbiter", "decide"): Ruling}


class DebateConfig(Section):
    """How long a debate goes on."""

    rounds: int = Field(default=2, ge=1)
    """How often each side speaks."""


class DebateInputs(Inputs):
    """What a debate is about."""

    claim: Annotated[FileOrText, Slot("last", file=True, metavar="TEXT|FILE", required=True)] = None
    """What is argued about: a text, or a file that holds it."""


class Point(Argument):
    """An argument as the result keeps it."""

    side: Literal["for", "against"]
    round: int


class Debate(Part):
    """What a debate comes to; it is filled as the debate goes on."""

    claim: str = ""
    arguments: list[Point] = Field(default_factory=list[Point])
    ruling: Ruling | None = None


def read_claim(config: RunConfig) -> str:
    return subject_of(config.inputs.claim, "the claim", "a claim, or a text file that holds one").text


async def debate(run: Run[Debate, DebateConfig, str]) -> None:
    """Each side speaks once a round, knowing all that was said; then the arbiter decides."""
    result, claim = run.result, run.material
    result.claim = claim
    run.emit(Stage(stage=STAGE, title="Debate", number=1, total=1, turns=run.settings.rounds))
    for number in range(1, run.settings.rounds + 1):
        for side in SIDES:
            speaker = run.speaker("advocate", side.capitalize(), side=side)
            shown = {"claim": claim, "arguments": tuple(result.arguments)}
            reply = await run.ask(Question(STAGE, number, speaker, "advocate", "argue", shown), Argument)
            result.arguments.append(Point(**reply.value.model_dump(), side=side, round=number))
    shown = {"claim": claim, "arguments": tuple(result.arguments)}
    arbiter = run.speaker("arbiter", "Arbiter")
    reply = await run.ask(Question(STAGE, run.settings.rounds, arbiter, "arbiter", "decide", shown), Ruling)
    result.ruling = reply.value


class Claim(Inputs):
    """The arguments of `find_objection`."""

    claim: str = Field(min_length=1)


async def find_objection(run: Run[Debate, DebateConfig, str], asked: Claim) -> str:
    """The first argument against a claim, as a tool of any agent."""
    speaker = run.speaker("advocate", "Against", side="against")
    shown = {"claim": asked.claim, "arguments": ()}
    reply = await run.ask(Question(STAGE, 1, speaker, "advocate", "argue", shown), Argument)
    return run.wording(reply.value)


def essence(result: Debate) -> Iterator[tuple[str, str]]:
    """What the command prints at the end, and a team's last message says."""
    yield "Claim", result.claim
    if ruling := result.ruling:
        yield "Verdict", f"{ruling.verdict}, {ruling.confidence} % sure"
        yield "Reasons", " ".join(ruling.reasons)


DEBATE = System(
    name="debate",
    title="Debate",
    about="Two advocates argue for and against the claim that they are given, and an arbiter decides whether it holds.",
    config=DebateConfig,
    inputs=DebateInputs,
    result=Debate,
    needs=lambda config: NEEDS,
    read=read_claim,
    run=debate,
    essence=essence,
    judge=Judge("claim", "debate.ruling.confidence"),
    services=(Service("find_objection", Claim, find_objection),),
)
