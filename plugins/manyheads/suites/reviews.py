"""Reviews of many texts: a run each, side by side and under one budget. The same reviews begun again go on.

<out>/
    <time>-review-<text>/   a run folder each
    .reviews-<mark>/        until all of them are finished: jobs.sqlite, and in folders.json the run folder of each
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from shutil import rmtree

from manyheads.config import RunConfig
from manyheads.engine.budget import JobsBudget
from manyheads.engine.folder import JOURNAL, new_folder, writing
from manyheads.engine.jobs import Failure, Job, Listener, Local, Scheduler, finished_jobs
from manyheads.engine.jobtable import JobTable
from manyheads.hosts import host_factory
from manyheads.suites.folder import locked
from manyheads.texts import Subject

FOLDERS = "folders.json"


class Reviews:
    """The reviews of some texts by one config, in a folder of run folders."""

    def __init__(self, config: RunConfig, texts: Sequence[Subject], out: Path) -> None:
        made_from = [config.model_dump_json(), *(f"{text.source} {text.sha256}" for text in texts)]
        mark = hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:8]
        self._config, self._texts, self._out = config, texts, out
        self._folder = out / f".reviews-{mark}"

    async def run(
        self, *, at_once: int, budget: JobsBudget, listener: Listener
    ) -> list[tuple[Job, Failure | None]]:
        """Review every text; of each, in their order, why it has no result, None where it has one.

        Raises:
            UserError: the folder or a host cannot be used, or what earlier starts have paid is not known.
        """
        budget.need_prices([self._config])
        with ExitStack() as stack:
            with locked(self._folder):
                jobs = self._jobs()
                table = JobTable(self._folder)
                stack.callback(self._leave, table, jobs)
                first = table.join(finished_jobs(jobs))
                journals = {key: job.folder / JOURNAL for key, job in jobs.items()}
                budget.open(
                    table, {key: path for key, path in journals.items() if path.exists()}, first=first
                )
            scheduler = Scheduler(table, Local(host_factory), budget, listener, at_once=at_once)
            failures = await scheduler.run(jobs)
        return [(job, failures.get(key)) for key, job in jobs.items()]

    def _leave(self, table: JobTable, jobs: Mapping[str, Job]) -> None:
        """Remove what nobody needs any more: folders of runs that never began, and the jobs once all are finished."""
        with locked(self._folder):
            for job in jobs.values():
                with suppress(OSError):
                    job.folder.rmdir()  # it is empty
            if table.close() and all(finished_jobs(jobs).values()):
                rmtree(self._folder, ignore_errors=True)

    def _jobs(self) -> dict[str, Job]:
        """A job for each text; its run folder is the one that an earlier start has made."""
        configs = [review_of(self._config, text) for text in self._texts]
        path = self._folder / FOLDERS
        with writing(self._folder):
            if not path.exists():
                path.write_text(json.dumps([new_folder(config, self._out).name for config in configs]))
            names: list[str] = json.loads(path.read_text())
        labels = [Path(text.source).name for text in self._texts]
        return {
            name: Job(name, self._out / name, config, label)
            for name, config, label in zip(names, configs, labels, strict=True)
        }


def review_of(config: RunConfig, text: Subject) -> RunConfig:
    """The config of the review of one text."""
    path = Path(text.source).resolve()
    inputs = config.inputs.model_copy(update={"subject": str(path)})
    return config.model_copy(update={"name": f"review-{path.stem}", "inputs": inputs})
