"""Author knowledge through AutoGen's own retrieval hook, `Memory`."""

from abc import abstractmethod

from autogen_core import CancellationToken
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import UserMessage

from manyheads.core import Recall
from manyheads.errors import UserError

SOURCE = "knowledge_bank"


class BankMemory(Memory):
    """A memory that puts what it finds beside the question, as a user message.

    AutoGen's own memories add a system message after the question, which several providers refuse.
    """

    @abstractmethod
    async def passage(self, context: ChatCompletionContext) -> str:
        """What to put beside the last question, fenced and labelled; empty for nothing."""

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        text = await self.passage(model_context)
        if not text:
            return UpdateContextResult(memories=MemoryQueryResult(results=[]))
        await model_context.add_message(UserMessage(content=text, source=SOURCE))
        return UpdateContextResult(memories=MemoryQueryResult(results=[as_content(text)]))

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """The bank is built by `manyheads corpus build`, not by conversations.

        Raises:
            UserError: always.
        """
        raise UserError("the knowledge bank cannot be written to", hint="manyheads corpus build")

    async def clear(self) -> None:
        """See `add`.

        Raises:
            UserError: always.
        """
        raise UserError("the knowledge bank cannot be cleared", hint="manyheads corpus build")

    async def close(self) -> None:
        """Nothing to close."""


class RecallMemory(BankMemory):
    """The memory of one turn: looks up what the turn says.

    Args:
        recall: the author knowledge bank.
        query: what to look up.
        speaker: who is asked.
    """

    def __init__(self, recall: Recall, query: str, speaker: str) -> None:
        self._recall, self._query, self._speaker = recall, query, speaker

    async def passage(self, context: ChatCompletionContext) -> str:
        return await self._recall(self._query, self._speaker)

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: object,
    ) -> MemoryQueryResult:
        text = await self._recall(query if isinstance(query, str) else str(query.content), self._speaker)
        return MemoryQueryResult(results=[as_content(text)] if text else [])


def as_content(text: str, **metadata: object) -> MemoryContent:
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata=dict(metadata))
