"""Models as raters: the form that people have, each pair in both orders, and votes that are kept apart from those of people."""

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from manyheads.arena.items import Case, Item, Rater, ShownText
from manyheads.arena.store import Arena
from manyheads.asking.replies.own import from_schema
from manyheads.asking.roles import Roles
from manyheads.base.errors import ArenaError, DocumentError, ReplyError
from manyheads.base.resources import Resources
from manyheads.config import RunConfig
from manyheads.core import Message, Place, Reply, Speaker, Tally, Turn, Usage, recall_nothing
from manyheads.documents.reading import read_document
from manyheads.engine.estimate import DryHost, Estimate
from manyheads.hosts.asking import ask, need_model

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
    """

    votes: int
    invalid: int
    usage: Usage


async def judge(
    arena: Arena, name: str, pairs: int, tell: Callable[[int], None] = lambda votes: None, **settings: Any
) -> JudgedPairs:
    """Have a model vote on pairs, in both orders.

    Args:
        name: of the rater.
        pairs: maximum number of this rater's pairs, with those of earlier calls; a pair that was left with one order is
            finished first.
        tell: called with the number of votes after each.
        settings: `model`, `host`, `budget` and so on of `hosts.asking.ask`.

    Raises:
        ArenaError: this is no arena of pairs, or the name is that of a person.
        BudgetError: the budget is spent; the same call again continues.
        UserError: the model cannot be asked.
    """
    _need_pairs(arena)
    await need_model(settings.get("model"), settings.get("host"))
    rater, papers = arena.enter(name, "model"), dict[str, str]()
    votes = invalid = 0
    usage, said = Usage(), set[str]()
    while True:
        if (item := arena.open_item(rater)) is None:
            if one_sided := arena.one_sided(rater):
                item = arena.turned(rater, one_sided[0])
            elif arena.pairs(rater) < pairs:
                item = arena.next_item(rater)
        if item is None:
            return JudgedPairs(votes, invalid, usage)
        context = papers.setdefault(item.case.id, item.case.context or _paper(arena, item.case))
        began = time.monotonic()
        try:
            with _once(said):
                question = _question(arena, item, context)
                reply: Reply[Any] = await ask(ROLE, TASK, **settings, **question, full=True)
        except ReplyError:
            arena.skip(rater, item.id)
            invalid += 1
            continue
        usage += reply.usage
        value = reply.value.model_dump()
        answers = {name: ANSWERS[value[name]] for name in arena.form.names}
        arena.vote(rater, item.id, answers, time.monotonic() - began, str(value.get("thought", "")))
        votes += 1
        tell(votes)


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
            asked = _question(arena, Item("", case, pair), case.context or _paper(arena, case))
            reply_type = asked.pop("reply")
            message = Message(roles.prompt(ROLE, TASK, asked))
            place = Place("", len(usages), ROLE, TASK)
            turn: Turn[Any] = Turn(place, speaker, (message,), reply_type, forms=roles.forms)
            usages.append((await host.ask(turn)).usage)
    rater = next((each for each in arena.raters() if each.name == name), Rater(0, name, "model"))
    new = min(max(pairs - arena.pairs(rater), 0), arena.progress(rater).left)
    questions, spent = 2 * new + len(arena.one_sided(rater)), Tally()
    for usage in islice(cycle(usages), questions):
        spent.pay("Judging", usage)
    return Estimate(spent, 1, whole=True)


@contextmanager
def _once(said: set[str]) -> Generator[None]:
    """Log each note of a question once, not for every pair."""

    def new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        known = message in said
        said.add(message)
        return not known

    log = logging.getLogger("manyheads")
    log.addFilter(new)
    try:
        yield
    finally:
        log.removeFilter(new)


def _question(arena: Arena, item: Item, context: str) -> dict[str, Any]:
    form = arena.form
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
