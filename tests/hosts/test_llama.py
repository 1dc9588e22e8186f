"""Whole runs on a real server, llama.cpp's own for Python, with a model whose words mean nothing.

`MANYHEADS_LLAMA_PYTHON` names a Python that has `llama-cpp-python[server]` and `gguf`; by default this one.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import support
from manyheads.asking.replies import REPLIES, ReplyModel
from manyheads.config import ModelConfig
from manyheads.models.abilities import form_arguments
from manyheads.models.probe import probe
from manyheads.systems.results import load
from support.command import manyheads_command
from support.hosts import HOSTS

PYTHON = os.environ.get("MANYHEADS_LLAMA_PYTHON", sys.executable)
NEEDS = "import llama_cpp.server, gguf"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server."""
    if subprocess.run([PYTHON, "-c", NEEDS], capture_output=True, check=False).returncode:
        pytest.skip("needs llama-cpp-python[server] and gguf, see MANYHEADS_LLAMA_PYTHON")
    folder = tmp_path_factory.mktemp("llama")
    script = Path(support.__file__).with_name("tiny_gguf.py")
    subprocess.run([PYTHON, script, folder / "tiny.gguf"], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = ["--model", str(folder / "tiny.gguf"), "--model_alias", "tiny", "--chat_format", "chatml"]
    command = [PYTHON, "-m", "llama_cpp.server", *model, "--n_ctx", "32768", "--port", str(port)]
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as server,
    ):
        try:
            address = f"http://127.0.0.1:{port}/v1"
            _wait(f"{address}/models", server)
            yield address
        finally:
            server.terminate()


def _wait(address: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        assert server.poll() is None, "the server has ended"
        try:
            urllib.request.urlopen(address, timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server does not come up")


async def test_what_it_can_do_is_found_out(served: str) -> None:
    found, usage = await probe(ModelConfig(provider="openai", name="tiny", base_url=served), "default")
    assert found.form == "object"
    assert usage.tokens > 0


@pytest.mark.parametrize("kind", REPLIES.values(), ids=list(REPLIES))
def test_it_takes_the_schema_of_each_reply(served: str, kind: type[ReplyModel]) -> None:
    form = form_arguments("openai", kind)["object"]
    asked = {"model": "tiny", "max_tokens": 3, "messages": [{"role": "user", "content": "Go on."}], **form}
    assert httpx.post(f"{served}/chat/completions", json=asked, timeout=60).status_code == 200


@pytest.mark.parametrize("host", HOSTS)
def test_a_run_comes_to_its_end(
    served: str, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known of the server: it refuses `json_schema` first."""
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "cache"))
    model = f"models.default={{provider: openai, name: tiny, base_url: {served}, temperature: 1.5, max_tokens: 6000}}"
    sets = (
        model, "team.size=2", "turns=1", "embedding=lexical", "ideas.references=1", "novelty.references=1",
        "self_review.references=1", "attempts=8",
    )  # fmt: skip
    flags = [part for each in sets for part in ("--set", each)]
    ran = manyheads_command("run", "virsci", "--host", host, *flags, "--out", "run", cwd=tmp_path)
    assert ran.code == 0, ran.err
    result = load(tmp_path / "run")
    assert result.finished
    assert any("json_object" in line for line in result.warnings)
