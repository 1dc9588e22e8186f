"""The relative quality ranking: ideas and a target idea, ranked blind (Review and Rebuttal, §3.2, App. A.2)."""

from math import inf

from manyheads.systems.ideas import read_contest
from manyheads.systems.ranking import config, result
from manyheads.systems.ranking.judging import ranking
from manyheads.systems.ranking.result import RankingResult
from manyheads.team.system import Judge, Number, System

__all__ = ["RANKING"]

RANKING = System(
    name="ranking",
    title="Relative quality ranking",
    about="A judge who ranks research ideas together with a target idea, blind and in several orders.",
    config=config.RankingConfig,
    inputs=config.RankingInputs,
    result=RankingResult,
    run=ranking,
    essence=result.essence,
    table=result.table,
    report=result.report,
    needs=lambda run: config.NEEDS,
    check=config.check,
    read=lambda run: read_contest(run.inputs.target, run.inputs.ideas, run.settings.round),
    judge=Judge("ideas", "ranking.s"),
    extras=("statistics",),
    numbers={
        "ranking.s": Number("S, relative quality", (0, 1)),
        "ranking.settled": Number("share of finished runs", (0, 1)),
        "ranking.position_bias": Number(
            "position bias",
            (-1, 1),
            (
                "the judge prefers ideas that it is shown early",
                "the judge prefers ideas that it is shown late",
                "no significant position bias",
            ),
        ),
        "ranking.consistency": Number("W, consistency of orders", (0, 1)),
        "ranking.failed": Number("orders without a ranking", (0, inf)),
        "ranking.round": Number("revisions"),
    },
    aliases={
        "rebuttal.area": "ranking.improved.area",
        "rebuttal.indicator": "ranking.improved.indicator",
        "rebuttal.traits": "ranking.improved.traits",
    },
)
