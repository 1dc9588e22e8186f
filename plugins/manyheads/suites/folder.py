"""A suite's folder, from which it can resume at any time.

<folder>/
    suite.json       what its cells depend on
    jobs.sqlite      what each job has paid, and what requests under way may use
    cells/<name>/    one run folder each; in it `<judge>/`, such as a review, if measured
    <judge>s/<name>/ judgements of all runs of a cell, such as a ranking, if measured
    results.jsonl    the measures of each cell, one per line
    summary.csv      one line per condition and measure
    replies.csv      valid and invalid replies by condition, role and task, if measured
    calibration.json agreement of a measure with people's ratings of the cases, if the suite has them
    arena/           texts for a blind comparison, if the suite asks for it
    plot.png, .svg   the suite's plot
    report.html      the report, with links to the runs
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

from manyheads.asking.roles import Roles
from manyheads.base.errors import ChangedError, JournalError
from manyheads.base.files import FileLock, make_folder, read_text, replace_text
from manyheads.base.folders import writing
from manyheads.base.resources import Resources, parse_json
from manyheads.config import RunConfig
from manyheads.core.results import RESULT
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.meta import read_meta
from manyheads.engine.budget import in_use
from manyheads.engine.jobs import Job
from manyheads.suites.cells import CELLS, RUN, Cell, jobs_of, judged_in
from manyheads.suites.files import Suite
from manyheads.suites.spec import leaves, mapped, root
from manyheads.team.system import system_of

# What results depend on, as the folder records it: results of different origin are never mixed.


Record: TypeAlias = dict[str, Any]
MADE_FROM = {"version", "configs", "seeds", "ideas", "begin_with"}
"""Keys of a suite that its cells depend on, besides what it varies and what is in the config."""
INDICATORS = "partials/indicators/"
"""Prompts that configs name."""
JUDGED, ACCEPTED = "judging", "accepted"
FORMAT = 2
"""Format of the record; version 0.1.0 had none."""
OLDER = "made by another version of manyheads"
MARK = 8


def record_of(suite: Suite, cells: Sequence[Cell]) -> Record:
    """What must stay the same for results to be comparable; budgets, prices and addresses are not in it.

    Judges have an entry of their own, as they may be added later. Raises `UserError` if a prompt or a corpus is missing.
    """
    jobs = list(jobs_of(cells).values())
    judged = set[str].intersection(*(judged_in(cell.config) for cell in cells))
    record = {
        "format": FORMAT,
        "name": suite.name,
        "suite": {
            **suite.spec.model_dump(mode="json", include=MADE_FROM),
            **_varied(suite, lambda key: root(key) not in judged),
        },
        **_configs(suite, cells, lambda cell: cell.config, _course),
        "prompts": _wording([job for job in jobs if job.kind == RUN]),
        "corpora": _corpora(suite, jobs),
        JUDGED: {
            kind: {
                **_varied(suite, lambda key, kind=kind: root(key) == kind),
                **_configs(suite, cells, lambda cell, kind=kind: cell.judges[kind], _section),
                "prompts": _wording(theirs),
            }
            for kind in cells[0].judges
            if (theirs := [job for job in jobs if job.kind == kind])
        },
    }
    return json.loads(json.dumps(record))


def changes(before: Record, now: Record) -> list[str]:
    """The differences between two records."""
    both = before.get(JUDGED, {}).keys() & now[JUDGED].keys()
    old, new = (dict(leaves({**record, JUDGED: {kind: record[JUDGED][kind] for kind in both}}))
                for record in ({JUDGED: {}, **before, ACCEPTED: {}}, {**now, ACCEPTED: {}}))  # fmt: skip

    def shown(record: Mapping[str, Any], key: str) -> str:
        text = json.dumps(record[key], ensure_ascii=False) if key in record else "not there"
        return text if len(text) <= 80 else f"{text[:77]}…"

    return [
        f"{key} was {shown(old, key)}, is {shown(new, key)}"
        for key in dict.fromkeys([*old, *new])
        if key not in new or key not in old or old[key] != new[key]
    ]


def _varied(suite: Suite, of: Callable[[str], bool]) -> Record:
    """What a suite varies of the config keys selected by `of`."""

    def these(keys: Mapping[str, Any]) -> Record:
        return {key: _portable(value) for key, value in keys.items() if of(key)}

    return {
        "grid": these(suite.spec.grid),
        "variants": {name: these(keys) for name, keys in suite.spec.variants.items()},
        "cases": {name: these(keys) for name, keys in suite.cases.items()},
    }


def _configs(
    suite: Suite,
    cells: Sequence[Cell],
    of: Callable[[Cell], RunConfig],
    course: Callable[[RunConfig], Record],
) -> Record:
    """The first cell's config, and differences of other cells that the suite does not set itself."""
    record: Record = {"config": course(of(cells[0]))}
    first = dict(leaves(record["config"]))
    for cell in cells[1:]:
        varied = {**suite.spec.settings(cell.condition), **suite.cases[cell.case]}
        own = tuple(f"{_place(of(cell), key)}." for key, _ in leaves(varied))
        apart = {
            key: value
            for key, value in leaves(course(of(cell)))
            if (key not in first or first[key] != value) and not f"{key}.".startswith(own)
        }
        record |= {f"config of {cell.kind}": apart} if apart else {}
    return record


