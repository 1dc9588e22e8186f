"""The committee: a leader who plans once, asks three experts, and writes the review (MAMORX, §3.1, App. A.1, A.2)."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from manyheads.asking.replies import ReplyModel, limited
from manyheads.base.errors import BudgetError, BugError, ModelError
from manyheads.base.folders import door
from manyheads.core import Tool, together
from manyheads.models.governor import ToolsRefusedError
from manyheads.systems.mamorx import figures, novelty, references, texts
from manyheads.systems.mamorx.baselines import alone, prompted
from manyheads.systems.mamorx.config import EXPERTS, LEADER, role_of
from manyheads.systems.mamorx.desk import (
    EXCHANGES,
    FIGURES,
    NAMES,
    NOVELTY,
    PLAN,
    REFERENCES,
    VERIFICATION,
    WRITING,
    Desk,
)
from manyheads.systems.mamorx.forms import form_of
from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.replies import (
    Assessment,
    ExpertAnswer,
    Inquiries,
    Inquiry,
    Plan,
    Weighed,
    WrittenReview,
)
from manyheads.systems.mamorx.result import Entry, Exchange, Novelty, PaperReview, Step
from manyheads.systems.mamorx.review import markdown, review_from
from manyheads.systems.mamorx.verification import look_up, look_up_quotes, verify
from manyheads.team.steering import steer
from manyheads.team.tools import (
    ASK,
    DELEGATE,
    PURSUE,
    AskArguments,
    DelegateArguments,
    PhraseArguments,
    ToolRefusedError,
    tool,
)

PURSUITS = 2
"""Maximum search phrases that experts may add to the novelty assessment."""
AT_ONCE = 6
"""Maximum questions at once of a leader without tools."""
Kind = Literal["ask", "delegate"]


async def committee(run: MamorxRun) -> None:
    """Assess figures, novelty and references at the same time; then plan, ask, write, verify."""
    settings, paper = run.settings, run.material.document
    searched = asyncio.Event() if settings.novelty.enabled else None
    found_out = {
        REFERENCES: (
            partial(references.look_up, after=searched),
            settings.references.enabled and bool(paper.references),
        ),
        FIGURES: (figures.critique, settings.figures.enabled and bool(paper.figures)),
        NOVELTY: (partial(novelty.assess, searched=searched), settings.novelty.enabled),
    }
    stages = [name for name, (_, wanted) in found_out.items() if wanted]
    roles = [LEADER, *map(role_of, EXPERTS)]
    desk = Desk.of(run, roles, [*stages, PLAN, EXCHANGES, WRITING, VERIFICATION])
    for stage in stages:
        desk.begin(stage)

    async def find_out(stage: str) -> None:
        try:
            with door(run.folder):
                await found_out[stage][0](run)
        except BugError as error:  # the review continues without it
            run.warn(stage, f"not finished: {error.message}")

    try:
        await together(*map(find_out, stages))
    finally:
        novelty.cite(run)
        references.cite(run)
        run.result.turns = {stage: run.result.turns[stage] for stage in stages if stage in run.result.turns}
    await texts.read(run)
    await plan(desk)
    try:
        await Exchanges(desk).hold()
    finally:
        novelty.cite(run)
    await write(desk)
    await verify(desk, LEADER, correct=True)


async def plan(desk: Desk) -> None:
    """The leader's plan, drafted once."""
    desk.begin(PLAN)
    run = desk.run
    while True:
        reply = await desk.ask(
            PLAN,
            LEADER,
            "plan",
            Plan,
            manuscript=desk.overview(),
            most=run.settings.exchanges,
            form=desk.form,
        )
        items = [f"{step.expert}: {step.task}" for step in reply.value.steps]
        person = await steer(run, PLAN, 1, "", items=items, edit=reply.value)
        plan = person.reply or reply.value
        run.result.plan = [Step(**step.model_dump()) for step in plan.steps]
        if not person.back:
            return


