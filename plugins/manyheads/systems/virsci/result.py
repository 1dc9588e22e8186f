"""The result of a VirSci run."""

from collections.abc import Iterator, Sequence

from pydantic import Field

from manyheads.base.text import count
from manyheads.core.results import Abstract, Draft, Part, Person, ScoredIdea, Topic
from manyheads.measures.team import JointPapers
from manyheads.systems import results
from manyheads.systems.ideas import GivenIdeas
from manyheads.systems.virsci.config import STAGES, VirSciConfig
from manyheads.team.run import Guest, Run


class ChosenIdea(ScoredIdea):
    """The idea that the abstract is based on."""

    votes: int
    tie: str | None = None
    """The tie-breaking rule, after a tied vote."""


class BallotNote(Part):
    """A voter's comment on one idea."""

    idea: str
    """Title of the idea."""
    note: str


class Ballot(Part):
    """A blind vote; `choice` counts from 1 in the order of confidence."""

    voter: str
    turn: int
    choice: int
    reasoning: str
    idea: str
    """Title of the idea."""
    notes: list[BallotNote] = []
    """A comment on each idea."""
    shown: list[int] = []
    """The ideas in the order shown to the voter; `choice` is a position in it."""
    papers: list[str] = []
    """Ids, in the run's evidence, of the papers as the voter saw them numbered: [3] is the third."""
    copy_of: int | None = None
    """The turn whose vote counts again, for a model at temperature 0 that was asked once; None for a separate vote."""
    round: int | None = None


class OverlapRecord(Part):
    """What the leader finds between an abstract and one published paper."""

    evidence: str
    """Id of the paper in the run's evidence."""
    similarity: int
    """0 to 100."""
    reason: str


class SelfReviewRecord(Part):
    """The leader's comparison of an abstract with the published papers closest to it."""

    number: int
    """From 1, through all rounds."""
    round: int
    title: str
    closest: int | None = None
    """The highest similarity; None where there was no paper to compare with."""
    too_close: bool
    overlaps: list[OverlapRecord] = []
    outcome: str | None = None
    """The outcome; None if the abstract was kept anyway, or nothing was compared."""


class Discarded(Part):
    """An idea that was given up after self-review, with its abstract."""

    round: int
    idea: ScoredIdea
    abstract: Abstract


class SelfReviews(Part):
    """All self-reviews, and what was given up for them."""

    passed: bool | None = None
    """Of the last abstract; None before it is settled, and where nothing could be compared: no proof of novelty."""
    threshold: int
    reviews: list[SelfReviewRecord] = []
    discarded: list[Discarded] = []


class PeerReviewRecord(Part):
    """What an outside scientist says of an abstract; `mark` is 1 to 10."""

    reviewer: str
    strengths: str
    weaknesses: str
    mark: int


class PeerReviewRound(Part):
    """The reviews of one version of the abstract; whoever gave no valid one is not counted."""

    number: int
    title: str
    reviews: list[PeerReviewRecord] = []
    mean: float | None = None
    """Of the marks; None without any."""


class PeerReviews(Part):
    """All rounds of peer review."""

    accepted: bool | None = None
    """Of the last version; None before it is settled, and where nobody marked it."""
    threshold: float
    rounds: list[PeerReviewRound] = []


class TeamResult(Part):
    """The result of a team or a baseline: topic, ideas, votes, abstract."""

    team: list[Person] = []
    topic: Topic | None = None
    ideas: list[ScoredIdea] = []
    votes: list[Ballot] = []
    idea: ChosenIdea | None = None
    abstract: Abstract | None = None
    drafts: list[Draft] = []
    turns: dict[str, int] = {}
    """The number of the last turn of each stage."""
    inference_cost: int | None = None
    """Members × turns of a team (2025, App. D.3.2, Table 9), replies of what one is compared with."""

    def choose(self, kept: Sequence[ScoredIdea], chosen: ScoredIdea, votes: int, tie: str | None) -> None:
        """Settle the idea, and which ones it was chosen from."""
        numbers = {idea.number for idea in kept}
        for idea in self.ideas:
            if idea.round == chosen.round:
                idea.kept = idea.number in numbers
        self.idea = ChosenIdea(**chosen.model_dump(), votes=votes, tie=tie)

    def write(self, draft: Draft) -> None:
        """Record a version of the abstract; the last one is the abstract."""
        self.drafts.append(draft)
        self.abstract = Abstract.of(draft)


