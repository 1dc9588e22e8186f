"""Run a suite: run unfinished cells, measure, summarise, write, draw. It can resume at any time from its folder.

<folder>/
    suite.json       what its cells depend on
    jobs.sqlite      what each job has paid, and what requests under way may use
    cells/<name>/    one run folder each; in it `<judge>/`, such as a review, if measured
    <judge>s/<name>/ judgements of all runs of a cell, such as a ranking, if measured
    results.jsonl    the measures of each cell, one per line
    summary.csv      one line per condition and measure
    arena/           texts for a blind comparison, if the suite asks for it
    plot.png, .svg   the suite's plot
    report.html      the report, with links to the runs
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias, cast

from manyheads.arena.entries import TextSource
from manyheads.arena.items import read_form
from manyheads.arena.store import FILE, Arena
from manyheads.asking.roles import Roles
from manyheads.base.errors import ChangedError, JournalError, RatingError
from manyheads.base.files import read_text, sha256_of
from manyheads.base.folders import JOURNAL, SUITE, locked, write
from manyheads.base.resources import Resources, parse_json
from manyheads.base.text import first_few, hash_of
from manyheads.config import BudgetConfig, RunConfig
from manyheads.core.results import RESULT
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.meta import read_meta
from manyheads.engine.budget import Budget, in_use
from manyheads.engine.jobs import Failure, Job, Listener, Scheduler, finished_jobs
from manyheads.engine.local import Engine, Process
from manyheads.hosts import host_factory, need_framework
from manyheads.judges.blinding import ArenaConfig
from manyheads.measures.agreement import Calibration, calibrate
from manyheads.measures.scores import as_lines
from manyheads.suites.cells import CELLS, RUN, Cell, CellRow, jobs_of, judged_in, need_all
from manyheads.suites.measuring import Corpora, Coverage, open_corpora, replies_of, rows_of
from manyheads.suites.page import write_suite_page
from manyheads.suites.report import Results, draw_suite, summary_table
from manyheads.suites.shards import Shard, merge, not_there
from manyheads.suites.spec import REPLIES, Condition, Suite, label_of, leaves, mapped, root
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
    both = before.get(JUDGED, {}).keys() & now[JUDGED].keys()
    old, new = (
        {key: json.dumps(value, ensure_ascii=False)
         for key, value in leaves({**record, ACCEPTED: {}, JUDGED: {kind: record[JUDGED][kind] for kind in both}})}
        for record in ({JUDGED: {}, **before}, now)
    )  # fmt: skip

    def words(text: str | None) -> str:
        return "not there" if text is None else text if len(text) <= 80 else f"{text[:77]}…"

    pairs = {key: (old.get(key), new.get(key)) for key in (*old, *new)}
    return [f"{key} was {words(was)}, is {words(now)}" for key, (was, now) in pairs.items() if was != now]


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
        apart = {key: value for key, value in leaves(course(of(cell)))
                 if (key not in first or first[key] != value) and not f"{key}.".startswith(own)}  # fmt: skip
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
            return f"{Path(text).name} ({sha256_of(file)[:MARK]})"
        except (OSError, StopIteration):
            return text

    return mapped(value, with_content)


def _wording(jobs: Iterable[Job]) -> dict[str, str]:
    """A hash of each role card and prompt of the jobs."""
    needed = defaultdict[tuple[str, ...], set[str]](set)
    for job in jobs:
        needed[job.config.paths] |= {role for role, _ in system_of(job.config).needs(job.config)}
    hashes: dict[str, str] = {}
    for paths, names in needed.items():
        resources = Resources.of(paths)
        roles = Roles(resources)
        cards = [roles.card(role) for role in sorted(names)]
        asked = {card.prompt_of(task) for card in cards for task in card.tasks}
        asked |= {each for card in cards for each in roles.of_itself(card.name)}
        parts = {part for name in asked for part in roles.prompts.parts(name)}
        for name, file in sorted(resources.names("prompts").items()):
            if name in parts or name.startswith(INDICATORS):
                hashes[name] = sha256_of(file)[:MARK]
        hashes |= {f"{card.name}.yaml": hash_of(card.model_dump_json())[:MARK] for card in cards}
    return hashes


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


LARGEST = 200_000_000
"""Maximum bytes of the record, which may contain texts of cases."""
NAMED = 5
"""Maximum changes in a message."""


def begin(folder: Path, record: Record, *, accept_changes: bool) -> list[str]:
    """Record in a new folder what it depends on, or check that of an existing one. Repeats, measures, plots and texts may change.

    Returns:
        Changes that were accepted, now or before: the results are mixed.

    Raises:
        ChangedError: there are changes that are not accepted, or another process is running.
        JournalError: it is not a suite's folder.
    """
    path, accepted = folder / SUITE, list[str]()
    if path.exists():
        before = read_record(path)
        if before.get("format") == FORMAT:
            changed = changes(before, record)
            what = f"was made with different settings: {first_few(changed, NAMED, '; ')}"
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


def read_record(path: Path) -> Record:
    """The record of a folder; raises `JournalError`."""
    try:
        read: object = parse_json(read_text(path, LARGEST))
    except (OSError, ValueError) as error:
        raise JournalError(f"{path}: damaged: {error}", hint="name another --out") from error
    return cast(Record, read) if isinstance(read, dict) else {}


RESULTS, SUMMARY, ARENA = "results.jsonl", "summary.csv", "arena"


@dataclass(frozen=True)
class Evaluation:
    """The results of a suite, and its files."""

    results: Results
    report: Path
    pictures: tuple[Path, ...]
    arena: Path | None = None
    """The folder of the blind comparison."""


AGAIN = "the same manyheads eval command"


@dataclass(frozen=True)
class JobsOutcome:
    """What came of a suite's jobs.

    Attributes:
        failures: by job.
        accepted: changes of settings that were accepted.
        corpora: those that texts are measured against, opened.
    """

    failures: Mapping[str, Failure]
    accepted: Sequence[str]
    corpora: Corpora


async def run_jobs(
    suite: Suite,
    cells: Sequence[Cell],
    out: Path,
    *,
    engine: Engine = Process(4),
    accept_changes: bool,
    listener: Listener,
    budget: Budget | None = None,
    shard: Shard | None = None,
    merged: Sequence[Path] = (),
) -> JobsOutcome:
    """Finish the runs and judgements of a suite in its folder. Called again, it resumes, and shares the jobs with other processes.

    Args:
        cells: all of the suite; their jobs have folders in `out`.
        engine: where its runs and judgements run.
        shard: run only its jobs.
        merged: folders of shards: take the jobs from there, and run none.

    Raises:
        ChangedError: the folder was made from another suite, config or prompts, and changes are not accepted.
        UserError: a host, the folder, a prompt, a corpus, a config or a measure cannot be used.
    """
    budget = budget or Budget(BudgetConfig())
    mine = shard.cells(cells) if shard else cells
    graph = jobs_of(mine)
    for host in {job.config.host for job in graph.values()}:
        need_framework(host)
    need_all(suite, graph.values())
    budget.need_prices(job.config for job in graph.values())
    record = record_of(suite, cells)
    with ExitStack() as stack:
        with locked(out):
            accepted = begin(out, record, accept_changes=accept_changes)
            merge(graph, merged, lambda folder: changes(read_record(folder / SUITE), record)[:NAMED])
            stack.callback(budget.close)
            shared = budget.open(out, _journals(out))
        finished = finished_jobs(graph)
        left = {key for key, ended in finished.items() if not ended}
        executor = not_there if merged else engine.executor(host_factory, shared, accept_changes, AGAIN)
        # one that cannot be measured with is told before anything is paid
        corpora = open_corpora(suite.spec, mine)
        coverage = Coverage(suite.spec, graph, left, listener)
        failures = await Scheduler(executor, budget, coverage, at_once=engine.at_once).run(graph)
    return JobsOutcome(failures, accepted, corpora)


def summarise(
    suite: Suite,
    cells: Sequence[Cell],
    out: Path,
    outcome: JobsOutcome,
    *,
    repeats: int,
    settings: Sequence[str] = (),
) -> Evaluation:
    """Measure the runs of a suite, and write its tables, plots and report.

    Args:
        outcome: of `run_jobs`.
        settings: changes by hand, for the report.
    """
    spec, failures = suite.spec, outcome.failures
    replies = replies_of(cells) if any(each.of == REPLIES for each in spec.measure_paths) else []
    results = Results(
        spec, rows_of(spec, cells, failures, outcome.corpora), replies, suite.published, suite.groups
    )
    with locked(out):
        write(out / RESULTS, as_lines(results.rows))
        write(out / SUMMARY, summary_table(results))
        pictures = draw_suite(results, out)
        arena = out / ARENA if spec.arena else None
        texts = write_arena(spec.arena, cells, failures, out / ARENA) if spec.arena else 0
        page = write_suite_page(
            out, suite, results, cells, pictures,
            repeats=repeats, accepted=[*outcome.accepted], made=_made_with(cells, settings), calibrations=list(calibrations(suite, results.rows)), texts=texts,
        )  # fmt: skip
    return Evaluation(results, page, tuple(pictures), arena)


def calibrations(suite: Suite, rows: Sequence[CellRow]) -> Iterator[tuple[Condition, Calibration | str]]:
    """For each condition, the agreement of a measure with people's ratings of the cases, or why there is none."""
    how = suite.spec.calibration
    if how is None or suite.people is None:
        return
    for condition in suite.spec.conditions():
        values = defaultdict[str, list[float]](list)
        for row in rows:
            if row.condition == condition and how.measure in row.values:
                values[row.case].append(row.values[how.measure])
        means = {case: fmean(some) for case, some in values.items()}
        good: dict[str, Any] = {"threshold": how.threshold, "score_threshold": how.score_threshold}
        try:
            yield condition, calibrate(means, suite.people, **good, level=suite.spec.level)
        except RatingError as error:
            yield condition, error.message


