"""Settings and inputs of a society. The defaults are those of the papers' authors' second code base, where the papers are silent."""

from typing import Annotated, Any, Literal

from pydantic import Field

from manyheads.config import Inputs, Section, Slot, Strict
from manyheads.core.texts import FileOrText
from manyheads.measures.packages import BARE_ON
from manyheads.systems.virsci.config import VirSciConfig


class SizeConfig(Strict):
    """How many members a team has, its leader included."""

    draw: Literal["fixed", "normal", "exponential"] = "exponential"
    """`fixed`: `most`. `normal`: N(most, 1), at most 2 most - 3. `exponential`: 3 + Exp(mean 4), at most 2 most + 3. Both at least 3."""
    most: int = Field(default=3, ge=1)
    """The size that the draws are made around."""


class AcceptanceConfig(Strict):
    """Which abstracts become papers of the society."""

    by: Annotated[Literal["mark", "hd", "cd", "ci", "on", "own"], BARE_ON] = "mark"
    """The reviewers' mean mark, or a measure of the abstract; of `cd`, the smaller is the better."""
    least: float = 6
    """Accepted from this value on; the mean mark below which a team revises its abstract, too."""
    share: float | None = Field(default=None, gt=0, le=1)
    """Accepted is this share of the epoch's teams, the best ones; replaces `least`."""


class ChangesConfig(Strict):
    """What the authors' society has not: who comes, rests, and changes their interests."""

    newcomers: int = Field(default=0, ge=0)
    """Scientists who enter after each epoch."""
    rest_after: int | None = Field(default=None, ge=1)
    """Epochs without a team after which a scientist is asked no more."""
    interests: bool = False
    """Whether the interests of authors follow what they wrote."""


class SocietyConfig(Section):
    """Epochs of many teams over one ecosystem."""

    epochs: int = Field(default=5, ge=1)
    """Years."""
    teams: Annotated[int, Field(ge=1)] | Literal["all"] = 10
    """Teams founded in an epoch; with `all`, every scientist founds one."""
    pace: Literal["run", "stage"] = "run"
    """What a team does in an epoch: its whole `run`, or one `stage`. The stages are members, topic, ideas, novelty, abstract and review."""
    team_limit: int = Field(default=2, ge=1)
    """Teams that a scientist may be in at once."""
    size: SizeConfig = SizeConfig()
    links: Literal["formed", "accepted"] = "formed"
    """When each pair of a team gains one joint work: as the team forms, or as its abstract is accepted."""
    citations: Literal["drawn", "accepted"] = "drawn"
    """Whose references gain a citation: all teams', or those whose abstract was accepted."""
    acceptance: AcceptanceConfig = AcceptanceConfig()
    independent: bool = False
    """No society: all teams see the corpus as it was published. The baseline of equal cost."""
    changes: ChangesConfig = ChangesConfig()
    keep: int = Field(default=3, ge=0)
    """Teams of an epoch whose run folders are kept."""
    best: int = Field(default=10, ge=1)
    """Papers in the result."""
    virsci: VirSciConfig = Field(default_factory=VirSciConfig)
    """The teams' own settings; leader, members and size are the society's."""

    def course(self) -> dict[str, Any]:
        """Without what changes no turn: a society may go on for more epochs."""
        return self.model_dump(mode="json", exclude={"epochs", "keep", "best"})


class SocietyInputs(Inputs):
    """A society to go on from."""

    branch: Annotated[FileOrText, Slot(file=True, metavar="RUN")] = None
    """Another society's run folder, whose past this one shares."""
    after: Annotated[int | None, Slot(metavar="EPOCH")] = Field(default=None, ge=1)
    """The last epoch of it that is shared; all that are finished if omitted."""