async def write(desk: Desk) -> None:
    """The review on its form."""
    desk.begin(WRITING)
    run = desk.run
    kind = desk.form.reply(run.reply_type(LEADER, "write", WrittenReview), Weighed)
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
class Exchanges:
    """The leader's questions to the experts: by tool calls, or by a field of the reply where the model calls no tools.

    Experts answer at the same time. One who is asked twice answers one question after the other, and remembers the
    earlier ones.
    """

    desk: Desk
    _novelty: Novelty = field(default_factory=Novelty)
    """With what experts search in a turn of the leader's, at whose end all see it: prompts of one turn show the same."""
    _phrases: int = 0
    """Maximum phrases, those of the experts included."""
    _calls: int = 0
    """Tool calls in the leader's turn."""
    _busy: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def hold(self) -> None:
        """Let the leader ask until it has no more questions, or `exchanges` are used up."""
        self.desk.begin(EXCHANGES)
        run, turn, most = self.desk.run, 0, self.desk.run.settings.exchanges
        if run.result.novelty:
            self._novelty = run.result.novelty.model_copy(deep=True)
        self._phrases = len(self._novelty.phrases) + PURSUITS
        try:
            while (before := len(run.result.exchanges)) < most:
                turn += 1
                try:
                    finished = await self._ask(turn)
                finally:
                    if run.result.novelty:
                        run.result.novelty = self._novelty.model_copy(deep=True)
                if finished or len(run.result.exchanges) == before:
                    return
            run.warn(EXCHANGES, f"the leader has used up its {most} questions; mamorx.exchanges allows more")
        except ModelError as error:
            if not run.result.exchanges:
                raise
            run.warn(
                EXCHANGES,
                f"the leader gave no answer; the review continues with the answers so far: {error.message}",
            )

    @property
    def _left(self) -> int:
        run = self.desk.run
        return run.settings.exchanges - len(run.result.exchanges)

    def _shown(self) -> dict[str, Any]:
        run = self.desk.run
        return {
            "manuscript": self.desk.overview(),
            "plan": run.result.plan,
            "exchanges": run.result.exchanges,
        }

    async def _ask(self, turn: int) -> bool:
        """A turn in which the leader asks. Returns whether it has finished."""
        if self.desk.uses_tools(LEADER):
            with suppress(ToolsRefusedError):
                return await self._lead(turn)
        return await self._inquire(turn)

    async def _lead(self, turn: int) -> bool:
        """A turn in which the leader asks by tools. Returns whether it has finished."""
        desk, self._calls = self.desk, 0
        prompts = desk.run.roles.prompts

        async def ask(arguments: AskArguments) -> str:
            return await self._by_call("ask", arguments.expert, arguments.question, arguments.expects, turn)

        async def delegate(arguments: DelegateArguments) -> str:
            return await self._by_call("delegate", arguments.expert, arguments.task, arguments.expects, turn)

        tools: tuple[Tool, ...] = (
            tool(ASK, prompts, ask),
            tool(DELEGATE, prompts, delegate),
            *desk.tools(LEADER),
        )
        reply = await desk.ask(
            EXCHANGES, LEADER, "lead", Assessment, turn=turn, tools=tools, left=self._left, **self._shown()
        )
        if not self._calls:  # a reply from the journal ran no tools
            for call in reply.tool_calls:
                if call.name in (ASK, DELEGATE) and not call.failed:
                    given = call.arguments
                    text = given["question" if call.name == ASK else "task"]
                    await self._put(call.name, given["expert"], text, given["expects"], turn, call.result)
        return reply.value.finished

    async def _inquire(self, turn: int) -> bool:
        """A turn in which the leader names its questions. Returns whether none are left."""
        desk, run = self.desk, self.desk.run
        most = min(AT_ONCE, self._left)
        kind = run.reply_type(LEADER, "inquire", Inquiries)
        kind = limited(kind, "inquiries", list[Inquiry], max_length=most)
        reply = await desk.ask(EXCHANGES, LEADER, "inquire", kind, turn=turn, most=most, **self._shown())
        # Within a tool turn that a refusal cut short, experts may have been asked in other words.
        put = partial(self._put, turn=turn, nested=desk.uses_tools(LEADER))
        await together(*(put(one.kind, one.expert, one.text, one.expects) for one in reply.value.inquiries))
        return not reply.value.inquiries

    async def _by_call(self, kind: Kind, expert: str, text: str, expects: str, turn: int) -> str:
        self._calls += 1
        if not self._left:
            raise ToolRefusedError(self._told("enough"))
        return await self._put(kind, expert, text, expects, turn, nested=True)

    def _told(self, problem: str, answer: str = "") -> str:
        """The tool's answer to the leader."""
        variables = {"problem": problem, "answer": answer}
        return self.desk.run.roles.prompts.render(f"tools/{ASK}.md.j2", variables).strip()

    async def _put(
        self,
        kind: Kind,
        expert: str,
        text: str,
        expects: str,
        turn: int,
        heard: str = "",
        *,
        nested: bool = False,
    ) -> str:
        """One exchange, and the text the leader gets.

        Args:
            heard: its answers so far, in a turn from the journal.
        """
        run, failed = self.desk.run, self._told("silent")
        exchange = Exchange(
            number=len(run.result.exchanges) + 1, kind=kind, expert=expert, text=text, expects=expects
        )
        run.result.exchanges.append(exchange)
        async with self._busy[expert]:
            try:
                if heard == failed:
                    exchange.failed = failed
                else:
                    with door(run.folder):
                        exchange.answer = run.wording(await self._answer(exchange, turn, nested))
            except (ModelError, BugError) as error:
                exchange.failed = failed
                run.warn(
                    EXCHANGES, f"question {exchange.number} to {NAMES[role_of(expert)]}: {error.message}"
                )
        return self._told("", exchange.answer) if exchange.answer else failed

    async def _answer(self, exchange: Exchange, turn: int, nested: bool) -> ReplyModel:
        """The expert's answer."""
        desk, run, role = self.desk, self.desk.run, role_of(exchange.expert)
        former = [
            one for one in run.result.exchanges
            if one.expert == exchange.expert and one.number < exchange.number and one.answer
        ]  # fmt: skip
        reply = await desk.ask_reader(
            EXCHANGES, role, "answer", ExpertAnswer, purpose=exchange.text, tools=self._novelty_tool(role),
            turn=turn, asker=NAMES[LEADER], nested=nested, exchange=exchange, asked_before=former,
        )  # fmt: skip
        for call in reply.tool_calls:
            if call.name == PURSUE and not call.failed:  # a reply from the journal ran no tools
                await novelty.pursue(run, self._novelty, call.arguments["phrase"])
        return reply.value

    def _novelty_tool(self, role: str) -> tuple[Tool, ...]:
        """The novelty tool of an expert (MAMORX, §3.1), if novelty has been searched."""
        run, prompts = self.desk.run, self.desk.run.roles.prompts
        if not (
            self._novelty.phrases and self.desk.uses_tools(role) and PURSUE in run.roles.card(role).tools
        ):
            return ()

        async def search(arguments: PhraseArguments) -> str:
            async with self._busy[PURSUE]:
                enough = len(self._novelty.phrases) >= self._phrases
                fault = "enough" if enough else novelty.fault_of(arguments.phrase)
                related = [] if fault else await novelty.pursue(run, self._novelty, arguments.phrase)
            shown = {"fault": fault, "related": related, "verdict": self._novelty.verdict}
            text = prompts.render(f"tools/{PURSUE}.md.j2", shown).strip()
            if fault:
                raise ToolRefusedError(text)
            return text

        return (tool(PURSUE, prompts, search),)


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
        await look_up_quotes(run, review)
        review.text = markdown(review, form, apart=result.names_sources)