class VirSciResult(TeamResult):
    """Ideas, votes and drafts of all rounds; the chosen idea and the abstract of the last one."""

    freshness: float | None = None
    """Share of the team's members, as it was formed, who had written with no other member (2025, §4.4); None of one alone."""
    diversity: float | None = None
    """Share of them none of whose interests another member has; None of one alone, or where interests are not known."""
    declined: list[Person] = []
    left: list[str] = []
    """Members who left after the topic was settled."""
    self_review: SelfReviews | None = None
    """None where none is held."""
    peer_review: PeerReviews | None = Field(default=None, exclude_if=lambda value: value is None)
    """Omitted where none is held."""
    stages: list[str] = Field(default=[], exclude_if=lambda value: not value)
    """Of a run whose stages see a corpus each: those that have begun."""
    waits_for: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The stage of such a run that has no corpus yet; None if the run is over."""
    guests: list[Guest] = []
    joint_papers: list[JointPapers] | None = None
    """Pairs of members, candidates and guests who have written together, from the corpus; None in results of earlier versions."""

    @property
    def people(self) -> list[str]:
        """Names of members, candidates who declined, and guests, each once."""
        return list(dict.fromkeys(one.name for one in (*self.team, *self.declined, *self.guests)))

    def hear(self, guests: Sequence[Guest]) -> None:
        """Guests as the stages went. Votes are cast all at once, so there the order is the table's, not the clock's."""
        order, seats = list(STAGES), [person.name for person in self.team]
        self.guests = sorted(
            guests,
            key=lambda guest: (
                order.index(guest.stage),
                guest.turn,
                seats.index(guest.by) if guest.stage == "novelty" else 0,
            ),
        )


VirSciRun = Run[VirSciResult, VirSciConfig, GivenIdeas | None]


def essence(result: VirSciResult) -> Iterator[tuple[str, str]]:
    """Topic, idea and abstract, and the outcomes of self-review and peer review."""
    yield from results.work(result.topic, result.idea, result.abstract)
    yield from _self_review(result)
    if (peers := result.peer_review) and peers.rounds:
        last, revised = peers.rounds[-1], len(peers.rounds) - 1
        outcome = {True: "accepted", False: "rejected", None: "not settled"}[peers.accepted]
        mark = (
            "no mark"
            if last.mean is None
            else f"mean mark {last.mean:.3g} of 10, accepted from {peers.threshold:g}"
        )
        after = f", after {count(revised, 'revision')}" if revised else ""
        yield "Peer review", f"{outcome}: {mark}, {count(len(last.reviews), 'review')}{after}"


def _self_review(result: VirSciResult) -> Iterator[tuple[str, str]]:
    if not (review := result.self_review) or not review.reviews:
        return
    closest, discarded = review.reviews[-1].closest, len(review.discarded)
    revised = len(review.reviews) - discarded - 1
    after = [count(n, word) for n, word in ((revised, "revision"), (discarded, "discarded idea")) if n]
    how = f", after {' and '.join(after)}" if after else ""
    if closest is None:
        yield "Review", f"not done, see the warnings{how}"
    elif review.passed:
        yield "Review", f"passed: similarity to published papers at most {closest} of 100{how}"
    else:
        limit = f"up to {closest} of 100, the limit is {review.threshold}{how}"
        yield "Review", f"not passed: similarity to published papers {limit}"


def work(result: TeamResult) -> Iterator[str]:
    """The abstract."""
    return results.in_sections(result.abstract)
