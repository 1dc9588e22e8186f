"""The runs of clients: started within bounds, followed, steered and stopped. A run goes on when its client leaves."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from pydantic import BaseModel, Field

from manyheads.asking.questions import meaning, value_of
from manyheads.base.errors import ConfigError, JournalError, UserError
from manyheads.base.folders import CONFIG, JOURNAL
from manyheads.base.text import printable, shortened
from manyheads.config import BudgetConfig, RunConfig
from manyheads.core import NOTHING, Usage, money
from manyheads.core.results import RESULT
from manyheads.engine.journal import spent_in
from manyheads.engine.readiness import need_keys, prepare, roles_of
from manyheads.mcp.bounds import Bounds
from manyheads.mcp.sdk import Context, asked, called_again, can_ask
from manyheads.report.index import RUNS, RunEntry, read_entry
from manyheads.systems.exports import exported
from manyheads.systems.loading import reopen
from manyheads.web.children import HIDDEN, PIPE, Children, clear, send
from manyheads.web.folder import LIVE, MissingRunError, RunsFolder

PAUSE = 0.2
"""Seconds between two looks at a run."""
LONGEST = 100_000
"""Characters of a result that a tool returns; resources have them whole."""
LONGEST_QUESTION = 8_000
WHOLE = 600.0
"""Maximum seconds for which a call waits for a run."""
PLAIN = ("string", "integer", "number", "boolean")


class RunAnswer(BaseModel):
    """How a run stands."""

    run: str
    """Its name, for read_result, resume, stop and steer."""
    state: str
    """queued, running, paused, waiting (for a person), stopping, finished, stopped, failed or damaged."""
    system: str = ""
    title: str = ""
    stage: str = ""
    calls: int | None = None
    tokens: int | None = None
    cost: str = ""
    text: str = ""
    """The result, or why the run failed."""
    request: str = ""
    """The id of the question that the run waits for; answer it with steer."""
    question: str = ""
    form: dict[str, Any] = Field(default_factory=dict[str, Any])
    """JSON Schema of the answer."""
    next: str = ""
    """What to do next."""


class ServedRuns:
    """The runs in the folder `runs` of a server's folder.

    Args:
        at_once: maximum number of runs at once; others wait in a queue.
        leaving: whether the server ends: then a call that is cut off does not stop its run.
    """

    def __init__(self, bounds: Bounds, at_once: int = 2, leaving: Callable[[], bool] = lambda: False) -> None:
        self.bounds, self.leaving = bounds, leaving
        folder = bounds.folder / RUNS
        folder.mkdir(exist_ok=True)
        clear(folder)
        self.children = Children(folder, at_once, lasting=True)
        self.runs = RunsFolder(folder, self.children)
        self._most = dict[str, Usage]()
        """What each run of this server may use."""
        self._allowing = asyncio.Lock()
        self._answered, self._stopping = set[tuple[str, str]](), set[str]()

    # Start, resume, stop.

    async def followed(
        self, context: Context[Any, Any], wait: float, begin: Callable[..., Awaitable[str]], *arguments: Any
    ) -> RunAnswer:
        """Follow the run that `start`, `resume` or `steer` names; a call that comes back with a person's answer passes it on instead."""
        if again := called_again(context):
            (name, _, request), value = again[0].partition(" "), again[1]
            if value is None:
                return await self._answer(name)
            await self.steer(name, request, value)
        else:
            name = await begin(*arguments)
        return await self.follow(context, name, wait)

    async def start(self, make: Callable[[], RunConfig], budget: BudgetConfig | None) -> str:
        """Start a run, when there is room; returns its name."""
        config = await asyncio.to_thread(self._ready, make)
        async with self._allowing:
            limits = await self._allowance(config, budget)
            name = self.runs.begin(config.model_copy(update={"budget": limits}))
            self._most[name] = _most(limits)
        return name

    def _ready(self, make: Callable[[], RunConfig]) -> RunConfig:
        """The config of a run that can begin; what is wrong is said before there is a folder."""
        config = make()
        prepared = prepare(config)
        need_keys(prepared, roles_of(prepared))
        return config

    async def resume(self, name: str, budget: BudgetConfig | None) -> str:
        """Resume a run, when there is room; returns its name."""
        folder = self.runs.path(name)
        async with self._allowing:
            if (state := self.state(name)) not in ("stopped", "failed"):
                raise ConfigError(f"{name}: this run is {state}; only a stopped or failed one can be resumed")
            config = await asyncio.to_thread(reopen, folder)
            await asyncio.to_thread(self.bounds.checked, config)
            limits = await self._allowance(config, budget, name)
            sets = [f"budget.{key}={value}" for key, value in limits.model_dump(exclude_none=True).items()]
            self.children.resume(name, config.system, *(word for each in sets for word in ("--set", each)))
            self._most[name] = _most(limits)
        self._stopping.discard(name)
        self._answered = {each for each in self._answered if each[0] != name}  # it asks again, by the same id
        return name

    async def _allowance(
        self, config: RunConfig, budget: BudgetConfig | None, name: str = ""
    ) -> BudgetConfig:
        """The budget of a run, beside the others of this server. Nobody else may ask until it counts, too."""
        wanted = budget.model_dump(exclude_none=True) if budget else {}
        return self.bounds.allowance(config, wanted, await asyncio.to_thread(self._used, name))

    def _used(self, without: str) -> list[Usage]:
        """What each other run of this server used; of one that goes on, or whose journal cannot be read, what it may use."""
        used = list[Usage]()
        for name in self._most.keys() - {without}:
            child, journal = self.children.get(name), self.runs.folder / name / JOURNAL
            usage = self._most[name]
            if not (child and child.alive):
                with suppress(JournalError):
                    usage = spent_in(journal) if journal.exists() else NOTHING
            used.append(usage)
        return used

    def stop(self, name: str) -> None:
        """Stop a run after its running turns, whichever server has started it; raises `UserError` if it does not run."""
        child = self.children.get(name)
        if child and child.alive:
            self.children.control(child, "stop")
        elif send(self._pipe(name), {"do": "stop"}):
            self._stopping.add(name)
        else:
            state = self.state(name)
            elsewhere = "it was started elsewhere; stop it there" if state == "running" else f"it is {state}"
            raise ConfigError(f"{name}: this run cannot be stopped: {elsewhere}")

    async def steer(self, name: str, request: str, value: Mapping[str, Any]) -> str:
        """Answer a question of a run; returns its name. Raises `UserError` if it does not wait for it."""
        waiting = next((each for each in self.waiting(name) if each["request"] == request), None)
        if waiting is None:
            raise ConfigError(
                f"{request[:200]!r}: {name} does not wait for this; it was answered, or the run has moved on",
                hint="read_result says what it waits for",
            )
        value = _values(waiting["form"], value)
        child = self.children.get(name)
        if child and child.alive:
            passed = self.children.answer(child, request, value)
        else:
            passed = send(self._pipe(name), {"do": "answer", "request": request, "value": value})
        if not passed:
            raise ConfigError(
                f"{name}: this run cannot be answered here: it has ended, or was started elsewhere"
            )
        self._answered.add((name, request))
        return name

    def _pipe(self, name: str) -> Path:
        return self.runs.folder / HIDDEN / f"{self.runs.path(name).name}{PIPE}"

    # Follow.

    def entry(self, name: str) -> RunEntry:
        """A run as it is now; raises `MissingRunError`."""
        folder, child = self.runs.path(name), self.children.get(name)
        entry = read_entry(folder)
        if entry.state:
            return entry
        if child is None:
            raise MissingRunError(name)
        return RunEntry(folder=name, system=child.system, at=child.at, state="stopped")  # it never began

    def state(self, name: str) -> str:
        state = self.runs.state(self.entry(name))
        return "stopping" if name in self._stopping and state in LIVE else state

    def waiting(self, name: str) -> list[dict[str, Any]]:
        return [each for each in self.runs.waiting(name) if (name, each["request"]) not in self._answered]

    async def follow(
        self, context: Context[Any, Any], name: str, wait: float, *, stops: bool = True
    ) -> RunAnswer:
        """Report a run's progress until it ends, waits for a person, or `wait` seconds have passed.

        A client that cancels the call stops the run, unless `stops` is false; one that leaves does not.
        """
        until, reported = anyio.current_time() + min(wait, WHOLE), -1.0
        try:
            while True:
                state = await asyncio.to_thread(self.state, name)
                status = self.runs.logs.of(self.runs.path(name)).standing
                turn = min(status.turn / status.turns, 1) if status.turns else 0
                if (done := max(status.number - 1, 0) + turn) > reported:
                    reported = done
                    stage = f"{name}: {status.stage} · {status.spending}"
                    await context.report_progress(done, status.total or None, stage)
                if state == "waiting" and (waiting := self.waiting(name)):
                    if not can_ask(context):
                        return await self._answer(name)
                    form, request = _flat(waiting[0]["form"]), waiting[0]["request"]
                    value = await asked(context, _question(waiting[0]), form, f"{name} {request}")
                    if not isinstance(value, Mapping):
                        return value or await self._answer(name)
                    await self.steer(name, request, value)
                elif state not in LIVE or anyio.current_time() >= until:
                    return await self._answer(name)
                await anyio.sleep(PAUSE)
        except anyio.get_cancelled_exc_class():
            if stops and not self.leaving():
                with suppress(UserError):  # it has just ended
                    self.stop(name)
            raise

    def listed(self, most: int) -> list[RunAnswer]:
        """The runs in the folder, newest first, without their results."""
        return [
            RunAnswer(
                run=each.folder, state=self.runs.state(each), system=each.system, title=each.title,
                calls=each.calls, tokens=each.tokens,
            )
            for each in self.runs.entries()[:most]
        ]  # fmt: skip

    async def _answer(self, name: str) -> RunAnswer:
        return await asyncio.to_thread(self.answer, name)

    def answer(self, name: str, form: str = "md") -> RunAnswer:
        """How a run stands, with its result in a format of `manyheads show` if it has one."""
        entry, state = self.entry(name), self.state(name)
        log, child = self.runs.logs.of(self.runs.path(name)), self.children.get(name)
        usage, text, told = log.standing.usage, "", NEXT.get(state, NEXT["running"])
        if state in ("stopped", "failed") and not (self.runs.folder / name / CONFIG).is_file():
            told = NEVER
        if state in ("finished", "stopped", "failed") and (self.runs.folder / name / RESULT).is_file():
            try:
                content = exported(self.runs.folder / name, form)
                text = content if isinstance(content, str) else ""
            except UserError as error:
                text = str(error) if state == "finished" else ""
        if child and child.error and state == "failed":
            text = f"{child.error}\n\n{text}".strip()
        if len(text) > LONGEST:
            text, told = text[:LONGEST], f"The text is cut; all of it: manyheads://runs/{name}/result"
        waiting = next(iter(self.waiting(name)), {}) if state in LIVE else {}
        return RunAnswer(
            run=name, state=state, system=entry.system, title=entry.title, stage=log.standing.stage,
            calls=usage.calls if entry.calls is None else entry.calls,
            tokens=usage.tokens if entry.tokens is None else entry.tokens,
            cost="" if usage.cost is None else money(usage.cost, log.standing.currency),
            text=printable(text), request=waiting.get("request", ""), form=waiting.get("form", {}),
            question=_question(waiting) if waiting else "",
            next=told.format(run=name),
        )  # fmt: skip


