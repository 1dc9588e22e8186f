"""A run's events as AgentScope's: one reply with a text block for each thing that a reader wants to see."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from agentscope.event import (
    AgentEvent,
    ModelCallEndEvent,
    ReplyEndEvent,
    ReplyStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
)
from agentscope.types import ErrorInfo, ReplyFinishedReason

from manyheads.core import NOTHING, Usage
from manyheads.events import (
    AnyEvent,
    Event,
    Invited,
    Judged,
    Recruited,
    Retrieved,
    Said,
    Searched,
    Stage,
    Voted,
    Warned,
    looked_up,
)
from manyheads.hosts.reviews import reviews_in_full
from manyheads.models.offline import LABEL, labelled
from manyheads.report.closing import ABSTRACT, essence

PARTS = {"leader": " (leader)", "guest": " (invited)", "candidate": " (candidate)", "member": ""}


@dataclass
class Story:
    """One reply of a pipeline.

    Args:
        name: the pipeline's, which consoles show.
        session_id: the pipeline's session.
    """

    name: str
    session_id: str
    reply_id: str = field(default_factory=lambda: uuid4().hex)
    counted: Usage = NOTHING

    def start(self) -> AgentEvent:
        return ReplyStartEvent(session_id=self.session_id, reply_id=self.reply_id, name=self.name)

    def tell(self, event: AnyEvent) -> Iterator[AgentEvent]:
        """What a reader sees of an event, and what it cost."""
        if text := words(event):
            yield from self.say(text)
        if isinstance(event, Said):
            yield self._count(event.usage)

    def say(self, text: str) -> Iterator[AgentEvent]:
        """A text block of its own."""
        reply, block = self.reply_id, uuid4().hex
        yield TextBlockStartEvent(reply_id=reply, block_id=block)
        yield TextBlockDeltaEvent(reply_id=reply, block_id=block, delta=text)
        yield TextBlockEndEvent(reply_id=reply, block_id=block)

    def settle(self, usage: Usage) -> Iterator[AgentEvent]:
        """Count what the run cost beyond what was said, so that the reply's usage is the run's."""
        read = usage.input_tokens - self.counted.input_tokens
        written = usage.output_tokens - self.counted.output_tokens
        if read > 0 or written > 0:
            yield self._count(Usage(input_tokens=max(read, 0), output_tokens=max(written, 0)))

    def _count(self, usage: Usage) -> AgentEvent:
        self.counted += usage
        return ModelCallEndEvent(
            reply_id=self.reply_id, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )

    def end(
        self, reason: ReplyFinishedReason = ReplyFinishedReason.COMPLETED, error: str | None = None
    ) -> AgentEvent:
        return ReplyEndEvent(
            session_id=self.session_id,
            reply_id=self.reply_id,
            finished_reason=reason,
            error=ErrorInfo(message=error) if error else None,
        )


def words(event: AnyEvent) -> str:
    """An event in words; empty for those that only tell that something is under way."""
    match event:
        case Stage():
            return f"\n## {event.number}/{event.total} {event.title}"
        case Said():
            return f"{event.speaker}{PARTS[event.part]}, {_when(event)}:\n{labelled(event.text, event.model)}"
        case Recruited():
            return f"{event.candidate} {'joins' if event.accepted else 'declines to join'} the team."
        case Invited():
            return f"{event.by} asks {event.guest}, from outside the team: {event.question}"
        case Retrieved():
            about = " ".join(event.query.split())
            return f"{len(event.hits)} papers found for: {about[:100]}{' …' * (len(about) > 100)}"
        case Searched():
            return looked_up(event)
        case Voted():
            return f"{event.voter} votes for idea {event.choice}."
        case Judged():
            return f"{event.subject}: {event.outcome}" + (f" ({event.reasoning})" if event.reasoning else "")
        case Warned():
            return f"Note: {event.message}"
        case _:
            return ""


def _when(event: Event) -> str:
    return f"{event.stage}, turn {event.turn}" if event.turn else event.stage


def closing(data: Mapping[str, Any]) -> Iterator[str]:
    """The last paragraphs of a run's reply: its reviews in full, its essence, an abstract at the end."""
    if not data.get("written_by_language_model", True):
        yield LABEL
    yield from reviews_in_full(data)
    told = essence(data)
    yield from (f"{name}: {text}" for name, text in told if name != ABSTRACT)
    yield from (f"{name}\n\n{text}" for name, text in told if name == ABSTRACT)
