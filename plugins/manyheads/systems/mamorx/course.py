"""The course of a review by any of its makers, and what is left of one that ends before it is done."""

from collections.abc import Awaitable, Callable, Mapping

from manyheads.errors import BudgetError, ModelError
from manyheads.systems.mamorx.baselines import alone, prompted
from manyheads.systems.mamorx.committee import committee
from manyheads.systems.mamorx.config import EXPERTS, role_of
from manyheads.systems.mamorx.desk import NAMES
from manyheads.systems.mamorx.forms import form_of
from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.result import Entry, PaperReview
from manyheads.systems.mamorx.review import markdown
from manyheads.systems.mamorx.verification import look_up

MAKERS: Mapping[str, Callable[[MamorxRun], Awaitable[None]]] = {
    "committee": committee,
    "plain": prompted,
    "outline": prompted,
    "alone": alone,
}


async def mamorx(run: MamorxRun) -> None:
    """Review the run's paper.

    Raises:
        BudgetError: the budget is spent; the result has what there is, as a partial review.
        ModelError: a model cannot be asked, or gives no valid reply; the same.
    """
    try:
        await MAKERS[run.settings.maker](run)
    except (BudgetError, ModelError) as error:
        await leave(run, error.message)
        raise


async def leave(run: MamorxRun, why: str) -> None:
    """Make a partial review of what there is: the draft, with what is found of its sources, or what experts have said."""
    result, form = run.result, form_of(run.settings.form, run.roles.prompts)
    result.partial = why
    if result.review is None:
        said = {
            each: [one.answer for one in result.exchanges if one.expert == each and one.answer]
            for each in EXPERTS
        }
        entries = [
            Entry(name=each, title=NAMES[role_of(each)], value="\n\n".join(answers))
            for each, answers in said.items()
            if answers
        ]
        result.review = (
            PaperReview(form=run.settings.form, title=form.title, entries=entries) if entries else None
        )
    if (review := result.review) and not review.text:
        await look_up(run, review.claims)
        review.text = markdown(review, form, apart=run.settings.maker in ("committee", "alone"))
