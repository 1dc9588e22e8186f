"""`--estimate`: what a run or reviews would come to, with nothing asked and nothing written."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import SMALL, manyheads_command, served_by
from support.llm import LLM

PRICES = ("--set", "models.default.price={input: 1, output: 2}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("owls", "bats"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nWe plan with {name}.\n", encoding="utf-8")
    return tmp_path


def estimate(*command: str, cwd: Path) -> dict[str, Any]:
    done = manyheads_command(*command, "--estimate", "--json", cwd=cwd)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_nobody_is_asked_and_nothing_is_left(home: Path, llm: LLM) -> None:
    before = set(home.iterdir())
    done = manyheads_command("review", "owls.md", "--estimate", *served_by(llm), cwd=home)
    assert (done.code, done.err) == (0, "")
    assert llm.calls == 0
    assert set(home.iterdir()) == before


def test_a_model_needs_no_key_to_be_estimated(home: Path) -> None:
    data = estimate("review", "owls.md", "--model", "anthropic/claude", *PRICES, cwd=home)
    [stage] = data["stages"]
    assert (stage["stage"], stage["calls"]) == ("Review", 3)
    tokens_in, tokens_out = stage["input_tokens"], stage["output_tokens"]
    assert stage["cost"] == pytest.approx((tokens_in + 2 * tokens_out) / 1e6)
    assert data["total"]["calls"] == 3


def test_many_texts_are_estimated_together(home: Path) -> None:
    one = estimate("review", "owls.md", cwd=home)
    two = estimate("review", "owls.md", "bats.md", "--repeats", "6", cwd=home)
    assert (two["runs"], two["total"]["calls"]) == (2, 12)
    assert two["total"]["input_tokens"] == pytest.approx(4 * one["total"]["input_tokens"], rel=0.05)
    assert one["total"]["cost"] is None


def test_the_figures_hold_for_a_model_that_says_as_much(home: Path, llm: LLM) -> None:
    """What is read, form and system prompt included, is near to what a server is sent."""
    figures = estimate("review", "owls.md", cwd=home)["total"]
    assert manyheads_command("review", "owls.md", *served_by(llm), cwd=home).code == 0
    sent = sum(len(message.text.encode()) for request in llm.requests for message in request.messages) // 4
    assert llm.calls == figures["calls"]
    assert figures["input_tokens"] == pytest.approx(sent, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["virsci", "scipip"])
def test_every_system_is_estimated(system: str, home: Path) -> None:
    small = SMALL if system == "virsci" else SMALL[-2:]
    data = estimate("run", system, *small, cwd=home)
    assert data["total"]["calls"] == sum(stage["calls"] for stage in data["stages"]) > 0
    assert not (home / "runs").exists()


def test_a_budget_of_one_text_is_its_runs(home: Path, llm: LLM) -> None:
    command = ("review", "owls.md", "--budget", "calls=2", *served_by(llm))
    done = manyheads_command(*command, cwd=home)
    assert "budget.calls is 2" in done.message
    assert llm.calls == 2
    [folder] = (home / "runs").glob("*/")
    assert str(folder.relative_to(home) / "report.html") in done.out, "what there is so far can be read"
    more = manyheads_command("resume", folder, "--set", "budget.calls=3", cwd=home)
    assert (more.code, llm.calls) == (0, 3)


def test_a_budget_of_a_run(home: Path, llm: LLM) -> None:
    command = ("run", "conference-review", "--subject", "owls.md", "--budget", "calls=1", *served_by(llm))
    assert "budget.calls is 1" in manyheads_command(*command, cwd=home).message
    assert llm.calls == 1
    unpriced = manyheads_command("run", "single", "--budget", "money=1", *served_by(llm), cwd=home)
    assert "models.default has no price" in unpriced.message
