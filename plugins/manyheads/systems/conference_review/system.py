"""LLM review: independent reviews of one text on the truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25).

With `form: rating` they are made on the form that people fill in, novelty, feasibility and effectiveness, as
the paper does where it holds its measure against a model's judgement (2025, App. E).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from manyheads.core import Reply, together
from manyheads.core.events import Stage
from manyheads.discussion.run import Question
from manyheads.errors import ModelError
from manyheads.measures.ratings import CRITERIA
from manyheads.measures.statistics import rating_mean
from manyheads.replies import ConferenceReview, IdeaRating, ReplyModel
from manyheads.systems.conference_review.result import Rating, Review, ReviewRun, SubjectRecord
from manyheads.texts import Subject

STAGE = "review"
ROLE = "conference_reviewer"


@dataclass(frozen=True)
class Form:
    """What a reviewer fills in: the role's task, its reply, as what it is kept, and its fields that are scores."""

    task: str
    reply: type[ReplyModel]
    kept: type[Review | Rating]
    scores: tuple[str, ...]


FORMS = {
    "conference": Form("review", ConferenceReview, Review, ("overall",)),
    "rating": Form("rate", IdeaRating, Rating, CRITERIA),
}
NEEDS: Mapping[tuple[str, str], type[ReplyModel]] = {(ROLE, form.task): form.reply for form in FORMS.values()}


async def conference_review(run: ReviewRun) -> None:
    """Have the run's subject reviewed `review.repeats` times; each score is the mean over all of them.

    The reviews are asked for at once. Each reviewer goes by a name of their own, so that a model which answers the
    same question the same way still gives independent draws; nobody sees another's review.

    Raises:
        ModelError: a review failed for good. There is no mean of fewer reviews than were asked for: the others are
            kept, and the run goes on with the missing ones alone.
    """
    result, subject = run.result, run.material
    words = len(subject.text.split())
    result.title = subject.title
    result.subject = SubjectRecord(source=subject.source, sha256=subject.sha256, words=words)
    run.emit(Stage(stage=STAGE, title="Review", number=1, total=1))
    names = [f"Reviewer{number}" for number in range(1, run.settings.repeats + 1)]
    form = FORMS[run.settings.form]
    answers = await together(*(_review(run, subject, form, name) for name in names))
    reviews = _complete(names, answers)
    _warn_of_echoes(run, reviews)
    result.reviews.sort(key=lambda review: names.index(review.reviewer))
    result.means = {
        name: rating_mean([getattr(reply.value, name) for reply in reviews]) for name in form.scores
    }


async def _review(run: ReviewRun, subject: Subject, form: Form, name: str) -> Reply[ReplyModel] | ModelError:
    """One review. Its failure must not end the others, which are paid for already."""
    speaker = run.speaker(ROLE, name, reviewer=name)
    question = Question(STAGE, 1, speaker, ROLE, form.task, {"title": subject.title, "text": subject.text})
    try:
        reply = await run.ask(question, run.reply_type(ROLE, form.task, form.reply))
    except ModelError as error:
        return error
    review = form.kept(**reply.value.model_dump(), reviewer=name, model=reply.model)
    run.result.reviews.append(review)
    return reply


def _complete(
    names: Sequence[str], answers: Sequence[Reply[ReplyModel] | ModelError]
) -> list[Reply[ReplyModel]]:
    failed = {name: each for name, each in zip(names, answers, strict=True) if isinstance(each, ModelError)}
    if failed:
        error = next(iter(failed.values()))
        others = ", the others are kept" if len(failed) < len(names) else ""
        raise ModelError(
            f"{len(failed)} of {len(names)} reviews failed ({', '.join(failed)}){others}: {error.message}",
            tried=error.tried,
            hint=error.hint,
        ) from error
    return [each for each in answers if not isinstance(each, ModelError)]


def _warn_of_echoes(run: ReviewRun, reviews: Sequence[Reply[ReplyModel]]) -> None:
    if len(reviews) > 1 and len({reply.value.model_dump_json() for reply in reviews}) == 1:
        run.warn(
            STAGE,
            f"all {len(reviews)} reviews are the same word for word: with a model that does not vary, "
            "such as at temperature 0, they say no more than one",
        )
