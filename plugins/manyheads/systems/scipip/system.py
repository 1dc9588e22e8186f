"""SciPIP: from a research background to a few ideas, by papers of a literature database and a brainstorming (SciPIP, §3.3)."""

from manyheads.systems.scipip import config, report
from manyheads.systems.scipip.proposal import scipip
from manyheads.systems.scipip.result import ScipipResult
from manyheads.team.system import System

__all__ = ["SCIPIP"]

SCIPIP = System(
    name="scipip",
    title="SciPIP",
    class_name="SciPIP",
    about="A proposer of research ideas for a background: it retrieves papers, brainstorms, filters and refines.",
    config=config.ScipipConfig,
    inputs=config.ScipipInputs,
    result=ScipipResult,
    run=scipip,
    essence=report.essence,
    details=report.details,
    work=report.work,
    report=report.report,
    needs=config.needs,
    corpus=lambda config: True,
    prepare=config.need_corpus,
    read=config.read_background,
    steers=config.STEERS,
    aliases={"scipip.retrieval": "literature.retrieval"},
)
