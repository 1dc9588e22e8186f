"""Runs on a server that takes no tools, and says so only when asked: the fields of replies replace them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import BudgetError
from manyheads.config import RunConfig
from manyheads.models import abilities
from support.direct import EVERY, Played, config_for, play
from support.faults import Fault
from support.hosts import HOSTS
from support.llm import LLM
from support.manuscripts import committee, tei
from support.requests import Request

VLLM = 400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
LLAMA_CPP = 500, "tools param requires --jinja flag"
QUOTE = "a network on 300 recordings"


def refusal(status: int, message: str) -> Fault:
    return Fault(
        "status", None, lambda request: bool(request.body.get("tools")), status=status, message=message
    )


def virsci(llm: LLM, folder: Path, *sets: str) -> RunConfig:
    return config_for(
        llm, "topic=T", "team.size=2", "invitation.enabled=true", "models.default.tools=null", *sets
    )


def mamorx(llm: LLM, folder: Path, *sets: str) -> RunConfig:
    return config_for(llm, *committee(tei(folder / "paper.tei.xml")), "models.default.tools=null", *sets)


def inquiries(request: Request) -> list[dict[str, str]]:
    asked = {"kind": "ask", "text": "What is missing?", "expects": "A list."}
    return (
        [] if "<reply>" in request.asking else [{**asked, "expert": each} for each in ("clarity", "impact")]
    )


def question_alone(request: Request) -> str:
    return f"{request.system}\0{request.asking}"


def with_tools(requests: Any) -> list[Request]:
    return [request for request in requests if request.body.get("tools")]


@pytest.fixture
def server(llm: LLM) -> LLM:
    llm.answers = {"invite": "Scientist9", "question": "Why?", "inquiries": inquiries}
    llm.seed = question_alone
    return llm


def heard(played: Played) -> list[Any]:
    return played.result.get("guests") or played.result["exchanges"]


@pytest.mark.parametrize("host", EVERY)
@pytest.mark.parametrize(
    ("config", "says"), [(virsci, LLAMA_CPP), pytest.param(mamorx, VLLM, marks=pytest.mark.slow)]
)
async def test_a_run_goes_on_without_tools(
    server: LLM, tmp_path: Path, config: Callable[..., RunConfig], says: tuple[int, str], host: str
) -> None:
    server.faults.append(refusal(*says))
    played = await play(config(server, tmp_path, f"host={host}"), tmp_path / "run", server)
    assert len(with_tools(played.requests)) == 1
    assert sum("refused tools" in line for line in played.result["warnings"]) == 1
    assert len(heard(played)) > 1
    for request in played.requests:
        assert request.title not in ("ExpertAnswer", "WrittenReview") or QUOTE in request.text
        assert "with your tools" not in request.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("restarted", "config", "host"),
    [
        (how, config, HOSTS[(number + first) % 3])
        for first, config in enumerate((virsci, mamorx))
        for number, how in enumerate(("never", "with", "without"))
    ],
)
async def test_a_run_is_resumed_as_it_went(
    server: LLM, tmp_path: Path, config: Callable[..., RunConfig], restarted: str, host: str
) -> None:
    """Also on a server that was restarted in between, with its flag for tools or without."""

    async def go(folder: str, *sets: str) -> Played:
        abilities.forget()
        return await play(config(server, tmp_path, f"host={host}", *sets), tmp_path / folder, server)

    server.tool_calls = [
        ("ask", {"expert": "clarity", "question": "What?", "expects": "A list."}),
        ("invite_scientist", {"name": "Scientist9", "question": "Why?"}),
    ]
    refused = [refusal(*VLLM)]
    server.faults[:] = refused
    whole = await go("whole")
    answered = len(whole.requests) - 1
    for stop in {3, answered // 2, answered - 2}:
        server.faults[:] = [] if restarted == "without" else refused
        with pytest.raises(BudgetError):
            await go(f"{stop}", f"budget.calls={stop}")
        server.faults[:] = [] if restarted == "with" else refused
        server.requests.clear()
        again = await go(f"{stop}")
        if restarted == "never":
            assert again.result["result"] == whole.result["result"]
            assert again.result["warnings"] == whole.result["warnings"]
            assert len(server.requests) <= answered - stop + 3, "what was answered is not asked again"
        server.requests.clear()
        (tmp_path / f"{stop}" / "result.json").unlink()
        assert (await go(f"{stop}")).result["result"] == again.result["result"]
        assert not server.requests
