"""What is recalled for a question, through AutoGen's own retrieval hook, `Memory`."""

from abc import abstractmethod
from typing import NamedTuple

from autogen_core import CancellationToken
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import LLMMessage, UserMessage

from manyheads.core import Recall
from manyheads.errors import UserError

SOURCE = "knowledge_bank"


class Found(NamedTuple):
    """What was found: the passage that the model reads, and its parts."""

    text: str
    parts: list[MemoryContent]


class BankMemory(Memory):
    """A memory that puts what it finds behind the question, as a user message.

    AutoGen's own memories add a system message there, which several providers refuse.
    """

    @abstractmethod
    async def recollect(self, question: str) -> Found:
        """What to put behind a question, fenced and labelled; empty for nothing."""

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """See `Memory.update_context`; a passage that stands in the context already is not added again."""
        messages = await model_context.get_messages()
        text, parts = await self.recollect(_question(messages))
        if text and all(message.content != text for message in messages):
            await model_context.add_message(UserMessage(content=text, source=SOURCE))
        return UpdateContextResult(memories=MemoryQueryResult(results=parts))

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: object,
    ) -> MemoryQueryResult:
        """What is found for a text."""
        text = query if isinstance(query, str) else str(query.content)
        return MemoryQueryResult(results=(await self.recollect(text)).parts)

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Raises `UserError`: a bank is not written by conversations."""
        raise UserError("agents only read the knowledge bank", hint="add papers with KnowledgeBank.add")

    async def clear(self) -> None:
        """Raises `UserError`, see `add`."""
        raise UserError("agents only read the knowledge bank", hint="delete its folder to clear it")

    async def close(self) -> None:
        """Nothing to close."""


class RecallMemory(BankMemory):
    """The memory of one turn: looks up what the turn says.

    Args:
        recall: the author knowledge bank.
        wanted: what to look up.
        speaker: who is asked.
    """

    def __init__(self, recall: Recall, wanted: str, speaker: str) -> None:
        self._recall, self._wanted, self._speaker = recall, wanted, speaker

    async def recollect(self, question: str) -> Found:
        text = await self._recall(self._wanted, self._speaker)
        return Found(text, [as_content(text)] if text else [])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Puts the passage before the question in its own message: the last words are the question's and its form's.

        Two user messages in a row would be refused by chat templates that want turns to alternate.
        """
        text, parts = await self.recollect("")
        messages = await model_context.get_messages()
        asked = next((m for m in messages if isinstance(m, UserMessage)), None)
        if text and asked:
            await model_context.clear()
            for message in messages:
                await model_context.add_message(_behind(text, asked) if message is asked else message)
        return UpdateContextResult(memories=MemoryQueryResult(results=parts))


def _behind(passage: str, message: UserMessage) -> UserMessage:
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{passage}\n{content}"})
    return message.model_copy(update={"content": [passage, *content]})


def as_content(text: str, **metadata: object) -> MemoryContent:
    """A text as AutoGen's memories give it."""
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata=metadata)


def _question(messages: list[LLMMessage]) -> str:
    """The text of the last user message that no memory has put there."""
    asked = (m for m in reversed(messages) if isinstance(m, UserMessage) and m.source != SOURCE)
    content = last.content if (last := next(asked, None)) else ""
    return (
        content if isinstance(content, str) else "\n".join(part for part in content if isinstance(part, str))
    )
