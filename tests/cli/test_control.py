"""`--control`: another program starts a run, follows it, answers, pauses and stops it."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.command import SMALL, environment, manyheads_command, result_of, served_by
from support.llm import LLM

RUN = ("run", "virsci", *SMALL, "--steer", "topic", "--out", "r")


class Program:
    """The other program."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process, self.lines = process, list[dict[str, Any]]()

    def tell(self, **command: Any) -> None:
        self.write(json.dumps(command) + "\n")

    def write(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def until(self, kind: str) -> dict[str, Any]:
        """The next line of a kind."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(json.loads(line))
            if self.lines[-1]["kind"] == kind:
                return self.lines[-1]
        raise AssertionError(self.lines[-3:])

    def answer(self, **value: Any) -> dict[str, Any]:
        """Answer the next request."""
        waiting = self.until("waiting")
        self.tell(do="answer", request=waiting["request"], value=value)
        return waiting

    def end(self) -> int:
        """The exit code, after everything that it printed."""
        assert self.process.stdout
        self.lines += map(json.loads, self.process.stdout)
        return self.process.wait(60)


@contextmanager
def program(folder: Path, words: Sequence[str] = RUN) -> Generator[Program]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "manyheads", *words, "--control"],
        cwd=folder, env=environment(), stdin=pipe, stdout=pipe, stderr=pipe, text=True,
    ) as process:  # fmt: skip
        try:
            yield Program(process)
        finally:
            process.kill()


def test_bad_input_ends_with_an_error_as_a_line(tmp_path: Path) -> None:
    done = manyheads_command(*RUN, "--steer", "ideas", "--control", cwd=tmp_path)
    [line] = done.events
    assert (line["kind"], line["code"], done.code) == ("error", 2, 2)
    assert "no stage 'ideas'" in line["message"]
    assert "topic" in line["message"]
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_program_steers_a_run(tmp_path: Path) -> None:
    with program(tmp_path) as other:
        assert other.until("control")["state"] == "running"
        first = other.answer(action="back")
        assert "remark" in other.answer(action="back", remark="Think of owls.")["problem"]
        other.answer(action="edit")
        assert other.answer(topic="Owls that plan")["form"]["properties"]["topic"]["default"]
        other.tell(do="answer", request=first["request"], value={"action": "accept"})
        assert other.until("refused")["request"] == first["request"]
        assert other.end() == 0
    assert other.lines[-1]["kind"] == "result"
    assert not any(line["kind"] == "error" for line in other.lines)
    result = result_of(tmp_path / "r")
    assert result["topic"]["topic"] == "Owls that plan"
    assert [word["action"] for word in result["people"]] == ["back", "edit", "edit"]


@pytest.mark.slow
def test_garbage_is_refused_and_the_run_goes_on(tmp_path: Path) -> None:
    bad = [
        "garbage", "[]", '"x"', "{}", '{"do": "dance"}', '{"do": "answer"}', "[" * 100_000, "\0", "x" * 2_000_000,
        '{"do": "answer", "request": "no", "value": {}}', '{"do": "answer", "request": 7, "value": {}}',
    ]  # fmt: skip
    with program(tmp_path) as other:
        request = other.until("waiting")["request"]
        for line in bad:
            other.write(f"{line}\n")
            assert other.until("refused")["message"]
        other.tell(do="answer", request=request, value=["accept"])
        assert other.until("refused")["request"] == request
        other.write("\n\n")
        other.tell(do="answer", request=request, value={"action": "accept"})
        assert other.end() == 0


@pytest.mark.slow
def test_a_question_without_an_answer_stops_the_run(tmp_path: Path) -> None:
    with program(tmp_path, (*RUN, "--answer-within", "0.1")) as other:
        other.answer(action="back", remark="Think of owls.")
        other.until("waiting")
        assert other.until("control")["state"] == "stopping"
        assert other.end() == 130
    with program(tmp_path, ("resume", "r")) as other:
        other.answer(action="accept")
        assert other.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stop", "end of stdin", "SIGTERM"])
def test_a_stopped_run_asks_again_when_it_is_resumed(tmp_path: Path, how: str) -> None:
    with program(tmp_path) as other:
        other.answer(action="back", remark="Think of owls.")
        waiting = other.until("waiting")
        if how == "stop":
            other.tell(do="stop")
        elif how == "SIGTERM":
            other.process.send_signal(signal.SIGTERM)
        else:
            assert other.process.stdin
            other.process.stdin.close()
        assert other.until("control")["state"] == "stopping"
        assert other.end() == 130
    last = other.lines[-1]
    assert (last["kind"], last["code"]) == ("error", 130)
    assert "manyheads resume r" in last["hint"]
    with program(tmp_path, ("resume", "r")) as other:
        again = other.answer(action="accept")
        assert again["request"] == waiting["request"]
        assert other.end() == 0
    assert [word["action"] for word in result_of(tmp_path / "r")["people"]] == ["back", "accept"]


@pytest.mark.slow
def test_a_closed_stdin_is_nobody(tmp_path: Path) -> None:
    words = f"{sys.executable} -m manyheads run virsci {' '.join(SMALL)}"
    for more, code in (("--control -o a", 130), ("--steer topic -o b", 2), ("-o c", 0)):
        done = subprocess.run(
            ["bash", "-c", f"{words} {more} <&-"], cwd=tmp_path, env=environment(), check=False
        )
        assert done.returncode == code


@pytest.mark.slow
def test_a_second_signal_stops_a_running_turn(tmp_path: Path) -> None:
    with LLM(delay=60) as llm, program(tmp_path, (*RUN, *served_by(llm))) as other:
        other.until("asked")
        other.process.send_signal(signal.SIGTERM)
        other.until("control")
        other.process.send_signal(signal.SIGTERM)
        assert other.end() == 130
        assert other.lines[-1]["state"] == "stopping"


@pytest.mark.slow
def test_a_paused_run_starts_no_turn(tmp_path: Path) -> None:
    with program(tmp_path) as other:
        waiting = other.until("waiting")
        other.tell(do="pause")
        assert other.until("control")["state"] == "paused"
        other.tell(do="answer", request=waiting["request"], value={"action": "accept"})
        other.until("said")
        other.tell(do="answer", request="none", value={})
        other.until("refused")
        assert other.lines[-2]["kind"] != "said" or other.lines[-2]["task"] == "steer"
        other.tell(do="resume")
        assert other.until("control")["state"] == "running"
        assert other.end() == 0


@pytest.mark.slow
def test_steering_is_switched_on_in_mid_run_and_kept_by_a_resumed_one(tmp_path: Path) -> None:
    """The topic stage is over; of the stages to come, the idea stage is heard, before and after a kill."""
    with program(tmp_path, (*RUN[:-4], "--out", "r", "-s", "turns=2")) as other:
        other.until("said")
        other.tell(do="steer", stages=["nothing"])
        assert "idea" in other.until("refused")["message"]
        other.tell(do="steer")
        assert "stages" in other.until("refused")["message"]
        other.tell(do="steer", stages=["idea"])
        assert other.until("waiting")["stage"] == "idea"
    with program(tmp_path, ("resume", "r")) as other:
        waiting = other.answer(action="pick", picks=[2])
        assert (waiting["stage"], waiting["form"]["properties"]["action"]["enum"][0]) == ("idea", "accept")
        assert len(waiting["form"]["properties"]["picks"]["x-texts"]) > 2
        assert other.end() == 0
    assert [word["action"] for word in result_of(tmp_path / "r")["people"]] == ["pick"]
    assert manyheads_command("resume", "r", cwd=tmp_path).code == 0  # nobody is asked again
