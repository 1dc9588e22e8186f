"""Cuts a request to its model's context: drops the oldest replies, then papers, then look-ups, never the task."""

import re
from collections.abc import Sequence
from dataclasses import replace

from manyheads.core import Message

IMAGE = 2000
"""Assumed tokens of an image, as in AgentScope."""
SAID = ("reply", "summary", "thought", "earlier_review", "reflection")
"""Labels of fences with earlier messages, as opposed to the task's subject."""
REPLY = re.compile(rf"^<({'|'.join(SAID)})>\n(?!…\n)(.*?)(?=\n</\1>$)", re.DOTALL | re.MULTILINE)
PAPER = re.compile(r"^(\[\d+\]\n+<paper>\n[^\n]*\n)(?!…\n)(.*?)(?=\n</paper>$)", re.DOTALL | re.MULTILINE)
"""A paper in a list, below the line of its title; a paper without a number is the task's subject."""

LOOKUP = re.compile(r"^(<lookup>\n[^\n]*\n)(?!…\n)(.*?)(?=\n</lookup>$)", re.DOTALL | re.MULTILINE)
"""What a tool answered before the question was repeated, below the line of its call."""


def fitted(thread: Sequence[Message], over: int) -> tuple[tuple[Message, ...], str]:
    """A thread shortened by a number of tokens, as far as possible, and a description of what was dropped.

    Drops replies and summaries first, oldest first; then abstracts of papers, from the end of each list, as the best match
    comes first; then what tools answered, oldest first.
    """
    messages, much = list(thread), 4 * over
    replies = papers = lookups = 0
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
        while much > 0 and (lookup := LOOKUP.search(text)):
            text, much, lookups = _without(text, lookup.start(2), lookup.end(2), much, lookups)
        messages[place] = replace(message, text=text)
    left_out = list[str]()
    if replies:
        left_out.append(f"{replies} earlier {'reply' if replies == 1 else 'replies or summaries'}")
    if papers:
        left_out.append("the abstract of 1 paper" if papers == 1 else f"the abstracts of {papers} papers")
    if lookups:
        left_out.append(f"the answers of {lookups} tool call{'s' * (lookups > 1)}")
    return tuple(messages), " and ".join(left_out)


def _without(text: str, start: int, end: int, much: int, count: int) -> tuple[str, int, int]:
    return f"{text[:start]}…{text[end:]}", much - _size(text[start:end]) + 3, count + 1


def size_of(thread: Sequence[Message]) -> int:
    """Estimated tokens of a thread's texts: one per four bytes."""
    return sum(_size(message.text) for message in thread) // 4


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
