"""What a ranking needs before anything is asked: a target, ideas, and a quality by which they are ranked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from manyheads.config import RunConfig
from manyheads.errors import ConfigError
from manyheads.literature.ideas import Contest
from manyheads.replies import Condensed, Ranking, ReplyModel
from manyheads.report.record import count
from manyheads.roles import Roles
from manyheads.systems.indicators import listed, unknown
from manyheads.systems.ranking.config import settings_of

JUDGE = "judge"
KINDS = "the folder of a run, a text file, or a text"


@dataclass(frozen=True)
class Quality:
    """By what ideas are ranked: an indicator in a field of research, and its traits as a list in Markdown."""

    area: str
    indicator: str
    traits: str


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    """The judge's tasks."""
    return {(JUDGE, "condense"): Condensed, (JUDGE, "rank"): Ranking}


def need_ideas(config: RunConfig) -> None:
    """Raises `ConfigError` without a target or without ideas."""
    if config.inputs.target is None:
        raise ConfigError(
            f"{config.system}: needs a target, the abstract that the ideas are ranked beside",
            hint=f"--target, or --set inputs.target=…: {KINDS}",
        )
    if not config.inputs.ideas:
        raise ConfigError(
            f"{config.system}: needs ideas",
            hint=f"manyheads ranking judge IDEA… --target …, or --set 'inputs.ideas=[…]': each {KINDS}",
        )


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """What is wrong with the quality indicator, a line each."""
    quality = quality_of(config, roles)
    if not quality.traits:
        yield unknown(
            "ranking" if settings_of(config).indicator else "ranking.improved", quality.indicator, roles
        )


def summary(contest: Contest) -> str:
    """What is ranked, in words."""
    words = count(len(contest.target.text.split()), "word")
    return f"{count(len(contest.ideas), 'idea')}, and a target of {words}"


def quality_of(config: RunConfig, roles: Roles) -> Quality:
    """The quality that the judge goes by; what is left out is that which the ideas were improved for."""
    chosen, improved = settings_of(config), settings_of(config).improved
    indicator = chosen.indicator or improved.indicator
    traits = chosen.traits or (improved.traits if indicator == improved.indicator else ())
    return Quality(chosen.area or improved.area, indicator, listed(indicator, traits, roles))
