"""How much of a run's input repeats the beginning of an earlier request, which providers charge less for, and servers skip.

A run of each system on the model server of the tests, whose answers are as long as their forms ask, and whose idle speakers
look up what they are offered. A request is read as providers cache it: its tools, then its messages. What counts is the
longest beginning that it shares with one request which was answered before it came, from 1,024 tokens on, in steps of 128;
a token is four characters. A schema is no part of it: OpenAI and Anthropic get none, and other servers make a grammar of it.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from manyheads.config import Price
from support.command import manyheads_command, served_by
from support.faults import Fault
from support.fill import fill
from support.llm import LLM
from support.requests import Request
from support.wires import Answer, Call

FLOOR, STEP, LETTERS = 1024, 128, 4
"""Fewest tokens that are cached, the steps above them, and characters a token."""
DELAY = 0.05
"""Seconds to each answer: what is asked meanwhile finds nothing of it in a cache."""
PRICE, CACHED = Price(input=0.4, output=1.6), 0.25
"""List prices of gpt-4.1-mini, USD per million tokens, and the share of it that cached input costs (platform.openai.com)."""
PAPER = "paper.json"
BACKGROUNDS = Path(__file__).parents[2] / "evals/rebuttal-novelty/cases.jsonl"
RUNS: Mapping[str, Sequence[str]] = {
    "virsci": ("virsci", "--set", "team.size=4", "--set", "turns=5", "--set", "embedding=lexical"),
    "mamorx": (
        *("mamorx", "--paper", PAPER, "--set", "mamorx.exchanges=6"),
        *("--set", "mamorx.novelty.enabled=false", "--set", "mamorx.references.enabled=false"),
    ),
    "scipip": ("scipip", "--set", "scipip.path=A", "--set", "embedding=lexical"),
    "rebuttal": ("rebuttal", "--set", "inputs.background={background}", "--set", "rebuttal.max_iters=2"),
}
BEFORE = {"virsci": 0.29, "mamorx": 0.73, "scipip": 0, "rebuttal": 0.12}
"""Shares before prompts were put in the order of caches."""
SECTIONS = 16
SAID = {"summary": 200, "thought": 60, "reasoning": 60}
"""Words of answers whose length is told in the task, or in sentences."""
EXPERTS = ("clarity", "experiments", "impact")


class Asker(LLM):
    """A model that asks each expert, in a second turn again, and as an expert reads four sections for a question, one after the other.

    Attributes:
        given: its answers, in their order.
    """

    given: list[Answer]

    def _answer(self, request: Request, fault: Fault | None) -> Answer:
        self.given.append(answer := super()._answer(request, fault))
        return answer

    def _calls(self, request: Request) -> tuple[Call, ...]:
        done = request.tools_answered
        if "ask" in request.tools and done < len(EXPERTS):
            wish = {
                "expert": EXPERTS[done],
                "question": _text(40, f"question {done}"),
                "expects": _text(20, EXPERTS[done]),
            }
            return (Call("ask", wish),)
        if "read_section" in request.tools and "ask" not in request.tools and done < 4:
            return (Call("read_section", {"name": _section(1 + (done + len(request.asking)) % SECTIONS)}),)
        return ()


def _text(words: int, seed: str) -> str:
    return str(fill({"type": "string", "words": (words, words)}, seed))


def _said(name: str, request: Request) -> str:
    return _text(SAID[name], f"{name} {request.seed}")


def _asked(request: Request) -> bool:
    """Whether this is the leader's second turn."""
    return "## What the experts have said" in request.text


def _section(number: int) -> str:
    return f"{number} Part {number}"


def paper() -> dict[str, Any]:
    """A paper of some 5,000 words, with figures whose captions a critic reads."""
    sections = [{"title": _section(n), "text": _text(300, f"section {n}")} for n in range(1, SECTIONS + 1)]
    figures = [{"caption": f"Figure {n}: {_text(30, f'figure {n}')}"} for n in range(1, 7)]
    abstract = _text(200, "abstract")
    return {
        "title": "Bats that fly by memory",
        "abstract": abstract,
        "sections": sections,
        "figures": figures,
    }


@dataclass(frozen=True)
class Counted:
    """A request's tokens: all, those that repeat an earlier request's beginning, and those of the answer."""

    task: str
    tokens: int
    repeated: int
    written: int


def answers_of(system: str) -> list[Answer]:
    """The answers of a run, each with its request, in the order of the requests."""
    said = {name: partial(_said, name) for name in SAID}
    with (
        Asker(delay=DELAY, answers={"improved": True, "finished": _asked, **said}) as llm,
        tempfile.TemporaryDirectory() as base,
    ):
        llm.given = []
        out = Path(base)
        (out / PAPER).write_text(json.dumps(paper()), encoding="utf-8")
        with BACKGROUNDS.open(encoding="utf-8") as cases:
            background = json.dumps(json.loads(next(cases))["background"])
        words = [word.replace("{background}", background) for word in RUNS[system]]
        done = manyheads_command("run", *words, *served_by(llm), "--out", out / "run", cwd=out)
        assert done.code == 0, done.err
    return sorted(llm.given, key=lambda answer: answer.request.at)


def counted(answers: Sequence[Answer], delay: float = DELAY) -> list[Counted]:
    """What each request repeats of those that were answered before it came."""
    texts, found = [as_cached(answer.request) for answer in answers], list[Counted]()
    came = [answer.request.at for answer in answers]
    for text, answer in zip(texts, answers, strict=True):
        answered = (each for each, at in zip(texts, came, strict=True) if at + delay <= answer.request.at)
        longest = max((common(text, each) for each in answered), default=0) // LETTERS
        repeated = FLOOR + (longest - FLOOR) // STEP * STEP if longest >= FLOOR else 0
        found.append(Counted(answer.request.title, len(text) // LETTERS, repeated, answer.output_tokens))
    return found


def as_cached(request: Request) -> str:
    """A request as one text, in the order in which providers cache it."""
    body = request.body
    front = [json.dumps(body["tools"])] if body.get("tools") else []
    said = zip(body["messages"], request.messages, strict=True)
    calls = ((json.dumps(each.get("tool_calls", "")), message) for each, message in said)
    return "\n".join([*front, *(f"{message.role}{call}\n{message.text}" for call, message in calls)])


def common(one: str, other: str) -> int:
    """Length of the beginning that two texts share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low


def share(requests: Sequence[Counted]) -> float:
    return sum(each.repeated for each in requests) / max(sum(each.tokens for each in requests), 1)


def bill(requests: Sequence[Counted], cached: float) -> float:
    """In USD, where a repeated token of the input costs a share of another one."""
    reads = sum(each.tokens - (1 - cached) * each.repeated for each in requests)
    return (reads * PRICE.input + sum(each.written for each in requests) * PRICE.output) / 1_000_000


def table() -> None:
    """Print the shares and bills, in Markdown."""
    print("| system | task | requests | input tokens | repeated | before | bill | bill with a cache |")
    print(f"| --- | --- | {' | '.join(['---:'] * 6)} |")
    for system in RUNS:
        requests = counted(answers_of(system))
        _line(system, "all", requests, f"{BEFORE[system]:.0%}")
        for task in sorted({each.task for each in requests}):
            _line("", task, [each for each in requests if each.task == task], "")


def _line(system: str, task: str, some: Sequence[Counted], before: str) -> None:
    tokens = f"{len(some)} | {sum(each.tokens for each in some):,} | {share(some):.0%} | {before}"
    print(f"| {system} | {task} | {tokens} | {bill(some, 1):.4f} | {bill(some, CACHED):.4f} |", flush=True)
