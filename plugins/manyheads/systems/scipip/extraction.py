"""Records of papers by a model: entities, summary, background, ideas (SciPIP, §3.1, Tables 7–9)."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from manyheads.asking.forms import word_count
from manyheads.base.files import read_text
from manyheads.base.text import hash_of
from manyheads.core import Message, Turn
from manyheads.corpus.digest import PaperTexts
from manyheads.corpus.graph import Extraction
from manyheads.corpus.phrases import FEWEST_WORDS, MOST_ENTITIES, MOST_WORDS
from manyheads.engine.replying import with_form
from manyheads.engine.survey import Survey, SurveyItem
from manyheads.models.governor import TooLongError
from manyheads.models.requests import ROOM, size_of
from manyheads.systems.scipip.replies import DetailedIdeas, Extract, FullExtract

BATCH = 32
"""Records saved in one batch."""
INVALID = "extractor/invalid.md.j2"
MOST_BACKGROUND, MOST_IDEAS, MOST_DETAILED = 2, 3, 4
LETTERS = 80
"""Maximum length of an entity in a message."""
SMALLER = 4
"""Maximum times a text is split further because a server's context is smaller than expected."""
_BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"(?<=[.!?])\s|[。！？]"), re.compile(r"\s"))
"""Where to split a text, by preference: between paragraphs, sentences, words."""


