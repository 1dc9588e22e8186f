"""What is public, and that it works from there alone."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import manyheads

PUBLIC = {
    "ConfigError", "Event", "Evidence", "FileOrText", "Inputs", "Judge", "KnowledgeBank", "Library", "LiteratureConfig", "Paper", "Part",
    "Person", "Question", "ReplyModel", "Run",
    "RunConfig", "RunResult", "Section", "Service", "Slot", "Stage", "System", "UserError",
    "Waiting", "ask", "ask_sync", "load", "load_config", "load_embedder",
    "parse_reply", "reply_form", "reply_type", "role_agent", "run", "subject_of",
}  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert set(manyheads.__all__) == PUBLIC
    assert all(getattr(manyheads, name) is not None for name in PUBLIC)
    with pytest.raises(AttributeError, match="'gone'"):
        _ = manyheads.gone


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, manyheads; print([name for name in sys.modules if name.startswith('manyheads.')])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_a_run_in_code_ends_with_its_typed_result(tmp_path: Path) -> None:
    events: list[manyheads.Event] = []
    small = (
        "team.size=2",
        "turns=1",
        "invitation.enabled=false",
        "embedding=lexical",
        "topic=Owls that plan",
    )
    run = asyncio.run(manyheads.run("virsci", *small, out=tmp_path, listener=events.append))
    [folder] = tmp_path.iterdir()
    assert run == manyheads.load(folder)
    assert (run.system, run.finished, run.result.topic.topic) == ("virsci", True, "Owls that plan")
    assert {event.stage for event in events} >= {"idea", "abstract"}
    assert asyncio.run(manyheads.run(folder)) == run
