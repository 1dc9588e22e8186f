"""Replies of a committee that reviews a full paper: plan, questions, answers, figures, novelty, the review (MAMORX, App. A)."""

from typing import Literal, TypeAlias

from pydantic import Field

from manyheads.asking.replies.base import Choice, ReplyModel, Text, limited, numbered, open_ended

Expert: TypeAlias = Literal["clarity", "experiments", "impact"]
"""The experts of a review's leader."""


class PlanStep(ReplyModel):
    """One expert's part of the plan."""

    task: Text
    expects: Text
    expert: Expert


class Plan(ReplyModel):
    """A leader's plan for a review; written once (App. A.1)."""

    thought: Text
    steps: list[PlanStep] = Field(min_length=1, max_length=12)


class Assessment(ReplyModel):
    """A leader's assessment after the experts' answers."""

    step: Text
    assessment: Text
    finished: bool


class Inquiry(ReplyModel):
    """A question or a task from a leader whose model has no tools."""

    text: Text
    expects: Text
    kind: Literal["ask", "delegate"]
    expert: Expert


class Inquiries(ReplyModel):
    """The leader's next questions; none if nothing is missing."""

    step: Text
    assessment: Text
    inquiries: list[Inquiry]


def inquiries_of(kind: type[Inquiries], most: int) -> type[Inquiries]:
    """A maximum number of questions, as many as are left."""
    return open_ended(limited(kind, "inquiries", list[Inquiry], max_length=most), kind)


class SectionChoice(ReplyModel):
    """Sections of a paper to read, for a model without tools."""

    thought: Text
    sections: list[Text] = Field(min_length=1, max_length=12)


class Finding(ReplyModel):
    """An expert's finding about the paper, with a quotation."""

    where: Text
    quote: str
    finding: Text


class ExpertAnswer(ReplyModel):
    """An expert's answer to the leader."""

    thought: Text
    findings: list[Finding]
    answer: Text
    questions: list[Text]


class Support(ReplyModel):
    """A source of a point: a passage, a figure, a table, a reference or another paper."""

    where: Text
    quote: str


class Point(ReplyModel):
    """A point of a review, after its sources."""

    sources: list[Support]
    text: Text


class WrittenReview(ReplyModel):
    """A review on a form, whose fields `ReviewForm.reply` adds."""


class Weighed(ReplyModel):
    """The main points, before a review is written."""

    thought: Text


class Doubted(ReplyModel):
    """An agent's criticism of its own draft, before it rewrites the review."""

    doubts: list[Text] = Field(min_length=1)


class BestReview(ReplyModel):
    """The best of several reviews of one paper."""

    thought: Text
    choice: Choice


class CorrectedPoint(ReplyModel):
    """A point of a review whose sources were not found, checked again."""

    number: Choice
    thought: Text
    withdraw: bool
    sources: list[Support]
    text: str


class Correction(ReplyModel):
    """Points with better sources, reworded, or withdrawn."""

    points: list[CorrectedPoint]


def correction_of(kind: type[Correction], last: int, most: int) -> type[Correction]:
    """A maximum number of points, numbered up to the last."""
    point = numbered(CorrectedPoint, "number", last)
    return open_ended(limited(kind, "points", list[point], max_length=most), kind)


class NoveltyReport(ReplyModel):
    """A novelty reviewer's summary (MAMORX, App. A.4)."""

    reasoning: Text
    conflicts: list[Text]
    verdict: Literal["NOVEL", "NOT NOVEL"]


class SearchPhrase(ReplyModel):
    """Queries for related papers, each with its purpose (MAMORX, App. A.4)."""

    aim: Text
    phrase: Text


class Relevance(ReplyModel):
    """Whether a retrieved paper is close to the core of another (App. A.4)."""

    reason: Text
    verdict: Literal["RELEVANT", "IRRELEVANT"]


class NoveltyDecision(ReplyModel):
    """Whether a paper is novel compared with another (App. A.4)."""

    comparison: Text
    justification: Text
    decision: Literal["NOVEL", "NOT NOVEL"]


class NoveltySummary(ReplyModel):
    """The decisions in words (App. A.4)."""

    summary: Text


class Colours(ReplyModel):
    """The colours of three bands of an image, to test that a model sees it."""

    left: Text
    middle: Text
    right: Text


class FigureDescription(ReplyModel):
    """What a figure shows, and its implications (MAMORX, App. A.3)."""

    description: Text
    implications: Text


class CaptionCritique(ReplyModel):
    """A figure critic's findings about a figure, without the image."""

    inconsistencies: list[Text]
    critique: Text


class FigureCritique(ReplyModel):
    """A figure critic's findings: clarity, consistency, and improvements (MAMORX, App. A.3)."""

    clarity: Text
    inconsistencies: list[Text]
    critique: Text


REPLIES = (
    NoveltyReport, Colours, FigureDescription, FigureCritique, CaptionCritique, Plan, Assessment, Inquiries,
    SectionChoice, ExpertAnswer, WrittenReview, BestReview, Correction, SearchPhrase, Relevance, NoveltyDecision,
    NoveltySummary,
)  # fmt: skip
"""What tasks may be answered with; the others are parts of these."""
