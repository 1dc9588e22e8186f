"""Which measures the results of a suite have. One that no result can have is noticed before everything is paid for."""

from collections import defaultdict
from collections.abc import Mapping
from difflib import get_close_matches

from manyheads.engine.jobs import Job, JobNews, Listener
from manyheads.errors import ConfigError, SubjectError
from manyheads.suites.spec import Absent, MeasurePath, SuiteSpec, at
from manyheads.texts import read_result


class Coverage:
    """Listens for results, tells what they lack, and gives a measure up where nothing still to come can have it.

    Runs of one condition have results of one form, and all judgings of a kind have: one that lacks a key tells of all.

    Args:
        pending: keys of the jobs that are still to be paid.
        listener: told all that this one is told, and what results lack.
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
        self._lacking: dict[str, set[str]] = defaultdict(set)

    def __call__(self, news: JobNews) -> None:
        """Pass news on, and look at the result of a job that has one.

        Raises:
            ConfigError: a measure that no result has had, nor one to come can have; where nothing is left to be paid,
                all of it is said at the end.
        """
        self._listener(news)
        if news.state in ("kept", "finished", "failed", "left out"):
            self._pending.discard(news.job.key)
        if news.state in ("kept", "finished"):
            self._look(news.job)

    def _look(self, job: Job) -> None:
        measures = [each for each in self._measures if each.of == job.kind and each.name not in self._seen]
        if not measures:
            return
        try:
            result = read_result(job.folder)
        except SubjectError:
            return  # said where it is measured
        values = {each: at(result, each.path) for each in measures}
        self._seen |= {each.name for each, value in values.items() if not isinstance(value, Absent)}
        absent = {each: value for each, value in values.items() if isinstance(value, Absent) and value.never}
        for measure, value in absent.items():
            if measure.name not in self._lacking:
                self._listener(JobNews(job, "lacks", f"no {measure.name}: {value.why}"))
            self._lacking[measure.name].add(_form(job))
        if self._pending:
            self._check(absent)

    def _check(self, absent: Mapping[MeasurePath, Absent]) -> None:
        for measure, value in absent.items():
            if self._lacking[measure.name] < self._forms[measure.of]:
                continue
            near = get_close_matches(measure.path[-1], value.there, 1)
            raise ConfigError(
                f"measures: {measure.name}: {value.why}, nor can any other {measure.of} of this suite have it",
                tried=f"there are {', '.join(value.there)}" if value.there else None,
                hint=f"mend it in suite.yaml{f' (is it {near[0]}?)' if near else ''}; "
                "what is finished is kept, and the same command goes on",
            )


def _form(job: Job) -> str:
    return job.group if job.kind == "run" else job.kind
