"""One run of a system in its run folder: what is opened, asked, kept and written.

runs/<time>-<name>/
    config.yaml      the resolved config, without secrets
    journal.sqlite   every finished turn
    events.jsonl     what happened, an event a line
    result.json      what came of it
    report.html      the same to read
"""

import asyncio
import json
import shlex
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, aclosing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

import yaml

from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.embedding import load_embedder
from manyheads.bank.named import resolve_corpus
from manyheads.budget import Budgeted, Ledger
from manyheads.config import ModelConfig, RunConfig, load
from manyheads.core import AnyEvent, Emit, ManagedHost, Recall, Result, stream
from manyheads.discussion import Run, need_members
from manyheads.errors import ChangedError, ConfigError, JournalError, UserError
from manyheads.journal import Journal, Recorded
from manyheads.models.local import OFFLINE
from manyheads.recall import AuthorRecall
from manyheads.resources import Resources
from manyheads.roles import Roles
from manyheads.systems.virsci import virsci

HostFactory = Callable[[Mapping[str, ModelConfig], Recall, int], ManagedHost]
"""Makes a host of the models by alias, what its retrieval hook recalls, and the attempts at a reply."""
RESUME = "manyheads resume RUN"
"""How hints below a session speak of going on with a run."""
SYSTEMS: dict[str, Callable[[Run], Awaitable[Mapping[str, Any]]]] = {"virsci": virsci}


def new_folder(config: RunConfig, base: Path) -> Path:
    """A run folder's path that is not taken yet: `base/<time>-<name>`."""
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{config.name or config.system}"
    candidates = (base / (stem if not n else f"{stem}-{n + 1}") for n in range(1000))
    return next(path for path in candidates if not path.exists())


def fresh(folder: Path) -> Path:
    """A run folder that the user named, if it is free.

    Raises:
        JournalError: a run is in it already.
    """
    if (folder / "journal.sqlite").exists():
        raise JournalError(
            f"{folder}: holds a run already", hint=f"manyheads resume {folder}, or another --out"
        )
    return folder


def reopen(folder: Path, sets: tuple[str, ...] = ()) -> RunConfig:
    """The config of an earlier run, with changes laid on.

    Raises:
        JournalError: the folder is no run folder.
    """
    path = folder / "config.yaml"
    if not path.is_file():
        raise JournalError(
            f"{folder}: no run folder (it has no config.yaml)", hint="name one, such as runs/<time>-<name>"
        )
    return load([str(path)], sets)