def _course(config: RunConfig) -> Record:
    """What runs depend on."""
    models = {alias: model.identity() for alias, model in config.models.items()}
    course = {**config.course(), "host": config.host, "models": models}
    course |= config.model_dump(mode="json", include={"roles", "inputs"})
    return _portable({key: value for key, value in course.items() if key != "seed"})


def _section(config: RunConfig) -> Record:
    """What judgements depend on."""
    return _portable(config.model_dump(mode="json", include={"settings", "inputs"}))


def _place(config: RunConfig, key: str) -> str:
    """The place of a setting in a config, from its section on."""
    nested: Any = True
    for part in reversed(key.split(".")):
        nested = {part: nested}
    lifted, _ = system_of(config).lift(nested)
    return next((place for place, _ in leaves(lifted)), key)


def _portable(value: Any) -> Any:
    """The value with files and runs replaced by name and content, as they may move or change."""

    def with_content(text: str) -> str:
        if not text.startswith("/") or "\n" in text:
            return text
        try:
            file = next(path for path in (Path(text), Path(text) / RESULT) if path.is_file())
            return f"{Path(text).name} ({_mark(file.read_bytes())})"
        except (OSError, StopIteration):
            return text

    return mapped(value, with_content)


def _wording(jobs: Iterable[Job]) -> dict[str, str]:
    """A hash of each role card and prompt of the jobs."""
    needed = defaultdict[tuple[str, ...], set[str]](set)
    for job in jobs:
        needed[job.config.paths] |= {role for role, _ in system_of(job.config).needs(job.config)}
    contents: dict[str, bytes] = {}
    for paths, names in needed.items():
        resources = Resources.of(paths)
        roles = Roles(resources)
        cards = [roles.card(role) for role in sorted(names)]
        asked = {card.prompt_of(task) for card in cards for task in card.tasks}
        asked |= {card.system_prompt() for card in cards}
        parts = {part for name in asked for part in roles.prompts.parts(name)}
        for name, file in sorted(resources.names("prompts").items()):
            if name in parts or name.startswith(INDICATORS):
                contents[name] = file.read_bytes()
        contents |= {f"{card.name}.yaml": card.model_dump_json().encode() for card in cards}
    return {name: _mark(content) for name, content in contents.items()}


def _corpora(suite: Suite, jobs: Iterable[Job]) -> dict[str, str]:
    """The fingerprint of each corpus in use; a shipped one is built first."""
    measured = any(each.of == "novelty" for each in suite.spec.measure_paths)
    corpora = {
        (job.config.corpus, job.config.embedding)
        for job in jobs
        if system_of(job.config).corpus(job.config) or (measured and job.kind == RUN)
    }
    return {
        f"{name} ({embedding})": read_meta(resolve_corpus(name, embedding=embedding)).fingerprint
        for name, embedding in sorted(corpora)
    }


def _mark(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:MARK]


RECORD = "suite.json"
LARGEST = 200_000_000
"""Maximum bytes of the record, which may contain texts of cases."""
NAMED = 5
"""Maximum changes in a message."""
_LOCK = ".lock"


def write(path: Path, text: str) -> None:
    """Write a file atomically."""
    with writing(path.parent):
        replace_text(path, text, newline="")


def begin(folder: Path, record: Record, *, accept_changes: bool) -> list[str]:
    """Record in a new folder what it depends on, or check that of an existing one. Repeats, measures, plots and texts may change.

    Returns:
        Changes that were accepted, now or before: the results are mixed.

    Raises:
        ChangedError: there are changes that are not accepted, or another process is running.
        JournalError: it is not a suite's folder.
    """
    path, accepted = folder / RECORD, list[str]()
    if path.exists():
        try:
            read: object = parse_json(read_text(path, LARGEST))
        except (OSError, ValueError) as error:
            raise JournalError(f"{path}: damaged: {error}", hint="name another --out") from error
        before = cast(Record, read) if isinstance(read, dict) else {}
        if before.get("format") == FORMAT:
            changed = changes(before, record)
            more = f"; and {len(changed) - NAMED} more" if changed[NAMED:] else ""
            what = f"was made with different settings: {'; '.join(changed[:NAMED])}{more}"
        else:
            changed, before = [OLDER], {ACCEPTED: before.get(ACCEPTED, ())}
            what = f"was {OLDER}, so its settings cannot be compared"
        if changed and not (accept_changes and not in_use(folder)):
            hint = "--out FOLDER starts in another folder; --accept-changes resumes and keeps finished runs"
            raise ChangedError(
                f"{folder}: {what}",
                hint="wait for the process that is running it, or stop it" if accept_changes else hint,
            )
        accepted = [*before.get(ACCEPTED, ()), *changed]
        # keep the record of judgements that are not made this time
        record = {**record, JUDGED: {**before.get(JUDGED, {}), **record[JUDGED]}}
    elif (folder / CELLS).exists() or (folder / RESULT).exists():
        raise JournalError(f"{folder}: not the folder of a suite", hint="name another --out")
    record |= {ACCEPTED: accepted} if accepted else {}
    write(path, json.dumps(record, ensure_ascii=False, indent=2) + "\n")
    return accepted


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Make and lock a folder against other processes; raises `JournalError`."""
    while True:
        with writing(path):
            make_folder(path)
            lock = FileLock(path / _LOCK, wait=True)
        with lock:
            if lock.stands:
                yield
                return
