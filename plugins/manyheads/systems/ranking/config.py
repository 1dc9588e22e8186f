"""What steers a ranking, its inputs, and the quality by which ideas are ranked beside a target."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from manyheads.config import Inputs, RunConfig, Section, Slot, Strict
from manyheads.core.results import Quality
from manyheads.replies import Condensed, Ranking, ReplyModel, Text
from manyheads.roles import Roles
from manyheads.systems.ideas import Entry
from manyheads.systems.rebuttal.config import traits_of, unknown
from manyheads.texts import FileOrText, Given, Trait


class ImprovedConfig(Strict):
    """What the ideas were improved for, which is judged where nothing else is named."""

    area: Text | None = None
    """The field of research."""
    indicator: Text = "novelty"
    """The quality."""
    traits: tuple[Trait, ...] = ()
    """By what the quality is known."""


class RankingConfig(Section):
    """The relative quality ranking (Review and Rebuttal, §3.2, App. A.2)."""

    area: Text | None = None
    """The field of research in which the judge is at home; when left out `improved.area`, else that of the ideas' runs,
    else computer science."""
    indicator: Text | None = None
    """The quality that is judged; that of `improved`, with its traits, when left out."""
    traits: tuple[Trait, ...] = ()
    """By what `indicator` is known; those of `prompts/partials/indicators/<indicator>.md.j2` when left out."""
    orders: int = Field(default=4, ge=1)
    """In how many orders the judge is shown the same ideas; a multiple of their number, the target among them, puts
    each idea in each place equally often."""
    round: int | None = Field(default=None, ge=0)
    """Of runs that revised their idea, the version after so many revisions, or the last; the final one when left out."""
    condense: Literal["all", "target"] = "all"
    """What is brought into the form of a proposal before it is ranked: all that is not in it, or, as in the paper, the
    target alone."""
    align: bool = True
    """Show only the fields that all ideas of the set have, so that none is known by what it lacks."""
    improved: ImprovedConfig = ImprovedConfig()


KINDS = "the folder of a run, a text file, or a text"
TARGET = Slot(
    "first",
    file=True,
    metavar="FILE|RUN|TEXT",
    required=True,
    hint=f"the abstract that the ideas are ranked beside: --target, or --set inputs.target=…: {KINDS}",
)
IDEAS = Slot(
    "rest",
    file=True,
    metavar="RUN|FILE|TEXT",
    required=True,
    hint=f"manyheads ranking judge IDEA… --target …, or --set 'inputs.ideas=[…]': each {KINDS}",
)


class RankingInputs(Inputs):
    """Ideas, and the target that they are ranked beside."""

    in_full = frozenset({"ideas"})

    target: Annotated[FileOrText, TARGET] = None
    """The abstract whose idea the others are held against: a text file, the folder of a run, or the text itself."""
    ideas: Annotated[tuple[Given, ...], IDEAS] = ()
    """The ideas that are ranked beside it: folders of runs, text files, or texts."""

    @model_validator(mode="after")
    def _each_once(self) -> "RankingInputs":
        if len(set(self.ideas)) < len(self.ideas):
            raise ValueError("ideas: one is named twice")
        return self

    def course(self) -> dict[str, Any]:
        """Nothing: the texts stand in every prompt."""
        return {}


JUDGE = "judge"
NEEDS: Mapping[tuple[str, str], type[ReplyModel]] = {(JUDGE, "condense"): Condensed, (JUDGE, "rank"): Ranking}


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """What is wrong with the quality indicator, a line each."""
    quality, own = quality_of(config, roles), config.settings.indicator
    if not quality.traits:
        yield unknown("ranking" if own else "ranking.improved", quality.indicator or "", roles)


def quality_of(config: RunConfig, roles: Roles, ideas: Sequence[Entry] = ()) -> Quality:
    """The quality that the judge goes by; what is left out is that which the ideas were improved for."""
    settings: RankingConfig = config.settings
    improved = settings.improved
    indicator = settings.indicator or improved.indicator
    traits = settings.traits or (improved.traits if indicator == improved.indicator else ())
    areas = dict.fromkeys(idea.area for idea in ideas if idea.area)
    area = settings.area or improved.area or ", ".join(areas) or "computer science"
    return Quality(area=area, indicator=indicator, traits=traits_of(indicator, traits, roles))
