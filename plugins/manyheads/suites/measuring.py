"""Measures of a suite's cells, one row each; measures that no result can have are reported early."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias, cast

from manyheads.base.errors import ConfigError, MeasureError, SubjectError, did_you_mean
from manyheads.core.results import result_data
from manyheads.core.texts import Subject, read_subject
from manyheads.engine.jobs import Failure, Job, JobNews, Listener
from manyheads.measures.corpus import MeasuringCorpus, measuring_corpus
from manyheads.measures.novelty import need_counts
from manyheads.measures.packages import measure_named
from manyheads.measures.scores import scores
from manyheads.measures.statistics import enough
from manyheads.suites.cells import RUN, Cell, CellRow
from manyheads.suites.replies import ReplyCount, reply_counts
from manyheads.suites.spec import REPLIES, TEXT, Condition, MeasurePath, MeasuringConfig, SuiteSpec, label_of

LENGTH = "length"
SHOWN = 60
"""Maximum length of the excerpt shown for a non-number."""


@dataclass(frozen=True)
class Absent:
    """There is no value.

    Attributes:
        why: the reason, in words.
        there: the keys of the mapping in which the next key is missing.
        never: whether no result of the same form can have it; lists may grow, mappings keep their keys.
    """

    why: str
    there: tuple[str, ...] = ()
    never: bool = True


@dataclass(frozen=True)
class Partial:
    """A value that rests on a part of what it should, in words such as `4 of 5 neighbours`."""

    value: float | bool
    over: str


Value: TypeAlias = float | bool | Absent | Partial | None
"""A number or truth value; None for null on the path: unknown, such as a cost without prices."""
Corpora: TypeAlias = dict[tuple[str, str], MeasuringCorpus]
"""By name or folder, and embedding."""
OfTexts: TypeAlias = dict[Path, dict[str, Value]]
"""Measures of abstracts, by the run's folder and the measure."""


def open_corpora(spec: SuiteSpec, cells: Sequence[Cell]) -> Corpora:
    """The corpora that texts are measured against. A sample text is measured in each before any cell is paid for.

    Raises:
        CorpusError, EmbeddingError, MeasureError: one cannot be opened, or has too few papers or citation counts.
    """
    measures = [each.path[0] for each in spec.measure_paths if each.of == "novelty"]
    if not measures:
        return {}
    found: Corpora = {}
    for corpus, model in dict.fromkeys((cell.config.corpus, cell.config.embedding) for cell in cells):
        found[corpus, model] = measuring_corpus([], corpus, None if model == "auto" else model)
        if {"ci", "on"} & {*measures}:
            need_counts(found[corpus, model].contemporary, spec.measuring.normalise)
        _novelty_of(found[corpus, model], {Path(): Subject("", "", spec.title)}, measures, spec.measuring)
    return found


def rows_of(
    spec: SuiteSpec, cells: Sequence[Cell], failures: Mapping[str, Failure], corpora: Corpora
) -> list[CellRow]:
    """One row per cell, in their order."""
    runs = {job.folder: job for cell in cells for job in cell.runs if job.key not in failures}
    of_texts = _of_texts(spec, runs.values(), corpora)
    return [_row(spec, cell, failures, of_texts) for cell in cells]


def replies_of(cells: Sequence[Cell]) -> list[tuple[Condition, dict[str, ReplyCount]]]:
    """Replies by condition and `role.task`, up to the failure of runs that failed."""
    folders = defaultdict[str, dict[Path, None]](dict)
    conditions = {label_of(cell.condition): cell.condition for cell in cells}
    for cell in cells:
        folders[label_of(cell.condition)] |= dict.fromkeys(job.folder for job in cell.jobs)
    return [(condition, reply_counts(folders[label])) for label, condition in conditions.items()]


