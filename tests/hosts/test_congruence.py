"""The same config, seed and canned replies give the same `result.json` on every host, byte for byte."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from manyheads.core.events import Invited
from support.faults import Fault
from support.hosts import HOSTS
from support.llm import LLM, Given
from support.play import Played, config_for, play
from support.requests import Request, question
from support.results import but_for_the_host

INVITES = ("invitation.enabled=true", "models.default.price.input=0.15", "models.default.price.output=0.6")


async def on_each(tmp_path: Path, *sets: str, answers: Given | None = None, **more: Any) -> list[Played]:
    """Play one config on each host, each with a server of its own that answers alike."""
    played: list[Played] = []
    for host in HOSTS:
        with LLM(answers=answers, seed=question, **more) as llm:
            config = config_for(llm, *sets, f"host={host}")
            played.append(await play(config, tmp_path / host, llm))
    return played


def assert_congruent(played: list[Played]) -> None:
    first, *others = (but_for_the_host(each.folder) for each in played)
    assert all(other == first for other in others)
    first, *others = (sorted(map(question, each.requests)) for each in played)
    assert all(other == first for other in others)


def one_of(request: Request, *names: str) -> str:
    """A choice that depends on the question alone."""
    return names[hashlib.sha256(question(request).encode()).digest()[0] % len(names)]


def guest(request: Request) -> str | None:
    """Somebody outside the team whom the hook's passage names, now and then; the same on every host."""
    passage = request.text.partition("<scientists>")[2].partition("</scientists>")[0]
    named = re.findall(r"^- (Scientist\d+):", passage, re.MULTILINE)
    return one_of(request, named[-1], "", "") or None if named else None


@pytest.mark.slow
async def test_with_replies_that_are_asked_for_again(tmp_path: Path) -> None:
    def now_and_then(request: Request) -> bool:
        return (
            "Answer the same question again" not in request.text
            and one_of(request, "spoil", "", "", "") == "spoil"
        )

    fault = Fault("missing", times=None, when=now_and_then)
    played = await on_each(tmp_path, faults=[fault])
    assert_congruent(played)
    assert len(played[0].result["warnings"]) >= 3


@pytest.mark.slow
async def test_with_guests_wished_for_in_replies(tmp_path: Path) -> None:
    played = await on_each(tmp_path, *INVITES, answers={"invite": guest, "question": "Why?"})
    assert_congruent(played)
    assert len({event.stage for event in played[0].of(Invited)}) > 1


@pytest.mark.slow
async def test_with_guests_called_by_tools(tmp_path: Path) -> None:
    def wish(request: Request) -> dict[str, Any]:
        return {"name": guest(request) or "Nobody", "question": "What would you measure?"}

    calls = [("find_scientists", {"interest": "robots"}), ("invite_scientist", wish)]
    played = await on_each(tmp_path, *INVITES, "models.default.tools=true", tool_calls=calls)
    assert_congruent(played)
    assert len({event.stage for event in played[0].of(Invited)}) > 1
    assert played[0].result["usage"]["cost"] > 0
