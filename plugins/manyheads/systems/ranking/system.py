"""The course of a ranking: texts are brought into one form, shown in several orders, and ranked in each."""

from manyheads.core.events import Judged, Stage
from manyheads.discussion import Run
from manyheads.errors import ConfigError
from manyheads.literature.ideas import Entry
from manyheads.measures.ranking import orders_of
from manyheads.systems.ranking.bench import CONDENSING, RANKING, Bench
from manyheads.systems.ranking.lineup import Lineup
from manyheads.systems.ranking.ready import Quality, quality_of
from manyheads.systems.ranking.result import RankingResult


async def ranking(run: Run[RankingResult]) -> None:
    """Rank the run's ideas beside its target, in `ranking.orders` orders that the run's seed draws.

    The judge is never told which one is the target: all are known by the number of the place in which they are shown,
    and the target's abstract is brought into the form of the others first.

    Raises:
        ConfigError: no ideas, an indicator without traits, or no field that all ideas have.
        ModelError: a text could not be condensed, the model was not to be had, or no order has led to a ranking. What
            was answered is kept.
    """
    quality, chosen = quality_of(run.config, run.roles), run.settings
    if run.given is None or not quality.traits:
        raise ConfigError(
            "ranking: needs a target, ideas, and traits of its quality indicator",
            hint="manyheads check CONFIG",
        )
    target = run.given.target
    # From the abstract alone (Fig. 13): by the title of a published paper a judge may know it.
    entries = (Entry(target.source, "", target.text), *run.given.ideas)
    drawn = orders_of(len(entries), chosen.orders, run.rng)
    bench, result = Bench(run, quality), run.result
    result.area, result.indicator, result.traits = quality.area, quality.indicator, quality.traits
    result.take(target, entries)
    run.emit(Stage(stage=CONDENSING, title="Condensing", number=1, total=2))
    lineup = Lineup(await bench.condense(entries), chosen.align)
    result.take(target, lineup.entries)
    lineup.need_content()
    result.shown_fields = list(lineup.fields)
    _tell_of_doubts(run, lineup)
    _tell_of_qualities(run, lineup, quality)
    run.emit(Stage(stage=RANKING, title="Ranking", number=2, total=2))
    result.rank(await bench.rank(lineup.texts, drawn), run.config.seed)
    result.inference_cost = bench.asked
    run.emit(_judged(result))


def _tell_of_doubts(run: Run, lineup: Lineup) -> None:
    """What a reader of the result would not see: how the ideas were shown, and in how many orders."""
    for doubt in lineup.doubts():
        run.warn(CONDENSING, doubt)
    chosen, size = run.settings, len(lineup.entries)
    if chosen.round is not None:
        unrevised = [name for name, one in lineup.named() if one.round is None]
        for name in unrevised[1:]:
            run.warn(CONDENSING, f"{name} was never revised: it stands as it is whatever ranking.round says")
    if chosen.orders == 1:
        run.warn(RANKING, "a single order: what the place of an idea does to its rank cannot be told")
    elif chosen.orders % size:
        run.warn(
            RANKING,
            f"{size} ideas, the target among them, do not stand in each place equally often in {chosen.orders} orders; "
            f"--set ranking.orders={size * (chosen.orders // size + 1)} balances them",
        )


def _tell_of_qualities(run: Run, lineup: Lineup, quality: Quality) -> None:
    """Ideas that were improved for another quality than they are ranked by, where nobody has asked for that."""
    for name, one in lineup.named():
        if one.indicator not in ("", quality.indicator) and run.settings.indicator is None:
            run.warn(
                CONDENSING,
                f"{name} was improved for {one.indicator} and is ranked by {quality.indicator}; "
                "--set ranking.indicator=… says by what",
            )


def _judged(result: RankingResult) -> Judged:
    """S, how sure it is, and what places have done, in words."""
    found, count = result.s_interval, len(result.orders)
    ends = f", {found.level:.0%} interval {found.low:.2f} to {found.high:.2f}" if found else ""
    share = f"is {result.s:.2f}, the share of {len(result.ideas)} that rank above the target"
    outcome = f"{share}{ends}, over {len(result.whole)} of {count} orders"
    bias, p = result.position_bias, result.position_p
    places = "" if bias is None else f"place and rank correlate at {bias:.2f} (p = {p:.2g})"
    return Judged(stage=RANKING, turn=1, subject="S", outcome=outcome, reasoning=places)
