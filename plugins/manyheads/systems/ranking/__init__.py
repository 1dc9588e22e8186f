"""The relative quality ranking: ideas beside a target idea, ranked blind (Review and Rebuttal, §3.2, App. A.2)."""

from manyheads.config import RunConfig
from manyheads.engine.system import System
from manyheads.literature.ideas import Contest, read_contest
from manyheads.systems.ranking import config, report
from manyheads.systems.ranking.config import RankingConfig, RankingInputs, settings_of
from manyheads.systems.ranking.judging import ranking
from manyheads.systems.ranking.result import RankingResult

__all__ = ["RANKING"]


def _read(config: RunConfig) -> Contest:
    return read_contest(config.inputs.target, config.inputs.ideas, settings_of(config).round)


RANKING = System(
    name="ranking",
    title="Relative quality ranking",
    about="A judge who ranks research ideas beside a target idea, blind and in several orders.",
    config=RankingConfig,
    inputs=RankingInputs,
    result=RankingResult,
    run=ranking,
    essence=report.essence,
    report=report.report,
    needs=config.needs,
    check=config.check,
    read=_read,
    aliases={
        "rebuttal.area": "ranking.improved.area",
        "rebuttal.indicator": "ranking.improved.indicator",
        "rebuttal.traits": "ranking.improved.traits",
    },
)
