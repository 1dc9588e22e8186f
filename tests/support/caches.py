"""A provider's cache of prompts, by the rules that OpenAI and Anthropic document; a token is four characters."""

import json
from collections.abc import Iterator
from typing import Any

from support.requests import Request

LEAST, STEP = 1024, 128
"""Tokens from which a beginning is cached, and by how many OpenAI counts."""
BACK = 20
"""Blocks before a mark in which Anthropic looks for a cached beginning."""


class PromptCache:
    """Remembers beginnings of prompts for as long as it lives."""

    def __init__(self) -> None:
        self._prompts: list[tuple[str, str]] = []
        self._beginnings: set[str] = set()

    def take(self, request: Request) -> tuple[int, int]:
        """Tokens that a request reads from the cache and writes to it; both are part of its input."""
        return self._marked(request.body) if request.wire == "anthropic" else self._automatic(request)

    def _automatic(self, request: Request) -> tuple[int, int]:
        """OpenAI's: a beginning of any earlier request with the same key, which led it to the same machine."""
        key, text = request.body.get("prompt_cache_key", ""), request.text
        shared = max((_shared(text, other) for own, other in self._prompts if own == key), default=0) // 4
        self._prompts.append((key, text))
        return (shared // STEP * STEP if shared >= LEAST else 0), 0

    def _marked(self, body: Any) -> tuple[int, int]:
        """Anthropic's: written only at a mark, and looked for only there and in the blocks before it."""
        beginnings, marks, text = list[str](), list[int](), json.dumps(body.get("tools"))
        for number, block in enumerate(_blocks(body)):
            mark = block.pop("cache_control", None)
            text += json.dumps(block)
            beginnings.append(text)
            if mark:
                assert block.get("text", "-").strip(), "an empty block cannot be cached"
                marks.append(number)
        assert len(marks) <= 4, "a request has at most four marks"
        near = {number for mark in marks for number in range(max(0, mark - BACK), mark + 1)}
        read = max((len(beginnings[at]) for at in near if beginnings[at] in self._beginnings), default=0)
        self._beginnings |= {beginnings[mark] for mark in marks if len(beginnings[mark]) // 4 >= LEAST}
        written = max((len(beginnings[mark]) for mark in marks), default=0)
        # in tokens of the texts, without their frames
        share = len(Request("/v1/messages", {}, body, 0.0).text) / max(len(text), 1) / 4
        return int(read * share), int(max(written - read, 0) * share) if written // 4 >= LEAST else 0


def _blocks(body: Any) -> Iterator[dict[str, Any]]:
    for content in (body.get("system") or [], *(message["content"] for message in body["messages"])):
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from (dict(part) for part in parts)


def _shared(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
