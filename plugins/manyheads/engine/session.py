"""One run of a system, new or resumed: what is opened, asked, paid and kept."""

import asyncio
import shlex
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.embedding import load_embedder
from manyheads.bank.named import resolve_corpus
from manyheads.bank.vectors import cache_folder
from manyheads.config import ModelConfig, RunConfig, settled
from manyheads.core import NOTHING, UNMETERED, Host, ManagedHost, Meter, Recall, Usage
from manyheads.core.events import AnyEvent, Emit, Searched, Warned, stream
from manyheads.discussion import Run, need_members
from manyheads.engine.budget import Budgeted, Ledger, Meters
from manyheads.engine.folder import JOURNAL, RunFolder, fresh, new_folder, reopen
from manyheads.engine.journal import Journal, Recorded
from manyheads.errors import ConfigError, UserError
from manyheads.literature.ideas import Background, Contest, read_background, read_contest
from manyheads.literature.ledger import LEDGER, SearchLedger
from manyheads.literature.library import Library
from manyheads.literature.opening import ServicesInstead, Unopened
from manyheads.models.offline import OFFLINE
from manyheads.papers import Literature, NoLiterature
from manyheads.resources import Resources
from manyheads.roles import Prompts, Roles
from manyheads.systems import SYSTEMS, looks_up, misfits, needs_corpus
from manyheads.texts import Subject, read_subject

__all__ = ["HostFactory", "Session", "fresh", "new_folder", "reopen"]


# What the hosts' retrieval hooks deliver: nearby scientists from the author knowledge bank.


PASSAGE = "partials/recall.md.j2"


@dataclass
class AuthorRecall:
    """A `core.Recall` over an ecosystem's author knowledge bank (VirSci 2025, §3.1, §3.2).

    Attributes:
        count: how many scientists are shown.
        insiders: names that are left out: the present team. Shared with the run, which changes it.
    """

    literature: Literature
    prompts: Prompts
    count: int
    insiders: set[str] = field(default_factory=set[str])

    async def __call__(self, query: str, speaker: str) -> str:
        outside = {speaker, *self.insiders}
        found = await self.literature.find_scientists(query, self.count, exclude=outside)
        return self.prompts.render(PASSAGE, {"scientists": found}) if found else ""


HostFactory = Callable[[Mapping[str, ModelConfig], Recall, int], ManagedHost]
"""Makes a host of the models by alias, what its retrieval hook recalls, and the attempts at a reply."""
RESUME = "manyheads resume RUN"
"""How hints below a session speak of going on with a run."""


