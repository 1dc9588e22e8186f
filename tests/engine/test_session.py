"""A session's folder, whatever becomes of the run."""

import errno
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import NoReturn

import pytest

from manyheads import __version__
from manyheads.base.errors import ChangedError, JournalError, ModelError
from manyheads.base.folders import writing
from manyheads.core.events import Began
from manyheads.engine.journal import Journal
from manyheads.engine.session import Session, new_folder
from manyheads.hosts import host_factory
from support.faults import Fault
from support.llm import LLM
from support.play import config_for, play
from support.results import unfinished


@pytest.mark.slow
def test_a_start_loads_no_heavy_library():
    code = (
        "import sys, manyheads.engine.session; from manyheads.hosts import host_factory, hosts;"
        "[host_factory(name) for name in hosts()];"
        "heavy = ('numpy', 'scipy', 'qdrant_edge', 'onnx', 'matplotlib', *(each.framework for each in hosts().values()));"
        "print([name for name in heavy if name in sys.modules])"
    )
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert started.stdout.strip() == "[]"


async def test_a_stopped_run_leaves_a_report_of_what_was_said(llm: LLM, tmp_path: Path):
    llm.faults.append(Fault("status", when=lambda request: request.title == "Vote", status=403))
    with pytest.raises(ModelError) as stopped:
        await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert llm.requests[0].system.split()[2].rstrip(",") in page
    assert f"manyheads resume {tmp_path / 'run'}" in str(stopped.value)
    assert unfinished(tmp_path / "run")


async def test_another_seed_is_another_draw_of_the_offline_model(llm: LLM, tmp_path: Path):
    sets = ("models={default: {provider: offline}}", "system=rebuttal", "rebuttal.method=initial")
    ideas: list[str] = []
    for number, seed in enumerate((1, 2, 2)):
        config = config_for(llm, *sets, "background=We teach a gripper to feel for keys.", f"seed={seed}")
        played = await play(config, tmp_path / str(number), llm)
        ideas.append(played.result["idea"]["idea"])
    assert ideas[0] != ideas[1] == ideas[2]


def half_done(llm: LLM) -> None:
    """Stops a run at its votes, the first of which fails."""
    llm.faults.append(Fault("status", when=lambda request: request.title == "Vote", status=403))


async def test_votes_cast_beside_one_that_failed_are_not_paid_again(llm: LLM, tmp_path: Path):
    half_done(llm)
    llm.faults.append(Fault("slow", when=lambda request: request.title == "Vote", times=None, seconds=0.3))
    with pytest.raises(ModelError):
        await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    stopped = [request.title for request in llm.requests].count("Vote")
    await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    assert stopped == 3
    assert [request.title for request in llm.requests].count("Vote") == stopped + 1


@pytest.mark.slow
async def test_a_change_of_course_is_not_mixed_into_a_record(llm: LLM, tmp_path: Path):
    half_done(llm)
    with pytest.raises(ModelError):
        await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    calls = llm.calls
    with pytest.raises(ChangedError, match="seed"):
        await play(config_for(llm, "turns=1", "topic=T", "seed=9"), tmp_path / "run", llm)
    assert llm.calls == calls
    after = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    for name in ("config.yaml", "events.jsonl", "report.html"):
        assert after[name] == before[name], name


async def test_another_model_is_told_before_anything_is_opened(llm: LLM, tmp_path: Path):
    half_done(llm)
    with pytest.raises(ModelError):
        await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    calls = llm.calls
    changed = config_for(llm, "turns=1", "topic=T", "models.default.max_tokens=9", "corpus=nowhere/at-all")
    with pytest.raises(ChangedError, match=r"models\.default\.max_tokens") as told:
        [event async for event in Session(changed, tmp_path / "run").events(no_host)]
    assert "--accept-changes" in str(told.value)
    assert llm.calls == calls
    session = Session(
        config_for(llm, "turns=1", "topic=T", "models.default.max_tokens=9"), tmp_path / "run", True
    )
    [event async for event in session.events(host_factory("agentscope"))]
    await play(config_for(llm, "turns=1", "topic=T", "models.default.max_tokens=9"), tmp_path / "run", llm)


def no_host(*given: object) -> NoReturn:
    raise AssertionError("a host was made")


