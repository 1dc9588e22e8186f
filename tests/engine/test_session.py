"""A session's folder, whatever becomes of the run."""

import asyncio
import errno
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

import manyheads
from manyheads import __version__
from manyheads.base.errors import ChangedError, HeldError, JournalError, ModelError
from manyheads.base.folders import is_held, writing
from manyheads.core.events import Began, Said
from manyheads.corpus.corpora import resolve_corpus
from manyheads.engine.journal import Journal
from manyheads.engine.session import Session, new_folder
from manyheads.hosts import host_factory
from manyheads.systems.loading import load
from support.embedding import needs_minilm
from support.faults import Fault
from support.llm import LLM
from support.play import config_for, play
from support.requests import Request
from support.results import unfinished


@pytest.mark.slow
def test_a_start_loads_no_heavy_library():
    code = (
        "import sys, manyheads.engine.session; from manyheads.hosts import host_factory, hosts;"
        "[host_factory(name) for name in hosts()];"
        "heavy = ('numpy', 'scipy', 'qdrant_edge', 'onnx', 'matplotlib', 'httpx', 'bibtexparser', 'manyheads.documents', *(each.framework for each in hosts().values()));"
        "print([name for name in heavy if name in sys.modules])"
    )
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert started.stdout.strip() == "[]"


FIRST_QUESTION = """
import asyncio, pathlib, sys
from manyheads.core.events import Asked
from manyheads.engine import session
from manyheads.hosts import host_factory
from manyheads.systems.loading import load

session.HEAD_START = 60.0  # as on a machine on which imports take no time

async def main():
    config = load(["virsci"], ["host=agent_framework", "embedding=auto"])
    async for event in session.Session(config, pathlib.Path(sys.argv[1])).events(host_factory(config.host)):
        if isinstance(event, Asked):
            return print([name for name in ("numpy", "onnxruntime") if name in sys.modules])

asyncio.run(main())
"""


