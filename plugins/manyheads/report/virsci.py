"""What the template shows, worked out beforehand: it only has to print."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field

from manyheads import replies
from manyheads.core import NOTHING, ToolCall, Usage
from manyheads.core.events import AnyEvent, Invited, Judged, Recruited, Retrieved, Said, Stage, Voted, Warned
from manyheads.report.diff import Piece, changed_words, word_diff
from manyheads.report.record import Part, Record, Searches, searches_of, valid

# The outcome of a run as the report reads it: `result.json` typed, or the same told from the events so far.


SECTIONS = tuple(name for name in replies.Abstract.model_fields if name != "title")

RANKING = "ranking"
BASELINES = ("self-reflection", "discussion", "single")
STAGES = ("selection", "topic", "idea", "novelty", "abstract", "review")


class Person(Part):
    name: str
    role: str = "member"
    interests: str = ""
    affiliations: str = ""
    reasoning: str = ""


class Topic(Part):
    topic: str = ""
    rationale: str = ""
    fixed: bool = False


class Reference(Part):
    id: str = ""
    title: str = ""
    year: int | None = None
    score: float | None = None


class Idea(Part):
    number: int = 0
    title: str = ""
    reflection: str = ""
    thought: str = ""
    idea: str = ""
    experiment: str = ""
    clarity: int | None = None
    feasibility: int | None = None
    novelty: int | None = None
    confidence: float | None = None
    by: str = ""
    turn: int = 0
    round: int = 1
    references: tuple[Reference, ...] = ()
    kept: bool = False
    tie: str | None = None


class Vote(Part):
    voter: str
    turn: int = 0
    round: int = 1
    choice: int
    idea: str = ""
    reasoning: str = ""


class Abstract(Part):
    title: str = ""
    introduction: str = ""
    objective: str = ""
    methods: str = ""
    expected_results: str = ""
    conclusion: str = ""


class Draft(Abstract):
    by: str = ""
    turn: int = 0
    round: int = 1
    evaluation: dict[str, int] | None = None
    changes: tuple[str, ...] | None = None


class Course(Part):
    """How a baseline went, and what it may have cost."""

    ideas: int
    stopped_by: str
    done_in_turns: tuple[int, ...] = ()
    tokens_allowed: int | None = None
    tokens_used: int
    like: str | None = None


class Spent(Usage):
    by_stage: dict[str, Usage] = Field(default_factory=dict[str, Usage])
    unused: Usage = NOTHING
    """What the result does not rest on: turns that came to no reply, and replies that were replaced."""


def _words(value: object) -> object:
    """Interests and affiliations are kept as one text or as a list."""
    return ", ".join(map(str, cast(list[object], value))) if isinstance(value, list) else value or ""


def _person(value: object) -> object:
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        return value
    data = cast(dict[str, Any], value)
    return {**data, **{key: _words(data.get(key)) for key in ("interests", "affiliations", "reasoning")}}


People = tuple[Annotated[Person, BeforeValidator(_person)], ...]


class Outcome(Part):
    """What came out, complete or so far."""

    system: str = ""
    host: str = ""
    team: People = ()
    declined: People = ()
    left: People = ()
    topic: Topic = Topic()
    ideas: tuple[Idea, ...] = ()
    votes: tuple[Vote, ...] = ()
    idea: Idea | None = None
    abstract: Abstract | None = None
    drafts: tuple[Draft, ...] = ()
    baseline: Course | None = None
    usage: Spent = Spent()
    warnings: tuple[str, ...] = ()
    written_by_language_model: bool = True


def outcome_of(record: Record) -> Outcome:
    """The result of a finished run, or what the events of an unfinished one tell.

    Raises:
        JournalError: `result.json` is not what a run writes.
    """
    if record.result is None:
        return _so_far(record)
    return valid(Outcome, record, {"host": str(record.config.get("host", "")), **_own(record.result)})


def _own(result: dict[str, Any]) -> dict[str, Any]:
    """A result without the ideas that a ranking was given: nobody in the run has had them."""
    return {**result, "ideas": ()} if result.get("system") == RANKING else result


def _so_far(record: Record) -> Outcome:
    said, held = record.of(Said), _rounds(record)
    drafts = _drafts((s for s in said if "expected_results" in s.data), held)
    recruits = record.of(Recruited)
    return Outcome(
        system=str(record.config.get("system", "")),
        host=str(record.config.get("host", "")),
        team=(
            *_leader(said),
            *(Person(name=r.candidate, reasoning=r.reasoning) for r in recruits if r.accepted),
            *_without_leader(record, said),
        ),
        declined=tuple(Person(name=r.candidate, reasoning=r.reasoning) for r in recruits if not r.accepted),
        topic=_topic(record),
        ideas=tuple(_idea(number, s, held) for number, s in enumerate(filter(_is_idea, said), 1)),
        votes=tuple(
            Vote(
                voter=v.voter,
                turn=v.turn,
                round=held.get((v.stage, v.turn), 1),
                choice=v.choice,
                reasoning=v.reasoning,
            )
            for v in record.of(Voted)
        ),
        abstract=drafts[-1] if drafts else None,
        drafts=tuple(drafts),
        usage=_spent(said),
        warnings=tuple(w.message for w in record.of(Warned)),
        written_by_language_model=not unwritten(record),
    )


def unwritten(record: Record) -> frozenset[str]:
    """The labels of those that spoke in the run and are no language model of this run."""
    return frozenset(
        label for label, provider in record.models().items() if provider in ("offline", "replay")
    )


def _leader(said: list[Said]) -> list[Person]:
    """The leader, who is not recruited: known from the first turn that they sum up."""
    return [Person(name=s.speaker, role="leader") for s in said if s.part == "leader"][:1]


def _without_leader(record: Record, said: list[Said]) -> list[Person]:
    """Those who speak in a baseline, which forms no team."""
    names = dict.fromkeys(s.speaker for s in said) if record.config.get("system") in BASELINES else ()
    return [Person(name=name, role="") for name in names]


def _is_idea(said: Said) -> bool:
    return "experiment" in said.data and said.part != "guest"


Held = dict[tuple[str, int], int]
"""The round by stage and turn: turns are counted on through all rounds."""


def _rounds(record: Record) -> Held:
    """Each idea generation begins a round: a further one follows where self-review has given an idea up."""
    held: Held = {}
    number = 0
    for event in record.events:
        number += isinstance(event, Stage) and event.stage == "idea"
        held.setdefault((event.stage, event.turn), max(number, 1))
    return held


def _idea(number: int, said: Said, held: Held) -> Idea:
    told = {"number": number, "by": said.speaker, "turn": said.turn, "round": held[said.stage, said.turn]}
    return Idea.model_validate({**said.data, **told})


def _drafts(said: Iterable[Said], held: Held) -> list[Draft]:
    """The versions of the abstract; who has heard a guest writes theirs again, and the later one counts."""
    drafts: list[Draft] = []
    for s in said:
        if drafts and (drafts[-1].by, drafts[-1].turn) == (s.speaker, s.turn):
            drafts.pop()
        told = {"by": s.speaker, "turn": s.turn, "round": held[s.stage, s.turn]}
        drafts.append(Draft.model_validate({**s.data, **told}))
    return drafts


def _topic(record: Record) -> Topic:
    if fixed := record.config.get("topic"):
        return Topic(topic=str(fixed), fixed=True)
    written = [s.data for s in record.of(Said) if "rationale" in s.data]
    return Topic.model_validate(written[-1]) if written else Topic()


def _spent(said: list[Said]) -> Spent:
    stages: dict[str, Usage] = {}
    for s in said:
        stages[s.stage] = stages.get(s.stage, NOTHING) + s.usage
    return Spent(**sum((s.usage for s in said), NOTHING).model_dump(), by_stage=stages)


# The self-reviews of a run as the report shows them, finished or so far.

STAGE = "review"
USUAL_THRESHOLD = 70
"""Where neither the result nor the config tells one."""


class Overlap(Part):
    title: str = ""
    year: int | None = None
    id: str = ""
    similarity: int
    reason: str = ""


class Reviewed(Part):
    """One self-review; `outcome` is what came of it, in the run's own words."""

    number: int = 0
    round: int = 1
    title: str = ""
    closest: int | None = None
    too_close: bool = False
    overlaps: tuple[Overlap, ...] = ()
    outcome: str = ""


