"""Reviews of one or many texts: the system and form, a run each, in parallel and under one budget.

Started again, they resume.

<out>/
    <time>-review-<text>/   one run folder each
    .reviews-<mark>/        until all are finished: jobs.sqlite with what they paid, and folders.json with the run folder of each
"""

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Literal

from manyheads.base.errors import ConfigError, DocumentError, SubjectError, did_you_mean
from manyheads.base.files import read_text, replace_text, sha256_of
from manyheads.base.folders import CONFIG, JOURNAL, locked, writing
from manyheads.base.papers import web_address
from manyheads.base.resources import Resources
from manyheads.base.text import hash_of
from manyheads.config import RunConfig
from manyheads.core.results import RESULT
from manyheads.core.texts import KINDS, is_there, read_subjects
from manyheads.documents import read_document
from manyheads.documents.folders import ARCHIVES, PAPERS, main_tex, papers_in
from manyheads.engine.budget import Budget
from manyheads.engine.folder import new_folder
from manyheads.engine.jobs import Failure, Job, Listener, Scheduler, finished_jobs
from manyheads.engine.local import Engine
from manyheads.engine.readiness import need_person, roles_of
from manyheads.hosts import host_factory
from manyheads.systems import systems
from manyheads.team.system import System, system_of

FOLDERS = "folders.json"
TEXTS = (".md", ".markdown", ".txt", ".json")
log = logging.getLogger("manyheads")


@dataclass(frozen=True)
class ReviewText:
    """A text to review: its file, a line of one, or a run folder; a digest of its content; its kind."""

    source: str
    mark: str
    kind: Literal["papers", "abstracts"]


def texts_of(named: str) -> list[ReviewText]:
    """The texts that a user names: one, one per line of a `.jsonl` file, the papers of a folder, a paper at an address.

    Raises:
        SubjectError: there is no such file, it cannot be read, or contains no text.
    """
    path = Path(named)
    if not is_there(path):
        if web_address(named):
            return [ReviewText(named, named, "papers")]
        raise SubjectError(f"{path}: No such file or directory", hint=f"name a paper in PDF, or {KINDS}")
    if path.is_dir() and not any((path / name).exists() for name in (CONFIG, RESULT)):
        return _in_folder(path)
    if path.is_file() and _holds_paper(path):
        return [ReviewText(str(path), sha256_of(path), "papers")]
    return [ReviewText(each.source, each.sha256, "abstracts") for each in read_subjects(path)]


def _in_folder(folder: Path) -> list[ReviewText]:
    """The paper of a LaTeX folder, or all papers in a folder; what else is in it is left out with a warning."""
    if main := main_tex(folder):
        return [ReviewText(str(folder), sha256_of(main), "papers")]
    papers, left = papers_in(folder)
    texts = (folder / name for name in left if not name.upper().startswith(("README", "LICEN", "CHANGELOG")))
    papers += [path for path in texts if path.suffix.lower() in TEXTS and _holds_paper(path)]
    left = [name for name in left if folder / name not in papers]
    if not papers:
        raise SubjectError(
            f"{folder}: a folder without papers, and no run folder (it has no {RESULT})",
            hint=f"name a folder of papers, a LaTeX folder, or the folder of a run, such as {folder}/NAME",
        )
    if left:
        names = ", ".join(left[:5]) + " …" * (len(left) > 5)
        log.warning("warning: %s: left out, no papers: %s", folder, names)
    return [ReviewText(str(path), sha256_of(path), "papers") for path in sorted(papers) if path.is_file()] + [
        text for path in sorted(papers) if path.is_dir() for text in _in_folder(path)
    ]


def _holds_paper(path: Path) -> bool:
    """Whether a file contains a paper: text in sections, or a file type of papers."""
    kind = path.suffix.lower()
    if kind in PAPERS or kind == ".jsonl" or path.name.lower().endswith(ARCHIVES):
        return kind != ".jsonl"
    try:
        return bool(read_document(path).sections)
    except DocumentError:
        return False


