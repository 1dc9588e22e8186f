"""The section `ranking`: ideas ranked beside a target idea by a judge who does not know which it is."""

from typing import Literal

from pydantic import Field, model_validator

from manyheads.config.sections import Strict
from manyheads.replies.base import Text
from manyheads.texts import FileOrText, Given, Trait


class RankingConfig(Strict):
    """The relative quality ranking (Review and Rebuttal, §3.2, App. A.2)."""

    target: FileOrText = None
    """The abstract whose idea the others are held against: a text file, the folder of a run, or the text itself."""
    ideas: tuple[Given, ...] = ()
    """The ideas that are ranked beside it: folders of runs, text files, or texts."""
    area: Text | None = None
    """The field of research in which the judge is at home; `rebuttal.area` when left out."""
    indicator: Text | None = None
    """The quality that is judged; that of `rebuttal`, with its traits, when left out."""
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

    @model_validator(mode="after")
    def _each_once(self) -> "RankingConfig":
        if len(set(self.ideas)) < len(self.ideas):
            raise ValueError("ideas: one is named twice")
        return self
