"""What a review of a paper comes to: its claims with their sources, what was found out about the paper, what it cost."""

from typing import Literal, TypeAlias

from pydantic import computed_field

from manyheads.core.results import Part, Person

SourceKind: TypeAlias = Literal["passage", "figure", "table", "reference", "paper"]
"""A passage of the paper, a figure, a table, a reference of it, or a paper that was found outside."""


class Source(Part):
    """What a claim rests on, and whether it is there."""

    kind: SourceKind
    name: str
    """As agents name it: `Section 4.2`, `Figure 2`, `Table 1`, `[12]`, `N3`."""
    quote: str = ""
    """The words that are quoted, as the claim has them."""
    found: str = ""
    """The words as they stand in the paper; empty where there are none."""
    page: int | None = None
    state: Literal["exact", "close", "there", "absent"] = "absent"
    """`exact`: the quote stands so; `close`: but for hyphens, ligatures or a few letters; `there`: nothing was quoted, and the
    figure, table or paper exists; `absent`: it was not found, and the claim is not printed as a fact."""
    similarity: float | None = None
    """Of a quote to what was found, 0 to 1."""
    evidence: str | None = None
    """The id in the run's evidence of a paper from outside."""


class Claim(Part):
    """A point of a review."""

    number: int
    field: str
    """The field of the form that it stands in."""
    text: str
    sources: list[Source] = []

    @property
    def grounded(self) -> bool:
        """Whether it has a source, and each of its sources is there."""
        return bool(self.sources) and all(each.state != "absent" for each in self.sources)


class Entry(Part):
    """What stands in one field of the form: a text, a number or a truth value; its claims, where it is a list of points."""

    name: str
    title: str
    kind: Literal["text", "points", "flag", "score", "choice"] = "text"
    value: str | int | bool | None = None
    """None for a list of points."""
    claims: list[int] = []
    """Numbers of its claims, in order."""
    scale: tuple[int, int] | None = None
    quotes: list[Source] = []
    """Of a text: what it quotes, and whether the paper says so."""

    @property
    def stated(self) -> str:
        """A score, a choice or a truth value in words; empty for a text, and for a list of points."""
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
    entries: list[Entry] = []
    claims: list[Claim] = []
    text: str = ""
    """All of it in Markdown, as an author reads it; claims without a source that is there stand apart."""

    @computed_field
    @property
    def scores(self) -> dict[str, int]:
        """What stands in the fields that have a scale, by their names."""
        return {each.name: value for each, value in self.scored}

    @property
    def scored(self) -> list[tuple[Entry, int]]:
        """The fields that have a scale, each with its number."""
        return [(each, each.value) for each in self.entries if each.scale and isinstance(each.value, int)]

    @property
    def misquoted(self) -> list[Source]:
        """What its texts quote although the paper does not say so."""
        return [quote for each in self.entries for quote in each.quotes if quote.state == "absent"]


class HiddenText(Part):
    """Text that a reader does not see, or that speaks to whoever reviews; agents are not shown what is hidden."""

    text: str
    page: int | None = None
    why: str
    shown: bool = False
    """Whether the agents have it: what stands visibly in the paper does, marked as a quotation."""
    figure: str = ""
    """The figure whose labels these are, `Figure 2`: they are clipped away or tiny, and speak to nobody."""


class Anchor(Part):
    """The paper as it was read."""

    source: str
    title: str
    sha256: str
    words: int
    pages: int = 0
    year: int | None = None
    sections: list[str] = []
    faults: list[str] = []
    """What could not be read, was cut or is in doubt."""
    hidden: list[HiddenText] = []


class Related(Part):
    """A paper found outside, and what was decided about it (MAMORX, §3.1, App. A.4)."""

    name: str
    """`N1`, `N2`, …"""
    evidence: str = ""
    """Empty before the run has cited it."""
    paper: str = ""
    """Its id at its source."""
    phrases: list[int] = []
    """The phrases that have found it, counted from 1; 0 is title and abstract, by which a local corpus is asked."""
    title: str
    year: int | None = None
    abstract: str = ""
    dropped: Literal["", "the paper itself", "cited", "no abstract"] = ""
    speaks: bool = False
    """Whether it speaks to a reviewer or a model; who compares it is told not to obey."""
    relevant: bool | None = None
    """None before it is decided, or where the answer failed."""
    novel: bool | None = None
    """Whether the paper under review is novel beside it; None of one that is not relevant, or where the answer failed."""
    why: str = ""


class Novelty(Part):
    """The assessment of novelty (MAMORX, §3.1, App. A.4)."""

    verdict: Literal["NOVEL", "NOT NOVEL", "not assessed"] = "not assessed"
    reason: str = ""
    """The summary; of what was not assessed, why, without the details that `missing` has."""
    phrases: list[str] = []
    """From the closest to the broadest."""
    related: list[Related] = []
    conflicts: list[str] = []
    """Titles of the papers beside which it is not novel."""
    before: str = ""
    """Nothing from this day on was looked for; empty where nothing bounds it."""
    missing: list[str] = []
    """What could not be asked, a sentence each: where there is any, the paper is never called novel."""


class FigureNote(Part):
    """What the figure critic says of a figure (MAMORX, §3.1, App. A.3)."""

    name: str
    """`Figure 2`."""
    caption: str = ""
    page: int | None = None
    description: str = ""
    critique: str = ""
    seen: bool = False
    """Whether a model saw the picture; else the critic had captions, and the text that speaks of the figure."""
    why: str = ""
    """Why it was not seen, or not criticised."""
    image: str | None = None
    """Its crop, a file in the run's folder."""


class CitedWork(Part):
    """A reference of the paper, and what the sources know of it."""

    name: str
    """`[12]`."""
    text: str
    title: str = ""
    year: int | None = None
    state: Literal["exists", "differs", "not found", "not asked"] = "not asked"
    """`differs`: it exists with other details, which `details` names."""
    details: list[str] = []
    retracted: bool | None = None
    """None where no source tells."""
    paper: str = ""
    """The id, at its source, of the work that it means."""
    found: str = ""
    """The title as a source has it."""
    abstract: str = ""
    evidence: str | None = None


class Step(Part):
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
    """With what it ended, where it has no answer."""


class MamorxResult(Part):
    """A review of a paper with all that it rests on."""

    maker: str = "committee"
    """Who wrote it, see `MamorxConfig.maker`."""
    title: str = ""
    paper: Anchor | None = None
    team: list[Person] = []
    figures: list[FigureNote] = []
    novelty: Novelty | None = None
    references: list[CitedWork] = []
    plan: list[Step] = []
    exchanges: list[Exchange] = []
    review: PaperReview | None = None
    partial: str = ""
    """Why the review is not whole, such as a spent budget; empty for a whole one."""
    turns: dict[str, int] = {}
    inference_cost: int = 0

    def count(self, stage: str) -> None:
        """Another reply of a stage."""
        self.turns[stage] = self.turns.get(stage, 0) + 1
        self.inference_cost = sum(self.turns.values())
