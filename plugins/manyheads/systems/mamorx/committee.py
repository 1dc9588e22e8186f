"""The makers of a review: a leader who plans once, asks three experts, and writes (MAMORX, §3.1, App. A.1, A.2); the baselines (§4)."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from manyheads.asking.replies import ReplyModel, numbered
from manyheads.base.errors import BudgetError, BugError, ModelError
from manyheads.base.folders import door
from manyheads.core import Tool, together
from manyheads.core.events import Judged
from manyheads.models.governor import ToolsRefusedError
from manyheads.systems.equal_cost import Allowance, longest
from manyheads.systems.mamorx import desk as desks
from manyheads.systems.mamorx import figures, novelty, references, replies
from manyheads.systems.mamorx.config import EXPERTS, LEADER, REVIEWER, role_of
from manyheads.systems.mamorx.desk import EXCHANGES, NAMES, PLAN, VERIFICATION, WRITING, ReviewDesk
from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.replies import BestReview, Plan, WrittenReview
from manyheads.systems.mamorx.result import Exchange, NoveltyAssessment, PaperReview, PlannedStep, ReviewEntry
from manyheads.systems.mamorx.review import form_of, markdown, review_from
from manyheads.systems.mamorx.tools import ASK, DELEGATE, PURSUE, TOOLS, PhraseArguments
from manyheads.systems.mamorx.verification import look_up, look_up_quotes, verify
from manyheads.team.steering import steer
from manyheads.team.tools import tool

PURSUITS = 2  # search phrases that experts may add to the novelty assessment
AT_ONCE = 6  # questions at once of a leader without tools
TEXT_OF = {ASK: "question", DELEGATE: "task"}
"""The tools by which a leader asks, each with its argument for the text."""


async def committee(run: MamorxRun) -> None:
    """Assess figures, novelty and references at the same time; then plan, ask, write, verify."""
    settings, paper, work = run.settings, run.material.document, dict[str, Callable[[], Awaitable[None]]]()
    searched = asyncio.Event() if settings.novelty.enabled else None
    if settings.references.enabled and paper.references:
        work[desks.REFERENCES] = partial(references.look_up, run, after=searched)
    if settings.figures.enabled and paper.figures:
        work[desks.FIGURES] = partial(figures.critique, run)
    if settings.novelty.enabled:
        work[desks.NOVELTY] = partial(novelty.assess, run, searched=searched)
    stages, roles = [*work], [LEADER, *map(role_of, EXPERTS)]
    desk = ReviewDesk.of(run, roles, [*stages, PLAN, EXCHANGES, WRITING, VERIFICATION])
    for stage in stages:
        desk.begin(stage)

    async def find_out(stage: str) -> None:
        try:
            with door(run.folder):
                await work[stage]()
        except BugError as error:  # the review continues without it
            run.warn(stage, f"not finished: {error.message}")

    try:
        await together(*map(find_out, stages))
    finally:
        novelty.cite(run)
        references.cite(run)
        run.result.turns = {stage: run.result.turns[stage] for stage in stages if stage in run.result.turns}
    await references.read_open_texts(run)
    await plan(desk)
    try:
        await Questioning(desk).hold()
    finally:
        novelty.cite(run)
    await write(desk)
    await verify(desk, LEADER, correct=True)


async def plan(desk: ReviewDesk) -> None:
    """The leader's plan, drafted once."""
    desk.begin(PLAN)
    run = desk.run
    while True:
        most, overview = run.settings.exchanges, desk.overview()
        reply = await desk.ask(PLAN, LEADER, "plan", Plan, manuscript=overview, most=most, form=desk.form)
        items = [f"{step.expert}: {step.task}" for step in reply.value.steps]
        person = await steer(run, PLAN, 1, "", items=items, edit=reply.value)
        plan = person.reply or reply.value
        run.result.plan = [PlannedStep(**step.model_dump()) for step in plan.steps]
        if not person.back:
            return


async def write(desk: ReviewDesk) -> None:
    desk.begin(WRITING)
    run = desk.run
    kind = desk.form.reply(run.reply_type(LEADER, "write", WrittenReview), replies.Weighed)
    while True:
        reply = await desk.ask_reader(
            WRITING, LEADER, "write", kind, purpose="write", exchanges=run.result.exchanges, form=desk.form
        )
        run.result.review = review = review_from(run.settings.form, desk.form, reply.value)
        person = await steer(run, WRITING, 1, markdown(review, desk.form, apart=False), edit=reply.value)
        if person.reply:
            run.result.review = review_from(run.settings.form, desk.form, person.reply)
        if not person.back:
            return


