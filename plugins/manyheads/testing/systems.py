"""Tests for systems of other packages: `system_conformance(system, *sets)` names each broken clause of the contract."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from manyheads.base.errors import BudgetError, ConfigError, UserError
from manyheads.base.folders import REPORT
from manyheads.config import RunConfig, documented
from manyheads.core.results import Idea, RunResult
from manyheads.engine.readiness import prepare, roles_of
from manyheads.hosts.runs import run
from manyheads.systems import systems
from manyheads.systems.loading import load
from manyheads.systems.results import load as load_result
from manyheads.team.system import System
from manyheads.testing.contract import clause_name, need_none, what_broke


@dataclass
class SystemBench:
    """The environment of a clause: a system, the settings of a small run of it, and a folder."""

    system: System
    sets: Sequence[str]
    folder: Path
    _whole: RunResult[Any] | None = None

    @cached_property
    def config(self) -> RunConfig:
        return load([self.system.name], self.sets)

    async def run(self, where: str, *sets: str) -> RunResult[Any]:
        return await run(self.system.name, *self.sets, *sets, out=self.folder / where)

    async def whole(self) -> RunResult[Any]:
        """One undisturbed run, whose folder is `whole`: the first clause that needs it makes it."""
        if self._whole is None:
            self._whole = await self.run("whole")
        return self._whole

    async def resume(self, where: str) -> RunResult[Any]:
        [folder] = (self.folder / where).iterdir()
        return await run(folder, "budget.calls=null")


async def _entry_point(bench: SystemBench) -> None:
    name = bench.system.name
    assert name in systems(), (
        f"no entry point of the group manyheads.systems is named {name}: pip install the package"
    )
    assert systems()[name] is bench.system, f"the entry point {name} is another system"


async def _help(bench: SystemBench) -> None:
    for model in (bench.system.config, bench.system.inputs):
        texts = documented(model)
        bare = [key for key in model.model_fields if not texts.get(key)]
        assert not bare, f"{model.__name__}: no text below {', '.join(bare)}, so that its option has no help"


async def _empty_result(bench: SystemBench) -> None:
    system = bench.system
    result = system.result()  # fails where a field has no default
    for part in (system.essence, system.details, system.work, system.table):
        list(part(result))
    again = system.result.model_validate_json(result.model_dump_json())
    assert again == result, "an empty result is another after it was written and read"


async def _roles_and_prompts(bench: SystemBench) -> None:
    roles_of(bench.config)


async def _required_inputs(bench: SystemBench) -> None:
    """A run without what it needs is refused before anything is asked."""
    for name in (name for name, slot in bench.system.slots.items() if slot.required):
        without = bench.config.inputs.model_copy(update={name: None})
        try:
            prepare(bench.config.model_copy(update={"inputs": without}))
        except ConfigError:
            continue
        raise AssertionError(f"a run without {name}, which its slot requires, is not refused")


async def _run_and_report(bench: SystemBench) -> None:
    done = await bench.whole()
    [folder] = (bench.folder / "whole").iterdir()
    assert done.finished, "the run ends without being finished"
    assert (folder / REPORT).is_file(), "there is no report"
    assert not (folder / "traceback.txt").exists(), (folder / "traceback.txt").read_text(encoding="utf-8")
    essence = [*bench.system.essence(done.result)]
    empty = [label for label, text in essence if not text.strip()]
    assert essence, "the essence of a finished run is empty"
    assert not empty, f"the essence of a finished run has no text under {', '.join(empty)}"
    assert load_result(folder) == done, "the result is another when it is read from its folder"


async def _idea_and_abstract(bench: SystemBench) -> None:
    """They are what other commands read by these names: an `Idea`, and a title with a text."""
    done = (await bench.whole()).result
    idea, abstract = getattr(done, "idea", None), getattr(done, "abstract", None)
    assert idea is None or isinstance(idea, Idea), (
        f"result.idea is a {type(idea).__name__}, not a manyheads.ext.Idea"
    )
    texts = [getattr(abstract, name, None) for name in ("title", "text")]
    assert abstract is None or all(isinstance(each, str) and each for each in texts), (
        "result.abstract has no title and text: make it a Part with both"
    )


async def _same_again(bench: SystemBench) -> None:
    one, other = await bench.whole(), await bench.run("again")
    assert one.result == other.result, (
        "two runs with one seed on the offline model differ: what is drawn, or in which order?"
    )


async def _resume(bench: SystemBench) -> None:
    """A run that was stopped after its first request ends as one that was not, and pays no turn twice."""
    whole = await bench.whole()
    if whole.usage.calls < 2:
        return
    try:
        await bench.run("stopped", "budget.calls=1")
    except BudgetError:
        resumed = await bench.resume("stopped")
        assert resumed.result == whole.result, "a run that was stopped and resumed has another result"
        assert resumed.usage.calls == whole.usage.calls, (
            f"a run that was stopped and resumed asks {resumed.usage.calls} times, not {whole.usage.calls}"
        )
        return
    raise AssertionError("a run with a budget of one request does not stop: does it catch BudgetError?")


_ALL: Sequence[Callable[[SystemBench], Coroutine[Any, Any, None]]] = (
    _entry_point, _help, _empty_result, _roles_and_prompts, _required_inputs, _run_and_report, _idea_and_abstract,
    _same_again, _resume,
)  # fmt: skip


def broken(bench: SystemBench) -> Iterator[tuple[str, str]]:
    """The clauses that a system breaks, each with what it did instead; none after a missing entry point."""
    for clause in _ALL:
        try:
            asyncio.run(clause(bench))
        except Exception as error:  # noqa: BLE001 - any error is a result of the test
            yield clause_name(clause), str(error) if isinstance(error, UserError) else what_broke(error)
            if clause is _entry_point:
                return


def system_conformance(system: System[Any, Any, Any], *sets: str) -> None:
    """Assert that a system keeps its contract, on the offline model; its package must be installed.

    Its keys have help, an empty result can be read, its roles and prompts are there, a missing input is refused, a run ends
    with a report, twice with the same result, and a run that was stopped goes on as if it had not been.

    Args:
        sets: settings of a small run with all inputs, each `a.b=c` as on the command line; they should reach each branch of it.

    Raises:
        AssertionError: it breaks clauses; the message names each.

    Example:
        def test_conformance():
            system_conformance(IDEA_DUEL, "question=Why do owls fly silently?")
    """
    with TemporaryDirectory() as folder:
        bench = SystemBench(system, sets, Path(folder))
        problems = dict(broken(bench))
    need_none(f"the system {system.name}", problems)
