"""A conference review: its settings and input, the number of reviews, their form, and the result.

The form is the truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25). With `form: rating` it is the form for human raters,
with novelty, feasibility and effectiveness, as in the paper's comparison of its measure with a model's judgement (2025,
App. E).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from manyheads.asking.replies import ReplyModel, Text, label
from manyheads.asking.roles import Roles
from manyheads.base.errors import ModelError
from manyheads.base.text import count
from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.core import together
from manyheads.core.results import Figure, Part
from manyheads.core.texts import PathInFull, Subject
from manyheads.measures.ratings import CRITERIA
from manyheads.measures.statistics import RatingMean, rating_mean
from manyheads.systems.conference_review.replies import ConferenceReview, IdeaRating
from manyheads.systems.ideas import read_paper_or_text
from manyheads.team.run import Question, Run
from manyheads.team.system import Judge, Reviews, System


class SubjectRecord(Part):
    """The reviewed text."""

    source: str
    sha256: str
    words: int
    text: str | None = None
    """Without the title; kept here, as the file may be gone later."""


class SubmittedReview(ConferenceReview):
    """A review on the truncated NeurIPS form."""

    reviewer: str
    model: str


class Rating(IdeaRating):
    """A review on the form for human raters."""

    reviewer: str
    model: str


class ReviewResult(Part):
    """The reviews in the order of the reviewers, and the mean of each score."""

    title: str = ""
    """Empty without one."""
    subject: SubjectRecord | None = None
    reviews: list[SubmittedReview | Rating] = []
    means: dict[str, RatingMean] = {}
    """`overall`, or one for each criterion; none while a review is missing."""

    @property
    def scored(self) -> tuple[str, ...]:
        """The names of the scores."""
        return CRITERIA if any(isinstance(each, Rating) for each in self.reviews) else ("overall",)

    @property
    def points(self) -> dict[str, list[tuple[str, ...]]]:
        """The reviews' texts by field in the order of the form, each reviewer's in turn; a text is one point."""
        form = IdeaRating if self.scored == CRITERIA else ConferenceReview
        names = (name for name in form.model_fields if name not in (*self.scored, "ethical_concerns"))
        texts = {name: [getattr(review, name) for review in self.reviews] for name in names}
        return {
            name: [(text,) if isinstance(text, str) else tuple(text) for text in each]
            for name, each in texts.items()
        }

    @property
    def flagged(self) -> list[str]:
        """The reviewers who ask for an ethics review."""
        return [
            each.reviewer
            for each in self.reviews
            if isinstance(each, SubmittedReview) and each.ethical_concerns
        ]


def scores(result: ReviewResult) -> Mapping[str, Figure]:
    """The mean of each score."""
    return {name: Figure(mean=mean.mean, low=mean.low, high=mean.high) for name, mean in result.means.items()}


def essence(result: ReviewResult) -> Iterator[tuple[str, str]]:
    """The scores of each reviewer and their means."""
    if result.title:
        yield "Title", result.title
    elif result.subject:
        yield "Text", result.subject.source
    for review in result.reviews:
        scores = ", ".join(f"{name} {getattr(review, name)}" for name in result.scored)
        ethics = isinstance(review, SubmittedReview) and review.ethical_concerns
        yield review.reviewer, f"{scores}{', asks for an ethics review' * ethics}"
    for name, mean in result.means.items():
        ends = ""
        if mean.low is not None and mean.high is not None:
            ends = f", {mean.level:.0%} interval {mean.low:.1f} to {mean.high:.1f}"
        yield name.capitalize(), f"{mean.mean:.1f} of 10, the mean of {count(mean.n, 'review')}{ends}"


def in_full(result: ReviewResult) -> Iterator[str]:
    """Each review as Markdown, with all fields of its form."""
    for place, review in enumerate(result.reviews):
        parts = [f"## {review.reviewer}"]
        for name, texts in result.points.items():
            points = texts[place]
            listed = f" {points[0]}" if len(points) == 1 else "".join(f"\n- {point}" for point in points)
            parts.append(f"**{label(name)}.**{listed}")
        yield "\n\n".join(parts)


STAGE = "review"
ROLE = "conference_reviewer"


class ReviewConfig(Section):
    """Independent reviews of one subject."""

    form: Literal["conference", "rating"] = "conference"
    """The conference's form with one overall score, or the form for human raters (App. C.4)."""
    example: Text = "borderline-accept"
    """A filled-in form to show to the conference's reviewers: `borderline-accept` (5 of 10, as in the papers), `borderline-reject` (4),
    or your own, `prompts/conference_reviewer/examples/<example>.md.j2`."""
    repeats: int = Field(default=3, ge=1)
    """Number of independent reviews; their mean is the score."""


SUBJECT = Slot(
    "last", file=True, metavar="FILE|RUN", required=True, hint="--subject FILE, or the folder of a run"
)


