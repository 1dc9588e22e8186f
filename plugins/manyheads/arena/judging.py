"""Models as raters: the form that people have, each pair in both orders, and votes that are kept apart from those of people."""

import logging
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from manyheads.arena.items import Case, Item, Rater
from manyheads.arena.store import Arena
from manyheads.core import Reply, Usage
from manyheads.errors import ArenaError, DocumentError, ReplyError
from manyheads.hosts.asking import ask, need_model
from manyheads.literature.documents.reading import read_document
from manyheads.replies.own import from_schema

ANSWERS: Mapping[str, str] = {"A": "left", "B": "right", "tie": "tie", "both poor": "poor"}
LONGEST_PAPER = 60_000
"""Maximum characters of a paper that the model reads; beyond, the text ends."""


@dataclass(frozen=True)
class Judged:
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
) -> Judged:
    """Have a model vote on pairs, in both orders.

    Args:
        name: of the rater.
        pairs: maximum number of new pairs; a pair that an earlier call has left with one order is finished first.
        tell: called with the number of votes after each.
        settings: `model`, `host` and so on of `hosts.asking.ask`.

    Raises:
        ArenaError: this is no arena of pairs, or the name is that of a person.
        UserError: the model cannot be asked.
    """
    if arena.kind != "pairs":
        raise ArenaError(f"{arena.folder}: models vote on pairs only, and this is an arena of {arena.kind}")
    await need_model(settings.get("model"), settings.get("host"))
    rater, papers = arena.enter(name, "model"), dict[str, str]()
    votes = invalid = 0
    usage, said = Usage(), set[str]()
    while True:
        if (item := arena.open_item(rater)) is None:
            if one_sided := arena.one_sided(rater):
                item = arena.turned(rater, one_sided[0])
            elif pairs > 0:
                pairs, item = pairs - 1, arena.next_item(rater)
        if item is None:
            return Judged(votes, invalid, usage)
        context = papers.setdefault(item.case.id, item.case.context or _paper(arena, item.case))
        began = time.monotonic()
        try:
            with _once(said):
                reply: Reply[Any] = await ask(
                    "judge", "prefer", **settings, **_question(arena, item, context), full=True
                )
        except ReplyError:
            arena.skip(rater, item.id)
            invalid += 1
            continue
        usage += reply.usage
        _keep(arena, rater, item, reply.value.model_dump(), time.monotonic() - began)
        votes += 1
        tell(votes)


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


def _keep(arena: Arena, rater: Rater, item: Item, value: Mapping[str, Any], seconds: float) -> None:
    answers = {name: ANSWERS[value[name]] for name in arena.form.names}
    arena.vote(rater, item.id, answers, seconds, str(value.get("thought", "")))


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
