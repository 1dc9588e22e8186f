"""The typed replies that a task may ask for. Their JSON Schema is what the model is shown.

Scales and fields follow the papers. Scores are never clipped or filled in: a value out of range is asked for again.
A pack brings its own in its module `replies`; a role card names them `pack.Reply`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from annotated_types import Ge, Le
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, create_model

from manyheads.errors import ConfigError
from manyheads.resources import packs

R = TypeVar("R", bound="ReplyModel")
FORM = """\
Answer with one JSON object that fits this schema, in a ```json fence, and nothing after it:

```json schema
{schema}
```
"""


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
        """The reply as a reader, or another speaker, wants to see it; by default its first text."""
        return next((value for value in self.model_dump().values() if isinstance(value, str)), "")


@cache
def form(reply_type: type[ReplyModel]) -> str:
    """The part of a prompt that shows the reply's JSON Schema in a fenced `json schema` block."""
    return FORM.format(schema=json.dumps(schema_of(reply_type), ensure_ascii=False, indent=1))


@cache
def schema_of(reply_type: type[ReplyModel]) -> dict[str, Any]:
    """The JSON Schema of a reply type, as a model is shown it and as `response_format` takes it; not to be changed.

    Docstrings are left out of it: they are written for readers of the code.
    """
    schema = reply_type.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("description", None)
    return schema


def limited(kind: type[R], field: str, of: Any, *checks: Any, **limits: Any) -> type[R]:
    """`kind` with a field that is `of` a type within limits, which its schema shows."""
    limit = Field(description=kind.model_fields[field].description, **limits)
    fields: dict[str, Any] = {field: (Annotated[of, limit, *checks], ...)}
    return create_model(kind.__name__, __base__=kind, **fields)


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

    reasoning: Text = Field(
        description="Step by step: fit of interests, of experience, and of the team so far."
    )
    accept: bool = Field(description="true to join the team, false to decline.")


class Remark(ReplyModel):
    """One contribution to the topic discussion (R_k,i of Eq. 1)."""

    remark: Text = Field(description="What you say to the team.")
    topic: Text = Field(description="The research topic that you favour now, in one sentence.")

    def spoken(self) -> str:
        return f"{self.remark}\n\nTopic I favour: {self.topic}"


class Summary(ReplyModel):
    """The leader's summary of one turn (D̄_t)."""

    verb = "sums up"

    summary: Text = Field(description="What was proposed, agreed and left open in this turn.")


class Progress(ReplyModel):
    """The leader's decision whether a stage needs another turn (App. D.3.2)."""

    reasoning: Text = Field(description="What the stage still lacks, or why it is done.")
    another_turn: bool = Field(description="true if one more turn of discussion is worth its cost.")


class Consensus(ReplyModel):
    """A member's view on whether the team agrees on a direction."""

    reasoning: Text = Field(description="Where the team agrees and where it does not.")
    agree: bool = Field(description="true if the team shares a direction that you can support.")


class Topic(ReplyModel):
    """The topic that the leader writes (R_topic)."""

    topic: Text = Field(description="The research topic in one precise sentence.")
    rationale: Text = Field(description="Why this topic, in two or three sentences.")


class Interest(ReplyModel):
    """Whether a member stays for the chosen topic."""

    reasoning: Text = Field(description="How the topic meets your interests.")
    stay: bool = Field(description="true to go on with the team, false to leave it.")


class Advice(ReplyModel):
    """An invited scientist's one answer; the guest does not join the team."""

    advice: Text = Field(description="Your answer to the question, from your own expertise.")


class Idea(ReplyModel):
    """A research idea with its self-assessment (VirSci 2024, Fig. 12)."""

    verb = "proposes"

    thought: Text = Field(description="Motivation, and how the idea differs from what is published.")
    title: Text = Field(description="A title for the paper that would come of it.")
    idea: Text = Field(description="The idea in detail: problem, approach, significance.")
    experiment: Text = Field(description="How to test it: design, data, measures, expected outcome.")
    clarity: Score = Field(description="1 (unclear) to 10 (perfectly clear).")
    feasibility: Score = Field(description="1 (out of reach) to 10 (can start tomorrow).")
    novelty: Score = Field(description="1 (known) to 10 (unlike anything published).")

    def spoken(self) -> str:
        return f"{self.title}\n\n{self.idea}\n\nExperiment: {self.experiment}"


class Vote(ReplyModel):
    """A blind vote for the most novel idea (VirSci 2024, Fig. 13)."""

    thought: Text = Field(description="Compare each idea with what is published.")
    choice: Choice = Field(description="Number of the one idea that overlaps least with existing work.")


class Abstract(ReplyModel):
    """An abstract in its five sections (VirSci 2025, §3.2, Abstract Generation)."""

    verb = "drafts"

    title: Text
    introduction: Text = Field(description="Context and gap, one or two sentences.")
    objective: Text = Field(description="What the work sets out to do.")
    methods: Text = Field(description="How it will be done.")
    expected_results: Text = Field(description="What is expected to come out, and how it would be measured.")
    conclusion: Text = Field(description="What it would mean for the field.")

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

    evaluation: Ratings = Field(description="Your rating of the abstract that you were given.")
    changes: list[Text] = Field(min_length=1, description="The changes that you make, each in a sentence.")


class Revision(Abstract, Judgement):
    """Rating of the previous abstract, the changes proposed, and the abstract rewritten (Eq. 4)."""

    verb = "rewrites"


class Overlap(ReplyModel):
    """How much an abstract shares with one published paper (VirSci 2024, Fig. 16)."""

    paper: Choice = Field(description="Number of the published abstract, as listed.")
    similarity: Percent = Field(
        description="0 (nothing in common) to 100 (the same), over content, structure, wording."
    )
    reason: Text = Field(description="What the two share, and what they do not.")


class SelfReview(ReplyModel):
    """The leader's comparison of the finished abstract with the closest of B_past (R_review; App. B.1)."""

    verb = "compares"

    overlaps: list[Overlap] = Field(min_length=1, description="One entry for each published abstract.")

    def spoken(self) -> str:
        rows = sorted(self.overlaps, key=lambda each: each.paper)
        return "\n".join(
            f"Paper {each.paper}: {each.similarity} of 100 alike. {each.reason}" for each in rows
        )


@cache
def vote_among(kind: type[Vote], count: int) -> type[Vote]:
    """A vote among so many ideas: its schema shows how far the numbers go."""
    return limited(kind, "choice", int, BeforeValidator(whole_number), ge=1, le=count)


@cache
def review_of(kind: type[SelfReview], count: int) -> type[SelfReview]:
    """A self-review of so many papers: its schema shows how many comparisons are asked for."""
    return limited(kind, "overlaps", list[Overlap], min_length=count, max_length=count)


class Seeks(ReplyModel):
    """Mixed into a reply where the model cannot call tools: the wish to hear an outside scientist."""

    invite: str | None = Field(
        default=None,
        description="Name of ONE listed scientist outside the team whose advice you need now, or null.",
    )
    question: str | None = Field(default=None, description="Your question to that scientist, or null.")


def seeking(kind: type[R]) -> type[R]:
    """`kind` with the fields of `Seeks` added, under the same name."""
    return cast(type[R], _seeking(kind))


@cache
def _seeking(kind: type[ReplyModel]) -> type[ReplyModel]:
    return create_model(kind.__name__, __base__=(kind, Seeks), __doc__=kind.__doc__)


class Interests(ReplyModel):
    """An author's research interests, condensed from the keywords of their papers (VirSci 2025, App. C.2.2)."""

    interests: Annotated[list[Text], Field(min_length=1, max_length=8)] = Field(
        description="Research interests, each of a few words, the broadest strand of work first."
    )


# Baselines: a lone agent's self-reflection, and a discussion of fixed roles (VirSci 2025, App. C.3).


class Doubts(ReplyModel):
    """What comes before an idea is changed."""

    reflection: Text = Field(
        description="What is weak about the idea as it stands, and what you do about it."
    )


class Reflection(Idea, Doubts):
    """One round of self-reflection: the idea thought over, and given anew."""

    verb = "rethinks"

    done: bool = Field(description="true if the idea as you give it here gains nothing from a further round.")


class Analysis(ReplyModel):
    """The analyst's reading of the topic."""

    keywords: list[Text] = Field(min_length=1, description="The terms on which the topic turns.")
    remark: Text = Field(description="What they suggest: tensions, open questions, where to look.")

    def spoken(self) -> str:
        return f"{self.remark}\n\nKeywords: {', '.join(self.keywords)}"


class Reading(ReplyModel):
    """The engineer's account of the literature."""

    model_config = ConfigDict(title="Evidence")

    remark: Text = Field(description="What the papers have, what they lack, and what follows for the idea.")


class Critique(ReplyModel):
    """The critic's judgement of the idea on the table."""

    remark: Text = Field(description="Strengths, faults, and what each of the others should do about them.")
    approve: bool = Field(description="true if the idea can be written up as it stands.")


# Review and Rebuttal (Figs. 5–11).


class FirstIdea(ReplyModel):
    """What the proposer starts from, before anybody has reviewed it (Fig. 8)."""

    thought: Text = Field(description="What the abstracts leave open, and what they suggest together.")
    idea: Text = Field(description="The hypothesis or idea, in one short paragraph.")

    def spoken(self) -> str:
        return self.idea


class Proposal(ReplyModel):
    """An idea in the six-field form of Review and Rebuttal (§3.1, Fig. 9)."""

    verb = "revises"

    title: Text
    problem: Text = Field(description="The problem and why it is open.")
    objective: Text
    hypothesis: Text
    method: Text
    expected_impact: Text

    def spoken(self) -> str:
        return f"Title: {self.title}\n\n{self.body()}"

    def body(self) -> str:
        """What stands below the title, each field under its name."""
        return in_form({name: getattr(self, name) for name in Proposal.model_fields if name != "title"})


class Rethought(Proposal, Doubts):
    """One round of self-reflection of the proposer, who has nobody else (§4.2)."""

    verb = "rethinks"

    improved: bool = Field(
        description="true only if this version is significantly better than the one before."
    )


class Review(ReplyModel):
    """A reviewer's findings on one quality indicator."""

    verb = "reviews"

    strengths: list[Text] = Field(min_length=1)
    weaknesses: list[Text] = Field(min_length=1)
    suggestions: list[Text] = Field(min_length=1, description="Concrete changes, most important first.")

    def spoken(self) -> str:
        """The points, listed under their names."""
        return "\n\n".join(
            f"{label(name)}:\n" + "\n".join(f"- {point}" for point in getattr(self, name))
            for name in Review.model_fields
        )


class Verdict(ReplyModel):
    """An area chair's comparison of an idea with the one before it."""

    verb = "compares"

    reasoning: Text = Field(description="What changed, and whether it matters for the indicator.")
    improved: bool = Field(description="true only if the new idea is significantly better.")


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


def in_form(fields: Mapping[str, str]) -> str:
    """Fields of a proposal as they are shown, each under its name."""
    return "\n\n".join(f"{label(name)}: {text}" for name, text in fields.items())


def as_ranked(title: str, text: str, fields: Mapping[str, str], shown: Sequence[str]) -> str:
    """An idea as it is ranked: those of its fields that are shown, or, where it has none, as it was written."""
    if not fields:
        return "\n\n".join(filter(None, (title, text)))
    return in_form({name: fields[name] for name in shown if name in fields})


class Ranked(ReplyModel):
    """One place of a ranking."""

    idea: Choice = Field(description="Number of the idea, as listed.")
    rationale: Text = Field(description="Why it stands here, in a sentence.")


class Ranking(ReplyModel):
    """All ideas in order, the one with the most of the quality first; each of them once (Fig. 12)."""

    ranking: list[Ranked] = Field(min_length=1, description="Every idea exactly once, the best first.")

    def order(self) -> tuple[int, ...]:
        """The ideas' numbers as listed, from 1, the best first."""
        return tuple(each.idea for each in self.ranking)

    def spoken(self) -> str:
        return "\n".join(
            f"{place}. Idea {each.idea}: {each.rationale}" for place, each in enumerate(self.ranking, 1)
        )


@cache
def ranking_of(kind: type[Ranking], count: int) -> type[Ranking]:
    """A ranking of so many ideas: its schema shows how many places there are and how far the numbers go."""
    place = limited(Ranked, "idea", int, BeforeValidator(whole_number), ge=1, le=count)
    return limited(kind, "ranking", list[place], min_length=count, max_length=count)


# Reviews of a whole text: a conference's form, a rating form, MAMORX.


class ConferenceReview(ReplyModel):
    """The truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25)."""

    verb = "reviews"

    summary: Text = Field(description="What the paper does, in words that its authors would agree with.")
    strengths: list[Text] = Field(min_length=1, description="Originality, quality, clarity, significance.")
    weaknesses: list[Text] = Field(min_length=1, description="The same four, where the paper falls short.")
    questions: list[Text] = Field(min_length=1, description="What an answer of the authors could change.")
    ethical_concerns: bool = Field(description="true only if an ethics review is needed.")
    overall: Score = Field(description="1 (very strong reject) to 10 (award quality).")

    def spoken(self) -> str:
        return f"{self.overall} of 10. {self.summary}"


class IdeaRating(ReplyModel):
    """Novelty, feasibility and effectiveness of an idea, each with its reason first (VirSci 2025, App. C.4 and E)."""

    verb = "rates"

    novelty_reason: Text = Field(description="What exists, and what differs from it.")
    novelty: Score
    feasibility_reason: Text = Field(description="What carrying it out would take.")
    feasibility: Score
    effectiveness_reason: Text = Field(description="Why it should work, or not.")
    effectiveness: Score

    def spoken(self) -> str:
        given = f"novelty {self.novelty}, feasibility {self.feasibility}, effectiveness {self.effectiveness} of 10"
        return f"{given}. {self.novelty_reason}"


class NoveltyReport(ReplyModel):
    """A novelty reviewer's summary (MAMORX, App. A.4)."""

    reasoning: Text = Field(description="Compare the work with each related paper.")
    conflicts: list[Text] = Field(
        description="Titles of the papers that already hold its contribution; may be empty."
    )
    verdict: Literal["NOVEL", "NOT NOVEL"]


class FigureCritique(ReplyModel):
    """A figure critic's findings (MAMORX, App. A.3)."""

    description: Text = Field(description="What the figure shows, for a reader who cannot see it.")
    critique: Text = Field(description="Its clarity, and whether it agrees with caption and text.")


REPLIES: dict[str, type[ReplyModel]] = {
    kind.__name__: kind
    for kind in (
        Decision, Remark, Summary, Progress, Consensus, Topic, Interest, Advice, Idea, Vote, Abstract, Revision,
        SelfReview, ConferenceReview, IdeaRating, Interests, Proposal, Review, Verdict, NoveltyReport, FigureCritique,
        Reflection, Analysis, Reading, Critique, FirstIdea, Rethought, Condensed, Ranking,
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
