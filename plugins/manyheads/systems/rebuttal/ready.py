"""What review and rebuttal needs before anything is asked: something to begin with, traits, the roles' tasks."""

from collections.abc import Iterator, Mapping

from manyheads.config import RunConfig
from manyheads.errors import ConfigError
from manyheads.literature.ideas import Background
from manyheads.replies import Abstract, FirstIdea, Proposal, ReplyModel, Rethought, Review, Verdict
from manyheads.report.record import count
from manyheads.roles import Roles
from manyheads.systems.indicators import listed, unknown
from manyheads.systems.rebuttal.config import settings_of

PROPOSER, REVIEWER, AREA_CHAIR = "proposer", "reviewer", "area_chair"


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    """The tasks that a config makes it ask: nobody who is switched off is needed."""
    chosen = settings_of(config)
    together = chosen.method == "rebuttal"
    wanted: dict[tuple[str, str], tuple[type[ReplyModel], bool]] = {
        (PROPOSER, "propose"): (FirstIdea, config.inputs.idea is None),
        (PROPOSER, "revise"): (Proposal, together),
        (PROPOSER, "reflect"): (Rethought, chosen.method == "self-reflection"),
        (REVIEWER, "review"): (Review, together and chosen.reviewer),
        (AREA_CHAIR, "compare"): (Verdict, together and chosen.area_chair),
        (PROPOSER, "abstract"): (Abstract, chosen.abstract),
    }
    return {task: kind for task, (kind, needed) in wanted.items() if needed}


def turns(config: RunConfig) -> Mapping[str, int]:
    """The most revisions."""
    chosen = settings_of(config)
    free = chosen.area_chair or chosen.method == "self-reflection"
    return {"rebuttal": chosen.max_iters if free else chosen.fixed_iters}


def need_beginning(config: RunConfig) -> None:
    """Raises `ConfigError` without a background or an idea, or where the method leaves a given idea as it is."""
    given = config.inputs.idea is not None
    if not config.inputs.background and not given:
        raise ConfigError(
            f"{config.system}: needs a background",
            hint='name one: --background papers.bib, abstracts.jsonl or "a text"; or an idea: --idea RUN',
        )
    if given and settings_of(config).method == "initial":
        raise ConfigError(
            f"{config.system}: rebuttal.method=initial only writes a first idea, and inputs.idea gives one",
            hint="leave one of both out",
        )


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """What is wrong with the quality indicator, a line each."""
    if not traits_of(config, roles):
        yield unknown(config.system, settings_of(config).indicator, roles)


def summary(background: Background) -> str:
    """A background in words."""
    ideas = "an idea to begin with, and " if background.idea else ""
    return f"{ideas}{count(len(background.works), 'abstract')}"


def traits_of(config: RunConfig, roles: Roles) -> str:
    """By what the indicator is known, as a list in Markdown; empty where nothing tells (App. A.1)."""
    return listed(settings_of(config).indicator, settings_of(config).traits, roles)
