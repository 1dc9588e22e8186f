"""Settings and inputs of a ranking, and the quality by which ideas and a target are ranked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from manyheads.asking.replies import ReplyModel, Text
from manyheads.asking.roles import Roles
from manyheads.config import Inputs, RunConfig, Section, Slot, Strict
from manyheads.core.results import Quality
from manyheads.core.texts import FileOrText, Given, Trait
from manyheads.systems.ideas import Entry
from manyheads.systems.ranking.replies import Ranking
from manyheads.systems.rebuttal.config import traits_of, unknown
from manyheads.systems.rebuttal.replies import Condensed


class ImprovedConfig(Strict):
    """The quality that the ideas were improved for; judged unless the config names another."""

    area: Text | None = None
    """The field of research."""
    indicator: Text = "novelty"
    """The quality."""
    traits: tuple[Trait, ...] = ()
    """Traits that define the quality."""


class RankingConfig(Section):
    """The relative quality ranking (Review and Rebuttal, §3.2, App. A.2)."""

    area: Text | None = None
    """The judge's field of research. Default: `improved.area`, else that of the ideas' runs, else computer science."""
    indicator: Text | None = None
    """The quality to judge. Default: that of `improved`, with its traits."""
    traits: tuple[Trait, ...] = ()
    """Traits that define `indicator`. Default: those in `prompts/partials/indicators/<indicator>.md.j2`."""
    orders: int = Field(default=4, ge=1)
    """Number of orders in which the judge sees the same ideas. A multiple of the number of ideas (with the target) puts
    each idea in each place equally often."""
    round: int | None = Field(default=None, ge=0)
    """For runs with revisions: the version after this many revisions, or the last if there are fewer. Default: the final one."""
    condense: Literal["all", "target"] = "all"
    """Texts to bring into the form of a proposal before the ranking: all that need it, or only the target, as in the paper."""
    align: bool = True
    """Show only fields that all ideas have, so that a missing field gives no idea away."""
    improved: ImprovedConfig = ImprovedConfig()


KINDS = "the folder of a run, a text file, or a text"
TARGET = Slot(
    "first",
    file=True,
    metavar="FILE|RUN|TEXT",
    required=True,
    hint=f"name the target abstract: --target, or --set inputs.target=…: {KINDS}",
)
IDEAS = Slot(
    "rest",
    file=True,
    metavar="RUN|FILE|TEXT",
    required=True,
    hint=f"manyheads ranking judge IDEA… --target …, or --set 'inputs.ideas=[…]': each {KINDS}",
)


class RankingInputs(Inputs):
    """Ideas, and the target they are ranked with."""

    in_full = frozenset({"ideas"})

    target: Annotated[FileOrText, TARGET] = None
    """The abstract whose idea is ranked with the others: a text file, the folder of a run, or the text itself."""
    ideas: Annotated[tuple[Given, ...], IDEAS] = ()
    """The ideas to rank: folders of runs, text files, or texts."""

    @model_validator(mode="after")
    def _each_once(self) -> "RankingInputs":
        if len(set(self.ideas)) < len(self.ideas):
            raise ValueError("ideas: one is named twice")
        return self

    def course(self) -> dict[str, Any]:
        """Nothing: every prompt contains the texts."""
        return {}


JUDGE = "judge"
NEEDS: Mapping[tuple[str, str], type[ReplyModel]] = {(JUDGE, "condense"): Condensed, (JUDGE, "rank"): Ranking}


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """Problems of the quality indicator, a line each."""
    quality, own = quality_of(config, roles), config.settings.indicator
    if not quality.traits:
        yield unknown("ranking" if own else "ranking.improved", quality.indicator or "", roles)


def quality_of(config: RunConfig, roles: Roles, ideas: Sequence[Entry] = ()) -> Quality:
    """The quality the judge ranks by. Default: the one the ideas were improved for."""
    settings: RankingConfig = config.settings
    improved = settings.improved
    indicator = settings.indicator or improved.indicator
    traits = settings.traits or (improved.traits if indicator == improved.indicator else ())
    areas = dict.fromkeys(idea.area for idea in ideas if idea.area)
    area = settings.area or improved.area or ", ".join(areas) or "computer science"
    return Quality(area=area, indicator=indicator, traits=traits_of(indicator, traits, roles))
