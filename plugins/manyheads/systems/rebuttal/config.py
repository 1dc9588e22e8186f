"""What steers review and rebuttal, its inputs, and what it needs of both and of the roles' tasks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.errors import ConfigError
from manyheads.replies import Abstract, FirstIdea, Proposal, ReplyModel, Rethought, Review, Text, Verdict
from manyheads.roles import Roles
from manyheads.texts import FileOrText, Trait, file_or_text


class RebuttalConfig(Section):
    """What proposer, reviewer and area chair are after, and how long they go on (Algorithm 1)."""

    area: Text = "computer science"
    """The field of research in which all three are at home."""
    indicator: Text = "novelty"
    """The quality that is improved and judged: `novelty`, `feasibility`, or one with traits of your own."""
    traits: tuple[Trait, ...] = ()
    """By what the quality is known; those of `prompts/partials/indicators/<indicator>.md.j2` when left out."""
    most: int = Field(default=100, ge=1)
    """Abstracts of the background, at most: all of them stand in each prompt of the proposer."""
    method: Literal["rebuttal", "self-reflection", "initial"] = "rebuttal"
    """Review and rebuttal, or a baseline: the proposer alone until nothing improves, or the first idea as it is (§4.2)."""
    max_iters: int = Field(default=10, ge=1)
    """Revisions, at most."""
    patience: Literal[1, 2] = 1
    """Revisions in a row without significant improvement that end it: one (Algorithm 1), or the stricter two (§3.1.3)."""
    final: Literal["last", "improved"] = "last"
    """The final idea: the last one, with which the paper ends, or the last that was found significantly better."""
    reviewer: bool = True
    """Off: the proposer revises without a review (§4.5)."""
    area_chair: bool = True
    """Off: nobody compares, and `fixed_iters` revisions are made (§4.5)."""
    fixed_iters: int = Field(default=7, ge=1)
    """Revisions without an area chair."""
    abstract: bool = False
    """Write the abstract of the final idea, such as `manyheads measure` reads."""


class RebuttalInputs(Inputs):
    """What an idea starts from, or the idea itself."""

    background: Annotated[str | tuple[str, ...] | None, Slot("each", metavar="FILE|TEXT")] = None
    """What an idea starts from: a file of papers (.bib, .jsonl, .csv, …), or a text; a list is of texts alone."""
    idea: Annotated[FileOrText, Slot(file=True, metavar="RUN|FILE|TEXT")] = None
    """An idea to begin with in place of a first one: a run's folder, a text file, or the text itself."""

    @field_validator("background")
    @classmethod
    def _file_or_text(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        return file_or_text(value) if isinstance(value, str) else value

    def course(self) -> dict[str, Any]:
        """The background is left out: it stands in every prompt."""
        return {"idea": super().course()["idea"]}


PROPOSER, REVIEWER, AREA_CHAIR = "proposer", "reviewer", "area_chair"


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    """The tasks that a config makes it ask: nobody who is switched off is needed."""
    settings: RebuttalConfig = config.settings
    together = settings.method == "rebuttal"
    tasks: list[tuple[str, str, type[ReplyModel], bool]] = [
        (PROPOSER, "propose", FirstIdea, config.inputs.idea is None),
        (PROPOSER, "revise", Proposal, together),
        (PROPOSER, "reflect", Rethought, settings.method == "self-reflection"),
        (REVIEWER, "review", Review, together and settings.reviewer),
        (AREA_CHAIR, "compare", Verdict, together and settings.area_chair),
        (PROPOSER, "abstract", Abstract, settings.abstract),
    ]
    return {(role, task): kind for role, task, kind, needed in tasks if needed}


def need_beginning(config: RunConfig) -> RunConfig:
    """The config as it is; raises `ConfigError` without a background or an idea, or where the method leaves a given idea as it is."""
    idea = config.inputs.idea
    if not config.inputs.background and idea is None:
        raise ConfigError(
            f"{config.system}: needs a background",
            hint='name one: --background papers.bib, abstracts.jsonl or "a text"; or an idea: --idea RUN',
        )
    if idea is not None and config.settings.method == "initial":
        raise ConfigError(
            f"{config.system}: rebuttal.method=initial only writes a first idea, and inputs.idea gives one",
            hint="leave one of both out",
        )
    return config


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """What is wrong with the quality indicator, a line each."""
    settings: RebuttalConfig = config.settings
    if not traits_of(settings.indicator, settings.traits, roles):
        yield unknown(config.system, settings.indicator, roles)


# A quality indicator, and by what it is known (App. A.1).

INDICATORS, ENDING = "partials/indicators/", ".md.j2"


def traits_of(indicator: str, traits: Sequence[str], roles: Roles) -> str:
    """The traits of the config, or those of the indicator's partial, as a list in Markdown; empty without any."""
    if traits:
        return "\n".join(f"- {' '.join(trait.split())}" for trait in traits)
    name = f"{INDICATORS}{indicator}{ENDING}"
    return roles.prompts.render(name, {}).strip() if roles.resources.find("prompts", name) else ""


def unknown(section: str, indicator: str, roles: Roles) -> str:
    """What to do about an indicator of a section of the config that has no traits, in a line."""
    files = (name.removeprefix(INDICATORS) for name in roles.resources.names("prompts", ENDING, INDICATORS))
    names = (name.removesuffix(ENDING) for name in files if "/" not in name)
    others = ", ".join(sorted(name for name in names if traits_of(name, (), roles))) or "none"
    name = f"{INDICATORS}{indicator}{ENDING}"
    empty = roles.resources.find("prompts", name)
    own = f"fill {empty}" if empty else f"write prompts/{name} in a folder of your own (--path)"
    return (
        f"{section}.indicator {indicator!r}: nothing tells its traits; there are {others}; give "
        f"it traits: --set '{section}.traits=[…, …]', or {own}"
    )
