"""Review and rebuttal: an idea is reviewed, revised and compared with itself until it no longer improves (Algorithm 1)."""

from math import inf

from manyheads.core.results import Quality
from manyheads.systems.ideas import read_background
from manyheads.systems.rebuttal import config, result
from manyheads.systems.rebuttal.result import RebuttalResult
from manyheads.systems.rebuttal.rounds import rebuttal
from manyheads.team.system import Number, Revisions, System

__all__ = ["REBUTTAL"]


def _revisions(result: RebuttalResult) -> Revisions:
    course = result.rebuttal or Quality()
    return Revisions([each.idea for each in result.rounds], course.indicator or "", course.area or "")


REBUTTAL = System(
    name="rebuttal",
    title="Review and rebuttal",
    about="A proposer, a reviewer and an area chair who improve a research idea from background abstracts.",
    config=config.RebuttalConfig,
    inputs=config.RebuttalInputs,
    result=RebuttalResult,
    run=rebuttal,
    essence=result.essence,
    report=result.report,
    work=result.work,
    needs=config.needs,
    prepare=config.need_beginning,
    check=config.check,
    read=lambda run: read_background(run.inputs.background, run.settings.most, run.inputs.idea),
    revisions=_revisions,
    steers=config.STEERS,
    numbers={
        "rebuttal.iterations": Number("revisions made", (0, inf)),
        "rebuttal.iterations < 10": Number("share with fewer than ten"),
        "rebuttal.converged": Number("share that converged"),
        "rebuttal.indicator": Number("quality"),
    },
)