class Discarded(Part):
    round: int = 1
    idea: Idea
    abstract: Abstract


class SelfReviews(Part):
    """All of them; `passed` is None while the run goes on, and where there was nothing to compare with."""

    passed: bool | None = None
    threshold: int = Field(default=USUAL_THRESHOLD)
    reviews: tuple[Reviewed, ...] = ()
    discarded: tuple[Discarded, ...] = ()

    @property
    def given_up(self) -> frozenset[int]:
        """The numbers of the discarded ideas."""
        return frozenset(one.idea.number for one in self.discarded)


def self_reviews(record: Record) -> SelfReviews | None:
    """What `result.json` keeps of them, or the events so far; None where there were none."""
    if record.result is None:
        return _reviews_so_far(record)
    kept = record.result.get("self_review")
    if not isinstance(kept, dict):
        return None
    told, outcomes = SelfReviews.model_validate(kept), _outcomes(record)
    reviews = [one.model_copy(update={"outcome": outcomes.get(one.number, "")}) for one in told.reviews]
    return told.model_copy(update={"reviews": tuple(reviews)})


def _reviews_so_far(record: Record) -> SelfReviews | None:
    reviews = tuple(_told(record))
    if not reviews:
        return None
    return SelfReviews(threshold=_threshold(record), reviews=reviews)


