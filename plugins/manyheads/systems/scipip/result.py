"""The result of SciPIP."""

from typing import Literal

from manyheads.core.results import Abstract, Draft, Idea, Part, Person
from manyheads.systems.scipip.config import Background, ScipipConfig
from manyheads.team.run import Run

Origin = Literal["literature", "brainstorm", "both", "person"]


class ResearchBackground(Part):
    """The research background of the run."""

    source: str
    """The file or run it was read from; empty for a text."""
    text: str


class EntitySet(Part):
    """The entities used for look-ups, in addition to those the database finds (§3.2.1)."""

    background: list[str] = []
    brainstorm: list[str] = []
    """Of the brainstormed ideas; empty but on path C."""
    synonyms: dict[str, list[str]] = {}
    """Other names of them, by entity."""

    @property
    def terms(self) -> list[str]:
        """Each once, the background's first, without synonyms."""
        return list(dict.fromkeys([*self.background, *self.brainstorm]))

    @property
    def others(self) -> list[str]:
        """The synonyms, each once."""
        return list(dict.fromkeys(name for names in self.synonyms.values() for name in names))


class Cluster(Part):
    """Papers with nearly the same content (§3.2.2), as evidence; the first represents all."""

    number: int
    members: list[str]
    shown: bool = False
    """Whether the model was shown its first paper, under the cluster's number."""


class Screening(Part):
    """The judgement of an idea by itself, and the filter's decision (§3.3.1)."""

    fit: int
    fit_reason: str
    novelty: int
    novelty_reason: str
    feasibility: int
    feasibility_reason: str
    place: int | None = None
    """Among all ideas, 1 the best; None before all are judged."""
    kept: bool | None = None
    why: str = ""
    """The reason why it was kept or not: the rule in words."""


class Twin(Idea):
    """An idea merged into another one."""

    origin: Origin
    similarity: float
    """Cosine similarity of the two, -1 to 1."""


class Candidate(Idea):
    """An idea before the filter. `references` are the papers that it, and those it stands for, say they build on."""

    origin: Origin
    merged: list[Twin] = []
    """Nearly equal ideas merged into it."""
    screening: Screening | None = None


class FinalIdea(Idea):
    """An idea after refinement; `references` are those of the ideas that it comes from."""

    details: str
    sources: list[int]
    """Numbers of the ideas that it comes from."""
    origin: Origin | None = None
    """Where these come from; None where it names none of them."""

    @property
    def body(self) -> str:
        return f"{self.idea}\n\n{self.details}"


class ScipipResult(Part):
    """A problem, the papers behind it, ideas with their fate, and the final ideas; `idea` is the first of these."""

    team: list[Person] = []
    path: str | None = None
    background: ResearchBackground | None = None
    entities: EntitySet = EntitySet()
    clusters: list[Cluster] = []
    """Of the papers that were found, the most relevant first; `evidence` tells how each was found."""
    records: dict[str, int] = {}
    """Of the papers that the model was shown, how many records each maker has made; an empty name stands for none."""
    rationale: str | None = None
    problem: str | None = None
    ideas: list[Candidate] = []
    """In the order of their numbers, those of the brainstorming first; without those that others stand for."""
    coherence: str | None = None
    """How the final ideas fit together."""
    final: list[FinalIdea] = []
    idea: FinalIdea | None = None
    abstract: Abstract | None = None
    drafts: list[Draft] = []
    turns: dict[str, int] = {}
    inference_cost: int | None = None
    """Number of replies requested."""


ScipipRun = Run[ScipipResult, ScipipConfig, Background]
