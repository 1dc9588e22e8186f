"""Measures that no result has are noticed before everything is paid for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from manyheads.errors import ConfigError, SubjectError
from manyheads.subjects import read_result
from manyheads.suites.found import Absent, at
from manyheads.suites.plan import Job
from manyheads.suites.spec import SuiteSpec
from manyheads.suites.wanted import Wanted


class Lookout:
    """Looks at results as they come. A measure is given up where nothing that is still to come can have it.

    Runs of one condition have results of one form, and all judgings of a kind have: one that lacks a key tells of all.
    """

    def __init__(self, spec: SuiteSpec, jobs: Mapping[Path, Job]) -> None:
        self._wanted = [each for each in spec.wanted if each.of != "novelty"]
        self._forms = defaultdict[str, set[str]](set)
        for job in jobs.values():
            self._forms[job.of].add(_form(job))
        self._had = set[str]()
        self._lacking: dict[str, set[str]] = defaultdict(set)

    def look(self, job: Job) -> Iterable[str]:
        """Look at a finished job; what is said of it, once each measure.

        Raises:
            ConfigError: a measure that no result has had, nor one to come can have.
        """
        wanted = [each for each in self._wanted if each.of == job.of and each.name not in self._had]
        if not wanted:
            return
        try:
            result = read_result(job.folder)
        except SubjectError:
            return  # said where it is measured
        absent = dict[Wanted, Absent]()
        for each in wanted:
            match at(result, each.path):
                case Absent(never=True) as found:
                    absent[each] = found
                case Absent():
                    pass
                case _:
                    self._had.add(each.name)
        for each, found in absent.items():
            if each.name not in self._lacking:
                yield f"no {each.name}: {found.why}"
            self._lacking[each.name].add(_form(job))
        self._check(absent)

    def _check(self, absent: Mapping[Wanted, Absent]) -> None:
        for measure, found in absent.items():
            if self._lacking[measure.name] < self._forms[measure.of]:
                continue
            near = get_close_matches(measure.path[-1], found.there, 1)
            raise ConfigError(
                f"measures: {measure.name}: {found.why}, nor can any other {measure.of} of this suite have it",
                tried=f"there are {', '.join(found.there)}" if found.there else None,
                hint=f"mend it in suite.yaml{f' (is it {near[0]}?)' if near else ''}; "
                "what is finished is kept, and the same command goes on",
            )


def _form(job: Job) -> str:
    return job.condition if job.of == "run" else job.of
