"""Models as raters: the form that people have, each pair in both orders, and votes that are kept apart from those of people."""

import logging
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from manyheads.arena.items import ArenaForm, Case, Item, Rater, ShownText
from manyheads.arena.store import Arena
from manyheads.asking.replies.own import from_schema
from manyheads.asking.roles import Roles
from manyheads.base.errors import ArenaError, DocumentError, ReplyError, UserError
from manyheads.base.files import FileLock, LockedError
from manyheads.base.resources import Resources
from manyheads.config import RunConfig
from manyheads.core import Message, Place, Reply, Speaker, Tally, Turn, Usage, recall_nothing, together
from manyheads.core.usage import Charge, Meter, unmetered
from manyheads.documents.reading import read_document
from manyheads.engine.estimate import DryHost, Estimate
from manyheads.engine.local import Engine, Process
from manyheads.hosts.asking import ask, need_model, notes_of
from manyheads.models.batches import until_kept

log = logging.getLogger("manyheads")
ROLE, TASK = "judge", "prefer"
ANSWERS: Mapping[str, str] = {"A": "left", "B": "right", "tie": "tie", "both poor": "poor"}
LONGEST_PAPER = 60_000
"""Maximum characters of a paper that the model reads; beyond, the text ends."""


@dataclass(frozen=True)
class JudgedPairs:
    """What a model has answered.

    Attributes:
        votes: two of each pair, one of each order.
        invalid: questions without a valid answer, which are skipped.
        usage: of all requests.
    """

    votes: int
    invalid: int
    usage: Usage


async def judge(
    arena: Arena,
    name: str,
    pairs: int,
    config: RunConfig,
    *,
    engine: Engine = Process(1),
    meter: Meter = unmetered,
) -> JudgedPairs:
    """Have a model vote on pairs, in both orders. Each vote is stored as soon as it is there.

    Args:
        name: of the rater.
        pairs: maximum number of this rater's pairs, with those of earlier calls; questions without an answer, and pairs that were left
            with one order, are finished first.
        config: with the model and its host.
        engine: where the model is asked, and how many questions at once.

    Raises:
        ArenaError: this is no arena of pairs, the name is that of a person, or another process asks for this rater.
        BudgetError: the budget is spent; the same call again continues.
        UserError: the model cannot be asked.
    """
    _need_pairs(arena)
    await need_model(config.models["default"], config.host)
    rater, papers, under_way = arena.enter(name, "model"), dict[str, str](), set[str]()
    votes, invalid, failed, charges = 0, 0, False, list[Charge]()

    def counted(charge: Charge) -> AbstractAsyncContextManager[None]:
        charges.append(charge)  # also of requests without a valid answer
        return meter(charge)

    async def work() -> None:
        nonlocal votes, invalid, failed
        while not failed and (item := arena.next_question(rater, pairs, under_way)):
            under_way.add(item.id)
            if (case := item.case).id not in papers:  # a PDF takes seconds
                papers[case.id] = case.context or _paper(arena, case)
            try:
                with until_kept():
                    told = await engine.call(judged, config, arena.form, item, papers[case.id], meter=counted)
                    answers, seconds, thought, notes = told
                    arena.vote(rater, item.id, answers, seconds, thought)
            except ReplyError:
                arena.skip(rater, item.id)
                invalid += 1
                continue
            except UserError:
                failed = True
                raise
            for note in notes:
                log.warning("%s", note)
            votes += 1

    with _once(), _alone(arena, rater):
        model = config.models["default"]
        at_once = engine.at_once if model.batch else min(engine.at_once, model.concurrency)
        await together(*(work() for _ in range(at_once)))
    return JudgedPairs(votes, invalid, sum((each.usage for each in charges), Usage()))


