"""What is left out of a prompt that is longer than its model's context: what was said longest ago, then papers, never the task."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import BaseModel

from manyheads.core import Message, Turn

IMAGE = 2000
"""Tokens that a picture is taken for, as AgentScope takes it."""
REPLY = re.compile(r"^<(reply|summary)>\n(?!…\n)(.*?)(?=\n</\1>$)", re.DOTALL | re.MULTILINE)
"""What was said before, as `partials/discussion.md.j2` shows it."""
PAPER = re.compile(r"^(\[\d+\]\n+<paper>\n[^\n]*\n)(?!…\n)(.*?)(?=\n</paper>$)", re.DOTALL | re.MULTILINE)
"""A paper of a list, below the line of its title; a paper without a number is what the task is about."""


def tokens_of(turn: Turn[Any], thread: Sequence[Message]) -> int:
    """About how many tokens a request has: one for four bytes of text."""
    texts = [turn.speaker.system, *(message.text for message in thread)]
    texts += [f"{tool.name}{tool.description}{_shown(tool.arguments)}" for tool in turn.tools]
    pictures = sum(len(message.images) for message in thread)
    return sum(map(_size, texts)) // 4 + IMAGE * pictures


@cache
def _shown(arguments: type[BaseModel]) -> str:
    """The schema of a tool's arguments, which would be made anew for each question."""
    return str(arguments.model_json_schema())


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


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
