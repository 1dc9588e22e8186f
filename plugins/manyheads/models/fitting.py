"""What is left out of a request that is longer than its model's context: what was said longest ago, then papers, never the task."""

import re
from collections.abc import Sequence
from dataclasses import replace

from manyheads.core import Message

IMAGE = 2000
"""Tokens that a picture is taken for, as AgentScope takes it."""
SAID = ("reply", "summary", "thought", "earlier_review", "reflection")
"""Labels of fences that hold what was said before, and not what the task is about."""
REPLY = re.compile(rf"^<({'|'.join(SAID)})>\n(?!…\n)(.*?)(?=\n</\1>$)", re.DOTALL | re.MULTILINE)
PAPER = re.compile(r"^(\[\d+\]\n+<paper>\n[^\n]*\n)(?!…\n)(.*?)(?=\n</paper>$)", re.DOTALL | re.MULTILINE)
"""A paper of a list, below the line of its title; a paper without a number is what the task is about."""


def fitted(thread: Sequence[Message], over: int) -> tuple[tuple[Message, ...], str]:
    """A thread with so many tokens less, if it has that many to spare, and what was left out of it, in words.

    Replies and summaries go first, the oldest first of all; then what papers say below their titles, the last in a list
    first, as the best match stands first.
    """
    messages, much = list(thread), 4 * over
    replies = papers = 0
    for place, message in enumerate(messages):
        text = message.text
        while much > 0 and (reply := REPLY.search(text)):
            text, much, replies = _without(text, reply.start(2), reply.end(2), much, replies)
        if much > 0 and message.sender == "assistant" and len(text) > 1:
            text, much, replies = _without(text, 0, len(text), much, replies)
        messages[place] = replace(message, text=text)
    for place, message in enumerate(messages):
        text = message.text
        for paper in reversed(list(PAPER.finditer(text))):
            if much > 0:
                text, much, papers = _without(text, paper.start(2), paper.end(2), much, papers)
        messages[place] = replace(message, text=text)
    left_out = list[str]()
    if replies:
        left_out.append(f"{replies} earlier {'reply' if replies == 1 else 'replies or summaries'}")
    if papers:
        below = "paper says below its title" if papers == 1 else "papers say below their titles"
        left_out.append(f"what {papers} {below}")
    return tuple(messages), " and ".join(left_out)


def _without(text: str, start: int, end: int, much: int, count: int) -> tuple[str, int, int]:
    return f"{text[:start]}…{text[end:]}", much - _size(text[start:end]) + 3, count + 1


def size_of(thread: Sequence[Message]) -> int:
    """About how many tokens the texts of a thread have: one for four bytes."""
    return sum(_size(message.text) for message in thread) // 4


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
