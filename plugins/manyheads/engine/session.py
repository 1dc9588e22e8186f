"""One run of a system, new or resumed: resources, questions, costs, files."""

import asyncio
import shlex
import shutil
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import Seeks
from manyheads.asking.roles import Roles
from manyheads.base.errors import JournalError, ModelError, UserError, missing_extra
from manyheads.base.files import FEWER, cache_folder, make_folder, out_of_files
from manyheads.base.folders import JOURNAL, writing
from manyheads.base.papers import Literature, NoLiterature
from manyheads.config import HUMAN, PERSON, ModelConfig, RunConfig
from manyheads.core import (
    BRANCH,
    NOTHING,
    Branch,
    Host,
    ManagedHost,
    Meter,
    Price,
    Recall,
    Turn,
    Usage,
    recall_nothing,
    unmetered,
)
from manyheads.core.events import AnyEvent, Began, Emit, MadeBy, Person, Result, Searched, Warned, stream
from manyheads.core.results import RunResult, RunUsage
from manyheads.corpus.corpora import SHIPPED, open_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.embedding import NO_MODEL, available, load_embedder
from manyheads.engine.brake import Brake
from manyheads.engine.budget import Budget, Budgeted
from manyheads.engine.folder import RunFolder, fresh, new_folder, replies_told
from manyheads.engine.inputs import with_papers
from manyheads.engine.journal import Journal, Starts
from manyheads.engine.person import Attended, SteeringSwitch
from manyheads.engine.readiness import (
    models_asked,
    need_extras,
    need_keys,
    need_person,
    need_team,
    prepare,
    roles_of,
    switched_off,
)
from manyheads.engine.replay import Recorded
from manyheads.engine.tracing import Trace, Traced
from manyheads.literature.library import Library
from manyheads.literature.lookup import CACHE, LEDGER, RECORD, SearchLedger
from manyheads.literature.references import InspiredLiterature, ServiceLiterature
from manyheads.models.abilities import settled
from manyheads.models.offline import OFFLINE
from manyheads.team.run import Below, Run
from manyheads.team.system import System, system_of
from manyheads.team.tools import INVITE

__all__ = ["HostFactory", "Session", "fresh", "new_folder", "offhand"]


@dataclass
class AuthorRecall:
    """The retrieval hook of the hosts: similar scientists of the author knowledge bank (VirSci 2025, §3.1, §3.2).

    Attributes:
        count: number of scientists shown.
        insiders: names to leave out: the current team. Shared with the run, which changes it.
    """

    literature: Literature
    prompts: Prompts
    count: int
    insiders: set[str] = field(default_factory=set[str])
    _last: tuple[object, str] = (None, "")
    """What was looked up last, and the passage: the members of a turn have the same."""

    async def __call__(self, turn: Turn[Any]) -> str:
        """For a speaker who can invite them: by a tool, or by a field of the reply."""
        by_tool = any(tool.name == INVITE for tool in turn.tools)
        if not by_tool and not issubclass(turn.reply_type, Seeks):
            return ""
        query, exclude = turn.recall or "", frozenset({turn.speaker.name, *self.insiders})
        asked = (self.literature, query, exclude, by_tool)
        if self._last[0] != asked:
            scientists = await self.literature.find_scientists(query, self.count, exclude=exclude)
            variables = {"scientists": scientists, "by_tool": by_tool}
            passage = self.prompts.render("partials/recall.md.j2", variables) if scientists else ""
            self._last = asked, passage
            return passage
        return self._last[1]


HostFactory = Callable[[Mapping[str, ModelConfig], Recall, int], ManagedHost]
"""Makes a host from the models by alias, the retrieval hook, and the attempts per reply."""
HEAD_START = 0.2
"""Seconds of a corpus before frameworks are imported, and of the first request before the embedding model is loaded: of two
threads that import or read files, each waits for Python's lock."""
OWN = "."
"""Who pays for the questions of a run that has others below its folder."""
RESUME = "manyheads resume RUN"
"""The command that resumes a run, as hints name it."""


def embedder_of(config: RunConfig) -> str:
    """The embedder of a run: a built corpus has its own model, a shipped corpus uses the installed one."""
    own = config.corpus in SHIPPED
    needed = own if system_of(config).corpus(config) else config.literature.references == "services"
    return available(config.embedding) if needed else config.embedding


