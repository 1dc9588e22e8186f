"""The typed replies that a task may ask for; what each field is for stands in `prompts/replies/`.

Scales, and fields in the order in which a model fills them (reasons before decisions), follow the papers. Scores are never clipped or filled in: a value out of range is asked for again.
A pack brings its own in its module `replies`; a role card names them `pack.Reply`.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from annotated_types import Ge, Le
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, create_model

from manyheads.errors import ConfigError
from manyheads.resources import packs

R = TypeVar("R", bound="ReplyModel")


def whole_number(value: object) -> object:
    """Let pass what was written as one whole number: not `true`, which Python takes for 1, nor a text such as `1_0`."""
    if isinstance(value, bool) or (
        isinstance(value, str) and not re.fullmatch(r"\s*-?(0|[1-9][0-9]{0,8})\s*", value)
    ):
        raise ValueError("should be one whole number")
    return value


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
# The limits stand before the validator: behind one, pydantic leaves them out of the JSON Schema.
Score = Annotated[int, Field(ge=1, le=10), BeforeValidator(whole_number)]
Choice = Annotated[int, Field(ge=1), BeforeValidator(whole_number)]
Percent = Annotated[int, Field(ge=0, le=100), BeforeValidator(whole_number)]


def label(field: str) -> str:
    """A field's name as it is read: `expected_impact` as `Expected impact`."""
    return field.replace("_", " ").capitalize()


class ReplyModel(BaseModel):
    """Base of all replies: extra keys that a model adds are dropped, missing ones are errors."""

    model_config = ConfigDict(extra="ignore")

    verb: ClassVar[str] = "says"
    """What somebody does who replies so, for consoles and logs."""

    def spoken(self) -> str:
        """The reply as others are shown it where `prompts/spoken/` has no template of it; by default its first text."""
        return next((value for value in self.model_dump().values() if isinstance(value, str)), "")


def limited(kind: type[R], field: str, of: Any, *checks: Any, **limits: Any) -> type[R]:
    """`kind` with a field that is `of` a type within limits, which its schema shows."""
    fields: dict[str, Any] = {field: (Annotated[of, Field(**limits), *checks], ...)}
    return create_model(kind.__name__, __base__=kind, __module__=kind.__module__, **fields)


def mixed(kind: type[R], *bases: type[ReplyModel]) -> type[R]:
    """`kind`, under its own name, made of it and of what is mixed into it."""
    made = create_model(kind.__name__, __base__=bases, __module__=kind.__module__, __doc__=kind.__doc__)
    return cast(type[R], made)


def uniform_score(reply: ReplyModel) -> int | None:
    """The score of all fields of a reply with three or more, where each is the same end of its scale."""
    scores = list(_scores(reply))
    ends = {(low, high) for _, low, high in scores}
    values = {score for score, _, _ in scores}
    if len(scores) < 3 or len(ends) > 1 or len(values) > 1:
        return None
    return value if (value := values.pop()) in ends.pop() else None


def _scores(reply: BaseModel) -> Iterator[tuple[int, int, int]]:
    for name, field in type(reply).model_fields.items():
        limits = {type(each): each for each in field.metadata}
        match getattr(reply, name):
            case BaseModel() as inner:
                yield from _scores(inner)
            case int() as score if Ge in limits and Le in limits:
                yield score, limits[Ge].ge, limits[Le].le
            case _:
                pass


# VirSci (2024, Figs. 12–16; 2025, §3.2).


class Decision(ReplyModel):
    """Answer to an invitation to join a team (VirSci 2025, §3.2, Collaborator Selection)."""

    reasoning: Text
    accept: bool


class Remark(ReplyModel):
    """One contribution to the topic discussion (R_k,i of Eq. 1)."""

    remark: Text
    topic: Text


class Summary(ReplyModel):
    """The leader's summary of one turn (D̄_t)."""

    verb = "sums up"

    summary: Text


class Progress(ReplyModel):
    """The leader's decision whether a stage needs another turn (App. D.3.2)."""

    reasoning: Text
    another_turn: bool


