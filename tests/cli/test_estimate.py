"""`--estimate`: what a run or reviews would come to, with nothing asked and nothing written."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from manyheads.cli.run import confirm
from manyheads.config import RunConfig
from manyheads.engine.estimate import estimate as run_estimate
from manyheads.systems.loading import load
from support.command import SMALL, Done, manyheads_command, result_of, served_by
from support.llm import LLM
from support.suites import write_suite
from support.wordy import wordy

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


@pytest.mark.slow
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


class Terminal(io.StringIO):
    """A person at a terminal who types what it holds."""

    def isatty(self) -> bool:
        return True


def at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, config: RunConfig, answer: str, *, yes: bool = False
) -> tuple[int, str]:
    """How asking ends, as an exit code, and what was printed."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stdout", screen)
    try:
        confirm([config], yes=yes)
    except typer.Exit as end:
        return end.exit_code, screen.getvalue()
    return 0, screen.getvalue()


def expensive(home: Path, *sets: str) -> RunConfig:
    subject = f"inputs.subject={home / 'owls.md'}"
    price = "price: {input: 300, output: 600, currency: EUR}"
    model = f"models.default={{provider: openai, name: o1, base_url: 'http://h/v1', {price}}}"
    return load(["conference-review"], [model, subject, *sets])


def test_an_expensive_run_is_asked_for_at_a_terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = at_a_terminal(monkeypatch, expensive(home), "n\n")
    assert code == 130
    assert "EUR in 3 calls" in said
    assert "1.0000 EUR" in said
    assert at_a_terminal(monkeypatch, expensive(home), "y\n")[0] == 0
    assert at_a_terminal(monkeypatch, expensive(home), "")[0] == 130, "no answer is no"


@pytest.mark.parametrize("limit", ["100", "null"])
def test_what_is_cheap_or_never_asked_for_begins(
    home: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    assert at_a_terminal(monkeypatch, expensive(home, f"confirm.money={limit}"), "n\n") == (0, "")
    assert at_a_terminal(monkeypatch, expensive(home), "n\n", yes=True) == (0, "")


def test_without_a_terminal_nothing_is_asked(home: Path) -> None:
    confirm([expensive(home)], yes=False)


async def test_an_estimate_in_a_hurry_counts_what_it_has_seen(home: Path) -> None:
    slow = expensive(home)
    known = await run_estimate([slow, slow.model_copy(update={"seed": 1})], within=-1)
    assert (known.runs, known.whole, known.spent.total.calls) == (0, False, 0)
    known = await run_estimate([slow, slow.model_copy(update={"seed": 1})])
    assert (known.runs, known.whole, known.spent.total.calls) == (2, True, 6)


def test_a_suite_is_estimated(home: Path) -> None:
    configs, measures = ["conference-review"], ["usage.calls"]
    suite = write_suite(
        home, "forms", configs=configs, grid={"repeats": [1, 3]}, set={}, measures=measures, plot=None
    )
    flags = ("--estimate", "--model", "openai/gpt-4o", "--set", f"subject={home / 'owls.md'}")
    done = manyheads_command("eval", suite, *flags, cwd=home)
    assert (done.code, done.err) == (0, "")
    assert "of 4 runs" in done.out
    assert re.search(r"total\s+│\s+8 │", done.out)
    assert "USD" in done.out
    assert not (home / "runs").exists()


def estimates_against(home: Path, *runs: str, cache: Path) -> Done:
    return manyheads_command("estimate", "--against", *runs, cwd=home, env={"MANYHEADS_CACHE": str(cache)})


@pytest.mark.slow
def test_bills_of_three_runs_bring_the_next_estimate_within_a_tenth(home: Path) -> None:
    """The model is ten times as long as the offline one, give or take a fifth a reply."""
    for name in ("emus", "cats", "dogs"):
        (home / f"{name}.md").write_text(f"# {name}\n\nWe plan with {name}.\n", encoding="utf-8")
    env = {"MANYHEADS_CACHE": str(home / "cache")}

    def about(text: str, *flags: str) -> Done:
        model = (*served_by(llm), *PRICES, "--set", "models.default.tools=false")
        return manyheads_command("review", text, *model, *flags, cwd=home, env=env)

    def total() -> dict[str, Any]:
        return json.loads(about("emus.md", "--estimate", "--json").out)

    with LLM(reply=wordy(10, 0.2)) as llm:
        for name in ("owls", "bats", "cats", "dogs"):
            assert about(f"{name}.md", "-o", f"runs/{name}").code == 0
        before = total()
        few = estimates_against(
            home, "runs/owls", *map(str, (home / "runs/bats").iterdir()), cache=home / "cache"
        )
        assert (few.code, "fewer than 3" in few.out) == (0, True)
        assert total()["total"] == before["total"]
        asked = llm.calls
        (home / "runs/notes").mkdir()
        compared = estimates_against(home, *map(str, (home / "runs").iterdir()), cache=home / "cache")
        assert (compared.code, llm.calls) == (0, asked)
        assert "runs/notes" in compared.err
        assert re.search(r"Corrected by the other runs: 4 of 4 .*\(0\.\d+ to 1\.\d+\)", compared.out)
        assert re.search(r"Uncorrected: 0 of 4 ", compared.out)
        after = total()
        assert "4 runs of" in after["basis"][0]
        assert about("emus.md", "-o", "runs/emus").code == 0
    [emus] = (home / "runs/emus").glob("*/")
    usage = result_of(emus)["usage"]
    for field in ("calls", "input_tokens", "output_tokens", "cost"):
        assert after["total"][field] == pytest.approx(usage[field], rel=0.1), field
    assert before["total"]["cost"] < 0.8 * usage["cost"]


def test_what_cannot_be_compared_is_named(home: Path) -> None:
    assert manyheads_command("review", "owls.md", "-o", "runs/owls", cwd=home).code == 0
    done = estimates_against(home, "runs/owls", "owls.md", cache=home / "cache")
    assert "manyheads list runs" in done.message
    assert not list((home / "cache").glob("bills/*"))
