"""What the report of a team shows, and of what one is compared with: talk, ideas, votes, versions, self-reviews."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from manyheads.core.events import Judged
from manyheads.core.results import Draft, ScoredIdea, Vote
from manyheads.report.diff import Piece, changed_words, word_diff
from manyheads.report.page import SECTIONS, Page, View
from manyheads.report.record import Record, count, section
from manyheads.report.talk import Line, Round, guests, rounds
from manyheads.systems import results
from manyheads.systems.virsci.result import SelfReviews, TeamResult, VirSciResult


def essence(result: VirSciResult) -> Iterator[tuple[str, str]]:
    """Topic, idea and abstract, and how that came through self-review."""
    yield from results.work(result.topic, result.idea, result.abstract)
    if not (review := result.self_review) or not review.reviews:
        return
    closest, discarded = review.reviews[-1].closest, len(review.discarded)
    revised = len(review.reviews) - discarded - 1
    after = [count(n, word) for n, word in ((revised, "revision"), (discarded, "discarded idea")) if n]
    how = f", after {' and '.join(after)}" if after else ""
    if closest is None:
        yield "Review", f"not made: no published paper was found to compare it with{how}"
    elif review.passed:
        yield "Review", f"passed: at most {closest} of 100 alike{how}"
    else:
        yield "Review", f"not passed: up to {closest} of 100 alike, too close from {review.threshold}{how}"


def work(result: TeamResult) -> Iterator[str]:
    """The abstract."""
    return results.in_sections(result.abstract)


def report(record: Record, *, alone: bool = False) -> View:
    """The report of a team, or of one `alone` that a team is compared with."""
    people = tuple(person.name for person in record.result.result.team)
    return View("manyheads.systems.virsci", TeamPage(record, people, alone))


@dataclass(frozen=True)
class Version:
    """A version of the abstract with its difference to the one before: pieces by section, title first."""

    number: int
    draft: Draft
    sections: list[tuple[str, list[Piece]]]
    guests: list[Line]
    """Advice that its author heard before writing it."""
    alone: bool
    """Whether it is the first on its idea, with no version before it."""
    came: int
    went: int


@dataclass(frozen=True)
class TeamPage(Page):
    """The whole report."""

    alone: bool = False
    """Whether this is no team but what one is compared with."""

    @property
    def result(self) -> TeamResult:
        return self.record.result.result

    @cached_property
    def discussion(self) -> list[Round]:
        return rounds(self.record, "topic")

    @cached_property
    def ideation(self) -> list[Round]:
        return rounds(self.record, "idea", self.result.ideas)

    @cached_property
    def guests(self) -> dict[str, list[tuple[int, Line]]]:
        return {stage: guests(self.record, stage) for stage in ("selection", "novelty", "abstract")}

    @cached_property
    def tallies(self) -> list[tuple[int, list[tuple[str, int]]]]:
        return tallies(self.result.votes)

    @cached_property
    def versions(self) -> list[Version]:
        """Each draft beside the one before it; the first of a round stands alone.

        Guests stand at their asker's first draft of the turn.
        """
        versions: list[Version] = []
        drafts, heard = self.result.drafts, dict[tuple[str, int], list[Line]]()
        for turn, line in self.guests["abstract"]:
            heard.setdefault((line.by, turn), []).append(line)
        for number, new in enumerate(drafts, 1):
            old = drafts[number - 2] if number > 1 else None
            alone = old is None or old.round != new.round
            sections = [
                (key, [Piece("same", text)] if alone else word_diff(getattr(old, key), text))
                for key in ("title", *SECTIONS)
                for text in [getattr(new, key)]
            ]
            changes = [changed_words(pieces) for _, pieces in sections]
            came, went = (sum(numbers) for numbers in zip(*changes, strict=True))
            advice = heard.pop((new.by, new.turn), [])
            versions.append(Version(number, new, sections, advice, alone, came, went))
        return versions

    @property
    def decisions(self) -> list[Judged]:
        return self.record.of(Judged)

    @property
    def self_reviews(self) -> SelfReviews | None:
        reviews = self.result.self_review if isinstance(self.result, VirSciResult) else None
        return reviews if reviews and reviews.reviews else None

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
    def passing_guests(self) -> list[tuple[int, Line]]:
        """Advice in the abstract's stage that belongs to no version."""
        heard = [id(line) for version in self.versions for line in version.guests]
        return [(turn, line) for turn, line in self.guests["abstract"] if id(line) not in heard]

    @cached_property
    def by_number(self) -> dict[int, ScoredIdea]:
        """The ideas by their number."""
        return {idea.number: idea for idea in self.result.ideas}

    @property
    def lineage(self) -> bool:
        """Whether ideas tell what they build on."""
        return any(idea.builds_on is not None for idea in self.result.ideas)

    @property
    def untold(self) -> list[ScoredIdea]:
        """Ideas of the result that no turn of the discussion shows."""
        shown = {line.idea for held in self.ideation for line in held.lines}
        return [idea for idea in self.result.ideas if idea.number not in shown]

    @property
    def novelty_off(self) -> bool:
        return section(self.record.config, "novelty").get("enabled") is False


def tallies(votes: Sequence[Vote]) -> list[tuple[int, list[tuple[str, int]]]]:
    """How many votes each idea got, most first, round by round: the numbers stand for other ideas in each."""
    tallies: list[tuple[int, list[tuple[str, int]]]] = []
    for number in sorted({vote.round or 1 for vote in votes}):
        cast = [vote for vote in votes if (vote.round or 1) == number]
        titles = {vote.choice: vote.idea or f"Idea {vote.choice}" for vote in cast}
        counts = Counter(vote.choice for vote in cast).most_common()
        tallies.append((number, [(titles[choice], n) for choice, n in counts]))
    return tallies