class Consensus(ReplyModel):
    """A member's view on whether the team agrees on a direction."""

    reasoning: Text
    agree: bool


class Topic(ReplyModel):
    """The topic that the leader writes (R_topic)."""

    rationale: Text
    topic: Text

    def spoken(self) -> str:
        return self.topic


class Interest(ReplyModel):
    """Whether a member stays for the chosen topic."""

    reasoning: Text
    stay: bool


class Advice(ReplyModel):
    """An invited scientist's one answer; the guest does not join the team."""

    advice: Text


class Idea(ReplyModel):
    """A research idea with its self-assessment (VirSci 2024, Fig. 12)."""

    verb = "proposes"

    thought: Text
    title: Text
    idea: Text
    experiment: Text
    clarity: Score
    feasibility: Score
    novelty: Score


class Lineage(ReplyModel):
    """Mixed into an idea where there are others that it may refine."""

    thought: Text
    builds_on: Annotated[int, Field(ge=0), BeforeValidator(whole_number)]


class IdeaNote(ReplyModel):
    """A line on one of several ideas."""

    idea: Choice
    note: Text


class IdeaNotes(ReplyModel):
    """Mixed into a vote among so many ideas: a line on each comes before the choice."""

    notes: list[IdeaNote] = Field(min_length=1)


class Vote(ReplyModel):
    """A blind vote for the most novel idea (VirSci 2024, Fig. 13)."""

    thought: Text
    choice: Choice


class Abstract(ReplyModel):
    """An abstract in its five sections (VirSci 2025, §3.2, Abstract Generation)."""

    verb = "drafts"

    title: Text
    introduction: Text
    objective: Text
    methods: Text
    expected_results: Text
    conclusion: Text

    def spoken(self) -> str:
        return f"{self.title}\n\n{self.as_text()}"

    def as_text(self) -> str:
        """The five sections as one paragraph, as the measures read it."""
        return " ".join(getattr(self, name) for name in Abstract.model_fields if name != "title")


class Ratings(ReplyModel):
    """The eight criteria on which an abstract is rated, 1–10 (VirSci 2024, Fig. 15 and its example)."""

    clarity: Score
    relevance: Score
    structure: Score
    conciseness: Score
    technical_accuracy: Score
    engagement: Score
    originality: Score
    overall: Score


class Judgement(ReplyModel):
    """What a member has to say of an abstract before rewriting it (Q_judgment)."""

    changes: list[Text]
    evaluation: Ratings


class Revision(Abstract, Judgement):
    """Rating of the previous abstract, the changes proposed, and the abstract rewritten (Eq. 4)."""

    verb = "rewrites"


class Overlap(ReplyModel):
    """How much an abstract shares with one published paper (VirSci 2024, Fig. 16)."""

    paper: Choice
    reason: Text
    similarity: Percent


class SelfReview(ReplyModel):
    """The leader's comparison of the finished abstract with the closest of B_past (R_review; App. B.1)."""

    verb = "compares"

    overlaps: list[Overlap] = Field(min_length=1)

    def spoken(self) -> str:
        rows = sorted(self.overlaps, key=lambda each: each.paper)
        return "\n".join(
            f"Paper {each.paper}: {each.similarity} of 100 alike. {each.reason}" for each in rows
        )


@cache
def vote_among(kind: type[Vote], count: int) -> type[Vote]:
    """A vote among so many ideas, with a line on each: its schema shows how far the numbers go."""
    note = limited(IdeaNote, "idea", int, BeforeValidator(whole_number), ge=1, le=count)
    noted = limited(mixed(kind, kind, IdeaNotes), "notes", list[note], min_length=count, max_length=count)
    return limited(noted, "choice", int, BeforeValidator(whole_number), ge=1, le=count)


@cache
def idea_after(kind: type[Idea], count: int) -> type[Idea]:
    """An idea that may refine one of so many: it says which, before it is worked out."""
    return limited(
        mixed(kind, kind, Lineage), "builds_on", int, BeforeValidator(whole_number), ge=0, le=count
    )