@dataclass
class Session:
    """A run, new or resumed, in its folder.

    Args:
        config: the whole config.
        folder: the run folder, created if missing. A folder with a journal is resumed.
        accept_changes: resume even if the journal does not match the config or the prompts.
        again: the command that resumes it, if not `manyheads resume`.
        meter: counts its requests in addition to its own budget.
        settle: adds the known abilities of its server to a model's config, when the run begins.
        person: answers for models of the provider `human`, and steers.
        brake: pauses and stops the run.
        switch: has the stages that `steer` adds.
        clients: the aliases of models that the host asks through a client of the user's, which has its own key.
        locked: called when no other process can have the run any more; it may raise a `UserError`.
        journal: opens its journal; a worker's mirrors each write to the driver.
        embedder: the embedding model of a new run; a worker's takes that of the driver.
        beside: works beside it until it ends, such as on its estimate.
    """

    config: RunConfig
    folder: Path
    accept_changes: bool = False
    again: str | None = None
    meter: Meter = unmetered
    settle: Callable[[ModelConfig], ModelConfig] = settled
    person: Person | None = None
    brake: Brake = field(default_factory=Brake)
    switch: SteeringSwitch = field(default_factory=SteeringSwitch)
    clients: Collection[str] = ()
    locked: Callable[[], None] = lambda: None
    journal: Callable[[Path], Journal] = Journal
    embedder: Callable[[RunConfig], str] = embedder_of
    beside: Callable[[Sequence[RunConfig], Emit], Coroutine[Any, Any, None]] | None = None

    @property
    def system(self) -> System:
        return system_of(self.config)

    @property
    def way_back(self) -> str | None:
        """The command that resumes this run, if there is anything to resume."""
        if self.again or not (self.folder / JOURNAL).exists():
            return self.again
        accepting = " --accept-changes" if self.accept_changes else ""
        return f"{RESUME.removesuffix('RUN')}{shlex.quote(str(self.folder))}{accepting}"

    def steer(self, stages: Sequence[str]) -> None:
        """Let the person steer after these stages, too, from the next one on; raises `ValueError` for an unknown one."""
        self.config.need_stages(stages)
        self.switch.on(self.system.steers if "all" in stages else stages)

    def _switched(self, stage: str) -> bool:
        if asked := self.switch(stage):
            self.config.models.setdefault(PERSON, ModelConfig(provider=HUMAN, name=PERSON))
        return asked

    async def events(self, make_host: HostFactory) -> AsyncGenerator[AnyEvent, None]:
        """Run the system on a host; yields the events, the `Result` last. Writes the folder on the way.

        Raises:
            UserError: a mistake that the user can fix; finished turns are kept.
        """
        try:
            async with aclosing(self._events(make_host)) as events:
                async for event in events:
                    yield event
        except ModuleNotFoundError as error:
            raise missing_extra(error) or error from error
        except OSError as error:
            if not out_of_files(error):
                raise
            hint = f"{FEWER}; then: {self.way_back or 'start again'}"
            raise JournalError(f"{self.folder}: {error.strerror or error}", hint=hint) from error
        except UserError as error:
            # Code below does not know this run's folder.
            if self.way_back and error.hint and RESUME in error.hint:
                error.hint = error.hint.replace(RESUME, self.way_back)
            elif error.hint and RESUME in error.hint:  # there is nothing to resume
                hint = error.hint.replace(f"then: {RESUME}", "then start again")
                error.hint = hint.replace(RESUME, "start again")
            elif self.way_back and not self.again:  # else the caller says it once
                error.hint = f"{error.hint}; resume with: {self.way_back}" if error.hint else self.way_back
            raise

    async def _events(self, make_host: HostFactory) -> AsyncGenerator[AnyEvent, None]:
        notes = await self._prepare()
        roles = roles_of(self.config)
        if self.person is None:
            need_person(self.config, roles)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(asyncio.to_thread, _list, self.folder)
            ledgers = list[Budget]()
            if not (self.folder.exists() and any(self.folder.iterdir())):
                stack.push(partial(self._leave_nothing, ledgers))
            parts = await self._open(stack, make_host, roles)
            config, system, literature = self.config, self.system, parts.literature
            folder, starts, recall = parts.folder, parts.starts, parts.recall
            ledger = Budget(config.budget)
            ledgers.append(ledger)
            notes = parts.journal.notes(notes)
            trace = Trace(config, str(self.folder))
            attended = Attended(
                parts.host, config.models, self.person, self.brake, roles, recall, ledger.rest
            )
            below = self._below(stack, make_host, folder) if system.nests else None
            meters = [partial(below.budget.asking, job=OWN)] if below else []
            host = self._guarded(
                Traced(attended, config.models, trace, config.system), parts, ledger, *meters
            )
            searches = SearchLedger(self.folder / LEDGER)
            self.switch.first |= parts.journal.fact("steered")
            self.switch.keep = partial(parts.journal.state, "steered")
            self.switch.on(())  # those of before the start

            async def work(tell: Emit) -> Mapping[str, Any]:
                BRANCH.set(root := Branch())

                def emit(event: AnyEvent) -> None:
                    trace.note(event)
                    folder.ranks.append(BRANCH.get(root).next())
                    tell(event)

                attended.emit = emit
                emit(Began(made_by=starts.made_by, prices=_prices(config)))
                if self.beside:
                    stack.callback(asyncio.create_task(self.beside([config], emit)).cancel)
                note = partial(_note_search, searches, emit)
                async with _library(config, literature, note, self.folder / RECORD) as library:
                    if system.searches(config, roles):
                        library.open()  # known problems are reported before anything is paid

                    def references(world: Literature) -> Literature:
                        return idea_references(
                            config, world, library, lambda line: run.warn("references", line)
                        )

                    async def open_world(corpus: str) -> Literature:
                        other = open_corpus(corpus, config.embedding)
                        recall.literature = world = await stack.enter_async_context(other)
                        return references(world)

                    run = Run(
                        config, host, roles, references(literature), emit, system.result(), recall.insiders,
                        library=library, material=parts.material, folder=self.folder, switched=self._switched,
                        below=below, open_world=open_world,
                    )  # fmt: skip
                    for line in (*starts.warnings(), *notes, *switched_off(config, roles)):
                        run.warn("", line)
                    result = partial(_result_of, run, literature, searches, ledger, starts.made_by)
                    folder.so_far = result
                    with trace.run(lambda: ledger.spent):
                        await system.run(run)
                return result(finished=True).model_dump(mode="json")

            async for events in await stack.enter_async_context(aclosing(stream(work))):
                await parts.journal.written()  # a reply is told once it is kept
                folder.note(*events)
                for event in events:
                    if isinstance(event, Result) and (fault := await asyncio.to_thread(folder.report)):
                        folder.note(warned := Warned(message=fault))
                        yield warned
                    yield event

    def _below(self, stack: AsyncExitStack, make_host: HostFactory, folder: RunFolder) -> Below:
        """For the runs below the folder: one budget for them and for the run itself, over all starts."""
        budget = Budget(self.config.budget)
        stack.callback(budget.close)
        journals = {
            path.parent.relative_to(self.folder).as_posix(): path for path in self.folder.rglob(JOURNAL)
        }
        journals.pop(OWN, None)  # paid as it is asked
        budget.open(self.folder, journals)
        return Below(make_host, budget, self.meter, self.accept_changes, folder.go_live)

    def _leave_nothing(
        self, ledgers: Sequence[Budget], kind: object, error: BaseException | None, trace: object
    ) -> None:
        """A run whose paper could not be fetched, or whose model could not be asked at all, and to which no person has replied,
        leaves no folder."""
        paid = any(each.spent.tokens for each in ledgers)
        unasked = isinstance(error, ModelError) and not paid and not replies_told(self.folder)
        if unasked or (
            error
            and system_of(self.config).papers_elsewhere(self.config)
            and not (self.folder / JOURNAL).exists()
        ):
            shutil.rmtree(self.folder, ignore_errors=True)

    async def _prepare(self) -> list[str]:
        self.config, notes = prepare(self.config), list[str]()
        if not (self.folder / JOURNAL).exists():
            # Saved in the folder's config: a resumed run asks in the same way, whatever is known by then.
            models = {alias: self.settle(model) for alias, model in self.config.models.items()}
            embedding = await asyncio.to_thread(self.embedder, self.config)
            notes += [NO_MODEL] * (embedding != self.config.embedding)
            self.config = self.config.model_copy(update={"models": models, "embedding": embedding})
        return notes

    async def _open(self, stack: AsyncExitStack, make_host: HostFactory, roles: Roles) -> "_Parts":
        """Open journal, host, corpus and folder, in the order in which problems are reported."""
        config, system = self.config, self.system
        # The journal is checked first: a replay needs a framework, a corpus and its embeddings. The lock on the journal is
        # the lock on the folder.
        journal = self._journal(stack) if (self.folder / JOURNAL).exists() else None
        if journal and config.embedding == "auto":  # a suite's cell, whose config is not the folder's
            recorded = journal.fact("course").get("embedding") or await asyncio.to_thread(
                self.embedder, config
            )
            self.config = config = config.model_copy(update={"embedding": recorded})
        # In a thread, while the framework and the SDKs are imported here.
        opening = asyncio.ensure_future(open_literature(stack, config))
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())
        stack.callback(opening.cancel)
        await asyncio.wait([opening], timeout=HEAD_START)
        team = system.team(config)
        recall = AuthorRecall(NoLiterature(), roles.prompts, team.invitation.suggestions if team else 0)
        host = make_host(_models(config), recall, config.attempts)
        stack.push_async_callback(host.close)
        # The folder names the host that is asked, whoever brought it: a resumed run asks it again.
        if (name := getattr(host, "framework", config.host)) != config.host:
            self.config = config = config.model_copy(update={"host": name})
        named = system_of(config).papers_elsewhere(config)
        self.config = config = await with_papers(config, self.folder)
        reading = asyncio.ensure_future(asyncio.to_thread(system.read, config))
        if journal is None:  # importing the SDKs takes as long as reading a paper
            with suppress(UserError):  # errors are reported below
                host.open(*models_asked(config, roles))
        try:
            material = await reading
        except UserError as error:  # of a run that does not begin, the folder does not stay
            for name, paper in named.items():
                error.message = error.message.replace(getattr(config.inputs, name), paper)
            raise
        literature = recall.literature = await opening
        if system.corpus(config):
            need_team(config, literature)
        if journal is None:  # make no folder if the first question cannot be asked
            need_keys(config, roles, self.clients)
            if system.searches(config, roles):
                _library(config, literature, lambda entry: None, None).open()
            journal = self._journal(stack)
        starts = Starts(journal, config.host)
        folder = RunFolder(self.folder, config, system.write_report, starts.made_by)
        # In a thread: a report may have pictures of pages, and other runs continue meanwhile.
        stack.push_async_exit(partial(asyncio.to_thread, folder.__exit__))
        return _Parts(journal, host, literature, recall, material, starts, folder)

    @property
    def _identities(self) -> dict[str, dict[str, Any]]:
        return {alias: model.identity() for alias, model in self.config.models.items()}

    def _journal(self, stack: AsyncExitStack) -> Journal:
        """The run's journal, locked for this process.

        Raises:
            ChangedError: recorded turns do not match today's models.
            JournalError: another process is running, or turns are missing.
        """
        with writing(self.folder):
            make_folder(self.folder)
        journal = self.journal(self.folder / JOURNAL)
        # it writes the log into the file; whoever cancels this does not leave the folder locked
        stack.push_async_callback(lambda: asyncio.shield(asyncio.to_thread(journal.close)))
        stack.push_async_callback(_last_turns, journal)
        self.locked()
        if self.accept_changes:
            return journal
        journal.need_same_models(self._identities)
        recorded, told = journal.turns, replies_told(self.folder)
        if recorded < told:
            raise JournalError(
                f"{journal.path}: {recorded} recorded turns, but the folder has events of {told}: the others are lost",
                hint="restore the journal from a copy, or ask them again: manyheads resume RUN --accept-changes",
            )
        return journal

    def _guarded(self, host: Host, parts: "_Parts", ledger: Budget, *meters: Meter) -> Recorded:
        """The host behind the budget, behind the journal: recorded turns are paid, and not asked again."""
        journal, identities = parts.journal, self._identities

        def go_live() -> None:
            journal.state("models", identities)
            parts.starts.keep()
            parts.folder.go_live()
            asyncio.get_running_loop().call_later(HEAD_START, parts.literature.expect, "warm")

        def keep_lost() -> None:
            # A process that dies may have used what it reserved: with limits, that is lost until it is known to be less.
            unsure = ledger.reserved + recorded.writing if ledger.limited else NOTHING
            journal.lose(_lost(ledger.spent + unsure, recorded.useful))

        async def before() -> None:
            await journal.written()
            keep_lost()
            await journal.written()
            await journal.settled()

        recorded = Recorded(
            Budgeted(host, ledger.asking, self.meter, *meters, before=before),
            journal,
            lambda alias: self.config.models[alias].identity(),
            course=self.config.course(),
            accept_changes=self.accept_changes,
            on_live=go_live,
            on_ended=keep_lost,
        )
        # All at once: a missing turn may be asked before recorded ones are replayed.
        ledger.pay(recorded.useful + journal.lost)
        return recorded