def _row(spec: SuiteSpec, cell: Cell, failures: Mapping[str, Failure], of_texts: OfTexts) -> CellRow:
    known: dict[str, Any] = {
        "cell": cell.name, "condition": dict(cell.condition), "case": cell.case, "seed": cell.seed
    }  # fmt: skip
    results: dict[Path, dict[str, Any]] = {}
    if failed := [failures[job.key] for job in cell.jobs if job.key in failures]:
        figures = ((each.name, value) for each in spec.measure_paths for value in _reply_figure(each, cell))
        replies = {name: value for name, value in figures if isinstance(value, float)}
        return CellRow(**known, error=str(failed[0]), values=replies)
    for job in cell.jobs:
        try:
            results[job.folder] = result_data(job.folder)
        except SubjectError as error:
            return CellRow(**known, error=f"{error.message}; to run it again, remove {job.folder}")
    values, each, shares, unknown, missing, partial = {}, {}, [], [], {}, {}
    for measure in spec.measure_paths:
        found = list(_cell_values(measure, cell, results, of_texts))
        over = [one.over for one in found if isinstance(one, Partial)]
        plain = [one.value if isinstance(one, Partial) else one for one in found]
        numbers = tuple(one for one in plain if isinstance(one, float | bool))
        if found and not enough(len(numbers), len(found)):
            absent = [one.why for one in found if isinstance(one, Absent)]
            missing |= {measure.name: absent[0]} if absent else {}
            unknown += [] if absent else [measure.name]
        elif numbers:
            values[measure.name] = fmean(numbers)
            over += [f"{len(numbers)} of {len(found)} runs"] * (len(numbers) < len(found))
            partial |= {measure.name: "; ".join(dict.fromkeys(over))} if over else {}
            each |= {measure.name: numbers} if numbers[1:] else {}
            shares += [measure.name] if all(isinstance(one, bool) for one in numbers) else []
    # a run without model calls was written by nobody
    writers = [result.get("written_by_language_model") for result in results.values()
               if result.get("usage", {}).get("calls", 1)]  # fmt: skip
    warned = (str(one) for result in results.values() for one in result.get("warnings", ()))
    return CellRow(
        **known, values=values, each=each, shares=tuple(shares), unknown=tuple(unknown), missing=missing, partial=partial,
        by_language_model=None if None in writers or not writers else all(writers), warnings=tuple(dict.fromkeys(warned)),
    )  # fmt: skip


def _cell_values(
    measure: MeasurePath, cell: Cell, results: Mapping[Path, Mapping[str, Any]], of_texts: OfTexts
) -> Iterator[Value]:
    """The values of a measure in a cell: one per run, or one for all runs together."""
    if measure.of == REPLIES:
        yield from _reply_figure(measure, cell)
        return
    jobs = cell.judgings.get(measure.of, cell.runs)
    for job in jobs:
        own = measure.of in ("novelty", TEXT)
        value = of_texts[job.folder][measure.path[0]] if own else at(results[job.folder], measure.path)
        if isinstance(value, Absent):
            yield Absent(f"{job.label}: {value.why}") if len(jobs) > 1 else value
        elif isinstance(value, Partial):
            yield Partial(measure.value(value.value), value.over)
        else:
            yield None if value is None else measure.value(value)


def _reply_figure(measure: MeasurePath, cell: Cell) -> Iterator[Value]:
    """The figure over all jobs of a cell; null if the task was never asked, nothing for other measures."""
    if measure.of == REPLIES:
        task, figure = measure.path
        value = reply_counts(job.folder for job in cell.jobs).get(task, ReplyCount()).figures[figure]
        yield None if value is None else measure.value(value)


def _of_texts(spec: SuiteSpec, runs: Iterable[Job], corpora: Corpora) -> OfTexts:
    """HD, CD, CI, ON, RND and packages' measures of each run's abstract, or why there is none; texts of one corpus are measured
    together."""
    novelty = [each.path[0] for each in spec.measure_paths if each.of == "novelty"]
    others = [each.path[0] for each in spec.measure_paths if each.of == TEXT]
    found = defaultdict[Path, dict[str, Value]](dict)
    texts = defaultdict[tuple[str, str], dict[Path, Subject]](dict)
    for job in runs if novelty or others else ():
        try:
            subject = read_subject(job.folder)
        except SubjectError as error:
            found[job.folder] = dict.fromkeys((*novelty, *others), Absent(error.message))
            continue
        texts[job.config.corpus, job.config.embedding][job.folder] = subject
        for name in others:
            try:
                found[job.folder][name] = measure_named(name)(subject)
            except MeasureError as error:
                found[job.folder][name] = Absent(error.message)
    for key, subjects in texts.items() if novelty else ():
        for folder, values in _novelty_of(corpora[key], subjects, novelty, spec.measuring).items():
            found[folder] |= values
    return found


