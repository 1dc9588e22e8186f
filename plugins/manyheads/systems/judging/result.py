"""What judges of ideas come to."""

from manyheads.core.results import Figure, Part


class JudgedIdea(Part):
    """An idea as it was judged."""

    number: int
    source: str
    """The run or file that it was read from; empty for a text."""
    title: str
    text: str

    @property
    def name(self) -> str:
        """What a reader knows it by."""
        return self.title or f"Idea {self.number}"

    @property
    def whole(self) -> str:
        """As judges are shown it: neither where it is from nor its number."""
        return "\n\n".join(filter(None, (self.title, self.text)))


# Comparisons (SciPIP, App. A.1, Tables 18 and 19).


class Contestant(JudgedIdea):
    """An idea that is compared."""

    contender: str
    """Whose it is: ideas of one contender are not held against each other where two are compared."""


class Order(Part):
    """The same ideas in one order."""

    shown: list[int]
    """Numbers of the ideas, from the first place to the last."""
    ranks: dict[str, dict[str, float]] = {}
    """By criterion and idea's number, 1 the best; those that share a rank have the mean of their ranks."""
    thought: str = ""
    failed: str | None = None
    """Why there is no comparison."""


class Bout(Part):
    """Ideas that are compared with each other, in several orders."""

    ideas: list[int]
    orders: list[Order] = []

    @property
    def whole(self) -> list[Order]:
        """The orders that have a comparison."""
        return [order for order in self.orders if order.ranks]


class Standing(Part):
    """How a contender's ideas have done, by criterion. The values are of ideas: an interval is over ideas such as these."""

    contender: str
    ideas: int
    bouts: int
    wins: dict[str, Figure] = {}
    """The share of other contenders' ideas that they rank above, a tie counting half."""
    first: dict[str, Figure] = {}
    """How often they rank first; several that do share it."""
    rank: dict[str, Figure] = {}
    """Their mean rank."""


class ComparisonResult(Part):
    """The comparisons, and what they come to."""

    ideas: list[Contestant] = []
    bouts: list[Bout] = []
    standings: list[Standing] = []
    """The best share of wins overall first."""
    wins: dict[str, Figure] | None = None
    """By criterion, the share of the rivals that the ideas rank above; None where there are no rivals."""
    failed: int | None = None
    """Orders without a comparison."""
    ties: float | None = None
    """Share of pairs that share a rank overall."""
    first_place: float | None = None
    """The share of wins overall of what stands in the first place: 0.5 where places do nothing and all have stood there."""
    inference_cost: int | None = None


# Novelty (SciPIP, §4.3, Tables 3 and 17).


class Round(Part):
    """One round of a search."""

    number: int
    query: str
    """What was looked up before it; empty in the first."""
    papers: list[str] = []
    """Titles of what that has found."""
    novelty: int
    """The score by then, 0 to 10."""
    thought: str


class SoughtIdea(JudgedIdea):
    """An idea whose novelty was looked into."""

    rounds: list[Round] = []
    novelty: int | None = None
    """The score of the last round; None where the idea was not assessed."""
    not_assessed: str | None = None
    """Why there is no score: a source that could not be asked is no proof of novelty."""


class NoveltyResult(Part):
    """The novelty of ideas by what was found."""

    ideas: list[SoughtIdea] = []
    histogram: dict[str, int] = {}
    """How many ideas have each score (SciPIP, Table 3)."""
    score: Figure | None = None
    """The mean of those that have one."""
    assessed: int | None = None
    not_assessed: int | None = None
    """Ideas without a score, left out of the histogram and of the mean."""
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
    """An idea beside the published ones nearest to it."""

    references: list[Reference] = []
    """In the order in which the judge was shown them."""
    closest: int | None = None
    """The place of the one that the judge picked, from 1."""
    score: int | None = None
    """How similar these two are, 0 to 5; None where there was no valid answer, or nothing to compare with."""
    reasons: list[str] = []
    failed: str | None = None
    """Why there is no score."""


class ScoreStanding(Part):
    """How often ideas of one similarity score rank first among one of each (SciPIP, Table 2)."""

    score: int
    novelty: Figure
    feasibility: Figure


class MatchResult(Part):
    """The similarity of ideas to published ones."""

    ideas: list[MatchedIdea] = []
    histogram: dict[str, int] = {}
    """How many ideas have each score (SciPIP, Table 1)."""
    score: Figure | None = None
    """The mean of those that have one."""
    failed: int | None = None
    """Ideas without a score, left out of the histogram and of the mean."""
    bouts: list[Bout] = []
    """Comparisons of ideas of different scores."""
    standings: list[ScoreStanding] = []
    failed_orders: int | None = None
    inference_cost: int | None = None
