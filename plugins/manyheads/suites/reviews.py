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


async def review_all(
    config: RunConfig,
    texts: Sequence[Subject],
    out: Path,
    *,
    at_once: int,
    budget: JobsBudget,
    listener: Listener,
) -> list[tuple[Job, Failure | None]]:
    """Review every text; of each, in their order, why it has no result, None where it has one.

    Raises:
        UserError: a folder or a host cannot be used, or what earlier starts have paid is not known.
    """
    budget.need_prices([config])
    made_from = [config.model_dump_json(), *(f"{text.source} {text.sha256}" for text in texts)]
    folder = out / f".reviews-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:8]}"
    with ExitStack() as stack:
        with locked(folder):
            jobs = _jobs(config, texts, out, folder / FOLDERS)
            table = JobTable(folder)
            stack.callback(_leave, table, jobs, folder)
            first = table.join(finished_jobs(jobs))
            journals = {key: path for key, job in jobs.items() if (path := job.folder / JOURNAL).exists()}
            budget.open(table, journals, first=first)
        scheduler = Scheduler(table, Local(host_factory, table), budget, listener, at_once=at_once)
        failures = await scheduler.run(jobs)
    return [(job, failures.get(key)) for key, job in jobs.items()]


def _leave(table: JobTable, jobs: Mapping[str, Job], folder: Path) -> None:
    """Remove what nobody needs any more: folders of runs that never began, and the jobs once all are finished."""
    with locked(folder):
        for job in jobs.values():
            with suppress(OSError):
                job.folder.rmdir()  # it is empty
        if table.close() and all(finished_jobs(jobs).values()):
            rmtree(folder, ignore_errors=True)


def _jobs(config: RunConfig, texts: Sequence[Subject], out: Path, folders: Path) -> dict[str, Job]:
    """A job for each text; its run folder is the one that an earlier start has made."""
    configs = [review_of(config, text) for text in texts]
    with writing(folders.parent):
        if not folders.exists():
            folders.write_text(json.dumps([new_folder(each, out).name for each in configs]))
        names: list[str] = json.loads(folders.read_text())
    labels = [Path(text.source).name for text in texts]
    return {
        name: Job(name, out / name, each, label)
        for name, each, label in zip(names, configs, labels, strict=True)
    }


def review_of(config: RunConfig, text: Subject) -> RunConfig:
    """The config of the review of one text."""
    path = Path(text.source).resolve()
    inputs = config.inputs.model_copy(update={"subject": str(path)})
    return config.model_copy(update={"name": f"review-{path.stem}", "inputs": inputs})
