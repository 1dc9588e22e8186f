"""A session's folder, whatever becomes of the run."""

from pathlib import Path

import pytest

from manyheads.errors import ModelError
from support.faults import Fault
from support.llm import LLM
from support.play import config_for, play


async def test_a_stopped_run_leaves_a_report_of_what_was_said(llm: LLM, tmp_path: Path):
    llm.faults.append(Fault("status", when=lambda request: request.title == "Vote", status=403))
    with pytest.raises(ModelError) as stopped:
        await play(config_for(llm, "turns=1"), tmp_path / "run", llm)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert llm.requests[0].system.split()[2].rstrip(",") in page
    assert f"manyheads resume {tmp_path / 'run'}" in str(stopped.value)
    assert not (tmp_path / "run" / "result.json").exists()


async def test_a_finished_run_leaves_everything(llm: LLM, tmp_path: Path):
    played = await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    names = {path.name for path in played.folder.iterdir()}
    assert names >= {"config.yaml", "journal.sqlite", "events.jsonl", "result.json", "report.html"}
    assert played.result["abstract"]["title"] in (played.folder / "report.html").read_text(encoding="utf-8")
