"""A program as a model: it reads the prompt, writes the answer, and is started only where its owner allowed it."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from manyheads.base.errors import ConfigError, NotAllowedError
from manyheads.base.http import GarbledError
from manyheads.config import ModelConfig
from manyheads.config.environment import typed
from manyheads.core import Message
from manyheads.models.command import CommandModel, prompt_of
from support.command import SMALL, manyheads_command, manyheads_process
from support.processes import need_ended

AGENT = """
import asyncio, sys
from manyheads.config import ModelConfig
from manyheads.core import Message
from manyheads.models.offline import OfflineModel
print(asyncio.run(OfflineModel(ModelConfig(seed=1)).complete("", [Message(sys.stdin.read())])).text)
"""
"""An agent's command line whose model is the offline one."""


def program(folder: Path, code: str) -> str:
    """A command line that runs some Python."""
    (folder / "program.py").write_text(code)
    return f"{sys.executable} {folder / 'program.py'}"


def model_of(folder: Path, code: str, **settings: float) -> CommandModel:
    command = program(folder, code)
    typed({"models": {"default": {"name": command}}})
    return CommandModel(ModelConfig(provider="command", name=command, **settings))  # pyright: ignore[reportArgumentType]


def answer_of(folder: Path, code: str) -> str:
    asked = [Message("What do owls hear?"), Message("Mice.", "assistant"), Message("And see?")]
    return asyncio.run(model_of(folder, code).complete("You are brief.", asked)).text


def test_it_reads_the_whole_thread_in_a_folder_without_files(tmp_path: Path) -> None:
    said = answer_of(tmp_path, "import os, sys; print(sys.stdin.read(), os.listdir())")
    assert said.endswith("[]")
    places = [said.index(each) for each in ("You are brief.", "owls hear?", "Mice.", "And see?")]
    assert places == sorted(places)


def test_one_question_stands_alone() -> None:
    assert prompt_of("", [Message("What?")]) == "What?"


def test_its_tokens_are_estimated(tmp_path: Path) -> None:
    raw = asyncio.run(model_of(tmp_path, "print('owl ' * 100)").complete("", [Message("x" * 400)]))
    assert (raw.usage.calls, raw.usage.estimated, raw.usage.cost) == (1, 1, None)
    assert raw.usage.input_tokens >= 100
    assert raw.usage.output_tokens >= 100


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit('no credit')", "exit code 1.*no credit"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("import sys; print('log in', file=sys.stderr)", "no answer.*log in"),
        (r"import sys; sys.stdout.buffer.write(b'\xff\xfe')", "UTF-8"),
    ],
)
def test_a_failure_says_what_the_program_said(tmp_path: Path, code: str, words: str) -> None:
    with pytest.raises(GarbledError, match=words):
        answer_of(tmp_path, code)


def test_a_cancelled_turn_kills_it_and_what_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, subprocess, time\n"
        f"child = subprocess.Popen(['sleep', '60']); open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}} ')\n"
        "time.sleep(60)"
    )

    async def cancelled() -> None:
        turn = asyncio.ensure_future(model_of(tmp_path, code).complete("", [Message("What?")]))
        while not (pids.is_file() and pids.read_text().endswith(" ")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asyncio.run(cancelled())
    need_ended(map(int, pids.read_text().split()))


@pytest.mark.parametrize(
    ("name", "words"), [("", "empty"), ("claude 'p", "quotation"), ("no-such-program -p", "no program")]
)
def test_a_command_line_that_cannot_start_is_refused(name: str, words: str) -> None:
    typed({"models": {"default": {"name": name}}})
    with pytest.raises(ConfigError, match=words):
        CommandModel(ModelConfig(provider="command", name=name))


@pytest.mark.usefixtures("own_cache")
def test_a_strangers_program_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "started"
    command = program(tmp_path, f"open({str(mark)!r}, 'w')")
    (tmp_path / "theirs.yaml").write_text(
        f"system: virsci\nmodels: {{default: {{provider: command, name: {command!r}}}}}\n"
    )
    for run in (("run",), ("check",)):
        done = manyheads_command(*run, "theirs.yaml", *SMALL, cwd=tmp_path)
        assert command in done.out + done.err
        assert done.code
    assert not mark.exists()
    with pytest.raises(NotAllowedError) as refused:
        CommandModel(ModelConfig(provider="command", name=command))
    monkeypatch.setenv("MANYHEADS_ALLOW", f"vllm.example.org,{refused.value.words[0]}")
    CommandModel(ModelConfig(provider="command", name=command))
    with pytest.raises(NotAllowedError):  # the same program with other words is another
        CommandModel(ModelConfig(provider="command", name=f"{command} --all"))


@pytest.mark.slow
def test_a_whole_run_on_a_program(tmp_path: Path) -> None:
    name = program(tmp_path, AGENT)
    one = ("-s", "invitation.enabled=false", "--budget", "calls=60", "-o", "mine")
    done = manyheads_process("run", "virsci", *SMALL, "-m", f"command/{name}", *one, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "Title" in done.out
    assert os.listdir(tmp_path / "mine")


@pytest.mark.usefixtures("own_cache")
def test_a_program_that_was_allowed_in_one_folder_is_another_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ModelConfig(provider="command", name="./m --all")
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m").write_text("#!/bin/sh\necho Owls.")
        (tmp_path / name / "m").chmod(0o755)
    monkeypatch.chdir(tmp_path / "mine")
    typed({"models": {"default": {"name": "./m --all"}}})
    CommandModel(model)
    monkeypatch.chdir(tmp_path / "theirs")
    with pytest.raises(NotAllowedError, match="theirs/m --all"):
        CommandModel(model)
