"""Our knowledge bank as an AutoGen `Memory`, for agents in any team."""

import asyncio
from typing import Self

from autogen_core import Component
from autogen_core.memory import MemoryContent
from pydantic import BaseModel, ConfigDict, Field

from manyheads.bank.embedding import load_embedder
from manyheads.bank.knowledge import KnowledgeBank, Years
from manyheads.bank.records import Hit
from manyheads.errors import ConfigError
from manyheads.hosts.autogen.memory import BankMemory, Found, as_content
from manyheads.prompts import Prompts
from manyheads.resources import Resources

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