@dataclass
class Questioning:
    """The leader's questions to the experts: by tool calls, or by a field of the reply where the model calls no tools.

    Experts answer at the same time. One who is asked twice answers one question after the other, and remembers the
    earlier ones.
    """

    desk: ReviewDesk
    _novelty: NoveltyAssessment = field(default_factory=NoveltyAssessment)
    """With what experts search in a turn of the leader's, at whose end all see it: prompts of one turn show the same."""
    _phrases: int = 0  # maximum, those of the experts included
    _calls: int = 0  # tool calls in the leader's turn
    _busy: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def hold(self) -> None:
        """Let the leader ask until it has no more questions, or `exchanges` are used up."""
        self.desk.begin(EXCHANGES)
        run, turn = self.desk.run, 0
        if run.result.novelty:
            self._novelty = run.result.novelty.model_copy(deep=True)
        self._phrases = len(self._novelty.phrases) + PURSUITS
        try:
            while (left := self._left) > 0:
                turn += 1
                try:
                    finished = await self._ask(turn)
                finally:
                    if run.result.novelty:
                        run.result.novelty = self._novelty.model_copy(deep=True)
                if finished or self._left == left:
                    return
            most = run.settings.exchanges
            run.warn(EXCHANGES, f"the leader has used up its {most} questions; mamorx.exchanges allows more")
        except ModelError as error:
            if not run.result.exchanges:
                raise
            line = "the leader gave no answer; the review continues with the answers so far"
            run.warn(EXCHANGES, f"{line}: {error.message}")

    @property
    def _left(self) -> int:
        return self.desk.run.settings.exchanges - len(self.desk.run.result.exchanges)

    @property
    def _so_far(self) -> dict[str, Any]:
        result = self.desk.run.result
        return {"manuscript": self.desk.overview(), "plan": result.plan, "exchanges": result.exchanges}

    async def _ask(self, turn: int) -> bool:
        """A turn in which the leader asks. Returns whether it has finished."""
        if self.desk.uses_tools(LEADER):
            with suppress(ToolsRefusedError):
                return await self._lead(turn)
        return await self._inquire(turn)

    async def _lead(self, turn: int) -> bool:
        """By tools."""
        desk, self._calls = self.desk, 0

        def asking(kind: str) -> Tool:
            async def call(given: Any) -> str:
                self._calls += 1
                if not self._left:
                    return self._answer_in_words("enough", refuse=True)
                inquiry = given.expert, getattr(given, TEXT_OF[kind]), given.expects
                return await self._exchange(kind, *inquiry, turn, nested=True)

            return tool(kind, desk.run.roles.prompts, call, TOOLS[kind])

        tools = (*map(asking, TEXT_OF), *desk.tools(LEADER))
        shown: dict[str, Any] = {"left": self._left, **self._so_far}
        reply = await desk.ask(EXCHANGES, LEADER, "lead", replies.Assessment, turn=turn, tools=tools, **shown)
        if not self._calls:  # a reply from the journal ran no tools
            for call in reply.tool_calls:
                if call.name in TEXT_OF and not call.failed:
                    given, text = call.arguments, call.arguments[TEXT_OF[call.name]]
                    await self._exchange(
                        call.name, given["expert"], text, given["expects"], turn, call.result
                    )
        return reply.value.finished

    async def _inquire(self, turn: int) -> bool:
        """By fields of the reply."""
        desk, most = self.desk, min(AT_ONCE, self._left)
        kind = replies.inquiries_of(desk.run.reply_type(LEADER, "inquire", replies.Inquiries), most)
        reply = await desk.ask(EXCHANGES, LEADER, "inquire", kind, turn=turn, most=most, **self._so_far)
        # Within a tool turn that a refusal cut short, experts may have been asked in other words.
        put = partial(self._exchange, turn=turn, nested=desk.uses_tools(LEADER))
        await together(*(put(one.kind, one.expert, one.text, one.expects) for one in reply.value.inquiries))
        return not reply.value.inquiries

    def _answer_in_words(self, problem: str, answer: str = "", *, refuse: bool = False) -> str:
        return desks.tool_answer(self.desk.run, ASK, refuse=refuse, problem=problem, answer=answer)

    async def _exchange(
        self,
        kind: Any,
        expert: str,
        text: str,
        expects: str,
        turn: int,
        heard: str = "",
        *,
        nested: bool = False,
    ) -> str:
        """One exchange, and the text the leader gets; `heard` is its answer so far, in a turn from the journal."""
        run, failed = self.desk.run, self._answer_in_words("silent")
        number = len(run.result.exchanges) + 1
        exchange = Exchange(number=number, kind=kind, expert=expert, text=text, expects=expects)
        run.result.exchanges.append(exchange)
        async with self._busy[expert]:
            if heard != failed:
                try:
                    with door(run.folder):
                        exchange.answer = run.wording(await self._answer(exchange, turn, nested))
                except (ModelError, BugError) as error:
                    run.warn(EXCHANGES, f"question {number} to {NAMES[role_of(expert)]}: {error.message}")
        if exchange.answer:
            return self._answer_in_words("", exchange.answer)
        exchange.failed = failed
        return failed

    async def _answer(self, exchange: Exchange, turn: int, nested: bool) -> ReplyModel:
        desk, run, role = self.desk, self.desk.run, role_of(exchange.expert)
        former = [
            one for one in run.result.exchanges
            if one.expert == exchange.expert and one.number < exchange.number and one.answer
        ]  # fmt: skip
        reply = await desk.ask_reader(
            EXCHANGES, role, "answer", replies.ExpertAnswer, purpose=exchange.text, tools=self._novelty_tool(role),
            turn=turn, asker=NAMES[LEADER], nested=nested, exchange=exchange, asked_before=former,
        )  # fmt: skip
        for call in reply.tool_calls:
            if call.name == PURSUE and not call.failed:  # a reply from the journal ran no tools
                await novelty.pursue(run, self._novelty, call.arguments["phrase"])
        return reply.value

    def _novelty_tool(self, role: str) -> tuple[Tool, ...]:
        """The novelty tool of an expert (MAMORX, §3.1), if novelty has been searched."""
        desk, run, prompts = self.desk, self.desk.run, self.desk.run.roles.prompts
        if not (self._novelty.phrases and desk.uses_tools(role) and PURSUE in run.roles.card(role).tools):
            return ()

        async def search(arguments: PhraseArguments) -> str:
            async with self._busy[PURSUE]:
                enough = len(self._novelty.phrases) >= self._phrases
                fault = "enough" if enough else novelty.fault_of(arguments.phrase)
                related = [] if fault else await novelty.pursue(run, self._novelty, arguments.phrase)
            shown: dict[str, Any] = {"fault": fault, "related": related, "verdict": self._novelty.verdict}
            return desks.tool_answer(run, PURSUE, refuse=bool(fault), **shown)

        return (tool(PURSUE, prompts, search, PhraseArguments),)


