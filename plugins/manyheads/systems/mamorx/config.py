"""What steers a review of a paper, its input, and what it needs of the roles' tasks (MAMORX, §3.1, §4)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator

from manyheads.config import Inputs, RunConfig, Section, Slot, Strict
from manyheads.disk import expanded
from manyheads.replies import (
    Assessment,
    CaptionCritique,
    Colours,
    ExpertAnswer,
    FigureCritique,
    FigureDescription,
    Inquiries,
    Mending,
    Plan,
    ReplyModel,
    SectionChoice,
    Text,
    WrittenReview,
)
from manyheads.roles import Roles
from manyheads.tools import LOOK_UPS


class NoveltySearchConfig(Strict):
    """The novelty assessment (App. A.4)."""

    enabled: bool = True
    """Look for published work beside which the paper is not novel."""
    phrases: int = Field(default=3, ge=1, le=6)
    """Search phrases, each broader than the one before."""
    papers: int = Field(default=30, ge=1, le=100)
    """Related papers at most, over all phrases."""


class FiguresConfig(Strict):
    """The figure critic (App. A.3)."""

    enabled: bool = True
    """Have each figure described and criticised."""
    most: int = Field(default=30, ge=1)
    """Figures that are looked at; which are left out is said."""
    pixels: int = Field(default=1_000_000, ge=10_000)
    """Of a picture that a model is shown, at most."""


class ReferencesConfig(Strict):
    """Domain knowledge: the works that the paper cites (§3.1)."""

    enabled: bool = True
    """Look up the references of the paper."""
    most: int = Field(default=100, ge=0)
    """References that are looked up; which are left out is said."""


class MamorxConfig(Section):
    """A review of a paper by a committee, or by one of its baselines."""

    in_full = frozenset({"novelty"})

    maker: Literal["committee", "plain", "outline", "alone"] = "committee"
    """Who writes it: a leader with three experts (§3.1); one prompt with the paper's text, plain or with an outline
    (§4); or one agent that reads and thinks again while `tokens` last."""
    form: Text = "mamorx"
    """The form of the review: `mamorx`, `neurips`, `iclr`, `outline`, or a file of yours, `prompts/review_leader/forms/<form>.yaml`."""
    area: Text = "computer science"
    """The paper's field of research."""
    exchanges: int = Field(default=12, ge=1, le=60)
    """Questions and tasks that the leader may give to experts, all together."""
    tokens: int | None = Field(default=None, ge=1)
    """What one agent alone may use, in and out; None where it is not held to any."""
    novelty: NoveltySearchConfig = NoveltySearchConfig()
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


LEADER, REVIEWER = "review_leader", "paper_reviewer"
EXPERTS = ("clarity", "experiments", "impact")
"""Whom the leader may ask; the role of each is `<name>_expert`."""


def role_of(expert: str) -> str:
    """The role card of an expert."""
    return f"{expert}_expert"


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    """The tasks that a config makes it ask."""
    settings: MamorxConfig = config.settings
    match settings.maker:
        case "plain" | "outline":
            return {(REVIEWER, settings.maker): WrittenReview}
        case "alone":
            tasks = {
                "draft": WrittenReview,
                "rethink": WrittenReview,
                "mend": Mending,
                "choose": SectionChoice,
            }
            return {(REVIEWER, task): kind for task, kind in tasks.items()}
        case "committee":
            leader = {
                "plan": Plan,
                "lead": Assessment,
                "inquire": Inquiries,
                "write": WrittenReview,
                "mend": Mending,
            }
            expert = {"choose": SectionChoice, "answer": ExpertAnswer}
            figures = {
                "look": Colours,
                "describe": FigureDescription,
                "critique": FigureCritique,
                "captions": CaptionCritique,
            }
            return {
                **{
                    ("figure_critic", task): kind
                    for task, kind in figures.items()
                    if settings.figures.enabled
                },
                **{(LEADER, task): kind for task, kind in {**leader, "choose": SectionChoice}.items()},
                **{(role_of(each), task): kind for each in EXPERTS for task, kind in expert.items()},
            }


def uses_corpus(config: RunConfig) -> bool:
    """Whether papers are looked up in a corpus: the one that ships holds no real work, and is asked only where nothing else is."""
    cascade = config.literature.cascade
    return "local" in cascade and (config.corpus != "sample" or cascade == ("local",))


def searches(config: RunConfig, roles: Roles) -> bool:
    """Whether it looks papers up: for novelty, for references, or by a tool that a card lists."""
    settings: MamorxConfig = config.settings
    committee = settings.maker == "committee"
    listed = {name for role, _ in needs(config) for name in roles.card(role).tools}
    return (committee and (settings.novelty.enabled or settings.references.enabled)) or bool(
        LOOK_UPS & listed
    )
