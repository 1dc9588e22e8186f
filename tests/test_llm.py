"""The tests' model server fills every form, and no test reaches anything else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from manyheads.asking.forms import form, schema_of
from manyheads.asking.replies import REPLIES, ReplyModel
from manyheads.engine.replying import parse
from manyheads.systems.virsci.replies import Vote
from support.fill import fill


@pytest.mark.parametrize("kind", [kind for kind in REPLIES.values() if kind.model_fields])
def test_fills_every_reply_type(kind: type[ReplyModel]) -> None:
    filled = json.dumps(fill(schema_of(kind), "seed"))
    assert filled == json.dumps(fill(schema_of(kind), "seed"))
    assert parse(filled, kind)


@pytest.mark.slow
def test_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    command = [sys.executable, "-m", "support.llm", "--answers", '{"choice": 7}', "--calls-file", str(calls)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        asked = {"messages": [{"role": "user", "content": form(Vote)}]}
        answer = httpx.post(f"{url}/chat/completions", json=asked).json()
        process.kill()
    assert json.loads(answer["choices"][0]["message"]["content"])["choice"] == 7
    assert len(calls.read_text().splitlines()) == 1


def test_the_outside_cannot_be_reached() -> None:
    with pytest.raises(AssertionError, match="tried to reach"):
        httpx.get("http://192.0.2.1/", timeout=1)