def _novelty_of(
    corpus: MeasuringCorpus, subjects: Mapping[Path, Subject], wanted: Sequence[str], how: MeasuringConfig
) -> OfTexts:
    sizes = (how.around, how.own) if "rnd" in wanted else None
    measured = scores(
        corpus, list(subjects.values()), neighbours=how.neighbours, normalise=how.normalise, rnd=sizes,
        density=how.density,
    )  # fmt: skip
    return {
        folder: {
            measure: Absent(score.missing.get(measure, "not measured")) if value is None
            else Partial(value, f"citations known of {score.gap}") if score.gap and measure in ("ci", "on")
            else float(value)
            for measure, value in score.model_dump(include=set(wanted)).items()
        }
        for folder, score in zip(subjects, measured, strict=True)
    }  # fmt: skip


class Coverage:
    """Checks results for missing measures, and stops the suite if no remaining job can have one.

    Runs of one condition have results of one form, as have judgements of a kind: one that lacks a key stands for all.
    `pending` has the keys of unpaid jobs.
    """

    def __init__(
        self, spec: SuiteSpec, jobs: Mapping[str, Job], pending: set[str], listener: Listener
    ) -> None:
        self._measures = [each for each in spec.measure_paths if each.of != "novelty"]
        self._pending, self._listener = pending, listener
        self._forms = defaultdict[str, set[str]](set)
        for job in jobs.values():
            self._forms[job.kind].add(_form(job))
        self._seen = set[str]()
        self._gaps: dict[str, set[str]] = defaultdict(set)

    def __call__(self, news: JobNews) -> None:
        """Pass news on, and check the result of a finished job.

        Raises:
            ConfigError: a measure that no result has or can have, while jobs are still to be paid.
        """
        job = news.job
        self._listener(news)
        if news.state in ("kept", "finished", "failed", "left out"):
            self._pending.discard(job.key)
        measures = [each for each in self._measures if each.of == job.kind and each.name not in self._seen]
        if news.state not in ("kept", "finished") or not measures:
            return
        try:
            result = result_data(job.folder)
        except SubjectError:
            return  # reported when it is measured
        values = {each: at(result, each.path) for each in measures}
        self._seen |= {each.name for each, value in values.items() if not isinstance(value, Absent)}
        absent = {each: value for each, value in values.items() if isinstance(value, Absent) and value.never}
        for measure, value in absent.items():
            if measure.name not in self._gaps:
                self._listener(JobNews(job, "lacks", f"no {measure.name}: {value.why}"))
            self._gaps[measure.name].add(_form(job))
        for measure, value in absent.items():
            if self._pending and self._gaps[measure.name] >= self._forms[measure.of]:
                otherwise = "fix it in suite.yaml and run the same command again; finished runs are kept"
                raise ConfigError(
                    f"measures: {measure.name}: {value.why}; no {measure.of} of this suite can have it",
                    tried=f"there are {', '.join(value.there)}" if value.there else None,
                    hint=did_you_mean(measure.path[-1], value.there, otherwise),
                )


def _form(job: Job) -> str:
    return job.group if job.kind == RUN else job.kind


def at(result: Mapping[str, Any], path: Sequence[str]) -> Value:
    """The value at a path in a run's result, or else in its system's own.

    Paths consist of keys, list indices and `length`, the length of a list.
    """
    name = ".".join(path)
    value: Any = result if path[0] in result else result.get("result") or {}
    for key in path:
        match value:
            case None:
                return None
            case list() if key == LENGTH:
                value = len(cast(list[Any], value))
            case list() if key.isdecimal():
                if int(key) >= len(cast(list[Any], value)):
                    return Absent(f"the result has no {name}", never=False)
                value = value[int(key)]
            case dict() if key in value:
                value = value[key]
            case _:
                keys = cast(dict[str, Any], value) if isinstance(value, dict) else {}
                return Absent(f"the result has no {name}", tuple(keys))
    match value:
        case None | bool():
            return value
        case dict():
            return Absent(f"{name} holds several values", tuple(cast(dict[str, Any], value)))
        case list():
            return Absent(f"{name} is a list; for its length, use {name}.{LENGTH}")
        case int() | float() if math.isfinite(value):
            return float(value)
        case _:
            return Absent(f"{name} is {str(value)[:SHOWN]!r}, not a number")
