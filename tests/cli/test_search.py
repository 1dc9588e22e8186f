"""`manyheads search` as users run it."""

import json
from pathlib import Path

import pytest

from support.command import Done, manyheads_command
from support.scholar import Scholar, Trouble, record

pytestmark = pytest.mark.usefixtures("unpaced")
PAPERS = (
    record("a" * 40, "Tactile fingers", year=2019, citationCount=7),
    record("b" * 40, "Tactile grips", year=2012),
)


def search(tmp_path: Path, scholar: Scholar, *more: str, columns: int = 120) -> Done:
    quick = (
        "embedding=lexical",
        "literature.retries=0",
        f"literature.endpoints.semantic_scholar={scholar.url}",
    )
    sets = [part for setting in quick for part in ("--set", setting)]
    env = {"MANYHEADS_CACHE": str(tmp_path / "cache"), "COLUMNS": str(columns)}
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
    told, _, message = alone.err.partition("\n")
    assert told.startswith("semantic_scholar: failed, 0 in ")
    assert message.startswith("manyheads: no literature source could be asked")
    assert "503" in message
    assert alone.code == 4
    assert beside.code == 0
    assert "not searched: semantic_scholar" in beside.err


def test_an_id_is_shown_whole_and_no_text_of_a_service_commands_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[31mTactile\x1b[2J \u202egrips"
    chosen = ("--source", "semantic_scholar", "--before", "any")
    with Scholar([record("c" * 40, evil)]) as scholar:
        shown = search(tmp_path, scholar, *chosen, columns=70)
    down = Trouble("status", times=None, status=418, body=evil)
    with Scholar(troubles=[down]) as scholar:
        told = search(tmp_path, scholar, *chosen)
    assert f"semantic_scholar:{'c' * 40}" in shown.out
    assert "grips" in shown.out
    assert "418" in told.err
    assert not {"\x1b", "\u202e"} & set(shown.out + told.err)


# The literature database of a corpus.


def retrieve(tmp_path: Path, *more: str) -> Done:
    asked = ("search", "robots grasp unknown objects", "--set", "embedding=lexical")
    return manyheads_command(*asked, *more, cwd=tmp_path)


def test_papers_of_a_database_come_with_their_reasons(tmp_path: Path) -> None:
    three = ("--how", "semantic, entity,cocitation", "--limit", "3")
    done = retrieve(tmp_path, *three)
    assert done.code == 0
    assert done.out.count("background similar: 0.") == 3
    assert "co-citation is off" in done.err
    again = retrieve(tmp_path, *three, "--json", "--corpus", "sample")
    papers = [json.loads(line) for line in again.out.splitlines()]
    assert len(papers) == 3
    assert all(one["paper"]["id"] in done.out and one["channels"][0]["how"] == "semantic" for one in papers)
    [word] = map(json.loads, retrieve(tmp_path, "--how", "bm25", "--limit", "1", "--json").out.splitlines())
    assert word["channels"] == [{"how": "bm25", "score": pytest.approx(word["channels"][0]["score"])}]
    earlier = retrieve(tmp_path, "--how", "semantic", "--before", "2018", "--json").out.splitlines()
    assert {json.loads(line)["paper"]["year"] for line in earlier} <= set(range(2018))
    every = ("--how", "semantic", "--before", "any", "--limit", "200", "--json")
    later = retrieve(tmp_path, *every).out.splitlines()
    assert max(json.loads(line)["paper"]["year"] for line in later) > 2020


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--how", "semantic,telepathy"], "telepathy"),
        (["--how", "semantic,semantic"], "each once"),
        (["--how", "semantic", "--source", "local"], "--source"),
    ],
)
def test_a_database_that_cannot_be_asked(tmp_path: Path, more: list[str], said: str) -> None:
    done = retrieve(tmp_path, *more)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "next:" in done.err
