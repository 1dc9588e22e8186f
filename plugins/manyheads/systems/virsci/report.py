"""What the report of a team shows, and of what one is compared with: talk, ideas, votes, versions, self-reviews."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from manyheads.core.events import Judged
from manyheads.core.results import Draft, ScoredIdea, Vote
from manyheads.report import closing
from manyheads.report.diff import Piece, changed_words, word_diff
from manyheads.report.html import SECTIONS, View
from manyheads.report.page import Page
from manyheads.report.record import Record, count
from manyheads.report.talk import Line, Round, guests, rounds
from manyheads.systems.virsci.result import SelfReviews, TeamResult, VirSciResult


def essence(result: VirSciResult) -> Iterator[tuple[str, str]]:
    """Topic, idea and abstract, and how that came through self-review."""
    yield from closing.work(result.topic, result.idea, result.abstract)
    if result.self_review and result.self_review.reviews:
        yield "Review", _self_review(result.self_review)


def work(result: TeamResult) -> Iterator[str]:
    """The abstract."""
    return closing.in_sections(result.abstract)


def _self_review(told: SelfReviews) -> str:
    closest, discarded = told.reviews[-1].closest, len(told.discarded)
    revised = len(told.reviews) - discarded - 1
    after = [count(revised, "revision")] * bool(revised)
    after += [count(discarded, "discarded idea")] * bool(discarded)
    how = f"{', after ' if after else ''}{' and '.join(after)}"
    if closest is None:
        return f"not made: no published paper was found to compare it with{how}"
    if told.passed:
        return f"passed: at most {closest} of 100 alike{how}"
    return f"not passed: up to {closest} of 100 alike, too close from {told.threshold}{how}"


def report(record: Record) -> View:
    """The report of a team."""
    result: VirSciResult = record.result.result
    return View(__package__ or "", TeamPage.team(record, result, result.self_review))


@dataclass(frozen=True)
class Ballot:
    """The votes of one turn."""

    turn: int
    votes: list[Vote]


@dataclass(frozen=True)
class Tally:
    """How many votes each idea got in one round's turns together, most first."""

    round: int
    ideas: list[tuple[str, int]]

    @property
    def votes(self) -> int:
        return sum(count for _, count in self.ideas)


@dataclass(frozen=True)
class Version:
    """A version of the abstract with its difference to the one before: pieces by section, title first."""

    number: int
    draft: Draft
    sections: list[tuple[str, list[Piece]]]
    came: int
    went: int
    guests: tuple[Line, ...] = ()
    """Advice that its author heard before writing it."""
    alone: bool = False
    """Whether it is the first on its idea, with no version before it."""


@dataclass(frozen=True)
class TeamPage(Page):
    """The whole report."""

    result: TeamResult
    discussion: list[Round]
    ideation: list[Round]
    guests: dict[str, list[tuple[int, Line]]]
    tallies: list[Tally]
    ballots: list[Ballot]
    versions: list[Version]
    decisions: list[Judged]
    self_reviews: SelfReviews | None
    alone: bool
    """Whether this is no team but what one is compared with."""

    @classmethod
    def team(
        cls,
        record: Record,
        result: TeamResult,
        self_reviews: SelfReviews | None = None,
        *,
        alone: bool = False,
    ) -> "TeamPage":
        outside = {stage: guests(record, stage) for stage in ("selection", "novelty", "abstract")}
        return cls.of(
            record,
            [person.name for person in result.team],
            result=result,
            discussion=rounds(record, "topic"),
            ideation=rounds(record, "idea", result.ideas),
            guests=outside,
            tallies=tallies(result.votes),
            ballots=ballots(result.votes),
            versions=versions(result.drafts, outside["abstract"]),
            decisions=record.of(Judged),
            self_reviews=self_reviews if self_reviews and self_reviews.reviews else None,
            alone=alone,
        )

    @property
    def chosen(self) -> ScoredIdea | None:
        """The idea that the abstract was written on, as it stands in the list."""
        idea = self.result.idea
        return self.by_number.get(idea.number, idea) if idea else None

    @property
    def given_up(self) -> frozenset[int]:
        """The numbers of the ideas that self-review has discarded."""
        reviews = self.self_reviews
        return frozenset(one.idea.number for one in reviews.discarded) if reviews else frozenset()

    @property
    def rounds(self) -> int:
        """How often the team has gone from ideas to an abstract."""
        return max((idea.round or 1 for idea in self.result.ideas), default=1)

    @property
    def voters(self) -> int:
        """How many scientists have voted."""
        return len({vote.voter for vote in self.result.votes})

    @property
    def passing_guests(self) -> list[tuple[int, Line]]:
        """Advice in the abstract's stage that belongs to no version."""
        heard = [id(line) for version in self.versions for line in version.guests]
        return [(turn, line) for turn, line in self.guests["abstract"] if id(line) not in heard]

    @property
    def by_number(self) -> dict[int, ScoredIdea]:
        """The ideas by their number."""
        return {idea.number: idea for idea in self.result.ideas}

    @property
    def untold(self) -> list[ScoredIdea]:
        """Ideas of the result that no turn of the discussion shows."""
        told = {line.idea for held in self.ideation for line in held.lines}
        return [idea for idea in self.result.ideas if idea.number not in told]

    @property
    def novelty_off(self) -> bool:
        return (self.record.config.get("novelty") or {}).get("enabled") is False


def ballots(votes: Sequence[Vote]) -> list[Ballot]:
    """The votes turn by turn."""
    turns = sorted({vote.turn for vote in votes})
    return [Ballot(turn, [vote for vote in votes if vote.turn == turn]) for turn in turns]


def tallies(votes: Sequence[Vote]) -> list[Tally]:
    """The votes counted round by round: the numbers stand for other ideas in each."""
    rounds = sorted({vote.round or 1 for vote in votes})
    return [
        Tally(number, _counted([vote for vote in votes if (vote.round or 1) == number])) for number in rounds
    ]


def _counted(votes: Sequence[Vote]) -> list[tuple[str, int]]:
    titles = {vote.choice: vote.idea or f"Idea {vote.choice}" for vote in votes}
    return [(titles[choice], n) for choice, n in Counter(vote.choice for vote in votes).most_common()]


def versions(drafts: Sequence[Draft], outside: Sequence[tuple[int, Line]] = ()) -> list[Version]:
    """Each draft beside the one before it; the first of a round stands alone.

    Guests stand at their asker's draft of the turn.
    """
    before: list[Draft | None] = [None, *drafts][: len(drafts)]
    before = [
        old if old and old.round == new.round else None for old, new in zip(before, drafts, strict=True)
    ]
    told: list[Version] = []
    for number, (old, new) in enumerate(zip(before, drafts, strict=True), 1):
        again = any((draft.by, draft.turn) == (new.by, new.turn) for draft in drafts[: number - 1])
        heard = [line for turn, line in outside if (line.by, turn) == (new.by, new.turn) and not again]
        told.append(_version(number, old, new, heard))
    return told


def _version(number: int, old: Draft | None, new: Draft, heard: Sequence[Line]) -> Version:
    sections: list[tuple[str, list[Piece]]] = []
    for key in ("title", *SECTIONS):
        text = getattr(new, key)
        pieces = [Piece("same", text)] if old is None else word_diff(getattr(old, key), text)
        sections.append((key, pieces))
    counts = [changed_words(pieces) for _, pieces in sections]
    came, went = (sum(numbers) for numbers in zip(*counts, strict=True))
    return Version(number, new, sections, came, went, tuple(heard), alone=old is None)