def _told(record: Record) -> Iterator[Reviewed]:
    threshold, outcomes = _threshold(record), _outcomes(record)
    looked_up = {event.turn: event.hits for event in record.of(Retrieved, STAGE)}
    for said in record.of(Said, STAGE):
        hits = looked_up.get(said.turn, ())
        overlaps = tuple(_overlaps(said.data, hits))
        closest = max((each.similarity for each in overlaps), default=None)
        yield Reviewed(
            number=said.turn,
            closest=closest,
            too_close=closest is not None and closest >= threshold,
            overlaps=overlaps,
            outcome=outcomes.get(said.turn, ""),
        )


def _overlaps(data: Mapping[str, Any], hits: tuple[dict[str, Any], ...]) -> Iterator[Overlap]:
    for each in cast(list[dict[str, Any]], data.get("overlaps") or []):
        place = int(each.get("paper", 0)) - 1
        hit = hits[place] if 0 <= place < len(hits) else {}
        yield Overlap.model_validate({**hit, **each})


def _outcomes(record: Record) -> dict[int, str]:
    """What the run made of each review, by its number."""
    return {event.turn: event.outcome for event in record.of(Judged, STAGE)}


def _threshold(record: Record) -> int:
    section = cast(dict[str, Any], record.config.get("self_review") or {})
    return int(section.get("threshold", USUAL_THRESHOLD))


# The discussion as a reader follows it: turns, in each what was said, who was asked from outside, what was decided.

STANCES = {
    "agree": ("agrees", "does not agree yet"),
    "stay": ("stays", "leaves"),
    "another_turn": ("wants another turn", "closes the stage"),
    "accept": ("joins", "declines"),
    "approve": ("approves the idea", "does not approve it yet"),
    "done": ("calls it finished", "sees more to do"),
}
"""Yes-or-no replies in words, by the field that holds them."""

HEADINGS = {"agree": "Does the team agree?", "rationale": "The topic", "stay": "Who stays?"}
"""What stands above a part of a stage that is no turn of talk, by a field of the replies in it."""

Numbers = dict[tuple[str, int, str], int]
"""The number of an idea by who put it forward, in which turn, under which title."""


@dataclass
class Line:
    """One contribution.

    Attributes:
        kind: `said`, `guest` (an exchange with an outside scientist), `looked` (references), `judged`.
        speaker: who speaks; for `judged` what was decided on.
        text: what was said; for a guest the advice, empty while it is awaited.
        by, question: for a guest, who asked and what.
        note: a stance, or the outcome of a decision.
        favours: the topic that the speaker favours.
        idea: number of the idea that was put forward, 0 for none.
        titles: of the references looked up.
    """

    kind: str
    speaker: str
    text: str = ""
    by: str = ""
    question: str = ""
    note: str = ""
    favours: str = ""
    idea: int = 0
    titles: tuple[str, ...] = ()
    model: str = ""
    tools: tuple[ToolCall, ...] = ()


@dataclass
class Round:
    """A turn of a stage, or what is asked at its end under a `title`: its lines in order, and the leader's words on it."""

    turn: int
    title: str = ""
    lines: list[Line] = field(default_factory=list[Line])
    summary: Line | None = None

    @property
    def counts(self) -> str:
        """What folds away under the turn, in words."""
        kinds = [line.kind for line in self.lines]
        words = {
            "said": "answer" if self.title else "contribution",
            "guest": "guest",
            "looked": "look-up",
            "judged": "decision",
        }
        parts = [(kinds.count(kind), word) for kind, word in words.items()]
        return ", ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in parts if n)


