"""A conference review: its settings and input, the number of reviews, and their form.

The form is the truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25). With `form: rating` it is the form for human raters,
with novelty, feasibility and effectiveness, as in the paper's comparison of its measure with a model's judgement (2025,
App. E).
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, field_validator

from manyheads.asking.replies import ConferenceReview, IdeaRating, ReplyModel, Text
from manyheads.asking.roles import Roles
from manyheads.base.errors import ModelError
from manyheads.base.files import expanded
from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.core import Reply, together
from manyheads.core.texts import Subject
from manyheads.measures.ratings import CRITERIA
from manyheads.measures.statistics import rating_mean
from manyheads.systems.conference_review.result import Rating, Review, ReviewResult, SubjectRecord
from manyheads.team.run import Question, Run

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

    subject: Annotated[str | None, SUBJECT] = None
    """The text to review: a text file, or the folder of a run that wrote an abstract."""

    @field_validator("subject")
    @classmethod
    def _named_in_full(cls, value: str | None) -> str | None:
        return None if value is None else str(expanded(value).resolve())


class Form(NamedTuple):
    """A review form: the role's task, its reply type, its type in the result, and its scores."""

    task: str
    reply: type[ReplyModel]
    kept: type[Review | Rating]
    scores: tuple[str, ...]


FORMS = {
    "conference": Form("review", ConferenceReview, Review, ("overall",)),
    "rating": Form("rate", IdeaRating, Rating, CRITERIA),
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
    words = len(subject.text.split())
    result.title = subject.title
    result.subject = SubjectRecord(
        source=subject.source, sha256=subject.sha256, words=words, text=subject.text
    )
    run.begin(STAGE, {STAGE: "Review"})
    variables = {"title": subject.title, "text": subject.text}
    if run.settings.form == "conference":
        name = f"{EXAMPLES}{run.settings.example}{ENDING}"
        variables["example"] = run.roles.prompts.render(name, {}).strip()

    async def review(name: str) -> Reply[ReplyModel] | ModelError:
        """One review. Its failure does not end the others, which are paid for."""
        speaker = run.speaker(ROLE, name, reviewer=name)
        try:
            reply = await run.ask(Question(STAGE, 1, speaker, ROLE, form.task, variables), form.reply)
        except ModelError as error:
            return error
        result.reviews.append(form.kept(**reply.value.model_dump(), reviewer=name, model=reply.model))
        return reply

    names = [f"Reviewer{number}" for number in range(1, run.settings.repeats + 1)]
    answers = dict(zip(names, await together(*map(review, names)), strict=True))
    failed = {name: each for name, each in answers.items() if isinstance(each, ModelError)}
    if failed:
        error = next(iter(failed.values()))
        others = ", the others are kept" if len(failed) < len(names) else ""
        raise ModelError(
            f"{len(failed)} of {len(names)} reviews failed ({', '.join(failed)}){others}: {error.message}",
            tried=error.tried,
            hint=error.hint,
        ) from error
    replies = [each.value for each in answers.values() if not isinstance(each, ModelError)]
    if len(replies) > 1 and len({reply.model_dump_json() for reply in replies}) == 1:
        run.warn(
            STAGE,
            f"all {len(replies)} reviews are identical: with a deterministic model, "
            "such as at temperature 0, they count as one",
        )
    result.reviews.sort(key=lambda review: names.index(review.reviewer))
    result.means = {name: rating_mean([getattr(reply, name) for reply in replies]) for name in form.scores}