@cache
def review_of(kind: type[SelfReview], count: int) -> type[SelfReview]:
    """A self-review of so many papers: its schema shows how many comparisons are asked for."""
    overlap = limited(Overlap, "paper", int, BeforeValidator(whole_number), ge=1, le=count)
    return limited(kind, "overlaps", list[overlap], min_length=count, max_length=count)


class Seeks(ReplyModel):
    """Mixed into a reply where the model cannot call tools: the wish to hear an outside scientist."""

    invite: str | None = None
    question: str | None = None


def seeking(kind: type[R]) -> type[R]:
    """`kind` with the fields of `Seeks` at its end, under the same name."""
    return cast(type[R], _seeking(kind))


@cache
def _seeking(kind: type[ReplyModel]) -> type[ReplyModel]:
    return mixed(kind, Seeks, kind)


class Interests(ReplyModel):
    """An author's research interests, condensed from the keywords of their papers (VirSci 2025, App. C.2.2)."""

    interests: Annotated[list[Text], Field(min_length=1, max_length=8)]


# Baselines: a lone agent's self-reflection, and a discussion of fixed roles (VirSci 2025, App. C.3).


class Doubts(ReplyModel):
    """What comes before an idea is changed."""

    reflection: Text


class Reflection(Idea, Doubts):
    """One round of self-reflection: the idea thought over, and given anew."""

    verb = "rethinks"

    done: bool


class Analysis(ReplyModel):
    """The analyst's reading of the topic."""

    keywords: list[Text] = Field(min_length=1)
    remark: Text


class Reading(ReplyModel):
    """The engineer's account of the literature."""

    model_config = ConfigDict(title="Evidence")

    remark: Text


class Critique(ReplyModel):
    """The critic's judgement of the idea on the table."""

    remark: Text
    approve: bool


# Review and Rebuttal (Figs. 5–11).


class FirstIdea(ReplyModel):
    """What the proposer starts from, before anybody has reviewed it (Fig. 8)."""

    thought: Text
    idea: Text

    def spoken(self) -> str:
        return self.idea


class Proposal(ReplyModel):
    """An idea in the six-field form of Review and Rebuttal (§3.1, Fig. 9)."""

    verb = "revises"

    title: Text
    problem: Text
    objective: Text
    hypothesis: Text
    method: Text
    expected_impact: Text


class Answer(ReplyModel):
    """What a proposer changes about one weakness of an idea."""

    weakness: Text
    change: Text


class Answers(ReplyModel):
    """What comes before an idea is revised: each weakness with the change that answers it."""

    answers: list[Answer] = Field(min_length=1, max_length=5)


class RevisedProposal(Proposal, Answers):
    """A proposal after a review, or after a look of its author at what is weak about it (Fig. 9)."""


class Rethought(Proposal, Doubts):
    """One round of self-reflection of the proposer, who has nobody else (§4.2)."""

    verb = "rethinks"

    improved: bool


class TraitVerdict(ReplyModel):
    """How far an idea has one trait of the quality that it is reviewed for."""

    trait: Text
    finding: Text
    met: Literal["yes", "partly", "no"]


class Review(ReplyModel):
    """A reviewer's findings on one quality indicator: a verdict on each of its traits, then the points (Fig. 10)."""

    verb = "reviews"

    verdicts: list[TraitVerdict] = Field(min_length=1)
    strengths: list[Text] = Field(min_length=1, max_length=3)
    weaknesses: list[Text] = Field(min_length=1, max_length=3)
    suggestions: list[Text] = Field(min_length=1, max_length=3)


@cache
def review_on(kind: type[Review], traits: int) -> type[Review]:
    """A review by so many traits: its schema shows how many verdicts are asked for."""
    return limited(kind, "verdicts", list[TraitVerdict], min_length=traits, max_length=traits)


class Verdict(ReplyModel):
    """An area chair's comparison of two versions of an idea, A and B; which of them is the later one it is not told."""

    verb = "compares"

    reasoning: Text
    better: Literal["A", "B"]
    difference: Literal["none", "small", "significant"]

    def prefers(self, version: str) -> bool:
        """Whether a version, A or B, is significantly better than the other (Fig. 11)."""
        return self.difference == "significant" and self.better == version