class ReviewInputs(Inputs):
    """The text to review."""

    subject: Annotated[PathInFull, SUBJECT] = None
    """The text to review: a text file, a paper (file, arXiv number, DOI, link), or the folder of a run that wrote an abstract."""


class ConferenceForm(NamedTuple):
    """A review form: the role's task, its reply type, its type in the result, and its scores."""

    task: str
    reply: type[ReplyModel]
    kept: type[SubmittedReview | Rating]
    scores: tuple[str, ...]


FORMS = {
    "conference": ConferenceForm("review", ConferenceReview, SubmittedReview, ("overall",)),
    "rating": ConferenceForm("rate", IdeaRating, Rating, CRITERIA),
}
NEEDS: Mapping[tuple[str, str], type[ReplyModel]] = {(ROLE, form.task): form.reply for form in FORMS.values()}


EXAMPLES, ENDING = "conference_reviewer/examples/", ".md.j2"


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """The faults of the example, one per line."""
    example = config.settings.example
    if config.settings.form == "conference" and not roles.prompts.find(f"{EXAMPLES}{example}{ENDING}"):
        names = roles.resources.names("prompts", ENDING, EXAMPLES)
        others = ", ".join(sorted(name.removeprefix(EXAMPLES).removesuffix(ENDING) for name in names))
        yield (
            f"{config.system}.example {example!r}: no such example; there are {others}; "
            f"or write prompts/{EXAMPLES}{example}{ENDING} in a folder of your own (--path)"
        )


async def conference_review(run: Run[ReviewResult, ReviewConfig, Subject]) -> None:
    """Review the run's subject `repeats` times; each score is the mean over all reviews.

    All reviews are requested at once. Each reviewer has a name of their own, so that a model that answers the same question the
    same way still gives independent samples; nobody sees another's review.

    Raises:
        ModelError: a review failed for good. There is no mean of fewer reviews: the others are kept, and a resumed run asks
        only for the missing ones.
    """
    result, subject, form = run.result, run.material, FORMS[run.settings.form]
    source, words, text = subject.source, len(subject.text.split()), subject.text
    result.title = subject.title
    result.subject = SubjectRecord(source=source, sha256=subject.sha256, words=words, text=text)
    run.begin(STAGE, {STAGE: "Review"})
    variables = {"title": subject.title, "text": subject.text}
    if run.settings.form == "conference":
        name = f"{EXAMPLES}{run.settings.example}{ENDING}"
        variables["example"] = run.roles.prompts.render(name, {}).strip()

    async def review(name: str) -> ModelError | None:
        """One review. Its failure does not end the others, which are paid for."""
        speaker = run.speaker(ROLE, name, reviewer=name)
        try:
            reply = await run.ask(Question(STAGE, 1, speaker, ROLE, form.task, variables), form.reply)
        except ModelError as error:
            return error
        result.reviews.append(form.kept(**reply.value.model_dump(), reviewer=name, model=reply.model))
        return None

    names = [f"Reviewer{number}" for number in range(1, run.settings.repeats + 1)]
    errors = zip(names, await together(*map(review, names)), strict=True)
    if failed := {name: error for name, error in errors if error}:
        error = next(iter(failed.values()))
        others = ", the others are kept" if len(failed) < len(names) else ""
        problem = (
            f"{len(failed)} of {len(names)} reviews failed ({', '.join(failed)}){others}: {error.message}"
        )
        raise ModelError(problem, tried=error.tried, hint=error.hint) from error
    result.reviews.sort(key=lambda review: names.index(review.reviewer))
    said = {each.model_dump_json(exclude={"reviewer", "model"}) for each in result.reviews}
    if len(names) > 1 and len(said) == 1:
        alike = "with a deterministic model, such as at temperature 0, they count as one"
        run.warn(STAGE, f"all {len(names)} reviews are identical: {alike}")
    scores = ((name, [getattr(each, name) for each in result.reviews]) for name in form.scores)
    result.means = {name: rating_mean(values) for name, values in scores}


CONFERENCE_REVIEW = System(
    name="conference-review",
    title="Conference review",
    about="Reviewers who each review a text alone, and score it from 1 to 10.",
    config=ReviewConfig,
    inputs=ReviewInputs,
    result=ReviewResult,
    run=conference_review,
    essence=essence,
    report=__name__,
    details=in_full,
    table=lambda result: result.reviews,
    needs=lambda config: NEEDS,
    check=check,
    read=lambda config: read_paper_or_text(Path(config.inputs.subject)),
    reviews=Reviews(
        "subject", "abstracts", lambda resources: {form: {"form": form} for form in FORMS}, scores
    ),
    judge=Judge(
        "subject",
        "review.overall",
        lambda path: tuple(path) if path[0] == "reviews" else ("means", ".".join(path), "mean"),
    ),
    aliases={"review": "conference-review"},
    extras=("statistics",),
)
