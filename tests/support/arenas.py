"""Arenas for tests: texts of makers on cases, and raters that vote by known strengths."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from manyheads.arena.items import ArenaForm, Case, Item, NewText, Rater, read_form
from manyheads.arena.store import Arena

FORM = ArenaForm.model_validate(
    {"title": "Which is better?", "questions": [{"id": "overall", "text": "Overall"}]}
)


def text(maker: str, case: str, body: str | None = None) -> NewText:
    """A text that does not name its maker; which one it is can be seen by its number."""
    number = sum(map(ord, maker))
    body = f"## Review\n\n- It is number {number} on {case}.\n- It has points." if body is None else body
    return NewText(Case(case, f"On {case}", f"Background of {case}."), maker, "", body)


def arena(
    folder: Path, makers: Sequence[str], cases: Sequence[str] = ("owls", "bats"), form: str | ArenaForm = FORM
) -> Arena:
    """A new arena with a text of each maker on each case."""
    known = read_form(form) if isinstance(form, str) else form
    made = Arena.create(folder, known)
    made.add(text(maker, case) for maker in makers for case in cases)
    return made


def makers_of(made: Arena, item: Item) -> tuple[str, ...]:
    """The makers of an item's texts, which its raters do not see."""
    makers = {each.id: each.maker for each in made.texts()}
    return tuple(makers[each.id] for each in item.texts)


def answer(made: Arena, rater: Rater, item: Item, value: str = "left") -> None:
    """The same answer to each question."""
    made.vote(rater, item.id, dict.fromkeys(made.form.names, value), 1.0)


def vote_by(
    made: Arena, rater: Rater, strengths: Mapping[str, float], rng: random.Random, most: int = 10_000
) -> int:
    """Vote until nothing is left, or `most` times, by Bradley–Terry with these strengths; returns the votes."""
    makers = {each.id: each.maker for each in made.texts()}
    for number in range(most):
        if (item := made.next_item(rater)) is None:
            return number
        left, right = (strengths[makers[each.id]] for each in item.texts)
        answer(
            made, rater, item, "left" if rng.random() < 1 / (1 + 2.718281828 ** (right - left)) else "right"
        )
    return most
