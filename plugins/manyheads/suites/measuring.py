"""What the cells of a suite measure, a row each; and measures that no result can have are noticed before all is paid for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from manyheads.core.results import result_data
from manyheads.engine.jobs import Failure, Job, JobNews, Listener
from manyheads.errors import ConfigError, SubjectError, did_you_mean
from manyheads.measures.corpus import MeasuringCorpus, measuring_corpus
from manyheads.measures.scores import scores
from manyheads.suites.cells import RUN, Cell
from manyheads.suites.replies import ReplyCount, reply_counts
from manyheads.suites.spec import (
    REPLIES,
    Absent,
    Condition,
    MeasurePath,
    MeasuringConfig,
    SuiteSpec,
    Value,
    at,
    label_of,
)
from manyheads.texts import Subject, read_subject

Corpora: TypeAlias = dict[tuple[str, str], MeasuringCorpus]
"""By name or folder, and embedding."""
Novelty: TypeAlias = dict[Path, dict[str, Value]]
"""By the run's folder and the measure."""


class Row(BaseModel):
    """One cell, as `results.jsonl` keeps it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cell: str
    condition: dict[str, Any]
    case: str
    seed: int
    error: str | None = None
    """Why the cell has no result."""
    values: dict[str, float] = {}
    """Each measure that there is; the mean where the cell has several runs, each with a value of its own."""
    each: dict[str, tuple[float, ...]] = {}
    """Each such measure to the values of the runs, in their order; empty in a cell of one run."""
    shares: tuple[str, ...] = ()
    """Measures that each run has or has not, 1 or 0, so that their means are shares."""
    unknown: tuple[str, ...] = ()
    """Measures that the result holds as null, such as a cost without prices: nobody knows them, and nothing failed."""
    missing: dict[str, str] = {}
    """Each other measure to why it is not there."""
    by_language_model: bool | None = None
    """Whether a language model wrote in it, and not only the offline model; null for a cell without a result."""
    warnings: tuple[str, ...] = ()
    """What its run warned of, such as a source that could not be asked; its values count all the same."""


def open_corpora(spec: SuiteSpec, cells: Sequence[Cell]) -> Corpora:
    """The corpora that the cells' texts are measured against; a text is measured in each before any cell is paid for.

    Raises:
        CorpusError, EmbeddingError, MeasureError: one cannot be opened, or has too few papers.
    """
    measures = [each.path[0] for each in spec.measure_paths if each.of == "novelty"]
    if not measures:
        return {}
    found: Corpora = {}
    for corpus, model in dict.fromkeys((cell.config.corpus, cell.config.embedding) for cell in cells):
        found[corpus, model] = measuring_corpus([], corpus, None if model == "auto" else model)
        _novelty_of(found[corpus, model], {Path(): Subject("", "", spec.title)}, measures, spec.measuring)
    return found


def rows_of(
    spec: SuiteSpec, cells: Sequence[Cell], failures: Mapping[str, Failure], corpora: Corpora
) -> list[Row]:
    """What was measured, a row for each cell, in their order."""
    runs = {job.folder: job for cell in cells for job in cell.runs if job.key not in failures}
    novelty = _novelty(spec, runs.values(), corpora)
    return [_row(spec, cell, failures, novelty) for cell in cells]


def replies_of(cells: Sequence[Cell]) -> list[tuple[Condition, dict[str, ReplyCount]]]:
    """What the models of each condition made of the forms, by `role.task`; runs that failed count as far as they went."""
    folders = defaultdict[str, dict[Path, None]](dict)
    conditions = {label_of(cell.condition): cell.condition for cell in cells}
    for cell in cells:
        folders[label_of(cell.condition)] |= dict.fromkeys(job.folder for job in cell.jobs)
    return [(condition, reply_counts(folders[label])) for label, condition in conditions.items()]


def _row(spec: SuiteSpec, cell: Cell, failures: Mapping[str, Failure], novelty: Novelty) -> Row:
    known: dict[str, Any] = {
        "cell": cell.name, "condition": dict(cell.condition), "case": cell.case, "seed": cell.seed
    }  # fmt: skip
    results: dict[Path, dict[str, Any]] = {}
    for job in cell.jobs:
        if job.key in failures:
            replies = {
                measure.name: value
                for measure in spec.measure_paths
                for value in _reply_figure(measure, cell)
                if isinstance(value, float)
            }
            return Row(**known, error=str(failures[job.key]), values=replies)
    for job in cell.jobs:
        try:
            results[job.folder] = result_data(job.folder)
        except SubjectError as error:
            return Row(**known, error=f"{error.message}; remove {job.folder} and it is run again")
    values, each, shares, unknown, missing = {}, {}, [], [], {}
    for measure in spec.measure_paths:
        found = list(_cell_values(measure, cell, results, novelty))
        numbers = tuple(one for one in found if isinstance(one, float | bool))
        # Where a run lacks a measure, or nobody knows it, there is none of the cell.
        if absent := [one.why for one in found if isinstance(one, Absent)]:
            missing[measure.name] = absent[0]
        elif len(numbers) < len(found):
            unknown.append(measure.name)
        else:
            values[measure.name] = fmean(numbers)
            each |= {measure.name: numbers} if numbers[1:] else {}
            shares += [measure.name] if all(isinstance(one, bool) for one in numbers) else []
    # of a run that asks no model, nobody wrote
    writers = [
        result.get("written_by_language_model")
        for result in results.values()
        if result.get("usage", {}).get("calls", 1)
    ]
    warned = (str(one) for result in results.values() for one in result.get("warnings", ()))
    return Row(
        **known,
        values=values,
        each=each,
        shares=tuple(shares),
        unknown=tuple(unknown),
        missing=missing,
        by_language_model=None if None in writers or not writers else all(writers),
        warnings=tuple(dict.fromkeys(warned)),
    )


def _cell_values(
    measure: MeasurePath, cell: Cell, results: Mapping[Path, Mapping[str, Any]], novelty: Novelty
) -> Iterator[Value]:
    """What there is of a measure in a cell: a value for each of its runs, or one of all of them together."""
    if measure.of == REPLIES:
        yield from _reply_figure(measure, cell)
        return
    jobs = cell.judgings.get(measure.of, cell.runs)
    for job in jobs:
        if measure.of == "novelty":
            value = novelty[job.folder][measure.path[0]]
        else:
            value = at(results[job.folder], measure.path)
        match value:
            case float() | bool():
                yield measure.value(value)
            case Absent() if len(jobs) > 1:
                yield Absent(f"{job.label}: {value.why}")
            case _:
                yield value


def _reply_figure(measure: MeasurePath, cell: Cell) -> Iterator[Value]:
    """Of all jobs of a cell together; null where nothing of the kind was asked, and none for other measures."""
    if measure.of == REPLIES:
        task, figure = measure.path
        value = reply_counts(job.folder for job in cell.jobs).get(task, ReplyCount()).figures[figure]
        yield None if value is None else measure.value(value)


def _novelty(spec: SuiteSpec, runs: Iterable[Job], corpora: Corpora) -> Novelty:
    """HD, CD, CI, ON and RND of each run's abstract, or why there is none; all texts of a corpus at once."""
    wanted = [each.path[0] for each in spec.measure_paths if each.of == "novelty"]
    found: Novelty = {}
    texts = defaultdict[tuple[str, str], dict[Path, Subject]](dict)
    for job in runs if wanted else ():
        try:
            texts[job.config.corpus, job.config.embedding][job.folder] = read_subject(job.folder)
        except SubjectError as error:
            found[job.folder] = dict.fromkeys(wanted, Absent(error.message))
    for key, subjects in texts.items():
        found |= _novelty_of(corpora[key], subjects, wanted, spec.measuring)
    return found