def reviewer_of(
    texts: Sequence[ReviewText], form: str | None, resources: Resources
) -> tuple[System, Mapping[str, object]]:
    """The system that reviews these texts on a form, by default the form for their kind, with its settings.

    Raises:
        ConfigError: there is no such form, or papers and abstracts are mixed without a form.
    """
    reviewing = [(each, each.reviews) for each in systems().values() if each.reviews]
    forms = {name: (each, settings) for each, reviews in reversed(reviewing)
             for name, settings in reviews.forms(resources).items()}  # fmt: skip
    if form is not None:
        if form not in forms:
            tried = f"forms: {', '.join(sorted(forms))}"
            hint = did_you_mean(form, forms, "choose one of these")
            raise ConfigError(f"--form {form}: no such review form", tried=tried, hint=hint)
        return forms[form]
    kinds = {text.kind: text for text in texts}
    if len(kinds) > 1:
        paper, abstract = kinds["papers"].source, kinds["abstracts"].source
        hint = f"name one: --form {sorted(forms)[0]}, or review them separately"
        raise ConfigError(f"{paper} is a paper, {abstract} an abstract: they need different forms", hint=hint)
    return next((each, {}) for each, reviews in reviewing if reviews.of in kinds)


async def review_all(
    config: RunConfig,
    texts: Sequence[ReviewText],
    out: Path,
    *,
    engine: Engine,
    budget: Budget,
    listener: Listener,
) -> list[tuple[Job, Failure | None]]:
    """Review every text; returns, in order, each job with the reason of its failure, None if it finished.

    Raises:
        UserError: a folder or a host cannot be used, or the cost of earlier starts is unknown.
    """
    need_person(config, roles_of(config))
    budget.need_prices([config])
    made_from = [config.model_dump_json(), *(f"{text.source} {text.mark}" for text in texts)]
    folder = out / f".reviews-{hash_of(json.dumps(made_from))[:8]}"
    with ExitStack() as stack:
        with locked(folder):
            jobs = _jobs(config, texts, out, folder / FOLDERS)
            stack.callback(_leave, budget, jobs, folder)
            journals = {key: path for key, job in jobs.items() if (path := job.folder / JOURNAL).exists()}
            executor = engine.executor(host_factory, budget.open(folder, journals), False, None)
        scheduler = Scheduler(executor, budget, listener, at_once=engine.at_once)
        failures = await scheduler.run(jobs)
    return [(job, failures.get(key)) for key, job in jobs.items()]


def _leave(budget: Budget, jobs: Mapping[str, Job], folder: Path) -> None:
    """Remove folders of runs that never began, and the jobs once all are finished."""
    with locked(folder):
        for job in jobs.values():
            with suppress(OSError):
                job.folder.rmdir()  # it is empty
        if budget.close() and all(finished_jobs(jobs).values()):
            rmtree(folder, ignore_errors=True)


def _jobs(config: RunConfig, texts: Sequence[ReviewText], out: Path, folders: Path) -> dict[str, Job]:
    """A job for each text, in the run folder of an earlier start if there is one."""
    configs = [review_of(config, text) for text in texts]
    with writing(folders.parent):
        if not folders.exists():
            replace_text(folders, json.dumps([new_folder(each, out).name for each in configs]))
        names: list[str] = json.loads(read_text(folders))
    labels = [Path(text.source).name for text in texts]
    return {
        name: Job(name, out / name, each, label)
        for name, each, label in zip(names, configs, labels, strict=True)
    }


def review_of(config: RunConfig, text: ReviewText) -> RunConfig:
    is_remote = text.mark == text.source
    path = Path(text.source) if is_remote else Path(text.source).resolve()
    reviews = system_of(config).reviews
    assert reviews
    inputs = config.inputs.model_copy(update={reviews.input: text.source if is_remote else str(path)})
    return config.model_copy(update={"name": f"review-{path.stem}", "inputs": inputs})