# The judge of the relative quality ranking (Figs. 12 and 13).

ABSENT = "NONE"
"""Stands in a field of which the text says nothing."""
AROUND = " \t\n.,;:!*_`\"'()[]<>-–—"
"""What a model may put around it."""


class Condensed(Proposal):
    """The idea of a text in the form of a proposal; a field that the text does not tell holds `NONE` (Fig. 13)."""

    verb = "condenses"

    def contents(self) -> dict[str, str]:
        """The fields that the text tells."""
        fields = {name: getattr(self, name) for name in Proposal.model_fields}
        return {name: text for name, text in fields.items() if text.strip(AROUND).upper() != ABSENT}

    def contradictions(self) -> list[str]:
        """The fields that say NONE and go on; none of the title, which may begin with that word."""
        fields = ((name, text.lstrip(AROUND)) for name, text in self.contents().items() if name != "title")
        return [name for name, text in fields if re.match(rf"{ABSENT}\b", text)]


class Ranked(ReplyModel):
    """One place of a ranking."""

    rationale: Text
    idea: Choice


class Note(ReplyModel):
    """What a judge finds in one idea, before it puts any in order."""

    idea: Choice
    note: Text


class Ranking(ReplyModel):
    """A note on each idea, then all of them in order, the one with the most of the quality first (Fig. 12)."""

    notes: list[Note] = Field(min_length=1)
    ranking: list[Ranked] = Field(min_length=1)

    def order(self) -> tuple[int, ...]:
        """The ideas' numbers as listed, from 1, the best first."""
        return tuple(each.idea for each in self.ranking)

    def spoken(self) -> str:
        return "\n".join(
            f"{place}. Idea {each.idea}: {each.rationale}" for place, each in enumerate(self.ranking, 1)
        )


@cache
def ranking_of(kind: type[Ranking], count: int) -> type[Ranking]:
    """A ranking of so many ideas: its schema shows how many notes and places there are, and how far the numbers go."""
    for name, part in (("notes", Note), ("ranking", Ranked)):
        numbered = limited(part, "idea", int, BeforeValidator(whole_number), ge=1, le=count)
        kind = limited(kind, name, list[numbered], min_length=count, max_length=count)
    return kind


# SciPIP (§3.3, App. A.1): from a research background to a few ideas.


class Entities(ReplyModel):
    """Terms that tell what a text is about, the most important first (SciPIP, Table 7)."""

    verb = "names"

    entities: list[Text]

    def spoken(self) -> str:
        return "; ".join(self.entities) or "–"


class OtherNames(ReplyModel):
    """What else a term is called."""

    term: Text
    names: list[Text]


class Synonyms(ReplyModel):
    """Other names of terms (SciPIP, §3.2.1)."""

    verb = "names"

    terms: list[OtherNames]

    def spoken(self) -> str:
        return "; ".join(f"{each.term}: {', '.join(each.names) or '–'}" for each in self.terms)


class RoughIdea(ReplyModel):
    """A direction that might solve a problem of a background."""

    aim: Text
    title: Text
    idea: Text


class Brainstorm(ReplyModel):
    """Directions from a background alone (SciPIP, Table 14)."""

    verb = "brainstorms"

    ideas: list[RoughIdea] = Field(min_length=1)


class Problem(ReplyModel):
    """A research problem, and why it is worth solving (SciPIP, Table 10)."""

    verb = "states"

    rationale: Text
    problem: Text

    def spoken(self) -> str:
        return self.problem


class InspiredIdea(ReplyModel):
    """An idea with the numbers of the papers that it builds on, none for one of its author's own."""

    papers: list[Choice]
    inspiration: Text
    title: Text
    idea: Text


class InspiredIdeas(ReplyModel):
    """Ideas from a problem and related papers (SciPIP, Table 11)."""

    verb = "proposes"

    ideas: list[InspiredIdea] = Field(min_length=1)


