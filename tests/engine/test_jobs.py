"""Jobs that processes share: each is done once, leases end, and a budget holds over all of them."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from manyheads.base.errors import BudgetError
from manyheads.config import BudgetConfig
from manyheads.core import Charge, Meter, Usage
from manyheads.core.events import AnyEvent
from manyheads.engine.budget import Budget
from manyheads.engine.jobs import Failure, Job, JobNews, Scheduler, finished_jobs
from manyheads.engine.jobtable import JobTable, in_use
from manyheads.systems.loading import load
from support.command import environment

PAID = Usage(input_tokens=10, output_tokens=5, calls=1)


class Quick:
    """An executor whose jobs ask one question and leave an empty result, or fail."""

    def __init__(self, failing: Mapping[str, Failure] | None = None) -> None:
        self.ran, self.failing = Counter[str](), failing or {}

    async def run(self, job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure | None:
        try:
            async with meter(Charge(PAID, PAID)):
                await asyncio.sleep(0.002)
        except BudgetError as error:
            return Failure(str(error))
        self.ran[job.key] += 1
        if job.key in self.failing:
            return self.failing[job.key]
        job.folder.mkdir(parents=True, exist_ok=True)
        (job.folder / "result.json").write_text("{}")
        return None


def graph(base: Path, count: int, after: Mapping[str, tuple[str, ...]] | None = None) -> dict[str, Job]:
    config, needs = load(["virsci"]), after or {}
    keys = [f"job{number}" for number in range(count)]
    return {key: Job(key, base / key, config, key, needs.get(key, ()), group=key) for key in keys}


async def run(
    base: Path,
    jobs: dict[str, Job],
    executor: Quick,
    *,
    calls: int | None = None,
    at_once: int = 2,
    news: list[JobNews] | None = None,
) -> dict[str, Failure]:
    """One process' share of the jobs."""
    table, budget = JobTable(base), Budget(BudgetConfig(calls=calls))
    try:
        budget.open(table, {}, first=table.join(finished_jobs(jobs)))
        heard = [] if news is None else news
        return await Scheduler(table, executor, budget, heard.append, at_once=at_once).run(jobs)
    finally:
        table.close()


async def shared(base: Path, jobs: dict[str, Job], *executors: Quick, calls: int | None = None) -> list[dict[str, Failure]]:  # fmt: skip
    return list(await asyncio.gather(*(run(base, jobs, each, calls=calls) for each in executors)))


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[tuple[JobTable, JobTable]]:
    with ExitStack() as stack:
        both = JobTable(tmp_path), JobTable(tmp_path)
        for table in both:
            stack.callback(table.close)
            table.join({"one": False, "two": False})
        yield both


@pytest.mark.slow
def test_two_engines_do_every_job_once_and_come_to_the_same(tmp_path: Path) -> None:
    jobs = graph(tmp_path, 12, {"job3": ("job9",), "job10": ("job3", "job4")})
    left, right = Quick(), Quick()
    assert asyncio.run(shared(tmp_path, jobs, left, right)) == [{}, {}]
    assert left.ran + right.ran == dict.fromkeys(jobs, 1)
    assert left.ran
    assert right.ran
    news = list[JobNews]()
    assert asyncio.run(run(tmp_path, jobs, Quick(), news=news)) == {}
    assert {each.state for each in news} == {"kept"}
    assert not in_use(tmp_path)


@pytest.mark.slow
def test_a_failure_stops_dependants_alone_in_both_engines_and_another_start_tries_again(
    tmp_path: Path,
) -> None:
    jobs = graph(tmp_path, 6, {"job4": ("job1",), "job5": ("job4",)})
    down = {"job1": Failure("no server\n  next: start it", "no server")}
    left, right = Quick(down), Quick(down)
    failures = asyncio.run(shared(tmp_path, jobs, left, right))
    assert failures == [dict.fromkeys(("job1", "job4", "job5"), down["job1"])] * 2
    assert str(failures[0]["job5"]) == "no server; next: start it"
    assert (left.ran + right.ran)["job1"] == 1
    assert "job4" not in left.ran + right.ran
    again = Quick()
    assert asyncio.run(run(tmp_path, jobs, again)) == {}
    assert set(again.ran) == {"job1", "job4", "job5"}


@pytest.mark.slow
def test_a_dead_server_is_noticed_by_engines_together(tmp_path: Path) -> None:
    jobs = graph(tmp_path, 20)
    down = dict.fromkeys(jobs, Failure("no server", "no server"))
    left, right = Quick(down), Quick(down)
    one, other = asyncio.run(shared(tmp_path, jobs, left, right))
    assert one == other
    assert 3 <= len(left.ran + right.ran) <= 7, "three, and what was under way beside them"


def test_a_budget_is_exact_over_engines_and_starts(tmp_path: Path) -> None:
    jobs = graph(tmp_path, 20)
    left, right = Quick(), Quick()
    failures = asyncio.run(shared(tmp_path, jobs, left, right, calls=7))
    assert (left.ran + right.ran).total() == 7
    assert failures[0].keys() == failures[1].keys()
    assert len(failures[0]) == 13
    again = Quick()
    assert len(asyncio.run(run(tmp_path, jobs, again, calls=7))) == 13
    assert not again.ran
    assert len(asyncio.run(run(tmp_path, jobs, again, calls=10))) == 10
    assert again.ran.total() == 3


async def test_no_limit_is_passed_by_two_processes_at_once(tables: tuple[JobTable, JobTable]) -> None:
    budgets = [Budget(BudgetConfig(tokens=50)), Budget(BudgetConfig(tokens=50))]
    for table, budget in zip(tables, budgets, strict=True):
        budget.open(table, {}, first=False)
    at_once = 0

    async def ask(budget: Budget, key: str) -> None:
        nonlocal at_once
        charge = Charge(Usage(input_tokens=20, calls=1))
        async with budget.asking(charge, key):
            at_once += 1
            assert at_once <= 2
            await asyncio.sleep(0.005)
            charge.usage = PAID
            at_once -= 1

    await asyncio.gather(*(ask(budgets[at % 2], ("one", "two")[at % 2]) for at in range(3)))
    with pytest.raises(BudgetError, match="tokens is 50, used: 45"):
        await ask(budgets[0], "one")
    assert tables[1].spent() == (PAID + PAID + PAID, Usage())
    assert dict(tables[0].payments())["two"] == PAID


def test_a_process_that_lives_keeps_its_lease(tables: tuple[JobTable, JobTable]) -> None:
    first, second = tables
    assert first.claim("one")
    second.bury_dead()
    assert not second.claim("one")
    assert not second.settle("one", "done")
    assert first.claim("one")


@pytest.mark.slow
def test_a_process_that_has_died_leaves_its_jobs_at_once(tmp_path: Path) -> None:
    died = (
        "import os; from pathlib import Path; from manyheads.core import Usage; from manyheads.engine.jobtable import JobTable\n"
        "table = JobTable(Path('.')); table.join({'one': False}); table.claim('one'); table.reserve('one', Usage(calls=1)); os._exit(9)"
    )
    table = JobTable(tmp_path)
    assert table.join({"one": False})
    command = [sys.executable, "-c", died]
    assert subprocess.run(command, cwd=tmp_path, env=environment(), check=False).returncode == 9
    assert not table.claim("one")
    table.bury_dead()
    assert table.claim("one")
    assert table.spent() == (Usage(calls=1), Usage())
    assert table.close(), "nobody else is left"
    assert not list(tmp_path.glob(".worker-*"))