@dataclass
class Session:
    """A run, new or resumed, in its folder.

    Args:
        config: the whole run.
        folder: its run folder; made when missing. One that holds a journal is resumed.
        accept_changes: go on where the record no longer matches the config or the prompts.
    """

    config: RunConfig
    folder: Path
    accept_changes: bool = False

    @property
    def way_back(self) -> str | None:
        """The command that goes on with this run, once there is something to go on with."""
        begun = (self.folder / "journal.sqlite").exists()
        return f"{RESUME.removesuffix('RUN')}{shlex.quote(str(self.folder))}" if begun else None

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
        return f"{hint}; go on with: {self.way_back}" if hint else self.way_back

    async def _events(self, make_host: HostFactory) -> AsyncGenerator[AnyEvent, None]:
        roles = self._roles()
        async with AsyncExitStack() as stack:
            ecosystem = await self._ecosystem()
            stack.callback(ecosystem.close)
            need_members(self.config.team, ecosystem)
            journal, log = self._open_folder()
            stack.callback(journal.close)
            stack.enter_context(log)
            stack.push(self._report)
            stack.enter_context(self._config_kept())
            recall = AuthorRecall(ecosystem, roles.prompts, self.config.invitation.suggestions)
            host = make_host(self.config.models, recall, self.config.attempts)
            stack.push_async_callback(host.close)
            work = self._work(self._guarded(host, journal), roles, ecosystem, recall)
            events = await stack.enter_async_context(aclosing(stream(work)))
            began = time.monotonic()
            async for event in events:
                with _writing(self.folder):
                    _log(log, event, time.monotonic() - began)
                    if isinstance(event, Result):
                        self._keep(event)
                yield event

    def _roles(self) -> Roles:
        roles = Roles(Resources.of(self.config.paths))
        for role in self.config.roles:
            roles.card(role)
        if problems := roles.problems():
            more = f"; manyheads check lists all {len(problems)} problems" if len(problems) > 1 else ""
            raise ConfigError(problems[0], hint=f"use one of these, or take it out{more}")
        return roles

    async def _ecosystem(self) -> Ecosystem:
        folder = await asyncio.to_thread(resolve_corpus, self.config.corpus, embedding=self.config.embedding)
        chosen = None if self.config.embedding == "auto" else load_embedder(self.config.embedding)
        return await asyncio.to_thread(Ecosystem.open, folder, chosen)

    def _open_folder(self) -> tuple[Journal, TextIO]:
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            journal = Journal(self.folder / "journal.sqlite")
            return journal, (self.folder / "events.jsonl").open("w", encoding="utf-8")

    @contextmanager
    def _config_kept(self) -> Generator[None]:
        """Writes the config; where the record does not fit it, the one that the record fits stays."""
        path = self.folder / "config.yaml"
        before = path.read_text(encoding="utf-8") if path.exists() else None
        data = self.config.model_dump(mode="json", exclude_none=True)
        with _writing(self.folder):
            path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), encoding="utf-8")
        try:
            yield
        except ChangedError:
            if before is not None:
                path.write_text(before, encoding="utf-8")
            raise

    def _guarded(self, host: ManagedHost, journal: Journal) -> Recorded:
        """The host behind the budget, behind the journal: what is recorded is counted but never asked again."""
        ledger = Ledger(self.config.budget)
        return Recorded(
            Budgeted(host, ledger),
            journal,
            lambda alias: self.config.models[alias].identity(),
            accept_changes=self.accept_changes,
            on_replayed=ledger.pay,
        )

    def _work(
        self, host: Recorded, roles: Roles, ecosystem: Ecosystem, recall: AuthorRecall
    ) -> Callable[[Emit], Awaitable[Mapping[str, Any]]]:
        async def work(emit: Emit) -> Mapping[str, Any]:
            run = Run(self.config, host, roles, ecosystem, emit, recall.insiders)
            found = await SYSTEMS[self.config.system](run)
            return {"system": self.config.system, **found, **self._account(run)}

        return work

    def _account(self, run: Run) -> dict[str, Any]:
        models = {alias: f"{m.provider}/{m.name}" for alias, m in run.config.models.items()}
        by_stage = {stage: usage.model_dump() for stage, usage in run.spent.items()}
        return {
            "seed": run.config.seed,
            "corpus": run.config.corpus,
            "models": models,
            "written_by_language_model": bool(run.writers - {OFFLINE}),
            "usage": {**run.usage.model_dump(), "by_stage": by_stage},
            "warnings": run.warnings,
        }

    def _keep(self, result: Result) -> None:
        text = json.dumps(result.data, ensure_ascii=False, indent=2)
        (self.folder / "result.json").write_text(text + "\n", encoding="utf-8")

    def _report(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Writes the report, of a run that was stopped as well; what stopped it is the news, not a full disk."""
        from manyheads.report.html import write_report

        with suppress(JournalError) if error else nullcontext():
            write_report(self.folder)


def _log(log: TextIO, event: AnyEvent, at: float) -> None:
    line = {"at": round(at, 3), **event.model_dump(mode="json")}
    log.write(json.dumps(line, ensure_ascii=False) + "\n")
    log.flush()


@contextmanager
def _writing(folder: Path) -> Generator[None]:
    """Turns a full or read-only disk into words; what a session has kept, it says itself."""
    try:
        yield
    except OSError as error:
        raise JournalError(
            f"{folder}: cannot be written: {error.strerror or error}",
            hint="make room on the disk, or choose another folder: --out FOLDER",
        ) from error