class Screening(ReplyModel):
    """A judgement of one idea by itself: first how well it solves the problem (SciPIP, Table 12)."""

    verb = "screens"

    fit_reason: Text
    fit: Score
    novelty_reason: Text
    novelty: Score
    feasibility_reason: Text
    feasibility: Score

    def spoken(self) -> str:
        scores = f"fit {self.fit}, novelty {self.novelty}, feasibility {self.feasibility} of 10"
        return f"{scores}. {self.fit_reason}"


# Judges of ideas (SciPIP, §4.2, §4.3, App. A.1).


class Placing(ReplyModel):
    """The rank of one idea by each criterion, 1 the best; ideas that are equal share a rank (Tables 18 and 19)."""

    clarity: Choice
    novelty: Choice
    feasibility: Choice
    generalizability: Choice
    overall: Choice
    idea: Choice


CRITERIA = tuple(name for name in Placing.model_fields if name != "idea")
"""By which ideas are compared."""


class Comparison(ReplyModel):
    """Several ideas held against each other by four criteria and overall (Tables 18 and 19)."""

    verb = "compares"

    thought: Text
    places: list[Placing] = Field(min_length=1)

    def spoken(self) -> str:
        return f"{self.thought} Overall: " + ", ".join(
            f"idea {each.idea} on rank {each.overall}"
            for each in sorted(self.places, key=lambda each: each.idea)
        )


@cache
def comparison_of(kind: type[Comparison], count: int) -> type[Comparison]:
    """A comparison of so many ideas."""
    part: type[Placing] = Placing
    for name in Placing.model_fields:
        part = limited(part, name, int, BeforeValidator(whole_number), ge=1, le=count)
    return limited(kind, "places", list[part], min_length=count, max_length=count)


class Closest(ReplyModel):
    """Which of several published ideas is most similar to one (Table 15)."""

    verb = "picks"

    reason: Text
    choice: Choice


@cache
def closest_of(kind: type[Closest], count: int) -> type[Closest]:
    """A choice among so many."""
    return limited(kind, "choice", int, BeforeValidator(whole_number), ge=1, le=count)


class IdeaLikeness(ReplyModel):
    """How similar two ideas are, 0 to 5 (Table 16)."""

    verb = "compares"

    reason: Text
    similarity: Annotated[int, Field(ge=0, le=5), BeforeValidator(whole_number)]

    def spoken(self) -> str:
        return f"similarity {self.similarity} of 5. {self.reason}"


class NoveltyRound(ReplyModel):
    """One round of a search for what is like an idea: how novel it seems by now, and what to look for next (Table 17)."""

    verb = "searches"

    thought: Text
    novelty: Annotated[int, Field(ge=0, le=10), BeforeValidator(whole_number)]
    query: Text

    def spoken(self) -> str:
        return f"novelty {self.novelty} of 10. {self.thought} Looks for: {self.query}"


class RefinedIdea(ReplyModel):
    """A final idea, with the numbers of the ideas that it comes from."""

    sources: list[Choice] = Field(min_length=1)
    title: Text
    idea: Text
    details: Text


class Refinement(ReplyModel):
    """A few ideas that fit each other (SciPIP, Table 13)."""

    verb = "refines"

    coherence: Text
    ideas: list[RefinedIdea] = Field(min_length=1)


@cache
def ideas_of(kind: type[R], part: type[ReplyModel], least: int, most: int) -> type[R]:
    """A reply of so many ideas: its schema shows how many are asked for."""
    return limited(kind, "ideas", list[part], min_length=least, max_length=most)


# Reviews of a whole text: a conference's form, a rating form, MAMORX.


class ConferenceReview(ReplyModel):
    """The truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25)."""

    verb = "reviews"

    summary: Text
    strengths: list[Text] = Field(min_length=1)
    weaknesses: list[Text] = Field(min_length=1)
    questions: list[Text] = Field(min_length=1)
    ethical_concerns: bool
    overall: Score

    def spoken(self) -> str:
        return f"{self.overall} of 10. {self.summary}"


