"""The events of a run as text, which the consoles of all hosts show, and as data for programs."""

import json

from manyheads.core.events import (
    AnyEvent,
    Asked,
    Invited,
    Judged,
    Recruited,
    Result,
    Retrieved,
    Said,
    Stage,
    Voted,
    Waiting,
    words,
)
from manyheads.models.offline import LABEL, with_label
from manyheads.systems.results import in_full, typed


def sentence(event: AnyEvent) -> str:
    """An event as a sentence; empty for events that only report progress.

    Reasons for joining or voting are left out: an earlier event has them.
    """
    match event, words(event):
        case _, None:
            return ""
        case Said(), _:
            return with_label(event.text, event.model)
        case Stage() | Recruited() | Voted(), line:
            return f"{line.who} {line.does}".strip()
        case Retrieved(), line:
            query = " ".join(line.text.split())
            papers = "".join(f"\n- {hit['title']} ({hit['year']})" for hit in event.hits)
            return f"{line.does}: {query[:100]}{' …' * (len(query) > 100)}{papers}"
        case Judged(), line:
            return f"{line.who}: {line.does}" + (f" ({line.text})" if line.text else "")
        case _, line:
            return f"{line.who} {line.does}: {line.text}".strip()


def outcome(event: Result) -> str:
    """The result of a run in Markdown, labelled if the offline model wrote it; JSON if its system has no text form."""
    run = typed(event.data)
    if not (paragraphs := in_full(run)):
        return f"```json\n{json.dumps(event.data, ensure_ascii=False, indent=1)}\n```"
    return "\n\n".join([f"> {LABEL}", *paragraphs] if run.offline else paragraphs)


def about(event: AnyEvent) -> dict[str, str]:
    """An event for programs: kind, stage, turn and speaker, empty if there is none; for a reply also task, part and model."""
    match event:
        case Said():
            more = {"speaker": event.speaker, "task": event.task, "part": event.part, "model": event.model}
        case Asked() | Waiting():
            more = {"speaker": event.speaker, "task": event.task}
        case Recruited():
            more = {"speaker": event.candidate}
        case Invited():
            more = {"speaker": event.by}
        case Voted():
            more = {"speaker": event.voter}
        case _:
            more = {"speaker": ""}
    return {"kind": event.kind, "stage": event.stage, "turn": str(event.turn), **more}
