"""Results of the judges of ideas."""

from manyheads.core.results import Figure, Part


class JudgedIdea(Part):
    """A judged idea."""

    number: int
    source: str
    """The run or file it was read from; empty for a text."""
    title: str
    text: str

    @property
    def name(self) -> str:
        """Its name for readers."""
        return self.title or f"Idea {self.number}"

    @property
    def whole(self) -> str:
        """The text shown to judges, without source and number."""
        return "\n\n".join(filter(None, (self.title, self.text)))


# Comparisons (SciPIP, App. A.1, Tables 18 and 19).


class Contestant(JudgedIdea):
    """A compared idea."""

    contender: str
    """Its contender: pairs are never of the same contender."""


class Order(Part):
    """The same ideas in one order."""

    shown: list[int]
    """Numbers of the ideas, from the first place to the last."""
    ranks: dict[str, dict[str, float]] = {}
    """By criterion and idea's number, 1 the best; tied ideas have the mean of their ranks."""
    thought: str = ""
    failed: str | None = None
    """The reason if there is no comparison."""


class Bout(Part):
    """Ideas compared with each other in several orders."""

    ideas: list[int]
    orders: list[Order] = []

    @property
    def whole(self) -> list[Order]:
        """The orders with a comparison."""
        return [order for order in self.orders if order.ranks]


class Standing(Part):
    """A contender's figures by criterion. Values are per idea; intervals are over ideas."""

    contender: str
    ideas: int
    bouts: int
    wins: dict[str, Figure] = {}
    """The share of other contenders' ideas ranked below its ideas; a tie counts half."""
    first: dict[str, Figure] = {}
    """How often its ideas rank first; ties share it."""
    rank: dict[str, Figure] = {}
    """Their mean rank."""


class ComparisonResult(Part):
    """The comparisons and their figures."""

    ideas: list[Contestant] = []
    bouts: list[Bout] = []
    standings: list[Standing] = []
    """Sorted by overall share of wins, best first."""
    wins: dict[str, Figure] | None = None
    """By criterion, the share of rivals ranked below the ideas; None without rivals."""
    failed: int | None = None
    """Orders without a comparison."""
    ties: float | None = None
    """Share of pairs that tie overall."""
    first_place: float | None = None
    """The overall share of wins of the idea shown first: 0.5 without position bias in balanced orders."""
    inference_cost: int | None = None


# Novelty (SciPIP, §4.3, Tables 3 and 17).


class Round(Part):
    """One round of a search."""

    number: int
    query: str
    """The query looked up before it; empty in the first."""
    papers: list[str] = []
    """Titles of its results."""
    novelty: int
    """The score in this round, 0 to 10."""
    thought: str


class SoughtIdea(JudgedIdea):
    """An idea assessed for novelty."""

    rounds: list[Round] = []
    novelty: int | None = None
    """The score of the last round; None if the idea was not assessed."""
    not_assessed: str | None = None
    """The reason for a missing score: a source that did not answer is no proof of novelty."""


class NoveltyResult(Part):
    """The novelty of ideas by search results."""

    ideas: list[SoughtIdea] = []
    histogram: dict[str, int] = {}
    """How many ideas have each score (SciPIP, Table 3)."""
    score: Figure | None = None
    """The mean of the scores."""
    assessed: int | None = None
    not_assessed: int | None = None
    """Ideas without a score, left out of the histogram and the mean."""
    inference_cost: int | None = None


# Matches (SciPIP, §4.2, Tables 1, 2, 15 and 16).


class Reference(Part):
    """A published idea."""

    paper: str
    title: str
    year: int | None = None
    similarity: float
    """Cosine to the idea."""


class MatchedIdea(JudgedIdea):
    """An idea and the published ideas nearest to it."""

    references: list[Reference] = []
    """In the order shown to the judge."""
    closest: int | None = None
    """The place of the one the judge picked, from 1."""
    score: int | None = None
    """Similarity to the picked idea, 0 to 5; None without a valid answer or without published ideas."""
    reasons: list[str] = []
    failed: str | None = None
    """The reason for a missing score."""


class ScoreStanding(Part):
    """How often ideas of one similarity score rank first among one idea of each score (SciPIP, Table 2)."""

    score: int
    novelty: Figure
    feasibility: Figure


class MatchResult(Part):
    """The similarity of ideas to published ones."""

    ideas: list[MatchedIdea] = []
    histogram: dict[str, int] = {}
    """How many ideas have each score (SciPIP, Table 1)."""
    score: Figure | None = None
    """The mean of the scores."""
    failed: int | None = None
    """Ideas without a score, left out of the histogram and the mean."""
    bouts: list[Bout] = []
    """Comparisons of ideas of different scores."""
    standings: list[ScoreStanding] = []
    failed_orders: int | None = None
    inference_cost: int | None = None