# The baselines: one prompt, plain or with an outline (MAMORX, §4), and one agent alone that reads and thinks again.


AT_ONCE_PICKED = 5
"""Maximum drafts to pick one of; it stands against the next ones."""


@dataclass
class Drafts:
    """Independent reviews by one prompt, as many as a limit in tokens pays for, of which one is picked: best of k."""

    desk: ReviewDesk
    allowance: Allowance
    left: list[PaperReview] = field(default_factory=list[PaperReview])

    async def write(self) -> None:
        """Draft while another draft and the choice can be paid, once without a limit; the result has the draft that leads."""
        await self.draft()
        while self.allowance.limit is not None and self.allowance.leaves(
            self._dearest, self._choice(len(self.left) + 1)
        ):
            await self.draft()
            if len(self.left) == AT_ONCE_PICKED:
                await self.pick()
        await self.pick()

    async def draft(self) -> None:
        run, task, form = self.desk.run, self.desk.run.settings.maker, self.desk.form
        run.result.drafts, before = run.result.drafts + 1, run.usage
        kind = form.reply(run.reply_type(REVIEWER, task, WrittenReview), sources=False)
        number = run.result.drafts
        draft = None if self.allowance.limit is None else number
        reply = await self.desk.ask(
            WRITING, REVIEWER, task, kind, turn=number, form=form, draft=draft, **self._paper
        )
        review = review_from(run.settings.form, form, reply.value)
        review.text = markdown(review, form, apart=False)
        self.left.append(review)
        run.result.review = self.left[0]
        self.allowance.pay(task, run.usage - before)

    async def pick(self) -> None:
        """Keep the best of the drafts, in random order."""
        run, among, before = self.desk.run, len(self.left), self.desk.run.usage
        if among > 1 and self.allowance.leaves(self._choice(among)):
            run.rng.shuffle(self.left)
            kind = numbered(run.reply_type(REVIEWER, "pick", BestReview), "choice", among)
            shown: dict[str, Any] = {"drafts": [each.text for each in self.left], **self._paper}
            reply = await self.desk.ask(WRITING, REVIEWER, "pick", kind, turn=run.result.drafts, **shown)
            self.left = [self.left[reply.value.choice - 1]]
            self.allowance.pay("pick", run.usage - before)
        elif among > 1:
            run.warn(WRITING, f"too few tokens are left to compare {among} drafts; the first is taken")
            self.left = self.left[:1]
        run.result.review = self.left[0]

    @property
    def _paper(self) -> dict[str, Any]:
        return {"title": self.desk.run.material.title, "chapters": self.desk.run.material.all_chapters}

    def _choice(self, drafts: int) -> int:
        """Expected tokens of a choice: the paper is read once more, and each draft."""
        paid = self.allowance.paid[self.desk.run.settings.maker]
        return self._dearest + drafts * longest(paid) if drafts > 1 else 0

    @property
    def _dearest(self) -> int:
        return self.allowance.expected(self.desk.run.settings.maker)