def write_arena(spec: ArenaConfig, cells: Sequence[Cell], failed: Collection[str], folder: Path) -> int:
    """Put the texts of finished runs into the arena of a folder, made at the first time; a text that is there stays one.

    Returns:
        Number of texts in it.
    """
    there = (folder / FILE).is_file()
    with Arena.open(folder) if there else Arena.create(folder, read_form(spec.form)) as arena:
        for cell in cells:
            source = TextSource(label_of(cell.condition), case=cell.case, blinding=spec, own=True)
            arena.add(source.texts([job.folder for job in cell.runs if job.key not in failed]))
        return len(arena.texts())


def _journals(folder: Path) -> dict[str, Path]:
    """All journals of jobs, earlier ones too, by the job's key."""
    return {path.parent.relative_to(folder).as_posix(): path for path in folder.rglob(JOURNAL)}


def _made_with(cells: Sequence[Cell], settings: Sequence[str]) -> list[str]:
    """Host, models and settings, for the report."""
    configs = [cell.config for cell in cells]
    models = dict.fromkeys(
        f"{alias} {model.provider}/{model.name}" for each in configs for alias, model in each.models.items()
    )
    hosts = ", ".join(sorted({each.host for each in configs}))
    by_hand = [f"Set by hand: {'; '.join(settings)}"] if settings else []
    return [f"Host: {hosts}; models: {', '.join(models)}", *by_hand]
