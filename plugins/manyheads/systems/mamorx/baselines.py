"""The baselines: one prompt, plain or with an outline (MAMORX, §4), and one agent alone that reads and thinks again."""

from typing import Any

from manyheads.core.events import Judged
from manyheads.systems.mamorx.config import REVIEWER
from manyheads.systems.mamorx.desk import VERIFICATION, WRITING, Desk
from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.replies import Doubted, Weighed, WrittenReview
from manyheads.systems.mamorx.review import markdown, review_from
from manyheads.systems.mamorx.verification import look_up, verify


async def prompted(run: MamorxRun) -> None:
    """A review by one prompt with the whole text, by a task of two lines or by an outline.

    The prompt asks for no sources; figures and quotes in its points are not looked up.
    """
    desk, task = Desk.of(run, [REVIEWER], [WRITING]), run.settings.maker
    desk.begin(WRITING)
    kind = desk.form.reply(run.reply_type(REVIEWER, task, WrittenReview), sources=False)
    paper = run.material
    reply = await desk.ask(
        WRITING, REVIEWER, task, kind, title=paper.title, chapters=paper.whole, form=desk.form
    )
    run.result.review = review = review_from(run.settings.form, desk.form, reply.value)
    review.text = markdown(review, desk.form, apart=False)


async def alone(run: MamorxRun) -> None:
    """A review by one agent with the tools of the paper, revised as long as its tokens last.

    The next round is expected to cost as much as the dearest so far. Without a limit there are as many rounds as the
    committee has exchanges, or fewer if a round changes nothing.
    """
    desk, settings = Desk.of(run, [REVIEWER], [WRITING, VERIFICATION]), run.settings
    desk.begin(WRITING)
    turn, dearest, task, first = 0, 0, "draft", Weighed
    given: dict[str, Any] = {}
    while True:
        turn, before = turn + 1, run.usage.tokens
        kind = desk.form.reply(run.reply_type(REVIEWER, task, WrittenReview), first)
        reply = await desk.ask_reader(
            WRITING, REVIEWER, task, kind, purpose=task, turn=turn, form=desk.form, **given
        )
        review = review_from(settings.form, desk.form, reply.value)
        await look_up(run, review.claims)
        same = run.result.review is not None and review == run.result.review
        run.result.review = review
        dearest = max(dearest, run.usage.tokens - before)
        if settings.tokens is None and (same or turn > settings.exchanges):
            break
        if settings.tokens is not None and run.usage.tokens + dearest > settings.tokens:
            run.emit(
                Judged(
                    stage=WRITING,
                    subject="the draft",
                    outcome=f"stands after {turn} rounds: its tokens are used up",
                )
            )
            break
        task, first = "rethink", Doubted
        given = {"text": markdown(review, desk.form, apart=False), "claims": review.claims}
    await verify(desk, REVIEWER, correct=False)
