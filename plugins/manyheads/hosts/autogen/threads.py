"""Threads of the core as AutoGen messages, pictures as they are."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO

from autogen_agentchat.messages import BaseChatMessage, MultiModalMessage, TextMessage
from autogen_core import Image
from autogen_core.models import AssistantMessage, LLMMessage, UserMessage
from PIL import Image as Pillow

from manyheads.core import Image as Picture
from manyheads.core import Message

USER = "user"


class Untouched(Image):
    """A picture sent as the bytes it came in; AutoGen would make a PNG of it, eight times a JPEG's size."""

    def __init__(self, picture: Picture) -> None:
        super().__init__(Pillow.open(BytesIO(picture.data)))
        self._data = picture.data

    def to_base64(self) -> str:
        return b64encode(self._data).decode("ascii")


def as_context(messages: Sequence[Message], speaker: str) -> list[LLMMessage]:
    """Earlier messages, as the agent's model context holds them."""
    return [
        AssistantMessage(content=message.text, source=speaker)
        if message.sender == "assistant"
        else UserMessage(content=_content(message), source=USER)
        for message in messages
    ]


def as_task(message: Message) -> BaseChatMessage:
    """The message that the agent answers."""
    content = _content(message)
    if isinstance(content, str):
        return TextMessage(content=content, source=USER)
    return MultiModalMessage(content=content, source=USER)


def _content(message: Message) -> str | list[str | Image]:
    if not message.images:
        return message.text
    return [message.text, *(Untouched(picture) for picture in message.images)]
