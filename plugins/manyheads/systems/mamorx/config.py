"""What steers a review of a paper, its input, and what it needs of the roles' tasks (MAMORX, §3.1, §4)."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from manyheads.config import Inputs, Section, Slot, Strict
from manyheads.disk import expanded
from manyheads.replies import Text


class NoveltyConfig(Strict):
    """The novelty assessment (App. A.4)."""

    enabled: bool = True
    phrases: int = Field(default=3, ge=1, le=6)
    """Search phrases, each broader than the one before."""
    papers: int = Field(default=30, ge=1, le=100)
    """Related papers at most, over all phrases."""


class FiguresConfig(Strict):
    """The figure critic (App. A.3)."""

    enabled: bool = True
    most: int = Field(default=30, ge=1)
    """Figures that are looked at; which are left out is said."""
    pixels: int = Field(default=1_000_000, ge=10_000)
    """Of a picture that a model is shown, at most."""


class ReferencesConfig(Strict):
    """Domain knowledge: the works that the paper cites (§3.1)."""

    enabled: bool = True
    most: int = Field(default=100, ge=0)
    """References that are looked up; which are left out is said."""


class MamorxConfig(Section):
    """A review of a paper by a committee, or by one of its baselines."""

    maker: Literal["committee", "plain", "outline", "alone"] = "committee"
    """Who writes it: a leader with three experts (§3.1); one prompt with the paper's text, plain or with an outline
    (§4); or one agent that reads and thinks again while `tokens` last."""
    form: Text = "mamorx"
    """The form of the review: `mamorx`, `neurips`, `iclr`, `outline`, or a file of yours, `prompts/review_leader/forms/<form>.yaml`."""
    area: Text = "computer science"
    exchanges: int = Field(default=12, ge=1, le=60)
    """Questions and tasks that the leader may give to experts, all together."""
    tokens: int | None = Field(default=None, ge=1)
    """What one agent alone may use, in and out; None where it is not held to any."""
    novelty: NoveltyConfig = NoveltyConfig()
    figures: FiguresConfig = FiguresConfig()
    references: ReferencesConfig = ReferencesConfig()


PAPER = Slot("last", file=True, metavar="FILE|RUN", required=True, hint="--paper FILE, such as paper.pdf")


class MamorxInputs(Inputs):
    """The paper that is reviewed."""

    paper: Annotated[str | None, PAPER] = None
    """A PDF, TEI, LaTeX, HTML, Markdown, text or JSON file, or the folder of a run that wrote an abstract."""

    @field_validator("paper")
    @classmethod
    def _named_in_full(cls, value: str | None) -> str | None:
        return None if value is None else str(expanded(value).resolve())