@dataclass(frozen=True)
class _Parts:
    journal: Journal
    host: ManagedHost
    literature: Literature
    recall: AuthorRecall
    material: Any
    starts: Starts
    folder: RunFolder


async def open_literature(stack: AsyncExitStack, config: RunConfig) -> Literature:
    if not system_of(config).corpus(config):
        return NoLiterature()
    return await stack.enter_async_context(open_corpus(config.corpus, config.embedding))


def idea_references(
    config: RunConfig, literature: Literature, library: Library, tell: Callable[[str], None]
) -> Literature:
    """Source of the papers shown with ideas: B_past, the corpus's literature database, or the services (App. C.3)."""
    if config.literature.references == "corpus":
        return literature
    if config.literature.references == "inspirations":
        if isinstance(literature, Ecosystem):
            return InspiredLiterature(literature, config.literature.retrieval, tell)
        return literature
    if isinstance(literature, Ecosystem):
        return ServiceLiterature(literature, library, lambda: literature.embedder)
    return ServiceLiterature(literature, library, cache(lambda: load_embedder(config.embedding)))


@asynccontextmanager
async def offhand(
    config: RunConfig, make_host: HostFactory, emit: Emit = lambda event: None
) -> AsyncGenerator[Run]:
    """A run in memory: no folder, no journal, no resume.

    The config's budget applies. Its inputs are not read.

    Raises:
        UserError: the config or its corpus cannot be used.
    """
    need_extras(config)
    system, roles = system_of(config), roles_of(config)
    async with AsyncExitStack() as stack:
        literature = await open_literature(stack, config)
        host = make_host(_models(config), recall_nothing, config.attempts)
        stack.push_async_callback(host.close)
        library = await stack.enter_async_context(_library(config, literature, emit, None))
        attended = Attended(host, config.models, None, Brake(), roles, recall_nothing)
        traced = Traced(attended, config.models, system=config.system)
        budgeted = Budgeted(traced, Budget(config.budget).asking)
        yield Run(config, budgeted, roles, literature, emit, system.result(), library=library)


