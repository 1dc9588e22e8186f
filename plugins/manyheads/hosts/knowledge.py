"""The papers of a knowledge bank beside a question, for the agents of any host."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from manyheads.asking.prompts import Prompts
from manyheads.base.errors import EmbeddingError
from manyheads.base.resources import Resources
from manyheads.corpus.ecosystem import Hit, KnowledgeBank, Years
from manyheads.corpus.embedding import load_embedder

PASSAGE = "partials/knowledge.md.j2"


class BankReader:
    """Reads an open bank, which stays open; or one at a place, opened with the first question.

    Args:
        bank: an open bank, or the folder or URL of one.
        years: of the papers, half open: `(2010, 2015)` is 2010 to 2014.
        embedding: with a place, the model that the bank was built with.
    """

    def __init__(
        self, bank: KnowledgeBank | str | Path, years: Years | None = None, embedding: str = "auto"
    ) -> None:
        opened = isinstance(bank, KnowledgeBank)
        self._bank, self.place = (bank, None) if opened else (None, str(bank))
        self.years, self.embedding = years, embedding
        self._opening, self._prompts = asyncio.Lock(), Prompts(Resources.of())

    async def search(self, texts: Sequence[str], k: int) -> list[list[Hit]]:
        """The k papers nearest to each text, best first; raises `CorpusError` if there is no bank at the place."""
        async with self._opening:
            if self._bank is None:
                self._bank = await asyncio.to_thread(self._open, self.place or "")
        return await self._bank.search(texts, k, years=self.years)

    def _open(self, place: str) -> KnowledgeBank:
        try:
            return KnowledgeBank.open(place, load_embedder(self.embedding), read_only=True)
        except EmbeddingError as error:
            error.hint = f"name its model: KnowledgeBank.open({place!r}, load_embedder(…))"
            raise

    def passage(self, hits: Sequence[Hit]) -> str:
        """Papers as a model is shown them, fenced and labelled; empty for none."""
        return self._prompts.render(PASSAGE, {"hits": hits}) if hits else ""

    def close(self) -> None:
        """Close a bank opened here."""
        if self.place is not None and self._bank is not None:
            self._bank.close()
            self._bank = None
