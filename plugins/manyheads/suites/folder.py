"""A suite's folder: what a suite leaves, so that it can go on at any moment.

<folder>/
    suite.json       what its cells are made from
    jobs.sqlite      how each job stands, who does it, and what was paid
    cells/<name>/    a run folder each; in it `<judge>/`, such as a review, where one was asked for
    <judge>s/<name>/ a judging of a cell's runs together each, such as a ranking, where one was asked for
    results.jsonl    a line for each cell, with all that was measured
    summary.jsonl    a line for each condition and measure; summary.csv the same as a table
    replies.csv      what the models made of the forms, by condition, role and task, where a measure is of that
    calibration.json how a measure goes with people's ratings of the cases, where it is held against them
    arena/           the texts that were written, laid out for a blind comparison, where the suite wants that
    plot.png, .svg   what the suite draws
    report.html      the same to read, with links to the runs; report.md as Markdown
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

from manyheads.bank.corpora import resolve_corpus
from manyheads.bank.meta import read_meta
from manyheads.config import RunConfig
from manyheads.core.results import RESULT
from manyheads.disk import FileLock, read_text, replace_text
from manyheads.engine.folder import writing
from manyheads.engine.jobs import Job
from manyheads.engine.jobtable import in_use
from manyheads.engine.system import system_of
from manyheads.errors import ChangedError, JournalError
from manyheads.resources import Resources, parse_json
from manyheads.roles import Roles
from manyheads.suites.cells import CELLS, RUN, Cell, jobs_of, judged_in
from manyheads.suites.spec import Suite, leaves, mapped, root

# What a suite's results are made from, as its folder records it: results made otherwise are never mixed with others.


Record: TypeAlias = dict[str, Any]
MADE_FROM = {"version", "configs", "seeds", "ideas", "begin_with"}
"""What of a suite its cells are made from, beside what it varies; all else that it sets stands in the config."""
INDICATORS = "partials/indicators/"
"""Prompts that a config names."""
JUDGED, ACCEPTED = "judging", "accepted"
FORMAT = 2
"""Of the record; that of version 0.1.0 has none."""
OLDER = "begun by another version of manyheads"
MARK = 8


def record_of(suite: Suite, cells: Sequence[Cell]) -> Record:
    """What must stay the same for results to be comparable: not budgets, prices or addresses.

    What is varied stands in the suite. One config tells the rest. How runs are judged stands by itself: it may come
    later. Raises `UserError` where a prompt or a corpus is not to be had.
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
    """What results would be made from otherwise than those that are there."""
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
    """What a suite varies of some config keys."""

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
    """The first cell's config, and what others have otherwise, and not because the suite sets it for them."""
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
    """What runs are made from."""
    models = {alias: model.identity() for alias, model in config.models.items()}
    course = {**config.course(), "host": config.host, "models": models}
    course |= config.model_dump(mode="json", include={"roles", "inputs"})
    return _portable({key: value for key, value in course.items() if key != "seed"})


def _section(config: RunConfig) -> Record:
    """How runs are judged."""
    return _portable(config.model_dump(mode="json", include={"settings", "inputs"}))


def _place(config: RunConfig, key: str) -> str:
    """Where a setting stands in a config, from its section on."""
    nested: Any = True
    for part in reversed(key.split(".")):
        nested = {part: nested}
    lifted, _ = system_of(config).lift(nested)
    return next((place for place, _ in leaves(lifted)), key)


def _portable(value: Any) -> Any:
    """The same with files and runs by name and content, as they may lie elsewhere and hold something else one day."""

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
    """A hash of each role card and prompt that jobs are asked with."""
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
    """The fingerprint of each corpus that is looked into, or measured against; one that ships is built for it."""
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
"""Bytes of the record: a case may bring a text."""
NAMED = 5
"""Changes that a message names."""
_LOCK = ".lock"


def write(path: Path, text: str) -> None:
    """Write a file of a suite's folder as a whole, or not at all."""
    with writing(path.parent):
        replace_text(path, text, newline="")


def begin(folder: Path, record: Record, *, accept_changes: bool) -> list[str]:
    """Make a folder one of what is made from this, new or begun. Other repeats, measures, plots or words are no change.

    Returns:
        Changes that were accepted, now or before: results of both sides stand in it.

    Raises:
        ChangedError: it was begun otherwise, and changes are not accepted, or a process is at work that does not know.
        JournalError: it holds something else.
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
            what = f"was begun otherwise: {'; '.join(changed[:NAMED])}{more}"
        else:
            changed, before = [OLDER], {ACCEPTED: before.get(ACCEPTED, ())}
            what = f"was {OLDER}, whose record of what it was made from cannot be compared with today's"
        if changed and not (accept_changes and not in_use(folder)):
            hint = "--out FOLDER starts again; --accept-changes goes on, and keeps what is finished"
            raise ChangedError(
                f"{folder}: {what}",
                hint="wait for the process that goes on with it, or stop it" if accept_changes else hint,
            )
        accepted = [*before.get(ACCEPTED, ()), *changed]
        # Of judgings that are not made this time, what the last ones were made from stays.
        record = {**record, JUDGED: {**before.get(JUDGED, {}), **record[JUDGED]}}
    elif (folder / CELLS).exists() or (folder / RESULT).exists():
        raise JournalError(f"{folder}: holds something else", hint="name another --out")
    record |= {ACCEPTED: accepted} if accepted else {}
    write(path, json.dumps(record, ensure_ascii=False, indent=2) + "\n")
    return accepted


@contextmanager
def locked(path: Path) -> Generator[None]:
    """A folder, made when missing, in which no other process begins or writes; raises `JournalError`."""
    while True:
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path / _LOCK, wait=True)
        with lock:
            if lock.stands:
                yield
                return