@dataclass
class Session:
    """A run, new or resumed, in its folder.

    Args:
        config: the whole run.
        folder: its run folder; made when missing. One that holds a journal is resumed.
        accept_changes: go on where the record no longer matches the config or the prompts.
        again: the command that goes on with it, where it is another than `manyheads resume`.
        meter: what counts its questions beside its own budget.
    """

    config: RunConfig
    folder: Path
    accept_changes: bool = False
    again: str | None = None
    meter: Meter = UNMETERED

    @property
    def way_back(self) -> str | None:
        """The command that goes on with this run, once there is something to go on with."""
        if self.again or not (self.folder / JOURNAL).exists():
            return self.again
        accepting = " --accept-changes" if self.accept_changes else ""
        return f"{RESUME.removesuffix('RUN')}{shlex.quote(str(self.folder))}{accepting}"

    async def events(self, make_host: HostFactory) -> AsyncGenerator[AnyEvent, None]:
        """Run the system on a host; yields what happens, the `Result` last. The folder is written on the way.

        Raises:
            UserError: something is wrong that the user can mend; what was said so far is kept.
        """
        try:
            async with aclosing(self._events(make_host)) as events:
                async for event in events:
                    yield event
        except UserError as error:
            error.hint = self._with_way_back(error.hint)
            raise

    def _with_way_back(self, hint: str | None) -> str | None:
        """A hint that names this run: below, nobody knows its folder."""
        if self.way_back is None:
            return hint
        if hint and RESUME in hint:
            return hint.replace(RESUME, self.way_back)
        if self.again:  # said once, by whoever runs that command
            return hint
        return f"{hint}; go on with: {self.way_back}" if hint else self.way_back

    async def _events(self, make_host: HostFactory) -> AsyncGenerator[AnyEvent, None]:
        self.config = settled(self.config)
        SYSTEMS[self.config.system].ready(self.config)
        self._need_same_models()
        roles = roles_of(self.config)
        async with AsyncExitStack() as stack:
            given = await asyncio.to_thread(given_of, self.config)
            literature = await self._literature(stack)
            folder = stack.enter_context(RunFolder(self.folder, self.config))
            journal = Journal(folder.journal)
            stack.callback(journal.close)
            recall = AuthorRecall(literature, roles.prompts, self.config.invitation.suggestions)
            host = make_host(self._models(), recall, self.config.attempts)
            stack.push_async_callback(host.close)
            paid = Ledger(self.config.budget)
            guarded = self._guarded(host, journal, folder, paid)
            ledger = SearchLedger(self.folder / LEDGER)
            work = self._work(guarded, roles, literature, recall, given, ledger, paid)
            events = await stack.enter_async_context(aclosing(stream(work)))
            async for event in events:
                folder.note(event)
                yield event

    def _need_same_models(self) -> None:
        """A changed model is said at once: to repeat the record takes a framework, a corpus and its embeddings."""
        path = self.folder / JOURNAL
        if path.exists() and not self.accept_changes:
            with closing(Journal(path)) as journal:
                journal.need_same_models(self._identities())

    def _identities(self) -> dict[str, dict[str, Any]]:
        return {alias: model.identity() for alias, model in self.config.models.items()}

    def _models(self) -> dict[str, ModelConfig]:
        """The models by alias. Another seed of the run is another draw of the offline model, as of any other."""
        own = {"seed": self.config.seed}
        return {
            alias: model.model_copy(update=own)
            if model.provider == "offline" and model.seed is None
            else model
            for alias, model in self.config.models.items()
        }

    async def _literature(self, stack: AsyncExitStack) -> Literature:
        """The ecosystem, open and warm until the stack closes; nothing for a system that needs none."""
        if not needs_corpus(self.config):
            return NoLiterature()
        ecosystem = await self._ecosystem()
        stack.callback(ecosystem.close)
        if SYSTEMS[self.config.system].ecosystem:
            need_members(self.config.team, ecosystem)
        await asyncio.to_thread(ecosystem.warm_up)
        return ecosystem

    async def _ecosystem(self) -> Ecosystem:
        folder = await asyncio.to_thread(resolve_corpus, self.config.corpus, embedding=self.config.embedding)
        chosen = None if self.config.embedding == "auto" else load_embedder(self.config.embedding)
        return await asyncio.to_thread(Ecosystem.open, folder, chosen)

    def _guarded(self, host: Host, journal: Journal, folder: RunFolder, paid: Ledger) -> Recorded:
        """The host behind the budget, behind the journal: what is recorded is counted but never asked again."""
        paid.pay(journal.lost)
        identities = self._identities()

        def go_live() -> None:
            journal.ask_with(identities)
            folder.go_live()

        recorded = Recorded(
            Budgeted(host, Meters(paid, self.meter)),
            journal,
            identities.__getitem__,
            course=self.config.course(),
            accept_changes=self.accept_changes,
            on_replayed=paid.pay,
            on_live=go_live,
            on_ended=lambda: journal.lose(_lost(paid.spent, recorded.useful)),
        )
        return recorded

    def _work(
        self,
        host: Host,
        roles: Roles,
        literature: Literature,
        recall: AuthorRecall,
        given: "Given",
        ledger: SearchLedger,
        paid: Ledger,
    ) -> Callable[[Emit], Awaitable[Mapping[str, Any]]]:
        async def work(emit: Emit) -> Mapping[str, Any]:
            async with self._library(literature, partial(_note, ledger, emit)) as library:
                if looks_up(self.config, roles):
                    library.opened()  # what is wrong with it is said before anything is paid for
                shown = self._shown(literature, library)
                run = Run(
                    self.config, host, roles, shown, emit, recall.insiders, library=library, **given._asdict()
                )
                found = await SYSTEMS[self.config.system].run(run)
            return {"system": self.config.system, **found, **self._account(run, ledger, paid)}

        return work

    @asynccontextmanager
    async def _library(
        self, literature: Literature, note: Callable[[Searched], None]
    ) -> AsyncGenerator[Unopened]:
        """The sources of the config, none of which is opened before a look-up."""
        library = Unopened(partial(self._open_library, literature, note))
        try:
            yield library
        finally:
            await library.close()

    def _open_library(self, literature: Literature, note: Callable[[Searched], None]) -> Library:
        from manyheads.literature.opening import CACHE, KEPT, open_library

        own = literature if isinstance(literature, Ecosystem) else None
        return open_library(
            self.config.literature,
            bank=own and own.papers,
            bound=own.meta.options.bound if own else None,
            note=note,
            cache=cache_folder() / CACHE,
            kept=self.folder / KEPT,
        )

    def _shown(self, literature: Literature, library: Library) -> Literature:
        """Whose papers are shown with ideas: B_past, or what the services know (App. C.3)."""
        if self.config.literature.references == "corpus":
            return literature
        if isinstance(literature, Ecosystem):
            return ServicesInstead(literature, library, lambda: literature.embedder)
        return ServicesInstead(literature, library, cache(lambda: load_embedder(self.config.embedding)))

    def _account(self, run: Run, ledger: SearchLedger, paid: Ledger) -> dict[str, Any]:
        models = {alias: f"{m.provider}/{m.name}" for alias, m in run.config.models.items()}
        return {
            "seed": run.config.seed,
            "corpus": run.config.corpus,
            "models": models,
            "written_by_language_model": bool(run.writers - {OFFLINE}),
            "usage": _usage(run, paid),
            "warnings": [*run.warnings, *map(_missing, sorted(ledger.degraded))],
            **_searches(ledger),
        }


