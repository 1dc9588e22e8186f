"""What is recalled for a question, through AutoGen's own retrieval hook, `Memory`."""

import asyncio
from abc import abstractmethod
from typing import NamedTuple, Self

from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import LLMMessage, UserMessage
from pydantic import BaseModel, ConfigDict, Field

from manyheads.bank.embedding import load_embedder
from manyheads.bank.knowledge import KnowledgeBank, Years
from manyheads.core import Recall
from manyheads.errors import ConfigError, UserError
from manyheads.papers import Hit
from manyheads.prompts import Prompts
from manyheads.resources import Resources

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


# Our knowledge bank as an AutoGen `Memory`, for agents in any team.

PASSAGE = "partials/knowledge.md.j2"


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


class KnowledgeMemory(BankMemory, Component[KnowledgeMemoryConfig]):
    """Shows an agent the papers nearest to each question that it is asked.

        agent = AssistantAgent("critic", client, memory=[KnowledgeMemory(bank, k=3)])

    Args:
        bank: an open bank, which stays yours; or its place, opened on first use for reading and closed by `close`.
        k: papers shown for a question.
        years: half open, `(2010, 2015)` is 2010 to 2014.
        embedding: for a place, the model that the bank was built with.
    """

    component_config_schema = KnowledgeMemoryConfig

    def __init__(
        self, bank: KnowledgeBank | str, k: int = 5, years: Years | None = None, embedding: str = "auto"
    ) -> None:
        self._bank, self._place = (None, bank) if isinstance(bank, str) else (bank, None)
        self._k, self._years, self._embedding = k, years, embedding
        self._opening = asyncio.Lock()
        self._prompts = Prompts(Resources.of())

    async def recollect(self, question: str) -> Found:
        """The papers nearest to a question, best first; each part's metadata holds id, year and score.

        Raises:
            CorpusError: there is no bank at the place.
        """
        if not question.strip():
            return Found("", [])
        bank = await self._opened()
        [hits] = await bank.search([question], self._k, years=self._years)
        text = self._prompts.render(PASSAGE, {"hits": hits}) if hits else ""
        return Found(text, [_part(hit) for hit in hits])

    async def _opened(self) -> KnowledgeBank:
        async with self._opening:
            if self._bank is None:
                self._bank = await asyncio.to_thread(self._open)
            return self._bank

    def _open(self) -> KnowledgeBank:
        assert self._place is not None
        return KnowledgeBank.open(self._place, load_embedder(self._embedding), read_only=True)

    async def close(self) -> None:
        """Close a bank that was opened here."""
        if self._place is not None and self._bank is not None:
            self._bank.close()
            self._bank = None

    def _to_config(self) -> KnowledgeMemoryConfig:
        if self._place is None:
            raise ConfigError(
                "a memory over an open bank has no address that a file could hold",
                hint="make it of the bank's folder or URL: KnowledgeMemory('my-bank')",
            )
        return KnowledgeMemoryConfig(
            place=self._place, embedding=self._embedding, k=self._k, years=self._years
        )

    @classmethod
    def _from_config(cls, config: KnowledgeMemoryConfig) -> Self:
        return cls(config.place, config.k, config.years, config.embedding)


def _part(hit: Hit) -> MemoryContent:
    paper = hit.paper
    return as_content(
        f"{paper.title} ({paper.year})\n{paper.abstract}", id=paper.id, year=paper.year, score=hit.score
    )