@dataclass
class Extractor(Survey):
    """Asks a model once about each paper, several at a time.

    Uses introduction and method if available, in one question if they fit the model's context, else the method in parts;
    otherwise the abstract, or the title. An entity outside the limits is asked for once more, with the reason; then it is
    dropped, with a note.
    """

    role, step, things, gives = "extractor", "extracting", "papers", "records"
    memory = "extraction.sqlite"
    passes_over = True

    notes: list[str] = field(default_factory=list[str])
    """What was dropped, a line each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._window = self.model.window
        self.made_by = f"{self.model.provider}/{self.model.name}"
        self.recipe = self._digest()

    def __call__(
        self, readings: Iterable[PaperTexts], total: int, keep: Callable[[Sequence[Extraction]], object]
    ) -> None:
        """Extract papers; `keep` receives the records in batches, in a thread. Runs an event loop.

        Raises:
            UserError: the model failed, or the budget is spent; earlier records are kept.
        """
        records, putting = list[Extraction](), asyncio.Lock()

        async def extract(item: SurveyItem, reading: PaperTexts) -> None:
            records.append(await self._record(item, reading))
            if len(records) >= BATCH:
                async with putting:
                    batch, records[:] = [*records], []
                    if batch:
                        await asyncio.to_thread(keep, batch)

        try:
            self.ask_all(((each.paper.id, each) for each in readings), total, extract)
        finally:
            if records:
                keep(records)

    async def _record(self, item: SurveyItem, reading: PaperTexts) -> Extraction:
        for _ in range(SMALLER):
            try:
                reply, detailed = await self._read(item, reading)
                break
            except TooLongError as error:  # the server's context is smaller than expected
                smaller = min(error.window or self._window, self._window // 2)
                if smaller < ROOM:
                    raise
                self._window = smaller
        else:
            reply, detailed = await self._read(item, reading)
        return Extraction(
            paper=reading.paper.id, entities=self._entities(reply, item.name), summary=reply.summary,
            background=" ".join(reply.background[:MOST_BACKGROUND]), main_ideas=tuple(reply.main_ideas[:MOST_IDEAS]),
            detailed_ideas=tuple(detailed[:MOST_DETAILED]), made_by=self.made_by, recipe=self.recipe, basis=reading.basis,
        )  # fmt: skip

    async def _read(self, item: SurveyItem, reading: PaperTexts) -> tuple[Extract, list[str]]:
        """One answer if the text fits; else a digest first, then the details part by part of the method."""
        (introduction, method), paper = reading.text, reading.paper
        abstract = paper.abstract.strip()
        if len(abstract) > self._window:  # a quarter of what the context holds
            abstract = abstract[: self._window]
            self.notes.append(f"{item.name}: the abstract was cut: it is too long")
        told: dict[str, object] = {"title": paper.title, "abstract": abstract}
        check = self._check()
        if method or introduction:
            texts = {**told, "introduction": introduction, "method": method}
            whole = item.turn("extract", texts, FullExtract, check)
            if self._spare(whole) >= 0:
                reply = await item.ask(whole)
                return reply, _in_words(reply)

        def digest(text: str) -> Turn[Extract]:
            return item.turn("digest", {**told, "introduction": text}, Extract, check)

        [beginning, *more] = self._parts(introduction, digest)
        if more:
            self.notes.append(f"{item.name}: the introduction was cut: it is too long")
        reply, contributions = await item.ask(digest(beginning)), list[str]()

        def detail(text: str) -> Turn[DetailedIdeas]:
            known = contributions or [reply.summary, *reply.main_ideas]
            return item.turn("detail", {**told, "contributions": known, "method": text}, DetailedIdeas)

        left = method
        while left:
            [part, *more] = self._parts(left, detail)
            contributions = _in_words(await item.ask(detail(part)))
            left = "".join(more)
        return reply, contributions

    def _spare(self, turn: Turn[Any]) -> int:
        """Tokens left in the model's context after a question and its answer; negative if it does not fit."""
        room = min(self.model.max_tokens or ROOM, self._window // 4)
        return self._window - room - size_of((Message(turn.speaker.system), *with_form(turn)))

    def _parts(self, text: str, question: Callable[[str], Turn[Any]]) -> list[str]:
        """A text as one part if its question fits; else a part that fits, and the rest."""
        if not text or self._spare(question(text)) >= 0:
            return [text]
        most = max(4 * self._spare(question("")), ROOM)  # a token for four bytes
        part = text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
        half = len(part) // 2
        ends = (found.end() for place in _BREAKS for found in [*place.finditer(part, half)][-1:])
        end = next(ends, len(part))
        return [text[:end], text[end:]]

    # Entities within the limits.

    def _check(self) -> Callable[[Extract], str | None]:
        """The faults of a paper's entities, without duplicates."""
        told = self.config.attempts < 2

        def check(reply: Extract) -> str | None:
            nonlocal told
            wrong = [entity for entity in reply.entities if not _fits(entity)]
            if told or not (wrong or not 1 <= len(reply.entities) <= MOST_ENTITIES):
                return None
            told = True
            shown = [" ".join(entity.split())[:LETTERS] for entity in wrong]
            return self.roles.prompts.render(INVALID, {"wrong": shown, "count": len(reply.entities)}).strip()

        return check

    def _entities(self, reply: Extract, paper: str) -> tuple[str, ...]:
        """The valid entities, without duplicates."""
        fitting: dict[str, str] = {}
        for entity in dict.fromkeys(" ".join(one.split()) for one in reply.entities):
            if _fits(entity):
                fitting.setdefault(entity.casefold(), entity)
            else:
                length = f"of {word_count(entity)} words"
                self.notes.append(f"{paper}: dropped the entity {entity[:LETTERS]!r}, {length}")
        if not reply.entities:
            self.notes.append(f"{paper}: no entities")
        return tuple(fitting.values())[:MOST_ENTITIES]

    def _digest(self) -> str:
        """A hash of everything that a record depends on besides the paper: model, prompts, reply forms."""
        roles, card = self.roles, self.roles.card(self.role)
        prompts = [INVALID, card.system_prompt(), *map(card.prompt_of, card.tasks)]
        files = {part for prompt in prompts for part in roles.prompts.parts(prompt)}
        paths = {name: path for name in sorted(files) if (path := roles.prompts.find(name))}
        parts = [
            self.model.identity(),
            {name: read_text(path) for name, path in paths.items()},
            [roles.forms.form(roles.reply(self.role, task)) for task in card.tasks],
        ]
        return hash_of(json.dumps(parts, sort_keys=True))[:12]


def _fits(entity: str) -> bool:
    return FEWEST_WORDS <= word_count(entity) <= MOST_WORDS


def _in_words(reply: DetailedIdeas) -> list[str]:
    return [f"{each.idea} {each.details}" for each in reply.detailed_ideas[:MOST_DETAILED]]
