"""What the template shows, worked out beforehand: it only has to print."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from manyheads.config import BASELINES, STAGES
from manyheads.core import NOTHING, Usage
from manyheads.events import Judged, Said, Stage
from manyheads.report.diff import Piece, changed_words, word_diff
from manyheads.report.folder import Record
from manyheads.report.outcome import SECTIONS, Abstract, Draft, Idea, Outcome, Vote, outcome_of, unwritten
from manyheads.report.searches import Searches, searches_of
from manyheads.report.selfreview import SelfReviews, self_reviews
from manyheads.report.talk import Line, Round, guests, rounds

CRITERIA = (
    "clarity", "relevance", "structure", "conciseness", "technical_accuracy", "engagement", "originality", "overall",
)  # fmt: skip


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
class Share:
    """A row of the usage tables: `part` is its share of the tokens, 0 to 1."""

    name: str
    usage: Usage
    seconds: float
    part: float = 0.0


@dataclass(frozen=True)
class Page:
    """The whole report."""

    record: Record
    outcome: Outcome
    finished: bool
    discussion: list[Round]
    ideation: list[Round]
    guests: dict[str, list[tuple[int, Line]]]
    tallies: list[Tally]
    ballots: list[Ballot]
    versions: list[Version]
    decisions: list[Judged]
    stages: list[Share]
    speakers: list[Share]
    unwritten: frozenset[str]
    self_reviews: SelfReviews | None
    searches: Searches
    hues: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def alone(self) -> bool:
        """Whether this is no team but what one is compared with."""
        return self.outcome.system in BASELINES

    @property
    def chosen(self) -> Idea | None:
        """The idea that the abstract was written on, as it stands in the list."""
        idea = self.outcome.idea
        return self.by_number.get(idea.number, idea) if idea else None

    @property
    def given_up(self) -> frozenset[int]:
        """The numbers of the ideas that self-review has discarded."""
        return self.self_reviews.given_up if self.self_reviews else frozenset()

    @property
    def rounds(self) -> int:
        """How often the team has gone from ideas to an abstract."""
        return max((idea.round for idea in self.outcome.ideas), default=1)

    @property
    def mixed(self) -> bool:
        """Whether some texts were written by a language model and some were not."""
        return bool(self.unwritten) and len(self.unwritten) < len(self.record.models())

    @property
    def replayed(self) -> bool:
        """Whether nothing but an earlier run's record has spoken."""
        return set(self.record.models().values()) == {"replay"}

    @property
    def voters(self) -> int:
        """How many scientists have voted."""
        return len({vote.voter for vote in self.outcome.votes})

    @property
    def passing_guests(self) -> list[tuple[int, Line]]:
        """Advice in the abstract's stage that belongs to no version."""
        heard = [id(line) for version in self.versions for line in version.guests]
        return [(turn, line) for turn, line in self.guests["abstract"] if id(line) not in heard]

    @property
    def by_number(self) -> dict[int, Idea]:
        """The ideas by their number."""
        return {idea.number: idea for idea in self.outcome.ideas}

    @property
    def untold(self) -> list[Idea]:
        """Ideas of the result that no turn of the discussion shows."""
        told = {line.idea for held in self.ideation for line in held.lines}
        return [idea for idea in self.outcome.ideas if idea.number not in told]

    @property
    def novelty_off(self) -> bool:
        return (self.record.config.get("novelty") or {}).get("enabled") is False


def page_of(record: Record) -> Page:
    """Everything the report shows about a run.

    Raises:
        JournalError: `result.json` is not what a run writes.
    """
    outcome = outcome_of(record)
    said = record.of(Said)
    outside = {stage: guests(record, stage) for stage in ("selection", "novelty", "abstract")}
    return Page(
        record=record,
        outcome=outcome,
        finished=record.result is not None,
        discussion=rounds(record, "topic"),
        ideation=rounds(record, "idea", outcome.ideas),
        guests=outside,
        tallies=tallies(outcome.votes),
        ballots=ballots(outcome.votes),
        versions=versions(outcome.drafts, outside["abstract"]),
        decisions=record.of(Judged),
        stages=stage_shares(record, outcome, said),
        speakers=speaker_shares(outcome, said),
        unwritten=unwritten(record),
        self_reviews=self_reviews(record),
        searches=searches_of(record),
        hues=_hues(outcome, said),
    )


