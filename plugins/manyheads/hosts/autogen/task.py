"""What an AutoGen team is asked: a task as messages, and the text in them."""

from collections.abc import Sequence

from autogen_agentchat.messages import BaseChatMessage, TextMessage

Task = str | BaseChatMessage | Sequence[BaseChatMessage] | None


def as_messages(task: Task) -> list[BaseChatMessage]:
    """A task as messages, in a list of our own: a surrounding chat passes the one that it goes on to change."""
    if task is None:
        return []
    if isinstance(task, str):
        return [TextMessage(content=task, source="user")]
    return [task] if isinstance(task, BaseChatMessage) else list(task)


def text_of(messages: Sequence[BaseChatMessage], last: bool) -> str:
    """All that the messages say, or only the last of them; empty for nothing."""
    return "\n".join(message.to_model_text() for message in (messages[-1:] if last else messages)).strip()
