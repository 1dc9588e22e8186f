"""`manyheads search` as users run it."""

import json
from pathlib import Path

from support.command import Done, manyheads_command
from support.scholar import Scholar, Trouble, record

PAPERS = (
    record("a" * 40, "Tactile fingers", year=2019, citationCount=7),
    record("b" * 40, "Tactile grips", year=2012),
)


def search(tmp_path: Path, scholar: Scholar, *more: str) -> Done:
    quick = (
        "embedding=lexical",
        "literature.retries=0",
        f"literature.endpoints.semantic_scholar={scholar.url}",
    )
    sets = [part for setting in quick for part in ("--set", setting)]
    env = {"MANYHEADS_CACHE": str(tmp_path / "cache")}
    return manyheads_command("search", "tactile", *sets, *more, cwd=tmp_path, env=env)


def test_papers_go_to_standard_output_and_the_look_ups_to_standard_error(tmp_path: Path) -> None:
    chosen = ("--source", "semantic_scholar", "--before", "2015", "--json")
    with Scholar(PAPERS) as scholar:
        done = search(tmp_path, scholar, *chosen)
        again = search(tmp_path, scholar, *chosen)
        asked = len(scholar.requests)
    assert [json.loads(line)["title"] for line in done.out.splitlines()] == ["Tactile grips"]
    assert done.err.startswith("semantic_scholar, before 2015-01-01: found, 1 in ")
    assert again.out == done.out
    assert "(from disk)" in again.err
    assert asked == done.err.count("semantic_scholar")


def test_a_source_that_is_down_is_no_empty_result(tmp_path: Path) -> None:
    with Scholar(PAPERS, troubles=[Trouble("status", times=None, status=503)]) as scholar:
        alone = search(tmp_path, scholar, "--source", "semantic_scholar", "--before", "any")
        beside = search(tmp_path, scholar, "--source", "local", "--source", "semantic_scholar")
    assert "no literature source could be asked" in alone.message
    assert "503" in alone.message
    assert beside.code == 0
    assert "not everything was asked: semantic_scholar" in beside.err
