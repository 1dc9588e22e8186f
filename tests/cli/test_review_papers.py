"""`manyheads review` of whole papers: which system and form reviews what, what it costs, what is left when the budget ends."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.command import manyheads_command, result_of, served_by
from support.llm import LLM

QUOTE = "Readers who disagree at first come to agree when each of them is shown the table of results."
PAPER = f"""# Readers agree

## Abstract
We let readers read.

## 1 Introduction
We ask whether readers agree. {QUOTE}

## 2 Results
They do, in seven of nine cases.
"""
ALONE = tuple(
    part
    for name in ("novelty", "figures", "references")
    for part in ("--set", f"mamorx.{name}.enabled=false")
)
"""The committee without anything that is looked up."""
SHORT = (*ALONE, "--set", "exchanges=1", "--set", "models.default.tools=false")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "paper.md").write_text(PAPER, encoding="utf-8")
    (tmp_path / "abstract.md").write_text("# Owls\n\nWe plan with owls.\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def pointed(llm: LLM) -> LLM:
    """A server whose model quotes the paper, and what does not stand in it."""
    shown, absent = ({"where": "Section 1", "quote": quote} for quote in (QUOTE, "We beat everybody by far."))
    llm.answers |= {
        "inquiries": [],
        "strengths": [{"sources": [shown], "text": "It is clear."}],
        "weaknesses": [{"sources": [absent], "text": "It is vain."}, {"sources": [shown], "text": "It is short."}],
        "questions": [],
        "points": [],
    }  # fmt: skip
    return llm


def config_of(folder: Path) -> dict[str, Any]:
    return yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))


def estimated(*command: str, cwd: Path) -> dict[str, Any]:
    done = manyheads_command("review", *command, "--estimate", "--json", cwd=cwd)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_a_paper_goes_to_the_committee_and_an_abstract_to_the_conference(home: Path) -> None:
    paper, abstract = (
        estimated(name, *more, cwd=home) for name, more in (("paper.md", ALONE), ("abstract.md", ()))
    )
    assert {"Plan", "Questions to experts", "Review"} <= {stage["stage"] for stage in paper["stages"]}
    assert [(stage["stage"], stage["calls"]) for stage in abstract["stages"]] == [("Review", 3)]
    mixed = manyheads_command("review", "paper.md", "abstract.md", cwd=home)
    assert "paper.md is a paper, abstract.md an abstract" in mixed.message
    assert [
        stage["calls"] for stage in estimated("paper.md", "--form", "conference", cwd=home)["stages"]
    ] == [3]


@pytest.mark.slow
def test_the_estimate_looks_up_as_much_as_a_run_at_most(home: Path) -> None:
    """No source can be reached from a test: all papers come from the shelf."""
    told = estimated("paper.md", *ALONE[2:], "--set", "mamorx.novelty.papers=4", cwd=home)
    [novelty] = [stage for stage in told["stages"] if stage["stage"] == "Novelty"]
    assert novelty["calls"] >= 3 + 4, "three phrases, and a decision on each paper"
    fewer = estimated("paper.md", *SHORT, cwd=home)["total"]
    more = estimated("paper.md", *ALONE, "--set", "exchanges=6", cwd=home)["total"]
    assert fewer["calls"] < more["calls"]
    assert not (home / "runs").exists()


def test_forms_are_those_that_systems_offer_and_ones_own(home: Path, pointed: LLM) -> None:
    done = manyheads_command("review", "paper.md", "--form", "plumber", cwd=home)
    assert all(
        form in done.message for form in ("conference", "rating", "mamorx", "neurips", "iclr", "outline")
    )
    own = home / "mine/prompts/review_leader/forms/plumber.yaml"
    own.parent.mkdir(parents=True)
    form = {
        "title": "Pipes",
        "about": "Hold to it.",
        "fields": {"leaks": {"title": "Leaks", "text": "Where it leaks."}},
    }
    own.write_text(yaml.safe_dump(form), encoding="utf-8")
    command = ("review", "paper.md", "--form", "plumber", "--path", "mine", *SHORT, *served_by(pointed))
    assert manyheads_command(*command, cwd=home).code == 0
    [folder] = (home / "runs").glob("*/")
    assert [entry["title"] for entry in result_of(folder)["review"]["entries"]] == ["Leaks"]


def test_what_the_budget_left_is_a_partial_review_that_can_be_finished(home: Path, pointed: LLM) -> None:
    command = ("review", "paper.md", *SHORT, "--set", "exchanges=3", *served_by(pointed))
    pointed.answers["inquiries"] = [
        {"text": "Why?", "expects": "A line.", "kind": "ask", "expert": "clarity"}
    ]
    done = manyheads_command(*command, "--budget", "calls=4", cwd=home)
    assert (done.code, pointed.calls) == (3, 4)
    assert "budget.calls is 4" in done.err
    [folder] = (home / "runs").glob("*/")
    assert "This review is partial." in (folder / "report.html").read_text(encoding="utf-8")
    assert "Partial" in done.out
    pointed.answers["inquiries"] = []
    more = manyheads_command("resume", folder, "--set", "budget.calls=40", cwd=home)
    assert more.code == 0
    assert result_of(folder)["partial"] == ""
    assert "is partial" not in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_a_review_took_is_told_over_many(home: Path, pointed: LLM) -> None:
    (home / "other.md").write_text(PAPER.replace("Readers agree", "Others agree"), encoding="utf-8")
    command = ("review", "paper.md", "other.md", "--form", "neurips", *SHORT, *served_by(pointed))
    done = manyheads_command(*command, cwd=home)
    assert done.code == 0
    shown = unescape(done.out)
    assert "Rating" in shown
    assert "Readers agree" in shown
    tokens = [result_of(folder)["usage"]["input_tokens"] for folder in (home / "runs").glob("*/")]
    assert f"tokens in {sum(tokens) / 2:,.0f}" in shown