@pytest.mark.slow
@needs_minilm
def test_no_embedding_model_is_loaded_before_the_first_question(tmp_path: Path) -> None:
    resolve_corpus("sample")  # else it is built, with the model
    command = [sys.executable, "-c", FIRST_QUESTION, str(tmp_path / "run")]
    asked = subprocess.run(command, capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "[]"


@pytest.mark.slow
class SlowJournal(Journal):
    """Takes its time for each turn; `done` has the turns on disk."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.done = list[str]()

    def put(self, *turns: Any) -> None:
        time.sleep(0.03)
        super().put(*turns)
        self.done += [str(place) for place, *_ in turns]


async def test_no_request_is_sent_and_nothing_told_before_a_reply_is_on_disk(
    llm: LLM, tmp_path: Path
) -> None:
    made, before = list[SlowJournal](), list[int]()

    def opened(path: Path) -> Journal:
        made.append(SlowJournal(path))
        return made[0]

    def note(request: Request) -> None:
        before.append(len(made[0].done))

    llm.reply = note
    config = config_for(llm, "system=self-reflection", "inputs.topic=owls")
    told = 0
    async for event in Session(config, tmp_path / "run", journal=opened).events(host_factory("autogen")):
        told += isinstance(event, Said)
        assert told <= len(made[0].done)
    assert llm.peak == 1
    assert before == [*range(told)]
    assert told > 2


async def test_a_run_says_when_the_process_has_too_many_open_files(tmp_path: Path) -> None:
    def full(path: Path) -> Journal:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))

    config = load(["virsci"], ["embedding=lexical"])
    with pytest.raises(JournalError, match=r"Too many open files[\s\S]*ulimit -n"):
        async for _ in Session(config, tmp_path / "run", journal=full).events(host_factory(config.host)):
            pass


SETS = ("turns=1", "topic=T")


def half_done(llm: LLM) -> None:
    """Stops a run at its votes, the first of which fails; those beside it take their time."""
    llm.faults.append(Fault("status", when=lambda request: request.title == "Vote", status=403))
    llm.faults.append(Fault("slow", when=lambda request: request.title == "Vote", times=2, seconds=0.2))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[Request]]:
    """The folder of a run that was stopped at its votes, what was said then, and what had been asked."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    with LLM() as llm:
        half_done(llm)
        with pytest.raises(ModelError) as error:
            asyncio.run(play(config_for(llm, *SETS), folder, llm))
    return folder, str(error.value), list(llm.requests)


@pytest.fixture
def half(stopped: tuple[Path, str, list[Request]], tmp_path: Path) -> Path:
    """A copy of it, to go on with."""
    return Path(shutil.copytree(stopped[0], tmp_path / "run"))


def test_a_stopped_run_leaves_its_result_so_far_and_a_report(
    stopped: tuple[Path, str, list[Request]],
) -> None:
    folder, said, requests = stopped
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert requests[0].system.split()[2].rstrip(",") in page
    assert f"manyheads resume {folder}" in said
    run = manyheads.load(folder)
    assert not run.finished
    assert len(run.result.ideas) == 3
    assert (run.result.idea, run.result.abstract, run.result.inference_cost) == (None, None, None)
    assert run.usage.calls > 3


async def test_votes_cast_beside_one_that_failed_are_not_paid_again(
    llm: LLM, half: Path, stopped: tuple[Path, str, list[Request]]
) -> None:
    await play(config_for(llm, *SETS), half, llm)
    votes = [[request.title for request in requests].count("Vote") for requests in (stopped[2], llm.requests)]
    assert votes == [3, 1]


async def test_a_change_of_course_is_not_mixed_into_a_record(llm: LLM, half: Path) -> None:
    names = ("config.yaml", "events.jsonl", "report.html")
    before = [(half / name).read_bytes() for name in names]
    with pytest.raises(ChangedError, match="seed"):
        await play(config_for(llm, *SETS, "seed=9"), half, llm)
    assert llm.calls == 0
    assert [(half / name).read_bytes() for name in names] == before


async def test_another_model_is_told_before_anything_is_opened(llm: LLM, half: Path) -> None:
    changed = config_for(llm, *SETS, "models.default.max_tokens=9")
    nowhere = config_for(llm, *SETS, "models.default.max_tokens=9", "corpus=nowhere/at-all")
    with pytest.raises(ChangedError, match=r"models\.default\.max_tokens") as told:
        [event async for event in Session(nowhere, half).events(no_host)]
    assert "--accept-changes" in str(told.value)
    assert llm.calls == 0
    [event async for event in Session(changed, half, True).events(host_factory("agentscope"))]
    await play(changed, half, llm)


def no_host(*given: object) -> NoReturn:
    raise AssertionError("a host was made")


async def test_a_model_that_was_never_asked_may_change(llm: LLM, tmp_path: Path):
    llm.faults.append(Fault("status", status=403))
    with pytest.raises(ModelError):
        await play(config_for(llm, *SETS), tmp_path / "run", llm)
    llm.faults.clear()
    await play(config_for(llm, *SETS, "models.default.max_tokens=900"), tmp_path / "run", llm)


async def test_an_accepted_change_goes_on_and_the_way_back_says_so(llm: LLM, half: Path) -> None:
    half_done(llm)
    session = Session(config_for(llm, *SETS, "seed=9"), half, accept_changes=True)
    with pytest.raises(ModelError) as error:
        [event async for event in session.events(host_factory("agentscope"))]
    assert "--accept-changes" in str(error.value)
    assert "seed: 9" in (half / "config.yaml").read_text(encoding="utf-8")


async def test_a_finished_run_is_told_again_without_a_question_and_goes_on_elsewhere_without_a_stale_result(
    llm: LLM, tmp_path: Path
) -> None:
    first = await play(config_for(llm, *SETS), tmp_path / "run", llm)
    kept, calls = (tmp_path / "run" / "result.json").read_bytes(), llm.calls
    again = await play(config_for(llm, *SETS), tmp_path / "run", llm)
    assert llm.calls == calls
    assert again.result == first.result
    assert (tmp_path / "run" / "result.json").read_bytes() == kept
    assert not list((tmp_path / "run").glob("*.part"))
    half_done(llm)
    session = Session(config_for(llm, "turns=1", "topic=Other"), tmp_path / "run", accept_changes=True)
    with pytest.raises(ModelError):
        [event async for event in session.events(host_factory("agentscope"))]
    assert unfinished(tmp_path / "run")


async def test_another_seed_is_another_draw_of_the_offline_model(llm: LLM, tmp_path: Path):
    sets = ("models={default: {provider: offline}}", "system=rebuttal", "rebuttal.method=initial")
    ideas: list[str] = []
    for number, seed in enumerate((1, 2, 2)):
        config = config_for(llm, *sets, "background=We teach a gripper to feel for keys.", f"seed={seed}")
        played = await play(config, tmp_path / str(number), llm)
        ideas.append(played.result["idea"]["idea"])
    assert ideas[0] != ideas[1] == ideas[2]


async def test_a_run_that_another_process_has_finished_meanwhile_is_asked_nothing(
    llm: LLM, tmp_path: Path
) -> None:
    def finished() -> NoReturn:
        assert is_held(tmp_path / "run"), "looked at when nobody else can have it any more"
        raise HeldError("finished by another process")

    session = Session(config_for(llm, *SETS), tmp_path / "run", locked=finished)
    with pytest.raises(HeldError):
        [event async for event in session.events(host_factory("agentscope"))]
    assert llm.calls == 0


def test_folders_of_the_same_second_are_apart(llm: LLM, tmp_path: Path):
    folders = {new_folder(config_for(llm), tmp_path) for _ in range(20)}
    assert len(folders) == 20


def test_a_runs_name_cannot_leave_its_base(llm: LLM, tmp_path: Path):
    folder = new_folder(config_for(llm, "name=../../else where"), tmp_path)
    assert folder.parent == tmp_path
    assert folder.name.endswith("-else-where")


async def test_a_run_names_its_versions_and_date_everywhere(llm: LLM, tmp_path: Path):
    first = await play(config_for(llm, *SETS), tmp_path, llm)
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
    again = await play(config_for(llm, *SETS), tmp_path, llm)
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
