"""Retrieval for a question, through AutoGen's own hook, `Memory`."""

from pathlib import Path
from typing import Any, Self

from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import UserMessage
from pydantic import BaseModel, ConfigDict, Field

from manyheads.base.errors import ConfigError, UserError
from manyheads.core import Recall, Turn
from manyheads.corpus.ecosystem import KnowledgeBank, Years
from manyheads.engine.replying import with_passage
from manyheads.hosts.knowledge import BankReader

SOURCE = "knowledge_bank"


class ReadOnlyMemory(Memory):
    """A memory that conversations cannot write to."""

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        raise UserError("agents only read the knowledge bank", hint="add papers with KnowledgeBank.add")

    async def clear(self) -> None:
        raise UserError("agents only read the knowledge bank", hint="delete its folder to clear it")

    async def close(self) -> None:
        """Nothing to close."""


class RecallMemory(ReadOnlyMemory):
    """The memory of one turn, whose text is its query."""

    def __init__(self, recall: Recall, turn: Turn[Any]) -> None:
        self._recall, self._turn = recall, turn

    async def query(self, query: str | MemoryContent = "", *args: Any, **kwargs: Any) -> MemoryQueryResult:
        """The passage of the turn, whatever the query."""
        text = await self._recall(self._turn)
        return MemoryQueryResult(results=[as_content(text)] if text else [])

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Adds the passage to the question's message, which ends with the form of the reply.

        Chat templates with strictly alternating turns would refuse two user messages in a row.
        """
        memories = await self.query()
        messages = await model_context.get_messages()
        question = next((message for message in messages if isinstance(message, UserMessage)), None)
        if memories.results and question:
            content = question.content
            first, *rest = [content] if isinstance(content, str) else content
            text = with_passage(self._turn, str(first), str(memories.results[0].content))
            both = question.model_copy(update={"content": [text, *rest] if rest else text})
            await model_context.clear()
            for message in messages:
                await model_context.add_message(both if message is question else message)
        return UpdateContextResult(memories=memories)


def as_content(text: str, **metadata: object) -> MemoryContent:
    """A text in the form of AutoGen's memories."""
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata=metadata)


class KnowledgeMemoryConfig(BaseModel):
    """Config of a `KnowledgeMemory` component."""

    model_config = ConfigDict(extra="forbid")

    place: str
    """A bank's or a corpus's folder, or the URL of a Qdrant server."""
    embedding: str = "auto"
    """The model that it was built with, see `load_embedder`."""
    k: int = Field(default=5, ge=1)
    """Papers shown for a question."""
    years: tuple[int | None, int | None] | None = None
    """Half open: (2010, 2015) is 2010 to 2014."""


class KnowledgeMemory(ReadOnlyMemory, Component[KnowledgeMemoryConfig]):
    """Shows an agent the papers nearest to each question.

        agent = AssistantAgent("critic", client, memory=[KnowledgeMemory(bank, k=3)])

    They follow the question as a user message. AutoGen's own memories add a system message there, which several
    providers refuse.

    Args:
        bank: an open bank, which stays open; or its place, opened for reading on first use and closed by `close`.
        k: papers per question.
        years: half open, `(2010, 2015)` is 2010 to 2014.
        embedding: with a place, the model that the bank was built with.
    """

    component_config_schema = KnowledgeMemoryConfig

    def __init__(
        self,
        bank: KnowledgeBank | str | Path,
        k: int = 5,
        years: Years | None = None,
        embedding: str = "auto",
    ) -> None:
        self._k, self._reader = k, BankReader(bank, years, embedding)

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """See `Memory.update_context`; a passage already in the context is not added again."""
        messages = await model_context.get_messages()
        questions = (m for m in reversed(messages) if isinstance(m, UserMessage) and m.source != SOURCE)
        content = last.content if (last := next(questions, None)) else ""
        parts = [content] if isinstance(content, str) else [part for part in content if isinstance(part, str)]
        passage, memories = await self._recollect("\n".join(parts))
        if passage and all(message.content != passage for message in messages):
            await model_context.add_message(UserMessage(content=passage, source=SOURCE))
        return UpdateContextResult(memories=memories)

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: object,
    ) -> MemoryQueryResult:
        """The papers nearest to a text, best first; metadata holds id, year and score.

        Raises:
            CorpusError: there is no bank at the place.
        """
        return (await self._recollect(query if isinstance(query, str) else str(query.content)))[1]

    async def _recollect(self, question: str) -> tuple[str, MemoryQueryResult]:
        """The passage for the model, fenced and labelled, and its parts."""
        if not question.strip():
            return "", MemoryQueryResult(results=[])
        [hits] = await self._reader.search([question], self._k)
        shown = [
            (hit, hit.paper, f"{hit.paper.title} ({hit.paper.year})\n{hit.paper.abstract}") for hit in hits
        ]
        parts = [
            as_content(text, id=paper.id, year=paper.year, score=hit.score) for hit, paper, text in shown
        ]
        return self._reader.passage(hits), MemoryQueryResult(results=parts)

    async def close(self) -> None:
        """Close a bank opened here."""
        self._reader.close()

    def _to_config(self) -> KnowledgeMemoryConfig:
        if (reader := self._reader).place is None:
            raise ConfigError(
                "a memory over an open bank has no address for a file",
                hint="make it of the bank's folder or URL: KnowledgeMemory('my-bank')",
            )
        return KnowledgeMemoryConfig(
            place=reader.place, embedding=reader.embedding, k=self._k, years=reader.years
        )

    @classmethod
    def _from_config(cls, config: KnowledgeMemoryConfig) -> Self:
        return cls(config.place, config.k, config.years, config.embedding)
