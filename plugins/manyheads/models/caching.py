"""Prompt caches of providers: the fields of a request that steer them, for the servers that know these fields.

OpenAI's servers cache by themselves; a key brings requests with one beginning to the same machine. Anthropic's cache only up to a
mark, at a surcharge, so marks go where an earlier request agrees with this one. Neither caches less than 1,024 tokens.
"""

import json
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, TypeAlias

from manyheads.config import ModelConfig
from manyheads.models.answers import Object, Steer
from manyheads.models.requests import served_at

Block: TypeAlias = tuple[Object, str, Object, int, int]
"""What has the block under which name, the block itself, where it begins and ends in the prompt."""

KNOWN = {
    "openai": ("api.openai.com", "openai.azure.com", "api.mistral.ai"),
    "anthropic": ("api.anthropic.com",),
}
"""Servers that document the fields, by the protocol they speak; also with a region before the name."""
LEAST, HEAD = 4_000, 3_000
"""Characters of 1,024 tokens, about; and those of which a key is made, as all requests that share a cached beginning share them."""
UNMARKED = ("thinking", "redacted_thinking")
"""Types of blocks that take no mark."""
RECENT, MARKS = 32, 3
"""Earlier requests that are compared with a new one; maximum marks of one, where Anthropic allows four."""


def steering(config: ModelConfig) -> Steer | None:
    """The fields for a model's server; None if it may not know them, and if `prompt_cache` is false."""
    known = served_at(config, *KNOWN.get(config.provider, ()))
    if config.provider not in KNOWN or not (known if config.prompt_cache is None else config.prompt_cache):
        return None
    return with_key if config.provider == "openai" else Marks()


@contextmanager
def with_key(body: Object) -> Generator[Object]:
    """A chat completion's body with a `prompt_cache_key`, the same for all requests that begin alike."""
    text = json.dumps(body.get("messages"), ensure_ascii=False)
    own = {"prompt_cache_key": sha256(text[:HEAD].encode("utf-8", "replace")).hexdigest()[:32]}
    yield (own if len(text) >= LEAST else {}) | body


class Marks:
    """Puts `cache_control` into bodies of Anthropic's messages: at the end of a beginning that an earlier request had too.

    A request with tools is marked at its end if one in four of those with the same tools had a further round, which repeats it.
    A beginning that was marked once is marked again, or Anthropic would not look for it there; only a considerably longer one
    gets another mark. While one request writes a beginning to the cache, others under way cannot read it: they have no mark there.
    """

    def __init__(self) -> None:
        self._prompts: deque[str] = deque(maxlen=RECENT)
        self._beginnings: deque[str] = deque(maxlen=RECENT)
        self._writing = set[str]()
        self._rounds = dict[str, list[int]]()  # by tools: requests with them, and with results of them

    @contextmanager
    def __call__(self, body: Object) -> Generator[Object]:
        if '"cache_control":' in json.dumps(body):  # a user's own marks
            return (yield body)
        prompt, blocks = _prompt(body)
        cuts = sorted({len(each) for each in self._beginnings if prompt.startswith(each)})
        shared = max((_shared(prompt, each) for each in self._prompts), default=0)
        rounds = self._rounds.setdefault(json.dumps(body.get("tools")), [1, 1])
        rounds[0] += 1
        rounds[1] += bool(blocks) and blocks[-1][2].get("type") == "tool_result"
        for length in (shared, len(prompt) if body.get("tools") and 4 * rounds[1] >= rounds[0] else 0):
            ends = (
                end for _, _, block, _, end in blocks if end <= length and block.get("type") not in UNMARKED
            )
            if (cut := max(prompt.rfind("\n", 0, length) + 1, *ends, 0)) - max(cuts, default=0) >= LEAST:
                cuts.append(cut)
        new = {prompt[:cut] for cut in cuts}.difference(self._beginnings)
        marked = [cut for cut in cuts if prompt[:cut] not in self._writing][-MARKS:]
        self._prompts.append(prompt)
        self._beginnings += new
        self._writing |= new
        _mark(prompt, blocks, cuts, marked)
        try:
            yield body
        finally:
            self._writing -= new


def _prompt(body: Object) -> tuple[str, list[Block]]:
    """A prompt as one text, in the order in which it is cached, and its blocks."""
    before = ("model", "tools", "tool_choice", "thinking")
    prompt, blocks = json.dumps([body.get(name) for name in before]), list[Block]()
    for holder, name in ((body, "system"), *((each, "content") for each in body["messages"])):
        content: Any = holder.get(name) or []
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            prompt += f"\0{holder.get('role')}\0"
            start, prompt = len(prompt), prompt + (block.get("text") or json.dumps(block))
            blocks.append((holder, name, block, start, len(prompt)))
    return prompt, blocks


def _shared(one: str, other: str) -> int:
    """The length of the common beginning of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _mark(prompt: str, blocks: list[Block], cuts: list[int], marked: list[int]) -> None:
    """End blocks at all `cuts`, as a provider compares whole ones, and mark some; no block becomes blank."""
    whole = dict[int, list[Object]]()
    for holder, name, block, start, end in blocks:
        parts = whole.setdefault(id(holder), [])
        for cut in (cut for cut in cuts if start < cut <= end):
            if prompt[start:cut].strip() and (cut == end or prompt[cut:end].strip()):
                text = {"text": prompt[start:cut]} if block.get("text") else {}
                parts.append(
                    block | text | ({"cache_control": {"type": "ephemeral"}} if cut in marked else {})
                )
                start = cut
        if start < end:
            parts.append(block | ({"text": prompt[start:end]} if block.get("text") else {}))
        holder[name] = parts if len(parts) > 1 or "cache_control" in parts[-1] else holder[name]
