"""Settings and inputs of review and rebuttal, their checks, and the tasks required of roles."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from manyheads.asking import replies as shared
from manyheads.asking.replies import ReplyModel, Text
from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError
from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.core.texts import FileOrText, Trait, file_or_text
from manyheads.systems.rebuttal import replies


class RebuttalConfig(Section):
    """The goal of proposer, reviewer and area chair, and the stopping rules (Algorithm 1)."""

    area: Text = "computer science"
    """The field of research of all three."""
    indicator: Text = "novelty"
    """The quality that is improved and judged: `novelty`, `feasibility`, or one with traits of your own."""
    traits: tuple[Trait, ...] = ()
    """Traits that define the quality. Default: those in `prompts/partials/indicators/<indicator>.md.j2`."""
    most: int = Field(default=100, ge=1)
    """Maximum abstracts of the background; each prompt of the proposer contains all of them."""
    method: Literal["rebuttal", "self-reflection", "initial"] = "rebuttal"
    """Review and rebuttal, or a baseline (§4.2): the proposer alone until nothing improves, or the first idea unrevised."""
    max_iters: int = Field(default=10, ge=1)
    """Maximum revisions."""
    patience: Literal[1, 2] = 1
    """Stop after this many revisions in a row without significant improvement: 1 (Algorithm 1) or the stricter 2 (§3.1.3)."""
    final: Literal["last", "improved"] = "last"
    """The final idea: the last version, as in the paper, or the last one judged significantly better."""
    reviewer: bool = True
    """Off: the proposer revises without a review (§4.5)."""
    area_chair: bool = True
    """Off: versions are not compared, and `fixed_iters` revisions are made (§4.5)."""
    fixed_iters: int = Field(default=7, ge=1)
    """Number of revisions without an area chair."""
    abstract: bool = False
    """Write the abstract of the final idea, which `manyheads measure` can read."""


class RebuttalInputs(Inputs):
    """The background of an idea, or an initial idea."""

    background: Annotated[str | tuple[str, ...] | None, Slot("each", metavar="FILE|TEXT")] = None
    """The background: a file of papers (.bib, .jsonl, .csv, …), a text, or a list of texts."""
    idea: Annotated[FileOrText, Slot(file=True, metavar="RUN|FILE|TEXT")] = None
    """An initial idea, which the proposer then does not write: a run's folder, a text file, or the text itself."""

    @field_validator("background")
    @classmethod
    def _file_or_text(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        return file_or_text(value) if isinstance(value, str) else value

    def course(self) -> dict[str, Any]:
        """Without the background, which every prompt contains."""
        return {"idea": super().course()["idea"]}


STEERS = {
    "initial": "accept or edit the first idea, or send it back",
    "rebuttal": "after each revision, accept or edit the idea, or send it back",
    "review": "after each review, accept or edit the reviewer's points",
    "writing": "accept or edit the abstract, or send it back",
}
"""What a person may do after a stage, a revision or a review."""
PROPOSER, REVIEWER, AREA_CHAIR, JUDGE = "proposer", "reviewer", "area_chair", "judge"


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    """The tasks that a config uses; roles that are switched off need none."""
    settings: RebuttalConfig = config.settings
    together = settings.method == "rebuttal"
    tasks: list[tuple[str, str, type[ReplyModel], bool]] = [
        (PROPOSER, "propose", replies.FirstIdea, config.inputs.idea is None),
        (PROPOSER, "revise", replies.Proposal, together),
        (PROPOSER, "reflect", replies.Rethought, settings.method == "self-reflection"),
        (REVIEWER, "review", replies.Review, together and settings.reviewer),
        (AREA_CHAIR, "compare", replies.Verdict, together and settings.area_chair),
        (JUDGE, "condense", replies.Condensed, together and settings.area_chair),
        (PROPOSER, "abstract", shared.Abstract, settings.abstract),
    ]
    return {(role, task): kind for role, task, kind, needed in tasks if needed}


def need_beginning(config: RunConfig) -> RunConfig:
    """The config itself; raises `ConfigError` without background and idea, or if the method would not revise a given idea."""
    idea = config.inputs.idea
    if not config.inputs.background and idea is None:
        raise ConfigError(
            f"{config.system}: needs a background",
            hint='name one: --background papers.bib, abstracts.jsonl or "a text"; or an idea: --idea RUN',
        )
    if idea is not None and config.settings.method == "initial":
        raise ConfigError(
            f"{config.system}: rebuttal.method=initial only writes a first idea, and inputs.idea gives one",
            hint="remove one of the two",
        )
    return config


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """Problems of the quality indicator, a line each."""
    settings: RebuttalConfig = config.settings
    if not traits_of(settings.indicator, settings.traits, roles):
        yield unknown(config.system, settings.indicator, roles)


# A quality indicator and its traits (App. A.1).

INDICATORS, ENDING = "partials/indicators/", ".md.j2"


def traits_of(indicator: str, traits: Sequence[str], roles: Roles) -> str:
    """The traits of the config, or else of the indicator's partial, as a Markdown list; empty if there are none."""
    if traits:
        return "\n".join(f"- {' '.join(trait.split())}" for trait in traits)
    name = f"{INDICATORS}{indicator}{ENDING}"
    return roles.prompts.render(name, {}).strip() if roles.resources.find("prompts", name) else ""


def unknown(section: str, indicator: str, roles: Roles) -> str:
    """The problem of an indicator without traits and its remedy, in a line."""
    files = (name.removeprefix(INDICATORS) for name in roles.resources.names("prompts", ENDING, INDICATORS))
    names = (name.removesuffix(ENDING) for name in files if "/" not in name)
    others = ", ".join(sorted(name for name in names if traits_of(name, (), roles))) or "none"
    name = f"{INDICATORS}{indicator}{ENDING}"
    empty = roles.resources.find("prompts", name)
    own = f"fill {empty}" if empty else f"write prompts/{name} in a folder of your own (--path)"
    return (
        f"{section}.indicator {indicator!r} has no traits; known indicators: {others}; give "
        f"it traits: --set '{section}.traits=[…, …]', or {own}"
    )
