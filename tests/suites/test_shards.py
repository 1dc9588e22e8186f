"""A suite in shards, each on a machine of its own: together they do what one does, and pay no more."""

import json
import re
import shutil
from pathlib import Path

import pytest

from manyheads.base.errors import ConfigError
from manyheads.engine.budget import Budget
from manyheads.engine.journal import read_turns
from manyheads.suites.shards import Shard
from support.command import Done, manyheads_command, result_of
from support.suites import write_suite


def test_parts_are_even_and_stay_when_more_comes() -> None:
    for items in (range(20), range(23)):
        parts = [Shard(number, 7).part(items) for number in range(1, 8)]
        assert sorted(item for part in parts for item in part) == [*items]
        assert {len(part) for part in parts} == {len(items) // 7, len(items) // 7 + 1}
        assert parts[2][:3] == [2, 9, 16]


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a shard"):
        Shard.parse(text)


def test_the_shares_of_a_budget_stay_within_it() -> None:
    budget = Budget.parse(["calls=100", "tokens=1000", "money=2"])
    shares = [Shard(1, 3).share(budget, mine, 7).limits for mine in (2, 4, 1)]
    assert sum(each.calls or 0 for each in shares) <= 100
    assert sum(each.tokens or 0 for each in shares) <= 1000
    assert sum(each.money or 0 for each in shares) == pytest.approx(2)
    with pytest.raises(ConfigError, match="nothing is left"):
        Shard(1, 3).share(Budget.parse(["calls=3"]), 1, 7)


def suite_in(base: Path) -> str:
    variants = {"initial": {"rebuttal.method": "initial"}, "reviewed": {"rebuttal.method": "rebuttal"}}
    cases = [
        {
            "id": each,
            "background": [f"{each}\n\n{each} learn."],
            "ranking.target": f"{each}\n\nWe learn {each}.",
        }
        for each in ("robots", "owls", "cells")
    ]
    folder = write_suite(
        base, "mine", cases=cases, configs=["rebuttal"], set={"embedding": "lexical", "rebuttal.max_iters": 1},
        grid={}, variants=variants, begin_with={"variant": "initial"}, measures=["ranking.s", "usage.calls"],
        plot=None, repeats=1,
    )  # fmt: skip
    spec = (folder / "suite.yaml").read_text()
    (folder / "suite.yaml").write_text(spec.replace("  turns: 1\n", ""))
    return str(folder)


def done(base: Path, *more: str, code: int = 0) -> Done:
    ended = manyheads_command("eval", "mine", *more, cwd=base)
    assert ended.code == code, ended
    return ended


def turns(folder: Path) -> dict[str, int]:
    return {
        str(path.parent.relative_to(folder)): len(read_turns(path)) for path in folder.rglob("journal.sqlite")
    }


@pytest.mark.slow
def test_shards_put_together_are_the_suite(tmp_path: Path) -> None:
    suite_in(tmp_path)
    whole = done(tmp_path, "-o", "whole")
    shards = [str(number) for number in (1, 2, 3)]
    for number in shards:
        done(tmp_path, "--shard", f"{number}/3", "-o", f"part-{number}")
    parts = [turns(tmp_path / f"part-{number}") for number in shards]
    assert [len(part) for part in parts] == [len(turns(tmp_path / "whole")) / 3] * 3
    ray = ("--engine", "ray", "--address", "127.0.0.1:1")  # merging needs none
    merged = done(tmp_path, "--merge", "part-1", "part-2", "part-3", "-o", "merged", *ray)
    assert merged.out.replace("merged", "whole") == whole.out
    for name in ("results.jsonl", "summary.csv"):
        assert (tmp_path / "merged" / name).read_text() == (tmp_path / "whole" / name).read_text()
    assert turns(tmp_path / "merged") == turns(tmp_path / "whole") == {**parts[0], **parts[1], **parts[2]}


@pytest.mark.slow
def test_a_shard_is_estimated_before_the_ideas_are_there_that_it_begins_with(tmp_path: Path) -> None:
    suite_in(tmp_path)
    whole, part = (done(tmp_path, "--estimate", *more).out for more in ((), ("--shard", "1/3", "-o", "part")))
    calls = [int(re.search(r"[Tt]otal\D+(\d+)", each)[1]) for each in (whole, part)]  # pyright: ignore[reportOptionalSubscript]
    assert calls[0] == 3 * calls[1] > 0
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


@pytest.mark.slow
def test_what_no_shard_finished_is_named_and_comes_with_the_next_merge(tmp_path: Path) -> None:
    suite_in(tmp_path)
    for number in (1, 2):
        done(tmp_path, "--shard", f"{number}/2", "-o", f"part-{number}")
    largest = max((tmp_path / "part-1", tmp_path / "part-2"), key=lambda each: len(turns(each)))
    lost = next(iter((largest / "cells").iterdir()))
    shutil.move(lost, tmp_path / "aside")
    first = done(tmp_path, "--merge", "part-1", "part-2", "-o", "merged", code=5)
    assert "not finished in any of the merged folders" in first.err
    shutil.move(tmp_path / "aside", lost)
    done(tmp_path, "--merge", "part-1", "part-2", "-o", "merged")
    rows = [json.loads(line) for line in (tmp_path / "merged" / "results.jsonl").read_text().splitlines()]
    assert all(row.get("error") is None for row in rows)
    other = done(
        tmp_path, "--merge", "part-1", "part-2", "-o", "other", "--set", "rebuttal.max_iters=2", code=2
    )
    assert "rebuttal.max_iters" in other.err


@pytest.mark.parametrize(
    "wrong",
    [
        ("--shard", "1/2"),
        ("part",),
        ("--merge", "-o", "new"),
        ("--merge", "mine", "-o", "new"),
        ("--merge", "part", "--shard", "1/2", "-o", "new"),
    ],
)
def test_wrong_uses_start_nothing(tmp_path: Path, wrong: tuple[str, ...]) -> None:
    suite_in(tmp_path)
    done(tmp_path, *wrong, code=2)
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


@pytest.mark.slow
def test_each_text_is_reviewed_in_one_shard(tmp_path: Path) -> None:
    lines = [json.dumps({"title": f"Idea {n}", "abstract": f"We plan with {n} owls."}) for n in range(5)]
    (tmp_path / "ideas.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for number in ("1/2", "2/2", "1/2"):
        command = ("review", "ideas.jsonl", "--repeats", "1", "--shard", number, "-o", "reviews")
        assert manyheads_command(*command, cwd=tmp_path).code == 0
    # the third repeats the first: finished reviews of several texts are made again, as without shards
    titles = [result_of(folder)["title"] for folder in (tmp_path / "reviews").glob("*/")]
    assert {*titles} == {f"Idea {n}" for n in range(5)}
    budget = ("review", "ideas.jsonl", "--shard", "1/2", "--budget", "calls=1", "-o", "other")
    assert "nothing is left for shard" in manyheads_command(*budget, cwd=tmp_path).err