async def prompted(run: MamorxRun) -> None:
    """A review by one prompt with the whole text, by a task of two lines or by an outline; with a limit in tokens the best of several.

    The prompt asks for no sources; figures and quotes in its points are not looked up.
    """
    desk = ReviewDesk.of(run, [REVIEWER], [WRITING])
    desk.begin(WRITING)
    await Drafts(desk, Allowance(run.settings.allowed)).write()


async def alone(run: MamorxRun) -> None:
    """A review by one agent with the tools of the paper, revised as long as its tokens last.

    The next round is expected to cost as much as the dearest so far. Without a limit there are as many rounds as the
    committee has exchanges, or fewer if a round changes nothing.
    """
    desk, settings = ReviewDesk.of(run, [REVIEWER], [WRITING, VERIFICATION]), run.settings
    desk.begin(WRITING)
    turn, task, first, allowance = 0, "draft", replies.Weighed, Allowance(settings.allowed)
    given: dict[str, Any] = {}
    while True:
        turn, before = turn + 1, run.usage
        kind = desk.form.reply(run.reply_type(REVIEWER, task, WrittenReview), first)
        reply = await desk.ask_reader(
            WRITING, REVIEWER, task, kind, purpose=task, turn=turn, form=desk.form, **given
        )
        review = review_from(settings.form, desk.form, reply.value)
        await look_up(run, review.claims)
        same = run.result.review is not None and review == run.result.review
        run.result.review = review
        allowance.pay(WRITING, run.usage - before)
        if settings.allowed is None and (same or turn > settings.exchanges):
            break
        if not allowance.leaves(allowance.expected(WRITING)):
            outcome = f"stands after {turn} rounds: its tokens are used up"
            run.emit(Judged(stage=WRITING, subject="the draft", outcome=outcome))
            break
        task, first = "rethink", replies.Doubted
        given = {"text": markdown(review, desk.form, apart=False), "claims": review.claims}
    await verify(desk, REVIEWER, correct=False)


# The steps of a review by any maker, and the partial review if it stops early.

MAKERS: Mapping[str, Callable[[MamorxRun], Awaitable[None]]] = {
    "committee": committee,
    "plain": prompted,
    "outline": prompted,
    "alone": alone,
}


async def mamorx(run: MamorxRun) -> None:
    """Review the run's paper.

    Raises:
        BudgetError: the budget is spent; the result has a partial review.
        ModelError: a model cannot be reached or gives no valid reply; likewise.
    """
    try:
        await MAKERS[run.settings.maker](run)
    except (BudgetError, ModelError) as error:
        await leave(run, error.message)
        raise


async def leave(run: MamorxRun, why: str) -> None:
    """Make a partial review: from the draft, with the sources found so far, or from the experts' answers."""
    result, form = run.result, form_of(run.settings.form, run.roles.prompts)
    result.partial = why
    if result.review is None:
        entries = [
            ReviewEntry(name=each, title=NAMES[role_of(each)], value="\n\n".join(answers))
            for each in EXPERTS
            if (answers := [one.answer for one in result.exchanges if one.expert == each and one.answer])
        ]
        if entries:
            result.review = PaperReview(form=run.settings.form, title=form.title, entries=entries)
    if (review := result.review) and not review.text:
        await look_up(run, review.claims)
        await look_up_quotes(run, review)
        review.text = markdown(review, form, apart=result.names_sources)