def _novelty_of(
    corpus: MeasuringCorpus, subjects: Mapping[Path, Subject], wanted: Sequence[str], how: MeasuringConfig
) -> Novelty:
    sizes = (how.around, how.own) if "rnd" in wanted else None
    measured = scores(
        corpus, list(subjects.values()), neighbours=how.neighbours, normalise=how.normalise, search="exact", rnd=sizes
    )  # fmt: skip
    found: Novelty = {}
    for folder, score in zip(subjects, measured, strict=True):
        values = score.model_dump(include=set(wanted))
        found[folder] = {
            measure: Absent(score.missing.get(measure, "cannot be had")) if value is None else float(value)
            for measure, value in values.items()
        }
    return found


class Coverage:
    """Listens for results, tells what they lack, and gives a measure up where nothing still to come can have it.

    Runs of one condition have results of one form, and all judgings of a kind have: one that lacks a key tells of all.
    `pending` are the keys of the jobs that are still to be paid.
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
        """Pass news on, and look at the result of a job that has one.

        Raises:
            ConfigError: a measure that no result has had, nor one to come can have, while jobs are left to be paid.
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
            return  # said where it is measured
        values = {each: at(result, each.path) for each in measures}
        self._seen |= {each.name for each, value in values.items() if not isinstance(value, Absent)}
        absent = {each: value for each, value in values.items() if isinstance(value, Absent) and value.never}
        for measure, value in absent.items():
            if measure.name not in self._gaps:
                self._listener(JobNews(job, "lacks", f"no {measure.name}: {value.why}"))
            self._gaps[measure.name].add(_form(job))
        for measure, value in absent.items():
            if self._pending and self._gaps[measure.name] >= self._forms[measure.of]:
                raise ConfigError(
                    f"measures: {measure.name}: {value.why}, nor can any other {measure.of} of this suite have it",
                    tried=f"there are {', '.join(value.there)}" if value.there else None,
                    hint=did_you_mean(
                        measure.path[-1],
                        value.there,
                        "fix it in suite.yaml and run the same command again; finished runs are kept",
                    ),
                )


def _form(job: Job) -> str:
    return job.group if job.kind == RUN else job.kind
