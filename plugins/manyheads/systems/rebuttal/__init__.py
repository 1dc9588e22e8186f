"""Review and rebuttal: an idea is reviewed, revised and compared with itself until it gets no better (Algorithm 1)."""

from manyheads.config import RunConfig
from manyheads.engine.system import System
from manyheads.literature.ideas import Background, read_background
from manyheads.systems.rebuttal import config, report
from manyheads.systems.rebuttal.config import RebuttalConfig, RebuttalInputs, settings_of
from manyheads.systems.rebuttal.result import RebuttalResult
from manyheads.systems.rebuttal.rounds import rebuttal

__all__ = ["REBUTTAL"]


def _read(config: RunConfig) -> Background:
    return read_background(config.inputs.background, settings_of(config).most, config.inputs.idea)


REBUTTAL = System(
    name="rebuttal",
    title="Review and rebuttal",
    about="A proposer, a reviewer and an area chair who improve a research idea on the abstracts they are given.",
    config=RebuttalConfig,
    inputs=RebuttalInputs,
    result=RebuttalResult,
    run=rebuttal,
    essence=report.essence,
    report=report.report,
    work=report.work,
    needs=config.needs,
    prepare=config.need_beginning,
    check=config.check,
    read=_read,
)
