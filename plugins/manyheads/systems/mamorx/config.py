"""Settings and input of a review of a paper, and the tasks required of roles (MAMORX, §3.1, §4)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from manyheads.asking.replies import ReplyModel, Text
from manyheads.asking.roles import Roles
from manyheads.config import Inputs, RunConfig, Slot, Strict
from manyheads.core.texts import PathInFull
from manyheads.systems.equal_cost import TokenLimit
from manyheads.systems.mamorx import replies
from manyheads.systems.mamorx.replies import SectionChoice, WrittenReview
from manyheads.team.tools import LOOK_UPS


class NoveltySearchConfig(Strict):
    """The novelty assessment (App. A.4)."""

    enabled: bool = True
    """Look for published work that makes the paper not novel."""
    phrases: int = Field(default=3, ge=1, le=6)
    """Number of search phrases, each broader than the one before."""
    papers: int = Field(default=30, ge=1, le=100)
    """Maximum related papers, over all phrases."""


class FiguresConfig(Strict):
    """The figure critic (App. A.3)."""

    enabled: bool = True
    """Have each figure described and criticised."""
    most: int = Field(default=30, ge=1)
    """Maximum figures; a warning counts those left out."""
    pixels: int = Field(default=1_000_000, ge=10_000)
    """Maximum size of a picture shown to a model."""


class ReferencesConfig(Strict):
    """Domain knowledge: the works cited by the paper (§3.1)."""

    enabled: bool = True
    """Look up the references of the paper."""
    most: int = Field(default=100, ge=0)
    """Maximum references to look up; a warning counts those left out."""
    linked: int = Field(default=20, ge=0)
    """Maximum works whose own references are looked up, the latest first: which of the others they cite."""


class MamorxConfig(TokenLimit):
    """A review of a paper by a committee, which has no limit in tokens, or by one of its baselines."""

    in_full = frozenset({"novelty"})

    maker: Literal["committee", "plain", "outline", "alone"] = "committee"
    """The author. `committee` is a leader with three experts (§3.1); `plain` and `outline` are one prompt with the paper's text
    (§4). With `tokens` or `like` they write as many reviews as these pay for, and pick one. `alone` is one agent that reads and revises
    while these last."""
    form: Text = "mamorx"
    """The form of the review: `mamorx`, `neurips`, `iclr`, `outline`, or your own `prompts/review_leader/forms/<form>.yaml`."""
    area: Text = "computer science"
    """The paper's field of research."""
    reader: Text = "auto"
    """The reader of the paper's file: `auto`, `pdf`, `tei`, `html`, `latex`, `json`, `markdown`, `plain`, `docx`, `odt`, `epub`, `jats`,
    `rst`, `typst`. `ocrmypdf` and `tesseract` recognise the text of scanned pages (`tesseract:deu+eng`
    names languages). An address is that of a GROBID server, which reads PDFs. Packages bring others (entry points
    `manyheads.readers`)."""
    exchanges: int = Field(default=12, ge=1, le=60)
    """Maximum questions and tasks of the leader to experts, in total."""
    novelty: NoveltySearchConfig = NoveltySearchConfig()
    figures: FiguresConfig = FiguresConfig()
    references: ReferencesConfig = ReferencesConfig()
    texts: int = Field(default=3, ge=0)
    """Maximum open full texts (PDF) of related and cited works to download, the nearest to the paper first; 0 for none."""

    @model_validator(mode="after")
    def _can_be_held(self) -> "MamorxConfig":
        if (self.tokens or self.like) and self.maker == "committee":
            key = "tokens" if self.tokens else "like"
            raise ValueError(
                f"{key}: the tokens of a committee are not limited; set maker to plain, outline or alone"
            )
        return self


PAPER = Slot("last", file=True, metavar="FILE|RUN", required=True, hint="--paper FILE, such as paper.pdf")


class MamorxInputs(Inputs):
    """The paper to review."""

    paper: Annotated[PathInFull, PAPER] = None
    """A file: PDF, TEI, LaTeX, HTML, Markdown, text or JSON; with the extra `office` also Word, OpenDocument, EPUB, JATS,
    reStructuredText or Typst. Or a LaTeX folder, a zip or tar.gz, an arXiv number, a DOI, or a link. Or the folder of a run that
    wrote an abstract."""


STEERS = {
    "plan": "accept or edit the leader's plan, or send it back",
    "writing": "accept or edit the review, or send it back, before its sources are looked up",
}
"""What a person may do after a stage of the committee."""
LEADER, REVIEWER = "review_leader", "paper_reviewer"
EXPERTS = ("clarity", "experiments", "impact")
"""Experts that the leader may ask; the role of each is `<name>_expert`."""


def role_of(expert: str) -> str:
    """The role card of an expert."""
    return f"{expert}_expert"


FIGURE_CRITIC = {
    "look": replies.Colours,
    "describe": replies.FigureDescription,
    "critique": replies.FigureCritique,
    "captions": replies.CaptionCritique,
}
LEADING = {
    "plan": replies.Plan,
    "lead": replies.Assessment,
    "inquire": replies.Inquiries,
    "write": WrittenReview,
    "correct": replies.Correction,
    "choose": SectionChoice,
}
ANSWERING = {"choose": SectionChoice, "answer": replies.ExpertAnswer}
REVIEWING = {
    "draft": WrittenReview,
    "rethink": WrittenReview,
    "correct": replies.Correction,
    "choose": SectionChoice,
}


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    tasks: dict[str, Mapping[str, type[ReplyModel]]]
    match config.settings.maker:
        case "alone":
            tasks = {REVIEWER: REVIEWING}
        case "committee":
            tasks = {"figure_critic": FIGURE_CRITIC} if config.settings.figures.enabled else {}
            tasks |= {LEADER: LEADING} | {role_of(each): ANSWERING for each in EXPERTS}
        case task:
            drafts = config.settings.tokens or config.settings.like
            tasks = {REVIEWER: {task: WrittenReview, **({"pick": replies.BestReview} if drafts else {})}}
    return {(role, task): kind for role, kinds in tasks.items() for task, kind in kinds.items()}


def uses_corpus(config: RunConfig) -> bool:
    """Whether papers are looked up in a corpus. The shipped one has no real work and is used only if there is no other source."""
    cascade = config.literature.cascade
    return "local" in cascade and (config.corpus != "sample" or cascade == ("local",))


def searches(config: RunConfig, roles: Roles) -> bool:
    """Whether a run looks up papers: for novelty, for references, or by a tool of a card."""
    settings: MamorxConfig = config.settings
    if settings.maker == "committee" and (settings.novelty.enabled or settings.references.enabled):
        return True
    return any(LOOK_UPS & {*roles.card(role).tools} for role, _ in needs(config))
