"""What becomes of a run whose record was damaged, edited, lost, or is in use: it is told, and nothing is paid in silence."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import JournalError
from manyheads.core import Usage
from manyheads.engine.journal import spent_in
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from support.faults import Fault
from support.llm import LLM
from support.play import config_for

SMALL = ("team.size=2", "turns=1")


async def go(llm: LLM, folder: Path, **settings: Any) -> None:
    config = config_for(llm, *SMALL)
    async with aclosing(Session(config, folder, **settings).events(host_factory(config.host))) as events:
        async for _ in events:
            pass


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LLM, Path]]:
    """A run that has ended, to be copied, and its server."""
    with LLM() as llm:
        asyncio.run(go(llm, folder := tmp_path_factory.mktemp("finished") / "run"))
        yield llm, folder


def edit(folder: Path, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(folder / "journal.sqlite")) as journal, journal:
        journal.execute(sql, values)


@pytest.mark.parametrize(
    "reply",
    [
        "{",
        pytest.param(b"\xff", marks=pytest.mark.slow),
        pytest.param("[" * 20_000, marks=pytest.mark.slow),
        pytest.param("json_set(reply, '$.value', json('[]'))", marks=pytest.mark.slow),
    ],
)
async def test_a_row_that_no_reply_can_be_read_from_is_named_and_set_aside_on_request(
    finished: tuple[LLM, Path], tmp_path: Path, reply: str | bytes
) -> None:
    llm, folder = finished[0], Path(shutil.copytree(finished[1], tmp_path / "run"))
    whole = json.loads((folder / "result.json").read_text())["result"]
    if str(reply).startswith("json_set"):
        edit(folder, f"UPDATE turn SET reply = {reply} WHERE rowid = 3")
    else:
        edit(folder, "UPDATE turn SET reply = ? WHERE rowid = 3", reply)
    calls = llm.calls
    with pytest.raises(JournalError) as told:
        await go(llm, folder)
    assert "--accept-changes" in str(told.value)
    assert llm.calls == calls, "nothing is paid before that is said"
    await go(llm, folder, accept_changes=True)
    assert llm.calls == calls + 1
    assert json.loads((folder / "result.json").read_text())["result"] == whole


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("gone", marks=pytest.mark.slow),
        pytest.param("empty", marks=pytest.mark.slow),
        "three turns lost",
    ],
)
async def test_turns_that_are_lost_are_not_paid_again_in_silence(llm: LLM, tmp_path: Path, how: str) -> None:
    folder = tmp_path / "run"
    await go(llm, folder)
    calls = llm.calls
    if how == "three turns lost":
        edit(folder, "DELETE FROM turn WHERE rowid > (SELECT max(rowid) - 3 FROM turn)")
    else:
        (folder / "journal.sqlite").unlink()
        if how == "empty":
            (folder / "journal.sqlite").touch()
    with pytest.raises(JournalError) as told:
        await go(llm, folder)
    assert "--accept-changes" in str(told.value)
    assert llm.calls == calls
    await go(llm, folder, accept_changes=True)
    assert llm.calls == calls + (3 if how == "three turns lost" else calls)


@pytest.mark.slow
async def test_a_second_process_in_the_folder_is_refused_and_touches_nothing(
    llm: LLM, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    await go(llm, folder)
    config = config_for(llm, *SMALL)
    async with aclosing(Session(config, folder).events(host_factory(config.host))) as first:
        await anext(first)
        before = {path: path.read_bytes() for path in folder.iterdir() if path.suffix != ".sqlite"}
        with pytest.raises(JournalError, match="another process"):
            await go(llm, folder)
        assert {path: path.read_bytes() for path in before} == before
        async for _ in first:
            pass
    assert json.loads((folder / "result.json").read_text())["finished"] is True


async def test_an_unusable_reply_counts_though_the_run_dies_before_its_turn_ends(
    llm: LLM, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    llm.faults += [Fault("prose", times=1), Fault("slow", times=None, seconds=30)]
    task = asyncio.create_task(go(llm, folder))
    while llm.calls < 2:  # noqa: ASYNC110 - the server has no event to wait for
        await asyncio.sleep(0.01)
    spent = spent_in_use(folder)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert spent.calls == 1
    assert spent.tokens > 0
    assert spent_in(folder / "journal.sqlite").calls >= 1


def spent_in_use(folder: Path) -> Usage:
    """What the files say that a kill would leave now: the journal is another's, so a copy of it is read."""
    copy = folder.parent / "copy"
    copy.mkdir()
    for path in folder.glob("journal.sqlite*"):
        (copy / path.name).write_bytes(path.read_bytes())
    return spent_in(copy / "journal.sqlite")
