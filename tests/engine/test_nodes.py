"""The same results, turns and reports in one process, on one, two and four workers, and on four nodes; live in the web room."""

import asyncio
import re
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from golden.runs import differences
from support.command import Done, finish, manyheads_command, served_by, start
from support.equal import STAMP, outcomes, pages, turns, without_times
from support.faults import Fault
from support.llm import LLM
from support.ray_nodes import NEEDS_RAY, RayNodes, ray_nodes
from support.suites import write_suite
from support.web import owner

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), NEEDS_RAY]
WORKERS = ("1", "2", "4")


@pytest.fixture(scope="module")
def nodes() -> Generator[RayNodes]:
    with ray_nodes(4) as running:
        yield running


@pytest.fixture
def llm() -> Generator[LLM]:
    """Some replies are slow: concurrent ones end in another order each time."""
    with LLM(faults=[Fault("slow", seconds=0.2, times=None, when=lambda _: llm.calls % 3 == 0)]) as llm:
        yield llm


def told(folder: Path) -> dict[str, Any]:
    files = {STAMP.sub("", str(path.relative_to(folder))) for path in folder.rglob("*") if path.is_file()}
    return {
        "outcomes": outcomes(folder, paid=True),
        "turns": without_times(turns(folder)),
        "pages": pages(folder),
        "files": sorted(files),
    }


def on_ray(nodes: RayNodes, *words: str, cwd: Path) -> Done:
    with start(*words, *nodes.options, cwd=cwd, env=nodes.env) as process:
        return finish(process, 300)


def need_equal(tmp_path: Path, nodes: RayNodes, *words: str) -> None:
    done = manyheads_command(*words, "--out", "whole", cwd=tmp_path)
    assert done.code == 0, done.err
    whole = told(tmp_path / "whole")
    assert whole["turns"]
    for workers in WORKERS:
        done = on_ray(nodes, *words, "--out", f"on-{workers}", "--workers", workers, cwd=tmp_path)
        assert done.code == 0, done.err
        assert differences(told(tmp_path / f"on-{workers}"), whole) == []


def test_a_suite_is_equal(tmp_path: Path, nodes: RayNodes, llm: LLM) -> None:
    write_suite(tmp_path, "mine", plot=None)
    need_equal(tmp_path, nodes, "eval", "mine", *served_by(llm))


def test_reviews_are_equal(tmp_path: Path, nodes: RayNodes, llm: LLM) -> None:
    for name in ("owls", "bats", "crows"):
        (tmp_path / f"{name}.md").write_text(
            f"# {name}\n\nWe plan with {name}, and compare them with others.\n"
        )
    texts = ("owls.md", "bats.md", "crows.md")
    need_equal(tmp_path, nodes, "review", *texts, "--form", "conference", *served_by(llm))


async def table(folder: Path, columns: tuple[str, ...]) -> str:
    """The web room's table of runs."""
    async with owner(folder) as client:
        return (await client.get("/runs", params={"column": columns})).text


def test_runs_on_a_cluster_are_shown_live_with_calls_tokens_and_money(
    tmp_path: Path, nodes: RayNodes
) -> None:
    write_suite(tmp_path, "mine", plot=None)
    price = "models.default.price={input: 1, output: 1}"
    columns = ("state", "calls", "tokens", "cost")
    with LLM(delay=0.5) as llm:
        words = ("eval", "mine", *nodes.options, "--workers", "2", *served_by(llm, price), "--out", "out")
        with start(*words, cwd=tmp_path, env=nodes.env) as process:
            while llm.calls < 30 and process.poll() is None:
                time.sleep(0.1)
            page = asyncio.run(table(tmp_path / "out" / "cells", columns))
            done = finish(process, 300)
    assert done.code == 0, done.err
    assert 'class="chip running"' in page
    for name in columns[1:]:
        shown = [float(each.replace(",", "")) for each in re.findall(rf'data-name="{name}">([\d.,]+)<', page)]
        assert sum(shown) > 0, page
        if name == "calls":
            assert 20 <= sum(shown) <= 66
