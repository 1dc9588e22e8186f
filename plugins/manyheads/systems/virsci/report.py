"""The report of a team or a baseline: discussion, ideas, votes, versions, self-reviews."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from manyheads.base.text import count
from manyheads.core.events import Invited, Judged
from manyheads.core.results import Draft, Evidence, ScoredIdea
from manyheads.report.page import SECTIONS, Page, View, monogram
from manyheads.report.pictures import IdeaRow, IdeasPicture, Pair, PicturePerson, Standing, TeamPicture
from manyheads.report.record import Record, section
from manyheads.report.talk import Line, Piece, Round, changed_words, guests, rounds, word_diff
from manyheads.systems.virsci.result import PeerReviews, SelfReviews, TeamResult, VirSciResult


def report(record: Record, *, alone: bool = False) -> View:
    """The report of a team, or of a baseline of one (`alone`)."""
    return View("manyheads.systems.virsci", TeamPage(record, alone))


@dataclass(frozen=True)
class DraftVersion:
    """A version of the abstract with its difference to the one before: pieces by section, title first."""

    number: int
    draft: Draft
    sections: list[tuple[str, list[Piece]]]
    guests: list[Line]
    """Advice that its author received before writing it."""
    alone: bool
    """Whether it is the first version on its idea."""
    came: int
    went: int


VoteRow = tuple[str, str, list[int]]
"""An idea in the vote, who proposed it, and the votes of each voter."""


@dataclass(frozen=True)
class TeamPage(Page[TeamResult]):
    alone: bool = False
    """Whether this is a baseline, not a team."""

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
    def picture(self) -> TeamPicture | None:
        """Who took part, with joint papers and questions; None for a baseline, or before there is a team."""
        result = self.result
        if not isinstance(result, VirSciResult) or not result.team:
            return None
        standings: dict[str, list[Standing]] = {
            person.name: ["left" if person.name in result.left else "member" if place else "leader"]
            for place, person in enumerate(result.team)
        }
        asked = Counter((guest.by, guest.name) for guest in result.guests)
        # Until a run is finished, only its events have the guests.
        asked |= Counter((event.by, event.guest) for event in self.record.of(Invited))
        declined, guests = [person.name for person in result.declined], [guest for _, guest in asked]
        for name in dict.fromkeys([*guests, *declined]):
            former: list[Standing] = ["declined"] * (name in declined)
            latter: list[Standing] = ["guest"] * (name in guests)
            standings.setdefault(name, [*former, *latter])
        people = [
            PicturePerson(name, tuple(parts), monogram(name), self.hues.get(name, 80), name in self.humans)
            for name, parts in standings.items()
        ]
        joint = [Pair(each.one, each.other, each.papers) for each in result.joint_papers or ()]
        questions = [Pair(by, guest, times) for (by, guest), times in asked.items()]
        return TeamPicture(people, None if result.joint_papers is None else joint, questions)

    @cached_property
    def lines(self) -> IdeasPicture | None:
        """The ideas over the turns; None for fewer than two."""
        ideas, weight = self.result.ideas, self.weight
        return IdeasPicture([self._row(idea, 20 + 10 * weight) for idea in ideas]) if len(ideas) > 1 else None

    def _row(self, idea: ScoredIdea, most: float) -> IdeaRow:
        votes = self.votes.get(idea.number) if self.result.votes else None
        won, out = idea == self.chosen, idea.number in self.given_up
        words = "winning idea" if won else "discarded" if out else "voted on" if idea.kept else ""
        ballots = "" if votes is None else count(votes, "vote")
        rounds = f"Round {idea.round}, " if self.rounds > 1 else ""
        return IdeaRow(
            str(idea.number), f"{idea.number}. {idea.title}", f"{rounds}turn {idea.turn}".capitalize(),
            monogram(idea.by), (str(idea.builds_on),) if idea.builds_on else (),
            tuple(score / 10 for score in (idea.clarity, idea.feasibility, idea.novelty)),
            f"{idea.confidence:.3g}", idea.confidence / most,
            "won" if won else "out" if out else "kept" if idea.kept else "",
            ", ".join(filter(None, (idea.by, ballots, words))), self.hues.get(idea.by, 190),
        )  # fmt: skip

    @cached_property
    def tallies(self) -> list[tuple[int, list[str], list[VoteRow]]]:
        """Who voted for whom, by round: the voters, and the ideas in the vote, most votes first. Numbers differ between rounds."""
        tallies: list[tuple[int, list[str], list[VoteRow]]] = []
        for number in sorted({vote.round or 1 for vote in self.result.votes}):
            cast = [vote for vote in self.result.votes if (vote.round or 1) == number]
            ideas = [idea for idea in self.result.ideas if idea.kept and (idea.round or 1) == number]
            by = {idea.title: idea.by for idea in ideas}
            given = Counter((vote.choice, vote.voter) for vote in cast)
            titles = {vote.choice: vote.idea or f"Idea {vote.choice}" for vote in cast}
            voters = list(dict.fromkeys(vote.voter for vote in cast))
            rest = Counter(idea.title for idea in ideas)
            rest.subtract(titles.values())
            counts = [*titles.items(), *((0, title) for title in rest.elements())]
            rows = [(title, by.get(title, ""), [given[n, voter] for voter in voters]) for n, title in counts]
            tallies.append((number, voters, sorted(rows, key=lambda row: -sum(row[2]))))
        return tallies

    @cached_property
    def versions(self) -> list[DraftVersion]:
        """Each draft with the previous one; the first of a round has none.

        Guests are listed with the first draft of the turn by the member who asked them.
        """
        versions: list[DraftVersion] = []
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
            versions.append(DraftVersion(number, new, sections, advice, alone, came, went))
        return versions

    @property
    def decisions(self) -> list[Judged]:
        return self.record.of(Judged)

    @property
    def self_reviews(self) -> SelfReviews | None:
        reviews = self.result.self_review if isinstance(self.result, VirSciResult) else None
        return reviews if reviews and reviews.reviews else None

    @property
    def peer_reviews(self) -> PeerReviews | None:
        reviews = self.result.peer_review if isinstance(self.result, VirSciResult) else None
        return reviews if reviews and reviews.rounds else None

    @property
    def chosen(self) -> ScoredIdea | None:
        """The idea of the abstract, from the list of ideas."""
        idea = self.result.idea
        return self.by_number.get(idea.number, idea) if idea else None

    @property
    def given_up(self) -> frozenset[int]:
        """The numbers of ideas that self-review discarded."""
        reviews = self.self_reviews
        return frozenset(one.idea.number for one in reviews.discarded) if reviews else frozenset()

    @property
    def rounds(self) -> int:
        """Number of rounds from ideas to an abstract."""
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

    @cached_property
    def votes(self) -> dict[int, int]:
        """Votes of each idea in the vote, by number."""
        ideas = [idea for idea in self.result.ideas if idea.kept]
        votes = Counter((vote.round or 1, vote.idea) for vote in self.result.votes)
        return {idea.number: votes[idea.round or 1, idea.title] for idea in ideas}

    @cached_property
    def best(self) -> list[ScoredIdea]:
        """The ideas, the winning one first, then by votes and confidence; discarded ones last."""

        def rank(idea: ScoredIdea) -> tuple[float, ...]:
            outcome = idea != self.chosen, idea.number in self.given_up, -self.votes.get(idea.number, -1)
            return *outcome, -idea.confidence, idea.number

        return sorted(self.result.ideas, key=rank)

    @property
    def weight(self) -> float:
        """Of novelty in the confidence."""
        weight = section(self.record.config, "ideas").get("novelty_weight", 1)
        return weight if isinstance(weight, int | float) else 1.0

    @cached_property
    def references(self) -> list[Evidence]:
        """The papers of the winning idea; all evidence while there is none."""
        cited = self.cited(self.chosen.references) if self.chosen else []
        return cited or self.record.result.evidence

    @property
    def lineage(self) -> bool:
        """Whether ideas name what they build on."""
        return any(idea.builds_on is not None for idea in self.result.ideas)

    @property
    def untold(self) -> list[ScoredIdea]:
        """Ideas that no turn of the discussion shows; the winning one is shown elsewhere."""
        shown = {line.idea for held in self.ideation for line in held.lines}
        shown |= {self.chosen.number} if self.chosen else set()
        return [idea for idea in self.result.ideas if idea.number not in shown]

    @property
    def novelty_off(self) -> bool:
        return section(self.record.config, "novelty").get("enabled") is False