class IdeaRating(ReplyModel):
    """Novelty, feasibility and effectiveness of an idea, each with its reason first (VirSci 2025, App. C.4 and E)."""

    verb = "rates"

    novelty_reason: Text
    novelty: Score
    feasibility_reason: Text
    feasibility: Score
    effectiveness_reason: Text
    effectiveness: Score

    def spoken(self) -> str:
        given = f"novelty {self.novelty}, feasibility {self.feasibility}, effectiveness {self.effectiveness} of 10"
        return f"{given}. {self.novelty_reason}"


class NoveltyReport(ReplyModel):
    """A novelty reviewer's summary (MAMORX, App. A.4)."""

    reasoning: Text
    conflicts: list[Text]
    verdict: Literal["NOVEL", "NOT NOVEL"]


class FigureCritique(ReplyModel):
    """A figure critic's findings (MAMORX, App. A.3)."""

    description: Text
    critique: Text


# What is extracted of a paper (SciPIP, §3.1, Tables 7–9).


def _asked_for(least: int, most: int) -> Any:
    """So many things are asked for; where a text gives fewer, fewer are right, and none is made up."""
    return Field(json_schema_extra={"minItems": least, "maxItems": most})


class Extract(ReplyModel):
    """A paper's entities, summary, background and main ideas (Tables 7 and 8)."""

    entities: Annotated[list[Text], _asked_for(1, 5)]
    summary: Text
    background: Annotated[list[Text], _asked_for(1, 2)]
    main_ideas: Annotated[list[Text], _asked_for(0, 3)]

    def spoken(self) -> str:
        return self.summary


class DetailedIdea(ReplyModel):
    """One contribution of a paper, worked out."""

    idea: Text
    details: Text


class DetailedIdeas(ReplyModel):
    """A paper's contributions with their details, from the text of its method (Table 9)."""

    detailed_ideas: Annotated[list[DetailedIdea], _asked_for(2, 4)]


class FullExtract(DetailedIdeas, Extract):
    """All of it, where a paper's text can be read at once."""


REPLIES: dict[str, type[ReplyModel]] = {
    kind.__name__: kind
    for kind in (
        Decision, Remark, Summary, Progress, Consensus, Topic, Interest, Advice, Idea, Vote, Abstract, Revision,
        SelfReview, ConferenceReview, IdeaRating, Interests, Proposal, Review, Verdict, NoveltyReport, FigureCritique,
        Reflection, Analysis, Reading, Critique, FirstIdea, RevisedProposal, Rethought, Condensed, Ranking,
        Extract, DetailedIdeas, FullExtract,
        Entities, Synonyms, Brainstorm, Problem, InspiredIdeas, Screening, Refinement,
        Comparison, Closest, IdeaLikeness, NoveltyRound,
    )
}  # fmt: skip
"""Those that ship, by name."""


def reply_type(name: str) -> type[ReplyModel]:
    """The reply type that a role card names: one of ours, or `pack.Reply` of an installed pack.

    Raises:
        ConfigError: there is none of this name.
    """
    if kind := REPLIES.get(name):
        return kind
    pack, dot, inner = name.partition(".")
    if not dot:
        raise ConfigError(
            f"unknown reply type {name!r}", tried=", ".join(REPLIES), hint="those of packs are pack.Reply"
        )
    if pack not in packs():
        raise ConfigError(
            f"unknown reply type {name!r}: no pack {pack!r} is installed",
            tried=f"packs: {', '.join(packs()) or 'none'}",
        )
    module, theirs = f"{packs()[pack]}.replies", dict[str, Any]()
    try:
        theirs = vars(import_module(module))
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    kinds: dict[str, type[ReplyModel]] = {
        name: kind
        for name, kind in theirs.items()
        if isinstance(kind, type) and issubclass(kind, ReplyModel) and kind is not ReplyModel
    }
    if inner not in kinds:
        raise ConfigError(
            f"unknown reply type {name!r}", tried=f"{pack} brings: {', '.join(kinds) or 'none'}"
        )
    return kinds[inner]