NEXT = {
    "running": "The run continues by itself. Call read_result with run={run} to wait for it, or stop to end it.",
    "queued": "Other runs are under way; this one waits. Call read_result with run={run}.",
    "waiting": "The run waits for a person. Ask them the question, then call steer with run={run}, the request and the answer.",
    "finished": "read_result has other formats: bib, ris, csl, json, csv.",
    "stopped": "Finished turns are kept. Call resume with run={run} to go on.",
    "failed": "Finished turns are kept. Mend what the text names, then call resume with run={run}.",
    "damaged": "Its files cannot be read.",
}
"""What a client may do next, by state."""
NEVER = "It has not begun, so that it cannot be resumed. Mend what the text names, if it does, and start it again."


def _question(waiting: Mapping[str, Any]) -> str:
    parts = (waiting["problem"], waiting["text"], waiting["title"])
    return printable(shortened("\n\n".join(filter(None, parts)), LONGEST_QUESTION))


def _most(limits: BudgetConfig) -> Usage:
    return Usage(calls=limits.calls or 0, input_tokens=limits.tokens or 0, cost=limits.money)


def _flat(form: Mapping[str, Any]) -> dict[str, Any]:
    """A form as clients can show it: fields of plain types; others are typed as text, as on a terminal."""
    fields = dict[str, Any]()
    for name, part in form["properties"].items():
        kept = {key: part[key] for key in ("title", "enum", "minimum", "maximum", "default") if key in part}
        if part.get("type") in PLAIN or "enum" in part:
            fields[name] = {"type": part.get("type", "string"), "description": meaning(part), **kept}
        else:
            fields[name] = {"type": "string", "title": part.get("title", name), "description": meaning(part)}
    needed = [name for name in form.get("required", ()) if name in fields]
    return {"type": "object", "properties": fields, "required": needed}


def _values(form: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as data of its form: texts become what their fields hold. Raises `ConfigError` with what to write."""
    values = dict[str, Any]()
    for name, value in answer.items():
        part = form["properties"].get(name)
        if part is None:
            raise ConfigError(f"{name}: no such field", tried=f"fields: {', '.join(form['properties'])}")
        try:
            typed = value_of(value, part) if isinstance(value, str) and value.strip() else value
        except ValueError as error:
            raise ConfigError(f"{name}: {error}") from error
        if typed not in (None, ""):
            values[name] = typed
    return values
