"""Suites on Ray: the same results as in one process, whatever dies; one budget and one rate limit over all workers."""

import json
import os
import shlex
import signal
import socket
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from manyheads.arena.store import Arena
from manyheads.corpus.meta import BuildOptions
from manyheads.engine.journal import read_turns
from support.arenas import arena
from support.command import (
    Done,
    finish,
    manyheads_command,
    manyheads_process,
    outcome_of,
    served_by,
    start,
    stop_twice,
)
from support.corpora import built
from support.llm import LLM
from support.papers import papers, write_corpus
from support.ray_nodes import NEEDS_RAY, RayNodes, ray_nodes
from support.suites import write_suite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), NEEDS_RAY]
FILES = ("results.jsonl", "summary.csv")


@pytest.fixture(scope="module")
def nodes() -> Generator[RayNodes]:
    with ray_nodes() as running:
        yield running


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path, "mine", plot=None)


def on_ray(nodes: RayNodes, folder: Path, out: str, *more: str, env: Mapping[str, str] | None = None) -> Done:
    words = ("eval", "mine", "--out", out, *nodes.options, *more)
    with start(*words, cwd=folder, env={**nodes.env, **(env or {})}) as process:
        return finish(process, 300)


def turns_of(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Request and answer by place; when they ended and how long they took differs."""
    turns = read_turns(folder / "journal.sqlite")
    return {str(place): (request, reply["text"], reply["usage"]) for place, request, reply in turns}


def need_equal(whole: Path, other: Path, *, requests: bool = True) -> None:
    """The same results and turns; with `requests` also the same configs and number of requests."""
    cells = sorted(path.name for path in (whole / "cells").iterdir())
    assert cells == sorted(path.name for path in (other / "cells").iterdir())
    for name in FILES if requests else ():
        assert (whole / name).read_text() == (other / name).read_text()
    for name in cells:
        one, two = whole / "cells" / name, other / "cells" / name
        first, second = outcome_of(one), outcome_of(two)
        for each in () if requests else (first, second):
            del each["usage"]
        assert first == second
        settled = [(path / "config.yaml").read_text().partition("\n")[2] for path in (one, two)]
        assert settled[0] == settled[1] or not requests  # the address of the model's server
        assert turns_of(one) == turns_of(two)
        assert (two / "report.html").exists()


def test_results_are_equal_on_one_and_two_workers_and_nothing_names_a_workers_folder(
    tmp_path: Path, suite: Path, nodes: RayNodes
) -> None:
    assert manyheads_command("eval", suite, "--out", "whole", cwd=tmp_path).code == 0
    for workers in ("1", "2"):
        done = on_ray(nodes, tmp_path, workers, "--workers", workers)
        assert done.code == 0, done.err
        need_equal(tmp_path / "whole", tmp_path / workers)
        texts = [path.read_bytes() for path in (tmp_path / workers).rglob("*") if path.is_file()]
        assert not any(b"manyheads-job-" in text for text in texts)


def test_workers_that_are_killed_lose_no_turn_and_pay_none_twice(
    tmp_path: Path, suite: Path, nodes: RayNodes
) -> None:
    with LLM(delay=0.05) as undisturbed:
        done = manyheads_command("eval", suite, *served_by(undisturbed), "--out", "whole", cwd=tmp_path)
        assert done.code == 0
    kills, most, lanes = 0, 2, 2  # a job that loses three workers is set apart
    with LLM(delay=0.2) as llm:
        words = (
            "eval",
            "mine",
            "--out",
            "out",
            *nodes.options,
            "--workers",
            "2",
            "--jobs",
            str(lanes),
            *served_by(llm),
        )
        with start(*words, cwd=tmp_path, env=nodes.env) as process:
            at = 10
            while process.poll() is None and kills < most:
                if llm.calls >= at and (workers := [*nodes.processes()]):
                    with suppress(ProcessLookupError):
                        os.kill(workers[kills % len(workers)], signal.SIGKILL)
                        kills += 1
                    at = llm.calls + 10
                time.sleep(0.05)
            done = finish(process, 300)
    assert done.code == 0, done.err
    assert kills == most
    need_equal(tmp_path / "whole", tmp_path / "out", requests=False)
    in_flight = 3  # questions at once of a team of three
    assert llm.calls <= undisturbed.calls + kills * lanes * in_flight


def test_a_job_that_kills_its_workers_is_set_apart_and_the_others_go_on(
    tmp_path: Path, nodes: RayNodes
) -> None:
    killer = tmp_path / "killer.sh"
    killer.write_text("#!/bin/sh\nkill -9 $PPID\n")
    killer.chmod(0o700)
    bad = {"models.default.provider": "command", "models.default.name": str(killer)}
    good = {"models.default.provider": "offline", "models.default.name": "offline"}
    variants = {"bad": bad, "good": good}
    write_suite(tmp_path, "mine", plot=None, grid={}, variants=variants, repeats=1, measures=["hd"])
    allowed = f"command:{quote(shlex.join([str(killer)]), safe='/-=')}"
    done = on_ray(nodes, tmp_path, "out", env={"MANYHEADS_ALLOW": allowed})
    assert done.code == 5, done.err
    assert "finished: good" in done.err.replace("variant=", "")
    assert "died 3 times" in done.err
    assert (next(tmp_path.glob("out/cells/bad-*")) / "traceback.txt").stat().st_size


def test_one_budget_and_one_rate_limit_hold_over_all_workers(
    tmp_path: Path, suite: Path, nodes: RayNodes
) -> None:
    with LLM(delay=0.02) as llm:
        flags = (*served_by(llm, "models.default.concurrency=1"), "--workers", "2")
        done = on_ray(nodes, tmp_path, "out", *flags, "--budget", "calls=30")
        assert done.code == 3, done.err
        assert llm.calls == 30
        assert llm.peak == 1
        assert on_ray(nodes, tmp_path, "out", *flags).code == 0
        paid = sum(json.loads(path.read_text())["usage"]["calls"] for path in tmp_path.glob("out/cells/*/result.json"))  # fmt: skip
        assert llm.calls == paid


def test_a_judge_on_ray_gives_the_votes_of_one_process_within_one_budget(
    tmp_path: Path, nodes: RayNodes
) -> None:
    def votes(name: str) -> list[tuple[str, ...]]:
        with Arena.open(tmp_path / name) as made:
            return sorted((each.case, each.left, each.right, str(each.answers)) for each in made.votes())

    with LLM(answers={"overall": "tie"}, delay=0.05) as llm:
        for name in ("here", "there"):
            arena(tmp_path / name, ("a", "b", "c")).close()
        words = (*served_by(llm, "models.default.concurrency=2"), "--pairs", "9")
        assert manyheads_command("arena", "judge", "here", *words, cwd=tmp_path).code == 0
        assert llm.calls == 12
        codes = list[tuple[int, int]]()
        for more in (("--budget", "calls=5"), ()):
            command = ("arena", "judge", "there", *words, *nodes.options, "--workers", "2", *more)
            with start(*command, cwd=tmp_path, env=nodes.env) as process:
                codes.append((finish(process, 300).code, llm.calls))
        assert codes == [(3, 17), (0, 24)]
        assert llm.peak <= 2
    assert votes("here") == votes("there")


def test_a_measure_on_ray_is_the_one_of_one_process(tmp_path: Path, nodes: RayNodes) -> None:
    abstracts = "".join(json.dumps({"abstract": f"We plan with {n} owls."}) + "\n" for n in range(70))
    (tmp_path / "texts.jsonl").write_text(abstracts)
    words = (
        "measure",
        "texts.jsonl",
        "--corpus",
        "sample",
        "--embedding",
        "lexical",
        "--rnd",
        "--rnd-papers",
        "5",
        "--rnd-neighbours",
        "3",
    )
    assert manyheads_command(*words, "--out", "here.jsonl", cwd=tmp_path).code == 0
    with start(*words, "--out", "there.jsonl", *nodes.options, cwd=tmp_path, env=nodes.env) as process:
        done = finish(process, 300)
    assert done.code == 0, done.err
    assert (tmp_path / "here.jsonl").read_bytes() == (tmp_path / "there.jsonl").read_bytes()


def test_check_names_a_node_and_the_key_that_it_lacks(tmp_path: Path, nodes: RayNodes) -> None:
    words = ("check", "virsci", "--model", "openai/gpt-4o-mini", *nodes.options)
    with start(*words, cwd=tmp_path, env={**nodes.env, "OPENAI_API_KEY": "sk-secret"}) as process:
        done = finish(process, 300)
    assert done.code == 2, done.err
    [line, *_] = [each for each in done.out.splitlines() if socket.gethostname() in each]
    assert "OPENAI_API_KEY is not set" in line
    assert "sk-secret" not in done.out + done.err


@pytest.mark.parametrize("command", ["eval mine --out out", "arena judge a --pairs 9"])
def test_a_second_ctrl_c_ends_at_once_and_the_same_command_goes_on(
    tmp_path: Path, suite: Path, nodes: RayNodes, command: str
) -> None:
    arena(tmp_path / "a", ("a", "b", "c")).close()
    with LLM(answers={"overall": "tie"}, delay=0.3) as llm:
        words = (*command.split(), *nodes.options, "--workers", "2", *served_by(llm))
        with start(*words, cwd=tmp_path, env=nodes.env) as process:
            while llm.calls < 3 and process.poll() is None:
                time.sleep(0.05)
            llm.delay, seen = 60, llm.calls
            while llm.calls == seen and process.poll() is None:
                time.sleep(0.05)
            workers = [*nodes.processes()]  # one of them at least has a request under way
            for each in workers:
                os.kill(each, signal.SIGSTOP)  # the driver waits for them
            assert stop_twice(process).code == 130
        for each in workers:
            os.kill(each, signal.SIGKILL)
        asked, llm.delay = llm.calls, 0.3
        with start(*words, cwd=tmp_path, env=nodes.env) as process:
            done = finish(process, 300)
        assert done.code == 0, done.err
        lanes, in_flight = 8, 3
        if command.startswith("arena"):
            assert asked <= llm.calls <= 12 + lanes
        else:
            paid = sum(
                json.loads(path.read_text())["usage"]["calls"]
                for path in tmp_path.glob("out/cells/*/result.json")
            )
            assert paid <= llm.calls <= paid + lanes * in_flight


@pytest.mark.parametrize(
    "command", ["measure texts.jsonl --corpus", "corpus build papers.jsonl --bound 2015 --out"]
)
def test_a_second_ctrl_c_ends_at_once_what_waits_for_vectors(
    tmp_path: Path, nodes: RayNodes, command: str
) -> None:
    (tmp_path / "texts.jsonl").write_text('{"abstract": "We plan with owls."}\n')
    write_corpus(tmp_path / "papers.jsonl", papers(40, seed=7))  # no other test has cached their vectors
    if "--out" not in command:
        built(tmp_path / "mine", papers(40), BuildOptions(bound=2015))
    before, words = {*nodes.processes()}, (*command.split(), "mine", "--embedding", "lexical", *nodes.options)
    with start(*words, cwd=tmp_path, env=nodes.env) as process:
        while not (workers := {*nodes.processes()} - before) and process.poll() is None:
            time.sleep(0.01)
        for each in workers:
            os.kill(each, signal.SIGSTOP)
        assert stop_twice(process).code == 130
    for each in workers:
        os.kill(each, signal.SIGKILL)
    with start(*words, cwd=tmp_path, env=nodes.env) as process:
        done = finish(process, 300)
    assert done.code == 0, done.err


def test_ctrl_c_leaves_no_folder_on_the_nodes(tmp_path: Path, suite: Path, nodes: RayNodes) -> None:
    killed = {*nodes.folder.glob("manyheads-job-*")}
    with LLM(delay=0.2) as llm:
        words = ("eval", "mine", "--out", "out", *nodes.options, "--workers", "2", *served_by(llm))
        with start(*words, cwd=tmp_path, env=nodes.env) as process:
            while llm.calls < 5 and process.poll() is None:
                time.sleep(0.05)
            assert {*nodes.folder.glob("manyheads-job-*")} - killed
            process.send_signal(signal.SIGINT)
            assert finish(process, 100).code == 130
    assert {*nodes.folder.glob("manyheads-job-*")} == killed


def test_a_ray_of_its_own_starts_below_a_long_temporary_folder(tmp_path: Path) -> None:
    for name in ("owls", "bats"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nWe plan with {name}.\n")
    (long := tmp_path / ("long" * 20)).mkdir()
    words = ("review", "owls.md", "bats.md", "--form", "conference", "--repeats", "1", "--engine", "ray")
    with start(*words, "--workers", "1", cwd=tmp_path, env={"TMPDIR": str(long)}) as process:
        done = finish(process, 300)
    assert done.code == 0, done.err
    assert len([*tmp_path.glob("runs/*/result.json")]) == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--address", "ray://127.0.0.1:10001"), "--address auto"),
        (("--address", "127.0.0.1:1"), "ray status"),
    ],
)
def test_an_address_without_a_cluster_is_said_before_anything_is_paid(
    tmp_path: Path, suite: Path, flags: tuple[str, ...], said: str
) -> None:
    done = manyheads_process("eval", suite, "--engine", "ray", *flags, cwd=tmp_path)
    assert said in done.message
    assert not (tmp_path / "runs").exists()
