"""Many questions to one role outside a run: concurrent, within a budget; each answer is cached and never paid twice.

Two surveys: research interests of authors (VirSci 2025, App. C.2.2), and records of papers (SciPIP, §3.1, Tables 7–9).
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

from pydantic import TypeAdapter

from manyheads.asking.forms import word_count
from manyheads.asking.replies import DetailedIdeas, Extract, FullExtract, Interests, ReplyModel
from manyheads.asking.roles import Roles
from manyheads.base.errors import ReplyError, UserError
from manyheads.base.files import cache_folder, read_text
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import (
    Host,
    ManagedHost,
    Message,
    Meter,
    Place,
    Recall,
    Speaker,
    Turn,
    recall_nothing,
    together,
)
from manyheads.corpus.building import Progress
from manyheads.corpus.digest import PaperTexts
from manyheads.corpus.graph import Extraction
from manyheads.corpus.phrases import FEWEST_WORDS, MOST_ENTITIES, MOST_WORDS
from manyheads.engine.budget import Budget, Budgeted
from manyheads.engine.replay import request_of
from manyheads.engine.replying import with_form
from manyheads.literature.lookup import LookupCache
from manyheads.models.abilities import settled
from manyheads.models.governor import TooLongError
from manyheads.models.offline import OFFLINE
from manyheads.models.requests import ROOM, key_of, key_variable, size_of

AGAIN = "run the same command again"
PATIENCE = 3
"""Number of consecutive items without a valid reply that ends a survey which otherwise skips them."""
R = TypeVar("R", bound=ReplyModel)
T = TypeVar("T")
MakeHost = Callable[[Mapping[str, ModelConfig], Recall, int], ManagedHost]


@dataclass
class Survey:
    """Asks a role's model about many items, such as authors or papers. Each kind of survey is a class of its own.

    Args:
        config: models, attempts, budget; `roles.<role>.model` overrides the role's model.
        roles: the role's prompts.
        make_host: makes the host of the native agent.
        cache: stores each answer by model and prompt, so that a restarted survey pays nothing twice.
        tell: receives the number of finished items.
        limits: the command's limits, in addition to the config's budget.

    Raises:
        ConfigError: the role's prompt cannot be rendered, or the model's key is missing; raised before any input is read.
    """

    role: ClassVar[str]
    """The role to ask."""
    step: ClassVar[str]
    """Its name in progress bars, and of the cache."""
    things: ClassVar[str]
    """Its items, in the plural."""
    gives: ClassVar[str]
    """Its results."""
    memory: ClassVar[str]
    """The file of its answers in the user's cache folder."""
    passes_over: ClassVar[bool] = False
    """Whether an item without a valid reply is skipped instead of ending the survey."""

    config: RunConfig
    roles: Roles
    make_host: MakeHost
    cache: LookupCache
    tell: Progress = lambda step, done, total: None
    limits: Sequence[Meter] = ()
    reused: int = 0
    """Number of items answered from the cache."""
    done: int = 0
    """Number of answered items."""
    passed_over: dict[str, ReplyError] = field(default_factory=dict[str, ReplyError])
    """Items without a valid reply, with the last problem."""
    ledger: Budget = field(init=False)
    """Usage of this survey."""

    def __post_init__(self) -> None:
        self.ledger = Budget(self.config.budget)
        changes = self.config.roles.get(self.role)
        alias = changes.model if changes else self.roles.card(self.role).model
        self.speaker = Speaker(self.role, self.role, self.roles.system(self.role, {}), alias)
        self.model = settled(self.config.models[alias])
        if key_variable(self.model):
            key_of(self.model, alias)

    @classmethod
    def of(cls, config: RunConfig, make_host: MakeHost, tell: Progress, limits: Sequence[Meter] = ()) -> Self:
        """The survey of a command, with the user's cache: close it at the end."""
        cache, roles = LookupCache(cache_folder() / cls.memory), Roles(Resources.of(config.paths))
        return cls(config, roles, make_host, cache, tell, limits)

    @property
    def name(self) -> str:
        own = self.model.provider == OFFLINE
        return "the offline model (no language model)" if own else f"{self.model.provider}/{self.model.name}"

    def ask_all(
        self,
        things: Iterable[tuple[str, T]],
        total: int,
        about: Callable[["SurveyItem", T], Awaitable[None]],
    ) -> None:
        """Ask `about` each item as the model becomes free. Runs an event loop.

        Raises:
            UserError: the model failed, or the budget is spent: no further requests; earlier answers are kept.
        """
        try:
            asyncio.run(self._all(things, total, about))
        except UserError as error:
            kept = f"{self.done:,} of {total:,} {self.things} are finished and kept"
            error.tried = f"{error.tried}; {kept}" if error.tried else kept
            # Reword a hint about a run for a survey.
            hint = (error.hint or AGAIN).replace("manyheads resume RUN --", "the same command and --")
            error.hint = hint.replace("manyheads resume RUN", AGAIN).replace("resume the run", AGAIN)
            raise

    def summary(self) -> str:
        spent, asked = self.ledger.spent, self.done - self.reused
        cost = "" if spent.cost is None else f", cost {spent.cost:g}"
        return (
            f"{self.gives} by {self.name}: {asked:,} {self.things} asked, {self.reused:,} cached; "
            f"{spent.input_tokens:,} input tokens, {spent.output_tokens:,} output tokens{cost}"
        )

    async def _all(
        self, things: Iterable[tuple[str, T]], total: int, about: Callable[["SurveyItem", T], Awaitable[None]]
    ) -> None:
        """After a failure no further requests are sent, but pending answers are awaited: they are paid."""
        self.done, self.reused, in_a_row, failures = 0, 0, 0, list[UserError]()
        self.tell(self.step, 0, total)
        host = self.make_host(self.config.models, recall_nothing, self.config.attempts)
        asked, following = Budgeted(host, self.ledger.asking, *self.limits), iter(things)

        async def work() -> None:
            nonlocal in_a_row
            for name, thing in following:
                item = SurveyItem(self, asked, name)
                try:
                    await about(item, thing)
                except UserError as error:
                    in_a_row += 1
                    if isinstance(error, ReplyError) and self.passes_over and in_a_row < PATIENCE:
                        self.passed_over[name] = error
                        continue
                    failures.append(error)
                else:
                    in_a_row = 0
                    self.done += 1
                    self.reused += not item.asked
                    self.tell(self.step, self.done, total)
                if failures:
                    return

        try:
            await together(*(work() for _ in range(self.model.concurrency)))
        finally:
            await host.close()
        if failures:
            raise failures[0]