async def _last_turns(journal: Journal) -> None:
    """Wait for what is still being written when a run ends early; its errors are not the reason."""
    with suppress(JournalError):
        await journal.written()


def _models(config: RunConfig) -> dict[str, ModelConfig]:
    """The models by alias. Another seed of the run changes the offline model's answers, too."""
    own = {"seed": config.seed}
    return {
        alias: model.model_copy(update=own) if model.provider == "offline" and model.seed is None else model
        for alias, model in config.models.items()
    }


def _prices(config: RunConfig) -> dict[str, Price]:
    return {alias: model.rate for alias, model in config.models.items() if model.rate}


def _library(
    config: RunConfig, literature: Literature, note: Callable[[Searched], None], record: Path | None
) -> Library:
    own = literature if isinstance(literature, Ecosystem) else None
    return Library(
        config.literature,
        bank=own and own.papers,
        bound=own and own.meta.options.bound,
        note=note,
        cache=cache_folder() / CACHE,
        record=record,
    )


def _list(folder: Path) -> None:
    from manyheads.report.index import list_run  # with all of a page, once a run has ended

    list_run(folder)


def _lost(paid: Usage, useful: Usage) -> Usage:
    lost = paid - useful
    return lost if lost.calls else NOTHING


def _result_of(
    run: Run,
    literature: Literature,
    searches: SearchLedger,
    ledger: Budget,
    made_by: MadeBy,
    finished: bool = False,
) -> RunResult[Any]:
    """A run's result with its total usage: of its replies, and of lost ones."""
    config, unused = run.config, _lost(ledger.spent, run.usage)
    return RunResult(
        system=config.system,
        host=config.host,
        made_by=made_by,
        seed=config.seed,
        language=config.language or None,
        corpus=config.corpus,
        embedding=literature.meta.embedding.name if isinstance(literature, Ecosystem) else None,
        models={alias: f"{model.provider}/{model.name}" for alias, model in config.models.items()},
        prices=_prices(config),
        written_by_language_model=any(
            name != OFFLINE and not name.startswith(f"{HUMAN}/") for name in run.writers
        ),
        finished=finished,
        usage=RunUsage(
            **(run.usage + run.below_spent.total + unused).model_dump(),
            by_stage={**run.spent, **run.below_spent},
            unused=unused,
        ),
        warnings=[*run.warnings, *map(_missing, sorted(searches.degraded))],
        degraded=sorted(searches.degraded),
        searches=searches.as_data() if searches.entries else None,
        evidence=run.evidence.entries,
        people=run.people,
        result=run.result,
    )


def _note_search(searches: SearchLedger, emit: Emit, entry: Searched) -> None:
    """Record a look-up, and warn about a source's first failure."""
    before = searches.degraded
    searches.note(entry)
    emit(entry)
    for source in searches.degraded:
        if source not in before:
            emit(Warned(message=_missing(source)))


def _missing(source: str) -> str:
    return f"{source} failed for some queries: papers that only this source has may be missing; see the search ledger"
