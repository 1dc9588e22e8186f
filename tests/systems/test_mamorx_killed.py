"""A review of a paper that was killed goes on: the leader's question under way asks its experts anew, and comes to the same."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.command import finish, manyheads_command, start
from support.hosts import HOSTS
from support.llm import LLM
from support.manuscripts import tei
from support.requests import Request, question_of

ASKED = {"expects": "A list.", "kind": "ask"}
EXPERTS = ("clarity", "impact", "clarity")


def inquiries(request: Request) -> list[dict[str, str]]:
    return (
        []
        if "<reply>" in request.asking
        else [{**ASKED, "text": f"Which {n}?", "expert": e} for n, e in enumerate(EXPERTS)]
    )


def finished(request: Request) -> bool:
    return request.asking.count("<reply>") >= 3


@pytest.fixture
def llm() -> Iterator[LLM]:
    calls = [
        ("ask", {"expert": e, "question": f"Which {n}?", "expects": "A list."}) for n, e in enumerate(EXPERTS)
    ]
    answers = {"inquiries": inquiries, "finished": finished}
    with LLM(
        answers=answers, tool_calls=calls, seed=lambda request: _question(request), delay=0.02
    ) as server:
        yield server


def _question(request: Request) -> str:
    return f"{request.system}\0{question_of(request.asking)}"


def command(llm: LLM, folder: Path, out: str, *sets: str) -> list[str]:
    named = (f"models.default.base_url={llm.base_url}", "models.default.provider=openai", "models.default.name=test",
             "mamorx.exchanges=6", "models.default.retries=0", *sets)  # fmt: skip
    given = [part for each in named for part in ("--set", each)]
    return [
        "run",
        "mamorx-multi-agent",
        "--paper",
        str(tei(folder / "paper.xml")),
        "--out",
        out,
        "--quiet",
        *given,
    ]


def result(folder: Path) -> dict[str, Any]:
    data = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert data["finished"]
    return {name: data[name] for name in ("result", "warnings", "evidence")}


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("tools", ["true", "false"])
def test_killed_at_any_moment(llm: LLM, tmp_path: Path, host: str, tools: str) -> None:
    sets = (f"host={host}", f"models.default.tools={tools}")
    whole = manyheads_command(*command(llm, tmp_path, "whole", *sets), cwd=tmp_path)
    assert whole.code == 0, whole.err
    total = llm.calls
    for calls in (2, 4, 6, total - 1):
        out, before = f"killed-{calls}", llm.calls
        kill_after(llm, calls, start(*command(llm, tmp_path, out, *sets), cwd=tmp_path))
        done = manyheads_command("resume", out, "--quiet", cwd=tmp_path)
        assert done.code == 0, done.err
        assert result(tmp_path / out) == result(tmp_path / "whole")
        # Of the turn of the leader that was under way, each request may come again; so may what was under way beside it.
        assert llm.calls - before <= total + 2 + len(EXPERTS)
        assert manyheads_command("resume", out, "--quiet", cwd=tmp_path).code == 0


def kill_after(llm: LLM, calls: int, process: subprocess.Popen[str]) -> None:
    enough = llm.calls + calls
    while llm.calls < enough and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    with process:
        assert finish(process).code == -signal.SIGKILL