@dataclass
class SurveyItem:
    survey: Survey
    host: Host
    name: str
    asked: bool = False
    """Whether the model was asked at all, instead of only the cache."""

    def turn(
        self,
        task: str,
        variables: Mapping[str, object],
        kind: type[R],
        check: Callable[[R], str | None] | None = None,
    ) -> Turn[R]:
        """The question as it will be sent; raises `ConfigError` if its prompt cannot be rendered."""
        survey = self.survey
        prompt = survey.roles.prompt(survey.role, task, variables)
        place = Place(survey.step, 0, self.name, task)
        return Turn(place, survey.speaker, (Message(prompt),), kind, check=check, forms=survey.roles.forms)

    async def ask(self, turn: Turn[R]) -> R:
        """The answer, cached or new.

        Raises:
            UserError: as for `Host.ask`.
        """
        survey, shape = self.survey, TypeAdapter[Any](turn.reply_type)
        request = request_of(turn, survey.model.identity())
        answer = survey.cache.get("local", survey.step, request, shape)
        if answer is None:
            self.asked = True
            answer = (await self.host.ask(turn)).value
            survey.cache.keep_answer("local", survey.step, request, shape, answer)
        return answer


class Librarian(Survey):
    """A `bank.scientists.Condense`: asks a model once about each author, several at a time."""

    role, step, things, gives = "librarian", "condensing interests", "authors", "interests"
    memory = "interests.sqlite"

    def __call__(self, terms: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
        """Interests of each author from keywords or titles, most frequent first. Runs an event loop.

        Raises:
            UserError: the model failed for an author, or the budget is spent; earlier answers are kept.
        """
        interests: dict[str, tuple[str, ...]] = {}

        async def condense(item: SurveyItem, own: Sequence[str]) -> None:
            reply = await item.ask(item.turn("interests", {"terms": list(own)}, Interests))
            phrases: dict[str, str] = {}  # without duplicates, first spelling
            for phrase in (" ".join(one.split()) for one in reply.interests):
                phrases.setdefault(phrase.casefold(), phrase)
            interests[item.name] = tuple(phrases.values())

        self.ask_all(terms.items(), len(terms), condense)
        return {author: interests[author] for author in terms}


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
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _fits(entity: str) -> bool:
    return FEWEST_WORDS <= word_count(entity) <= MOST_WORDS


def _in_words(reply: DetailedIdeas) -> list[str]:
    return [f"{each.idea} {each.details}" for each in reply.detailed_ideas[:MOST_DETAILED]]