def roles_of(config: RunConfig) -> Roles:
    """The role cards and prompts of a run.

    Raises:
        ConfigError: they do not fit the config.
    """
    roles = Roles(Resources.of(config.paths))
    if problems := misfits(config, roles):
        others = f" and the other {len(problems) - 1}, which manyheads check lists" if problems[1:] else ""
        raise ConfigError(problems[0], hint=f"mend this{others}")
    return roles


class Given(NamedTuple):
    """What a run is given to read, each for a system that takes such a thing; see `Run`."""

    subject: Subject | None
    background: Background | None
    contest: Contest | None


def given_of(config: RunConfig) -> Given:
    """What a run is given to read: the text that it is about, what it starts from, the ideas that it ranks.

    Raises:
        UserError: one is missing, or cannot be read.
    """
    system = SYSTEMS[config.system]
    if system.subject and config.subject is None:
        raise ConfigError(f"{config.system}: needs a subject", hint="--set subject=FILE, or a run folder")
    return Given(
        read_subject(Path(config.subject)) if system.subject and config.subject else None,
        read_background(config) if system.background else None,
        read_contest(config) if system.contest else None,
    )


def _lost(paid: Usage, useful: Usage) -> Usage:
    """What was paid for turns that came to no reply, and for replies that were replaced."""
    lost = paid - useful
    return lost if lost.calls else NOTHING


def _usage(run: Run, paid: Ledger) -> dict[str, Any]:
    """All that a run has paid: for its replies, by stage, and for what the result does not rest on."""
    unused = _lost(paid.spent, run.usage)
    by_stage = {stage: usage.model_dump() for stage, usage in run.spent.items()}
    return {**(run.usage + unused).model_dump(), "by_stage": by_stage, "unused": unused.model_dump()}


def _note(ledger: SearchLedger, emit: Emit, entry: Searched) -> None:
    """Take a look-up down and tell of it, and of a source that fails for the first time."""
    before = ledger.degraded
    ledger.note(entry)
    emit(entry)
    for source in ledger.degraded:
        if source not in before:
            emit(Warned(message=_missing(source)))


def _missing(source: str) -> str:
    return f"{source} could not be asked everything: papers that it alone knows are missing; see the search ledger"


def _searches(ledger: SearchLedger) -> dict[str, Any]:
    """The search ledger as `result.json` keeps it; nothing for a run that has looked nothing up."""
    if not ledger.entries:
        return {}
    data = ledger.as_data()
    return {"searches": data, "degraded": data["degraded"]}