def rounds(record: Record, stage: str, ideas: Sequence[Idea] = ()) -> list[Round]:
    """The turns of a stage in the order they were held; what belongs to no turn stays with the one under way.

    Look-ups are left out where the ideas themselves name what was found.
    """
    cited = any(idea.references for idea in ideas)
    numbers = {(idea.by, idea.turn, idea.title): idea.number for idea in ideas}
    held: list[Round] = []
    for event in record.events:
        if event.stage != stage or not isinstance(event, Said | Invited | Retrieved | Judged):
            continue
        if cited and isinstance(event, Retrieved):
            continue
        if not held or _begins(event, held[-1]):
            held.append(Round(event.turn, _title(event)))
        _hear(held[-1], event, numbers)
    for one in held:
        _complete(one)
    return held


def guests(record: Record, stage: str) -> list[tuple[int, Line]]:
    """The exchanges with outside scientists in a stage, each with its turn."""
    turns: dict[int, Round] = {}
    for event in record.events:
        if event.stage == stage and isinstance(event, Said | Invited):
            _hear(turns.setdefault(event.turn, Round(event.turn)), event, {})
    for one in turns.values():
        _complete(one)
    return [(turn, line) for turn, one in turns.items() for line in one.lines if line.kind == "guest"]


def _title(event: AnyEvent) -> str:
    data = event.data if isinstance(event, Said) and event.part != "guest" else {}
    return next((title for key, title in HEADINGS.items() if key in data), "")


def _begins(event: AnyEvent, held: Round) -> bool:
    """Whether an event opens a new round; decisions and events without a turn belong to what is under way."""
    another = event.turn not in (0, held.turn)
    return another or (isinstance(event, Said) and _title(event) != held.title)


def _hear(held: Round, event: AnyEvent, numbers: Numbers) -> None:
    if isinstance(event, Invited):
        line = _guest(held.lines, event.guest, lambda line: not line.question)
        line.by, line.question = event.by, event.question
    elif isinstance(event, Said) and event.part == "guest":
        line = _guest(held.lines, event.speaker, lambda line: not line.text)
        line.text, line.model = event.text, event.model
    elif isinstance(event, Said) and ("summary" in event.data or "rationale" in event.data):
        held.summary = _said(event, numbers)
    else:
        held.lines += _lines(event, numbers)


def _guest(lines: list[Line], name: str, lacks: Callable[[Line], bool]) -> Line:
    """The guest's line that lacks the other half of the exchange, which may come first, or a new one."""
    for line in lines:
        if line.kind == "guest" and line.speaker == name and lacks(line):
            return line
    lines.append(Line("guest", name))
    return lines[-1]


def _complete(held: Round) -> None:
    """A reply out of the journal calls no guest again: their advice then stands in the asker's tool call."""
    calls = [call for line in held.lines for call in line.tools if not call.failed]
    for line in held.lines:
        if line.kind == "guest" and not line.text:
            line.text = next((c.result for c in calls if c.arguments.get("name") == line.speaker), "")


def _lines(event: AnyEvent, numbers: Numbers) -> Iterator[Line]:
    match event:
        case Said():
            yield _said(event, numbers)
        case Retrieved() if event.hits:
            titles = tuple(str(hit.get("title", "")) for hit in event.hits)
            yield Line("looked", "", event.query, titles=titles)
        case Judged():
            yield Line("judged", event.subject, event.reasoning, note=event.outcome)
        case _:
            return


def _said(said: Said, numbers: Numbers) -> Line:
    settled = [str(said.data[key]) for key in ("topic", "rationale")] if "rationale" in said.data else []
    stance = [words[0 if said.data[key] else 1] for key, words in STANCES.items() if key in said.data]
    idea = numbers.get((said.speaker, said.turn, str(said.data.get("title", ""))), 0)
    return Line(
        "said",
        said.speaker,
        "\n\n".join(settled) or str(said.data.get("remark") or said.text),
        note=stance[0] if stance else "",
        favours=str(said.data.get("topic", "")) if "remark" in said.data else "",
        idea=idea,
        model=said.model,
        tools=said.tool_calls,
    )


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
