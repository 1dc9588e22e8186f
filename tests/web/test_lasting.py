"""Runs that go on without their server: their commands, and the queue at the server's end. No run is started."""

import asyncio
import json
import os
from pathlib import Path

import pytest
import yaml

from manyheads.base.errors import UserError
from manyheads.web.children import HIDDEN, LONGEST, Children, send
from support.left import stopped_at_the_end

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")


@pytest.mark.parametrize("sign", ["a", "語", "\ud800"])
def test_a_long_answer_of_any_script_is_whole_in_the_pipe(tmp_path: Path, sign: str) -> None:
    pipe = tmp_path / "one.pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    value = {"remark": sign * (LONGEST // len(sign.encode(errors="surrogatepass")) - 100)}
    assert send(pipe, {"do": "answer", "request": "one-1", "value": value})
    line = os.read(reading, 2 * LONGEST)
    assert json.loads(line)["value"] == value
    assert line.endswith(b"\n")
    with pytest.raises(UserError, match=f"{LONGEST:,} bytes"):
        send(pipe, {"do": "answer", "request": "one-1", "value": {"remark": value["remark"] * 2}})
    with pytest.raises(BlockingIOError):  # nothing of it
        os.read(reading, 1)
    os.close(reading)


@pytest.mark.slow
def test_queued_runs_do_not_begin_at_the_end_of_the_server(tmp_path: Path) -> None:
    (tmp_path / HIDDEN).mkdir()
    config = tmp_path / "one.yaml"
    config.write_text(yaml.safe_dump({"system": "virsci", "steer": ["topic"]}), encoding="utf-8")
    children = Children(tmp_path, at_once=1, lasting=True)

    async def server() -> None:
        for name in ("one", "two", "three"):
            (tmp_path / name).mkdir()
            children.start(name, "virsci", config)
        while not list((tmp_path / HIDDEN).glob("*.pipe")):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    with stopped_at_the_end(tmp_path):
        asyncio.run(server())  # at its end, all tasks are cancelled
        assert [each.name for each in (tmp_path / HIDDEN).glob("*.pipe")] == ["one.pipe"]
        assert not (tmp_path / "two").exists()
