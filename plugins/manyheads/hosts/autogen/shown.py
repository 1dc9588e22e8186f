"""A run's events as AutoGen's messages: text that a console or a Studio shows, metadata that a program reads."""

from autogen_agentchat.messages import TextMessage
from autogen_core.models import RequestUsage

from manyheads.core import Usage, safe_name
from manyheads.events import (
    AnyEvent,
    Asked,
    Invited,
    Judged,
    Recruited,
    Result,
    Retrieved,
    Said,
    Searched,
    Stage,
    Voted,
    Warned,
    looked_up,
)
from manyheads.hosts.autogen.final import final_text
from manyheads.models.offline import labelled


def as_message(event: AnyEvent, team: str) -> TextMessage | None:
    """The message of an event, None where there is nothing to show.

    `team` is the source of what no speaker says. Metadata holds kind, stage, turn and speaker, empty
    where there is none. Usage stands on the message of the reply that cost it, and nowhere else.
    """
    if isinstance(event, Asked):
        return None
    speaker = _speaker(event)
    return TextMessage(
        content=_text(event),
        source=safe_name(speaker) if speaker else team,
        metadata=_metadata(event, speaker),
        models_usage=as_usage(event.usage) if isinstance(event, Said) else None,
    )


def as_usage(usage: Usage) -> RequestUsage:
    return RequestUsage(prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens)


def _speaker(event: AnyEvent) -> str:
    match event:
        case Said():
            return event.speaker
        case Recruited():
            return event.candidate
        case Invited():
            return event.by
        case Voted():
            return event.voter
        case _:
            return ""


def _metadata(event: AnyEvent, speaker: str) -> dict[str, str]:
    about = {"kind": event.kind, "stage": event.stage, "turn": str(event.turn), "speaker": speaker}
    if isinstance(event, Said):
        about |= {"task": event.task, "part": event.part, "model": event.model}
    return about


def _text(event: AnyEvent) -> str:
    match event:
        case Stage():
            return f"**Stage {event.number} of {event.total}: {event.title}**"
        case Said():
            return labelled(event.text, event.model)
        case Recruited():
            return "I join the team." if event.accepted else "I decline."
        case Invited():
            return f"{event.guest}, {event.question}"
        case Voted():
            return f"I vote for idea {event.choice}."
        case _:
            return _note(event)


def _note(event: AnyEvent) -> str:
    match event:
        case Retrieved():
            query = event.query.split("\n", 1)[0]
            found = "\n".join(f"- {hit['title']} ({hit['year']})" for hit in event.hits)
            return f"Looked up “{query}”:\n{found or '- nothing'}"
        case Searched():
            return looked_up(event)
        case Judged():
            return f"{event.subject}: {event.outcome}" + (f" ({event.reasoning})" if event.reasoning else "")
        case Warned():
            return f"Warning: {event.message}"
        case Result():
            return final_text(event.data)
        case _:
            return ""
