"""The result of a review of a paper: claims with their sources, findings about the paper, and replies."""

from typing import Literal, TypeAlias

from pydantic import Field, computed_field
from pydantic.json_schema import SkipJsonSchema

from manyheads.base.papers import Paper
from manyheads.core.results import Part, Person

SourceKind: TypeAlias = Literal["passage", "figure", "table", "reference", "paper"]
"""A passage, figure, table or reference of the paper, or a paper from outside."""


Bound: TypeAlias = Literal["", "config", "corpus", "arxiv", "printed", "file", "references"]
"""Where a limit of dates is from: the config, the corpus's own year, or the paper: its arXiv number, its printed year, the day
on which its file was made, the latest year among its references."""


class PointSource(Part):
    """A source of a claim, and whether it exists."""

    kind: SourceKind
    name: str
    """Its name for agents: `Section 4.2`, `Figure 2`, `Table 1`, `[12]`, `N3`."""
    quote: str = ""
    """The quoted words, as in the claim."""
    found: str = ""
    """The words as in the paper; empty if there are none."""
    page: int | None = None
    state: Literal["exact", "close", "there", "absent"] = "absent"
    """`exact`: the paper has the quote; `close`: except for hyphens, ligatures or a few letters; `there`: no quote, and the
    figure, table or paper exists; `absent`: not found, and the claim is not printed as a fact."""
    similarity: float | None = None
    """Similarity of the quote to the words found, 0 to 1."""
    evidence: str | None = None
    """Id in the run's evidence, for a paper from outside."""


class Claim(Part):
    """A point of a review."""

    number: int
    field: str
    """Its field of the form."""
    text: str
    sources: list[PointSource] = []

    @property
    def grounded(self) -> bool:
        """Whether it has sources and all of them exist."""
        return bool(self.sources) and all(each.state != "absent" for each in self.sources)


class ReviewEntry(Part):
    """The content of one field of the form: a text, a number, a truth value, or a list of claims."""

    name: str
    title: str
    kind: Literal["text", "points", "flag", "score", "choice"] = "text"
    value: str | int | bool | None = None
    """None for a list of claims."""
    claims: list[int] = []
    """Numbers of its claims, in order."""
    scale: tuple[int, int] | None = None
    quotes: list[PointSource] = []
    """Quotes of a text, and whether the paper has them."""

    @property
    def stated(self) -> str:
        """A score, a choice or a truth value in words; empty for a text or a list of points."""
        match self.value:
            case bool():
                return "yes" if self.value else "no"
            case int():
                return f"{self.value}/{self.scale[1]}" if self.scale else str(self.value)
            case str() if self.kind == "choice":
                return self.value
            case _:
                return ""


class PaperReview(Part):
    """A review on a form."""

    form: str
    title: str
    """Of the form."""
    entries: list[ReviewEntry] = []
    claims: list[Claim] = []
    text: str = ""
    """The whole review in Markdown; claims without an existing source are listed separately."""

    @computed_field
    @property
    def scores(self) -> dict[str, int]:
        """The values of the fields with a scale, by name."""
        return {each.name: value for each, value in self.scored}

    @property
    def scored(self) -> list[tuple[ReviewEntry, int]]:
        """The fields with a scale, each with its number."""
        return [(each, each.value) for each in self.entries if each.scale and isinstance(each.value, int)]

    @property
    def misquoted(self) -> list[PointSource]:
        """Quotes of its texts that the paper does not have."""
        return [quote for each in self.entries for quote in each.quotes if quote.state == "absent"]


class HiddenText(Part):
    """Text that is hidden or addresses the reviewer; agents do not see hidden text."""

    text: str
    page: int | None = None
    why: str
    shown: bool = False
    """Whether agents see it: visible text is shown, marked as a quotation."""
    figure: str = ""
    """The figure with these labels, such as `Figure 2`: they are clipped or tiny, and address nobody."""


class Anchor(Part):
    """The paper as read."""

    source: str
    title: str
    sha256: str
    words: int
    pages: int = 0
    year: int | None = None
    sections: list[str] = []
    faults: list[str] = []
    """Parts that could not be read, were cut or are doubtful."""
    hidden: list[HiddenText] = []