async def test_a_model_that_was_never_asked_may_change(llm: LLM, tmp_path: Path):
    llm.faults.append(Fault("status", status=403))
    with pytest.raises(ModelError):
        await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    llm.faults.clear()
    await play(config_for(llm, "turns=1", "topic=T", "models.default.max_tokens=900"), tmp_path / "run", llm)


async def test_an_accepted_change_goes_on_and_the_way_back_says_so(llm: LLM, tmp_path: Path):
    half_done(llm)
    with pytest.raises(ModelError):
        await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    half_done(llm)
    session = Session(config_for(llm, "turns=1", "topic=T", "seed=9"), tmp_path / "run", accept_changes=True)
    with pytest.raises(ModelError) as stopped:
        [event async for event in session.events(host_factory("agentscope"))]
    assert "--accept-changes" in str(stopped.value)
    assert "seed: 9" in (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")


@pytest.mark.slow
async def test_a_finished_run_that_goes_on_elsewhere_keeps_no_stale_result(llm: LLM, tmp_path: Path):
    await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    half_done(llm)
    session = Session(config_for(llm, "turns=1", "topic=Other"), tmp_path / "run", accept_changes=True)
    with pytest.raises(ModelError):
        [event async for event in session.events(host_factory("agentscope"))]
    assert unfinished(tmp_path / "run")


async def test_a_finished_run_is_told_again_without_a_question(llm: LLM, tmp_path: Path):
    first = await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    kept, calls = (tmp_path / "run" / "result.json").read_bytes(), llm.calls
    again = await play(config_for(llm, "turns=1", "topic=T"), tmp_path / "run", llm)
    assert llm.calls == calls
    assert again.result == first.result
    assert (tmp_path / "run" / "result.json").read_bytes() == kept
    assert not list((tmp_path / "run").glob("*.part"))


def test_folders_of_the_same_second_are_apart(llm: LLM, tmp_path: Path):
    folders = {new_folder(config_for(llm), tmp_path) for _ in range(20)}
    assert len(folders) == 20


def test_a_runs_name_cannot_leave_its_base(llm: LLM, tmp_path: Path):
    folder = new_folder(config_for(llm, "name=../../else where"), tmp_path)
    assert folder.parent == tmp_path
    assert folder.name.endswith("-else-where")


async def test_a_run_names_its_versions_and_date_everywhere(llm: LLM, tmp_path: Path):
    first = await play(config_for(llm, "turns=1", "topic=T"), tmp_path, llm)
    made_by = first.run.made_by
    assert made_by
    assert (made_by.manyheads, made_by.host) == (__version__, first.run.host)
    assert made_by.host_version
    assert datetime.fromisoformat(made_by.at).tzinfo
    assert (tmp_path / "config.yaml").read_text(encoding="utf-8").startswith(f"# {made_by}")
    assert isinstance(first.events[0], Began)
    assert first.events[0].made_by == made_by
    assert not first.result["warnings"]
    with closing(Journal(tmp_path / "journal.sqlite")) as journal:
        assert journal.fact("versions")["starts"] == [made_by.model_dump()]
        journal.state("versions", {"starts": [{**made_by.model_dump(), "manyheads": "0.0.9"}]})
    again = await play(config_for(llm, "turns=1", "topic=T"), tmp_path, llm)
    [warning] = again.result["warnings"]
    assert all(words in warning for words in ("0.0.9", __version__))
    assert again.run.made_by == made_by, "the date is that of the first start"


async def test_a_server_that_is_down_at_the_start_leaves_no_run_folder(tmp_path: Path) -> None:
    with LLM() as llm:
        config = config_for(llm, "models.default.retries=0")
    folder = tmp_path / "runs" / "first"
    with pytest.raises(ModelError) as down:
        async for _ in Session(config, folder).events(host_factory("autogen")):
            pass
    assert not folder.exists()
    assert "resume" not in str(down.value)
    (folder).mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(ModelError):
        async for _ in Session(config, folder).events(host_factory("autogen")):
            pass
    assert (folder / "mine.txt").exists()


def test_a_run_that_has_begun_is_not_sent_to_another_folder(tmp_path: Path) -> None:
    def full() -> None:
        with writing(tmp_path):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(JournalError) as before:
        full()
    (tmp_path / "journal.sqlite").touch()
    with pytest.raises(JournalError) as begun:
        full()
    assert "--out" in str(before.value)
    assert "--out" not in str(begun.value)
    assert "make room" in str(begun.value)
