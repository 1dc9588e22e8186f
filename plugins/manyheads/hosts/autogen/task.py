"""What an AutoGen team is asked: a task as messages, and the texts in them."""

from collections.abc import Sequence

from autogen_agentchat.messages import BaseChatMessage, TextMessage

from manyheads.hosts.runs import Takes

Task = str | BaseChatMessage | Sequence[BaseChatMessage] | None


def as_messages(task: Task) -> list[BaseChatMessage]:
    """A task as messages, in a list of our own: a surrounding chat passes the one that it goes on to change."""
    if task is None:
        return []
    if isinstance(task, str):
        return [TextMessage(content=task, source="user")]
    return [task] if isinstance(task, BaseChatMessage) else list(task)


def texts_of(messages: Sequence[BaseChatMessage], takes: Takes) -> tuple[str, ...]:
    """What is asked: each message's text, that of the last alone, or all as one; nothing where they are blank."""
    texts = [message.to_model_text().strip() for message in messages]
    asked = texts if takes == "each" else texts[-1:] if takes == "last" else ["\n".join(texts).strip()]
    return tuple(text for text in asked if text)