async def judged(
    meter: Meter, config: RunConfig, form: ArenaForm, item: Item, context: str
) -> tuple[Any, ...]:
    """The model's answers to one item, their seconds, its thought, and notes for the user; a `Work`. Raises as `ask`."""
    began, model = time.monotonic(), config.models["default"]
    reply: Reply[Any] = await ask(
        ROLE, TASK, model=model, host=config.host, attempts=config.attempts, paths=config.paths, budget=meter, full=True,
        **_question(form, item, context),
    )  # fmt: skip
    value = reply.value.model_dump()
    answers = {name: ANSWERS[value[name]] for name in form.names}
    notes, thought = notes_of(f"{ROLE}.{TASK}", reply), str(value.get("thought", ""))
    return answers, time.monotonic() - began, thought, notes


def _need_pairs(arena: Arena) -> None:
    if arena.kind != "pairs":
        raise ArenaError(f"{arena.folder}: models vote on pairs only, and this is an arena of {arena.kind}")


async def estimate(arena: Arena, name: str, pairs: int, configs: Sequence[RunConfig]) -> Estimate:
    """What `judge` would still come to, by the first two texts of each case; its `pairs` are as there.

    Args:
        configs: the one whose model judges.
    """
    _need_pairs(arena)
    [config], texts = configs, arena.texts()
    roles = Roles(Resources.of(config.paths), config.language)
    host = DryHost(config.models, 0, recall_nothing, config.attempts)
    speaker, usages = Speaker(ROLE, ROLE, roles.system(ROLE, {})), list[Usage]()
    for case in arena.cases():
        pair = tuple(ShownText(each.id, each.title, each.body) for each in texts if each.case == case.id)[:2]
        if len(pair) == 2:
            asked = _question(arena.form, Item("", case, pair), case.context or _paper(arena, case))
            reply_type = asked.pop("reply")
            message = Message(roles.prompt(ROLE, TASK, asked))
            place = Place("", len(usages), ROLE, TASK)
            turn: Turn[Any] = Turn(place, speaker, (message,), reply_type, forms=roles.forms)
            usages.append((await host.ask(turn)).usage)
    rater = next((each for each in arena.raters() if each.name == name), Rater(0, name, "model"))
    under_way = len(arena.unanswered(rater))
    new = min(max(pairs - arena.pairs(rater), 0), arena.progress(rater).left - under_way)
    turned = len(arena.one_sided(rater, unanswered=True))
    questions, spent = 2 * new + under_way + turned, Tally()
    for usage in islice(cycle(usages), questions):
        spent.pay("Judging", usage)
    return Estimate(spent, 1, whole=True)


@contextmanager
def _once() -> Generator[None]:
    """Log each note of a question once, not for every pair."""
    said = set[str]()

    def new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        known = message in said
        said.add(message)
        return not known

    log.addFilter(new)
    try:
        yield
    finally:
        log.removeFilter(new)


def _alone(arena: Arena, rater: Rater) -> FileLock:
    """Two processes would ask, and pay, for each other's questions."""
    try:
        return FileLock(arena.folder / f"judge-{rater.id}.lock")
    except LockedError as error:
        hint = "wait for it, or choose another --name"
        raise ArenaError(f"{arena.folder}: another process has {rater.name} vote", hint=hint) from error


def _question(form: ArenaForm, item: Item, context: str) -> dict[str, Any]:
    answers = [name for name, answer in ANSWERS.items() if answer in form.answers]
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["thought", *form.names],
        "properties": {
            "thought": {"type": "string"},
            **{each.id: {"type": "string", "enum": answers} for each in form.questions},
        },
    }
    return {
        "reply": from_schema(schema, "Preference"),
        "context": context,
        "first_text": _text(item.left.title, item.left.body),
        "second_text": _text(item.right.title, item.right.body),
        "questions": form.questions,
        "answers": answers,
    }


def _text(title: str, body: str) -> str:
    return f"{title}\n\n{body}" if title else body


def _paper(arena: Arena, case: Case) -> str:
    """The text of a case's paper; empty if there is none, or it cannot be read."""
    path = arena.paper(case)
    if path is None:
        return ""
    try:
        document = read_document(path)
    except DocumentError:
        return ""
    parts = (document.title, document.abstract, document.text())
    return "\n\n".join(part for part in parts if part)[:LONGEST_PAPER]