def ballots(votes: tuple[Vote, ...]) -> list[Ballot]:
    """The votes turn by turn."""
    turns = sorted({vote.turn for vote in votes})
    return [Ballot(turn, [vote for vote in votes if vote.turn == turn]) for turn in turns]


def tallies(votes: tuple[Vote, ...]) -> list[Tally]:
    """The votes counted round by round: the numbers stand for other ideas in each."""
    rounds = sorted({vote.round for vote in votes})
    return [Tally(number, _counted([vote for vote in votes if vote.round == number])) for number in rounds]


def _counted(votes: Sequence[Vote]) -> list[tuple[str, int]]:
    titles = {vote.choice: vote.idea or f"Idea {vote.choice}" for vote in votes}
    return [(titles[choice], n) for choice, n in Counter(vote.choice for vote in votes).most_common()]


def versions(drafts: tuple[Draft, ...], outside: Sequence[tuple[int, Line]] = ()) -> list[Version]:
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


def _version(number: int, old: Abstract | None, new: Draft, heard: Sequence[Line]) -> Version:
    sections: list[tuple[str, list[Piece]]] = []
    for key in ("title", *SECTIONS):
        text = getattr(new, key)
        pieces = [Piece("same", text)] if old is None else word_diff(getattr(old, key), text)
        sections.append((key, pieces))
    counts = [changed_words(pieces) for _, pieces in sections]
    came, went = (sum(numbers) for numbers in zip(*counts, strict=True))
    return Version(number, new, sections, came, went, tuple(heard), alone=old is None)


def stage_shares(record: Record, outcome: Outcome, said: list[Said]) -> list[Share]:
    """Usage and model time of each stage, in the order of the run; what led to nothing comes last."""
    spent = outcome.usage.by_stage
    names = [*(name for name in STAGES if name in spent), *(name for name in spent if name not in STAGES)]
    titles = {stage.stage: stage.title for stage in reversed(record.of(Stage))}
    rows = [(titles.get(n, n), spent[n], sum(s.seconds for s in said if s.stage == n)) for n in names]
    if outcome.usage.unused.calls:
        rows.append(("led to nothing", outcome.usage.unused, 0))
    return _shares(rows)


def speaker_shares(outcome: Outcome, said: list[Said]) -> list[Share]:
    """Usage and model time of each speaker, most tokens first; calls that no speech stands for come last."""
    usage: dict[str, Usage] = {}
    seconds: dict[str, float] = {}
    for s in said:
        usage[s.speaker] = usage.get(s.speaker, NOTHING) + s.usage
        seconds[s.speaker] = seconds.get(s.speaker, 0.0) + s.seconds
    rows = [(name, used, seconds[name]) for name, used in usage.items()]
    rows.sort(key=lambda row: -_tokens(row[1]))
    rest = outcome.usage.calls - sum(used.calls for used in usage.values())
    if rest > 0:
        rows.append(("not told apart", _minus(outcome.usage, sum(usage.values(), NOTHING)), 0))
    return _shares(rows)


def _minus(total: Usage, known: Usage) -> Usage:
    return Usage(
        input_tokens=max(0, total.input_tokens - known.input_tokens),
        output_tokens=max(0, total.output_tokens - known.output_tokens),
        calls=total.calls - known.calls,
    )


def _shares(rows: list[tuple[str, Usage, float]]) -> list[Share]:
    total = sum(_tokens(usage) for _, usage, _ in rows) or 1
    return [Share(name, usage, seconds, _tokens(usage) / total) for name, usage, seconds in rows]


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _hues(outcome: Outcome, said: list[Said]) -> dict[str, int]:
    """A hue for each scientist, far from their neighbours': turns of the golden angle."""
    names = dict.fromkeys([*(p.name for p in outcome.team), *(s.speaker for s in said)])
    return {name: int(n * 137.508 + 200) % 360 for n, name in enumerate(names)}
