"""Jobs that processes share: each is done once, locks of the dead are free, and a budget holds over all of them."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from manyheads.base.errors import BudgetError, HeldError
from manyheads.base.folders import is_held
from manyheads.config import BudgetConfig
from manyheads.core import Charge, Meter, Usage
from manyheads.core.events import AnyEvent
from manyheads.engine.budget import Budget, Shared, in_use
from manyheads.engine.jobs import Failure, Job, JobNews, Scheduler
from manyheads.engine.journal import Journal
from manyheads.systems.loading import load
from support.command import environment

PAID = Usage(input_tokens=10, output_tokens=5, calls=1)


@pytest.fixture(autouse=True)
def frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of other processes are looked at more often than half a second allows."""
    monkeypatch.setattr("manyheads.engine.jobs.POLL", 0.02)


class Quick:
    """An executor whose jobs ask one question and leave an empty result, or fail."""

    def __init__(self, failing: Mapping[str, Failure] | None = None) -> None:
        self.ran, self.failing = Counter[str](), failing or {}

    async def __call__(self, job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure | None:
        job.folder.mkdir(parents=True, exist_ok=True)
        if is_held(job.folder):  # the journal itself would wait for a second
            raise HeldError("another has it")
        with closing(Journal(job.folder / "journal.sqlite")):
            if (job.folder / "result.json").exists():
                raise HeldError("finished meanwhile")
            try:
                async with meter(Charge(PAID, PAID)):
                    await asyncio.sleep(0.002)
            except BudgetError as error:
                return Failure(str(error))
            self.ran[job.key] += 1
            if job.key in self.failing:
                return self.failing[job.key]
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
    budget, heard = Budget(BudgetConfig(calls=calls)), [] if news is None else news
    with closing(budget):
        budget.open(base)
        return await Scheduler(executor, budget, heard.append, at_once=at_once).run(jobs)


async def shared(base: Path, jobs: dict[str, Job], *executors: Quick, calls: int | None = None) -> list[dict[str, Failure]]:  # fmt: skip
    return list(await asyncio.gather(*(run(base, jobs, each, calls=calls) for each in executors)))


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


def test_a_failure_stops_dependants_alone_in_both_engines_and_another_start_tries_again(
    tmp_path: Path,
) -> None:
    jobs = graph(tmp_path, 6, {"job4": ("job1",), "job5": ("job4",)})
    down = {"job1": Failure("no server\n  next: start it", "no server")}
    left, right = Quick(down), Quick(down)
    failures = asyncio.run(shared(tmp_path, jobs, left, right))
    assert failures == [dict.fromkeys(("job1", "job4", "job5"), down["job1"])] * 2
    assert str(failures[0]["job5"]) == "no server; next: start it"
    assert (left.ran["job1"], right.ran["job1"]) == (1, 1)
    assert "job4" not in left.ran + right.ran
    again = Quick()
    assert asyncio.run(run(tmp_path, jobs, again)) == {}
    assert set(again.ran) == {"job1", "job4", "job5"}


def test_a_dead_server_is_noticed_by_each_engine(tmp_path: Path) -> None:
    jobs = graph(tmp_path, 20)
    down = dict.fromkeys(jobs, Failure("no server", "no server"))
    left, right = Quick(down), Quick(down)
    one, other = asyncio.run(shared(tmp_path, jobs, left, right))
    assert one.keys() == other.keys() == jobs.keys()
    for each in (left, right):
        assert 3 <= len(each.ran) <= 5, "three, and what was under way beside them"


def test_a_job_that_another_engine_finished_has_not_failed(tmp_path: Path) -> None:
    def finish(news: JobNews) -> None:
        if news.state == "failed":
            (news.job.folder / "result.json").write_text("{}")

    with closing(Budget(BudgetConfig())) as budget:
        budget.open(tmp_path)
        scheduler = Scheduler(Quick({"job0": Failure("down", "down")}), budget, finish, at_once=1)
        assert asyncio.run(scheduler.run(graph(tmp_path, 1))) == {}


def test_a_job_that_somebody_holds_is_named_and_waited_for(tmp_path: Path) -> None:
    jobs, news = graph(tmp_path, 2), list[tuple[str, str]]()
    jobs["job0"].folder.mkdir()
    journal = Journal(jobs["job0"].folder / "journal.sqlite")

    def listen(each: JobNews) -> None:
        news.append((each.job.key, each.state))
        if news[-1] == ("job1", "finished"):
            journal.close()

    with closing(Budget(BudgetConfig())) as budget:
        budget.open(tmp_path)
        assert asyncio.run(Scheduler(Quick(), budget, listen, at_once=1).run(jobs)) == {}
    assert news == [
        ("job0", "held"), ("job1", "began"), ("job1", "finished"), ("job0", "began"), ("job0", "finished"),
    ]  # fmt: skip


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


async def test_no_limit_is_passed_by_two_processes_at_once(tmp_path: Path) -> None:
    budgets = [Budget(BudgetConfig(tokens=50)), Budget(BudgetConfig(tokens=50))]
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

    with ExitStack() as stack:
        for budget in budgets:
            stack.enter_context(closing(budget))
        first, second = (budget.open(tmp_path) for budget in budgets)
        assert (first.others, second.others) == (False, True)
        await asyncio.gather(*(ask(budgets[at % 2], ("one", "two")[at % 2]) for at in range(3)))
        with pytest.raises(BudgetError, match="tokens is 50, used: 45"):
            await ask(budgets[0], "one")
        assert second.spent() == (PAID + PAID + PAID, Usage())
        assert dict(first.payments())["two"] == PAID


@pytest.mark.slow
def test_a_process_that_has_died_leaves_its_jobs_at_once(tmp_path: Path) -> None:
    died = (
        "import os; from pathlib import Path; from manyheads.core import Usage; from manyheads.engine.budget import Shared\n"
        "from manyheads.engine.journal import Journal; journal = Journal(Path('journal.sqlite'))\n"
        "Shared(Path('.')).reserve('one', Usage(calls=1)); os._exit(9)"
    )
    with closing(Shared(tmp_path)) as shared:
        command = [sys.executable, "-c", died]
        assert subprocess.run(command, cwd=tmp_path, env=environment(), check=False).returncode == 9
        assert not is_held(tmp_path)
        assert shared.spent() == (Usage(), Usage(calls=1))
        shared.bury_dead()
        assert shared.spent() == (Usage(calls=1), Usage())
        assert in_use(tmp_path)
    assert not in_use(tmp_path)
    assert not list(tmp_path.glob(".worker-*"))
