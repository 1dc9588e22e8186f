"""`manyheads serve`: what stops it from starting, and what it prints."""

import re
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from manyheads.base.errors import ConfigError
from manyheads.cli.project import PORT, _need_writable, _runs_of, listener_of
from support.ports import bound_socket
from support.served import served
from support.web import CSRF


def test_a_folder_must_be_there_and_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for name, words in {"absent": "no such folder", "file": "not a folder"}.items():
        with pytest.raises(ConfigError, match=words) as error:
            _need_writable(tmp_path / name)
        assert error.value.hint
    with pytest.raises(ConfigError, match="cannot be written"):
        _need_writable(Path("/proc"))


def test_runs_are_those_of_the_folder_or_of_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _runs_of(Path()) == Path()
    assert _runs_of(None) == Path("runs")
    assert _runs_of(Path()) == Path("runs")
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "events.jsonl").write_text("", encoding="utf-8")
    assert _runs_of(Path()) == Path()
    assert _runs_of(None) == Path("runs")


def test_a_port_in_use_is_named() -> None:
    with bound_socket() as other, pytest.raises(ConfigError, match="in use") as error:
        listener_of("127.0.0.1", other.getsockname()[1])
    assert "--port" in str(error.value.hint)


def test_the_next_free_port_is_taken() -> None:
    with listener_of("127.0.0.1", None) as first, listener_of("127.0.0.1", None) as second:
        assert PORT <= first.getsockname()[1] < second.getsockname()[1]


def test_an_answer_goes_out_at_once_though_its_head_went_before_it() -> None:
    with (
        listener_of("127.0.0.1", None) as listener,
        socket.create_connection(listener.getsockname()[:2]),
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_is_refused(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(name: str, *more: object, **others: object) -> list[tuple[object, ...]]:
        if name == "192.0.2.1":
            return [(socket.AF_INET,)]
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)  # asks a name server
    with pytest.raises(ConfigError) as error:
        listener_of(host, 9999)
    assert "127.0.0.1" in str(error.value.hint)


@pytest.mark.slow
def test_the_printed_address_opens_the_runs_and_ctrl_c_ends_the_server(tmp_path: Path) -> None:
    with served(tmp_path, end=signal.SIGINT) as room, httpx.Client(base_url=room.url) as client:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/enter\?token=[\w-]{40,}", room.entrance)
        assert client.get("/runs").status_code == 401
        assert client.get(room.entrance).status_code == 200
        assert client.get("/runs").status_code == 200
        assert "server" not in client.get("/runs").headers
    assert room.process.returncode == 0


@pytest.mark.slow
def test_a_server_for_the_network_warns(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as room:
        assert "127.0.0.1" in room.url
        assert any("warning" in line for line in room.lines)


@pytest.mark.slow
def test_a_run_stops_when_its_server_is_killed(tmp_path: Path) -> None:
    with served(tmp_path, end=signal.SIGKILL) as room, httpx.Client(base_url=room.url) as client:
        client.get(room.entrance)
        token = CSRF.search(client.get("/start/virsci").text)
        assert token
        values = {"csrf": token[1], "steer": "topic", "virsci.team.size": "2", "embedding": "lexical"}
        name = client.post("/start/virsci", data=values).headers["location"].rpartition("/")[2]
        events = tmp_path / name / "events.jsonl"
        _until(lambda: events.is_file() and '"kind": "waiting"' in events.read_text("utf-8"))
        [child] = room.children()
        room.process.kill()
        _until(lambda: not Path(f"/proc/{child}").exists())
    with served(tmp_path) as room, httpx.Client(base_url=room.url) as client:
        client.get(room.entrance)
        page = client.get(f"/runs/{name}").text
        assert "stopped" in page
        assert f"/runs/{name}/resume" in page


def _until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)