class Work(Part):
    """A published work, with what sources have of it."""

    name: str
    """`N1`, `N2`, … of related papers, `[12]` of cited works."""
    title: str = ""
    year: int | None = None
    paper: str = ""
    """Its id at its source."""
    abstract: str = ""
    published: SkipJsonSchema[Paper | None] = Field(default=None, exclude=True)
    """As the source gives it, while the run lasts."""
    open_text: str = ""
    """The address of its full text, if a source names an open one."""
    passage: str = ""
    """What that text says nearest to the paper under review."""


class RelatedWork(Work):
    """A related paper and the decision about it (MAMORX, §3.1, App. A.4)."""

    evidence: str = ""
    """Empty until the run has cited it."""
    phrases: list[int] = []
    """The phrases that found it, from 1; 0 is title and abstract, the query for a local corpus."""
    dropped: Literal["", "the paper itself", "cited", "no abstract"] = ""
    speaks: bool = False
    """Whether it addresses a reviewer or a model; the model that compares it is told not to obey."""
    relevant: bool | None = None
    """None before the decision or if the answer failed."""
    novel: bool | None = None
    """Whether the paper under review is novel compared with it; None if it is not relevant or the answer failed."""
    why: str = ""


class NoveltyAssessment(Part):
    """The assessment of novelty (MAMORX, §3.1, App. A.4)."""

    verdict: Literal["NOVEL", "NOT NOVEL", "not assessed"] = "not assessed"
    reason: str = ""
    """The summary; without an assessment the reason, whose details are in `missing`."""
    phrases: list[str] = []
    """From the closest to the broadest."""
    related: list[RelatedWork] = []
    conflicts: list[str] = []
    """Titles of the papers that make it not novel."""
    before: str = ""
    """Only papers before this date were searched; empty for no limit."""
    bound: Bound = ""
    """Where that date is from; empty if nothing gives one."""
    missing: list[str] = []
    """Failed look-ups and answers, a sentence each; if there are any, the paper is never called novel."""


class FigureNote(Part):
    """The figure critic's note of a figure (MAMORX, §3.1, App. A.3)."""

    name: str
    """`Figure 2`."""
    caption: str = ""
    page: int | None = None
    description: str = ""
    critique: str = ""
    seen: bool = False
    """Whether a model saw the picture; otherwise the critic had only captions and the text about the figure."""
    why: str = ""
    """The reason if it was not seen or not criticised."""
    image: str | None = None
    """The file of its picture, in the run's folder."""


class CitedWork(Work):
    """A reference of the paper, with details from the sources."""

    text: str
    state: Literal["exists", "differs", "not found", "not asked"] = "not asked"
    """`differs`: it exists with other details, listed in `details`."""
    details: list[str] = []
    retracted: bool | None = None
    """None if no source has it."""
    found: str = ""
    """The title in the source."""
    cites: list[str] = []
    """The cited works that it cites itself, as far as that was looked up: an edge of the graph of cited works (§3.1)."""
    evidence: str | None = None


class PlannedStep(Part):
    """A step of the leader's plan."""

    expert: str
    task: str
    expects: str = ""


class Exchange(Part):
    """A question of the leader's and its answer."""

    number: int
    kind: Literal["ask", "delegate"]
    expert: str
    text: str
    expects: str = ""
    answer: str = ""
    failed: str = ""
    """The failure if there is no answer."""


class MamorxResult(Part):
    """A review of a paper with all its sources and findings."""

    maker: str = "committee"
    """The author, see `MamorxConfig.maker`."""
    title: str = ""
    paper: Anchor | None = None
    team: list[Person] = []
    figures: list[FigureNote] = []
    novelty: NoveltyAssessment | None = None
    references: list[CitedWork] = []
    plan: list[PlannedStep] = []
    exchanges: list[Exchange] = []
    drafts: int = 0
    """Reviews that one prompt wrote, of which `review` is one."""
    review: PaperReview | None = None
    partial: str = ""
    """The reason for a partial review, such as a spent budget; empty for a complete one."""
    turns: dict[str, int] = {}
    inference_cost: int = 0

    @property
    def related(self) -> list[RelatedWork]:
        """The related papers that the assessment of novelty has found."""
        return self.novelty.related if self.novelty else []

    @property
    def names_sources(self) -> bool:
        """Whether the author of the review was asked for the sources of its points."""
        return self.maker in ("committee", "alone")

    def count(self, stage: str) -> None:
        """Count one more reply of a stage."""
        self.turns[stage] = self.turns.get(stage, 0) + 1
        self.inference_cost = sum(self.turns.values())
