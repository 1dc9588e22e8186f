"""The section of the ranking, and its inputs: ideas ranked beside a target idea by a judge who does not know which it is."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from manyheads.config import Inputs, RunConfig, Section, Slot, Strict
from manyheads.replies.base import Text
from manyheads.texts import FileOrText, Given, Trait


class ImprovedConfig(Strict):
    """What the ideas were improved for, which is judged where nothing else is named."""

    area: Text = "computer science"
    """The field of research."""
    indicator: Text = "novelty"
    """The quality."""
    traits: tuple[Trait, ...] = ()
    """By what the quality is known."""


class RankingConfig(Section):
    """The relative quality ranking (Review and Rebuttal, §3.2, App. A.2)."""

    area: Text | None = None
    """The field of research in which the judge is at home; `improved.area` when left out."""
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


class RankingInputs(Inputs):
    """Ideas, and the target that they are ranked beside."""

    target: Annotated[FileOrText, Slot("first", file=True, metavar="FILE|RUN|TEXT")] = None
    """The abstract whose idea the others are held against: a text file, the folder of a run, or the text itself."""
    ideas: Annotated[tuple[Given, ...], Slot("rest", file=True, metavar="RUN|FILE|TEXT")] = ()
    """The ideas that are ranked beside it: folders of runs, text files, or texts."""

    @model_validator(mode="after")
    def _each_once(self) -> "RankingInputs":
        if len(set(self.ideas)) < len(self.ideas):
            raise ValueError("ideas: one is named twice")
        return self

    def course(self) -> dict[str, Any]:
        """Nothing: the texts stand in every prompt."""
        return {}


def settings_of(config: RunConfig) -> RankingConfig:
    """The settings of a run of the ranking."""
    return config.settings
