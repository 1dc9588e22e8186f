"""Threads as AgentScope's messages, and back for the models that run in this process."""

import base64
from collections.abc import Iterator, Sequence

from agentscope.message import (
    AssistantMsg,
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ToolResultBlock,
    UserMsg,
)

from manyheads.core import Image, Message


def to_msg(message: Message, speaker: str) -> Msg:
    """A message of a thread; what the speaker said itself bears its name."""
    if message.sender == "assistant":
        return AssistantMsg(name=speaker, content=message.text)
    content = [TextBlock(text=message.text), *map(_data, message.images)]
    return UserMsg(name="user", content=content)


def _data(image: Image) -> DataBlock:
    data = base64.b64encode(image.data).decode("ascii")
    return DataBlock(source=Base64Source(data=data, media_type=image.media_type))


def to_thread(messages: Sequence[Msg]) -> tuple[str, list[Message], int]:
    """System prompt, thread, and the number of tool results that stand in it."""
    system = "\n".join(msg.get_text_content() or "" for msg in messages if msg.role == "system")
    talk = [msg for msg in messages if msg.role != "system"]
    answered = sum(isinstance(block, ToolResultBlock) for msg in talk for block in msg.content)
    return system, [message for msg in talk for message in _messages(msg)], answered


def _messages(msg: Msg) -> Iterator[Message]:
    """A message's text, and the hints that hooks put into it as what the speaker is told."""
    if text := msg.get_text_content():
        images = tuple(_images(msg)) if msg.role == "user" else ()
        yield Message(text, "assistant" if msg.role == "assistant" else "user", images)
    for block in msg.content:
        if isinstance(block, HintBlock):
            yield Message(hint_text(block))


def hint_text(block: HintBlock) -> str:
    if isinstance(block.hint, str):
        return block.hint
    return "\n".join(part.text for part in block.hint if isinstance(part, TextBlock))


def _images(msg: Msg) -> Iterator[Image]:
    for block in msg.content:
        if isinstance(block, DataBlock) and isinstance(block.source, Base64Source):
            yield Image(base64.b64decode(block.source.data), block.source.media_type)
