"""The baselines on both hosts: the same result byte for byte, and readable without a language model."""

import time
from itertools import cycle
from pathlib import Path

import pytest

from manyheads.systems.loading import validate
from support.command import manyheads_command, start
from support.hosts import HOSTS, OTHERS
from support.llm import LLM
from support.play import Played, config_for, play
from support.requests import Request
from support.results import but_for_the_host, unfinished

TOPIC = "topic=How retrieval fails on long documents"
SYSTEMS = {
    "self-reflection": ("baseline.rounds=3",),
    "discussion": ("baseline.turns=2",),
    "single": ("baseline.tokens=24000",),
}

IN_TURN = dict(zip(SYSTEMS, cycle(HOSTS), strict=False))
"""Where the quick suite runs each without a model; the slow one does so on the other hosts."""


def question(request: Request) -> str:
    return f"{request.system.strip()}\0{request.asking.strip()}"


def sets_for(system: str) -> tuple[str, ...]:
    return (f"system={system}", TOPIC, "embedding=lexical", "ideas.references=2", *SYSTEMS[system])


@pytest.mark.parametrize(
    "system",
    [pytest.param(each, marks=[] if each == "discussion" else [pytest.mark.slow]) for each in SYSTEMS],
)
@pytest.mark.parametrize("other", OTHERS)
async def test_every_host_gives_the_same_result(tmp_path: Path, system: str, other: str) -> None:
    played: list[Played] = []
    for host in (HOSTS[0], other):
        with LLM(seed=question, answers={"choice": 2}) as llm:
            played.append(
                await play(config_for(llm, *sets_for(system), f"host={host}"), tmp_path / host, llm)
            )
    first, second = (but_for_the_host(each.folder) for each in played)
    assert first == second
    assert [question(request) for request in played[0].requests] == [
        question(request) for request in played[1].requests
    ]


@pytest.mark.parametrize(
    ("system", "host"),
    [
        pytest.param(system, host, marks=[] if IN_TURN[system] == host else [pytest.mark.slow])
        for system in SYSTEMS
        for host in HOSTS
    ],
)
async def test_the_offline_model_shows_how_it_goes(tmp_path: Path, llm: LLM, system: str, host: str) -> None:
    offline = {"models": {"default": {"provider": "offline"}}}
    config = config_for(llm, *sets_for(system), f"host={host}")
    config = validate({**config.model_dump(mode="json", exclude_unset=True), **offline}, "test")
    played = await play(config, tmp_path / "run", llm)
    assert llm.calls == 0
    assert not played.result["written_by_language_model"]
    assert len(played.result["ideas"]) > 1
    assert len(played.result["abstract"]["text"]) > 200
    assert (played.folder / "report.html").stat().st_size > 20_000


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_killed_baseline_asks_nothing_twice(tmp_path: Path, system: str) -> None:
    with LLM(seed=question, answers={"choice": 2}, delay=0.05) as llm:
        model = ("provider=openai", "name=test", f"base_url={llm.base_url}")
        sets = (*sets_for(system), *(f"models.default.{each}" for each in model))
        flags = [part for each in sets for part in ("--set", each)]
        assert manyheads_command("run", system, *flags, "--out", "whole", cwd=tmp_path).code == 0
        whole = llm.calls
        with start("run", system, *flags, "--out", "run", cwd=tmp_path) as process:
            while llm.calls < whole + 4 and process.poll() is None:
                time.sleep(0.001)
            process.kill()
        assert unfinished(tmp_path / "run")
        assert manyheads_command("resume", "run", cwd=tmp_path).code == 0
        assert llm.calls - 2 * whole in (0, 1), "only what was under way is asked again"
    results = [but_for_the_host(tmp_path / out) for out in ("whole", "run")]
    assert results[0] == results[1]
