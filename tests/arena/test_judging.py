"""Models vote on the form that people have: both orders, apart from people, resumable, and never twice."""

import asyncio
import re
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from manyheads.arena.judging import judge
from manyheads.base.errors import ArenaError, ConfigError
from manyheads.config import ModelConfig, RunConfig
from manyheads.engine.budget import Shared
from manyheads.measures.standings import steadiness
from support.arenas import arena, makers_of
from support.command import Done, manyheads_command, served_by, start
from support.llm import LLM
from support.requests import Request
from support.turns import model


def shorter(request: Request) -> str:
    """A model that prefers the text with the smaller number, wherever it is shown."""
    first, second = map(int, re.findall(r"It is number (\d+)", request.asking))
    return "A" if first < second else "B"


def with_model(model: ModelConfig, **more: Any) -> RunConfig:
    return RunConfig(models={"default": model}, **more)


async def test_a_model_sees_each_pair_in_both_orders_and_no_maker(tmp_path: Path) -> None:
    with LLM(answers={"overall": shorter}) as llm, arena(tmp_path / "a", ("maker-a", "maker-b")) as made:
        done = await judge(made, "M", 5, with_model(model(llm)))
        votes = made.votes()
        assert (done.votes, done.invalid, len(votes), llm.calls) == (4, 0, 4, 4)
        assert {vote.kind for vote in votes} == {"model"}
        assert {(vote.left, vote.right, vote.case) for vote in votes} == {
            (one, other, case)
            for one, other in (("maker-a", "maker-b"), ("maker-b", "maker-a"))
            for case in ("owls", "bats")
        }
        assert steadiness(votes, "overall") == (2, 1.0)
        assert not any("maker" in request.asking for request in llm.requests)
        assert all("Background of" in request.asking for request in llm.requests)
        assert done.usage.calls == 4


async def test_a_stopped_model_resumes_with_the_other_order(tmp_path: Path) -> None:
    with LLM(answers={"overall": shorter}) as llm, arena(tmp_path / "a", ("a", "b", "c")) as made:
        rater = made.enter("M", "model")
        item = made.next_item(rater)
        assert item
        made.vote(rater, item.id, {"overall": "left"})
        first = makers_of(made, item)
        done = await judge(made, "M", 0, with_model(model(llm)))
        assert done.votes == 1
        [_, second] = made.votes()
        assert (second.left, second.right) == first[::-1]
        assert (await judge(made, "M", 0, with_model(model(llm)))).votes == 0


async def test_a_model_without_valid_answers_skips_the_pair(tmp_path: Path) -> None:
    with LLM(answers={"overall": "neither nor"}) as llm, arena(tmp_path / "a", ("a", "b"), ("owls",)) as made:
        done = await judge(made, "M", 3, with_model(model(llm), attempts=2))
        assert (done.votes, done.invalid, done.usage.calls) == (0, 1, 2), "what is not valid is paid, too"
        assert made.votes() == []
        assert made.progress(made.enter("M", "model")).skipped == 1


def judge_command(folder: Path, llm: LLM, *more: str) -> Done:
    return manyheads_command("arena", "judge", "a", *served_by(llm), *more, cwd=folder)


def test_a_budget_is_that_of_all_starts_and_the_pair_under_way_is_finished(tmp_path: Path) -> None:
    with LLM(answers={"overall": shorter}) as llm, arena(tmp_path / "a", ("a", "b", "c")):
        calls = []
        for limit in (3, 3, 4):
            done = judge_command(tmp_path, llm, "--pairs", "2", "--budget", f"calls={limit}")
            calls.append((done.code, llm.calls))
        assert calls == [(3, 3), (3, 3), (0, 4)]
        assert (
            "calls 3, used: 4" in judge_command(tmp_path, llm, "--pairs", "3", "--budget", "calls=3").message
        )


def test_an_estimate_is_of_the_pairs_that_are_left_and_asks_nothing(tmp_path: Path) -> None:
    with LLM(answers={"overall": shorter}) as llm, arena(tmp_path / "a", ("a", "b", "c")) as made:
        assert judge_command(tmp_path, llm, "--pairs", "1").code == 0
        for pairs, calls in ((3, 4), (99, 10)):
            done = judge_command(tmp_path, llm, "--pairs", str(pairs), "--estimate")
            assert re.search(rf"total +│ +{calls} │", done.out), done.out
        assert (llm.calls, len(made.votes())) == (2, 2)
        made.next_item(made.enter("openai/test", "model"))  # a start that was killed
        done = judge_command(tmp_path, llm, "--pairs", "3", "--estimate")
        assert re.search(r"total +│ +4 │", done.out), done.out
        refused = judge_command(tmp_path, llm, "--budget", "money=1").message
        assert "models.default.price" in refused


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 4])
def test_a_judge_that_is_killed_over_and_over_asks_no_more_than_its_pairs(tmp_path: Path, jobs: int) -> None:
    with LLM(answers={"overall": shorter}, delay=0.05) as llm, arena(tmp_path / "a", ("a", "b", "c")) as made:
        options = ("--pairs", "4", "--budget", "calls=20", "--jobs", str(jobs))
        command = ("arena", "judge", "a", *served_by(llm), *options)
        for calls in (2, 3):
            enough = llm.calls + calls
            with start(*command, cwd=tmp_path) as process:
                while llm.calls < enough and process.poll() is None:
                    time.sleep(0.001)
                process.kill()
        assert manyheads_command(*command, cwd=tmp_path).code == 0
        assert len(made.votes()) == 8
        assert llm.calls <= 8 + 2 * jobs, "only what was under way is asked again"
        with closing(Shared(tmp_path / "a")) as shared:
            spent, reserved = shared.spent()
            assert llm.calls <= spent.calls <= 8 + 2 * jobs, "a question that was not sent yet may count"
            assert reserved.calls == 0


async def test_two_at_once_do_not_pay_for_the_same_questions(tmp_path: Path) -> None:
    with LLM(answers={"overall": shorter}, delay=0.05) as llm, arena(tmp_path / "a", ("a", "b", "c")) as made:
        both = (judge(made, "M", 2, with_model(model(llm))) for _ in range(2))
        done = await asyncio.gather(*both, return_exceptions=True)
        [refused] = [each for each in done if isinstance(each, ArenaError)]
        assert "--name" in str(refused)
        assert (llm.calls, len(made.votes())) == (4, 4)


async def test_a_name_of_a_person_and_another_kind_of_arena_are_refused(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("a", "b")) as made:
        made.invite("Ada")
        with pytest.raises(ArenaError, match="person"):
            await judge(made, "Ada", 1, RunConfig())
    with arena(tmp_path / "b", ("a", "b"), form="rating") as made, pytest.raises(ArenaError, match="ratings"):
        await judge(made, "M", 1, RunConfig())


@pytest.mark.parametrize(
    ("model", "host"),
    [
        (ModelConfig(provider="openai", name="gpt-4o-mini"), "autogen"),
        (ModelConfig(provider="human", name="me"), "autogen"),
        (ModelConfig(), "nowhere"),
    ],
)
async def test_a_model_that_cannot_be_asked_is_no_rater(
    tmp_path: Path, model: ModelConfig, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with arena(tmp_path / "a", ("a", "b")) as made:
        with pytest.raises(ConfigError):
            await judge(made, "M", 1, with_model(model).model_copy(update={"host": host}))
        assert made.raters() == []
