"""The report and the last lines of a baseline, which forms no team."""

import re
from html import unescape
from pathlib import Path

from manyheads.systems.results import closing_lines
from support.llm import LLM
from support.play import config_for, play

PLAIN = ("topic=Long documents", "ideas.references=0", "novelty.references=0")


def words(folder: Path) -> str:
    """The words of a run's report, without its markup."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)).split())


async def told(llm: LLM, folder: Path, system: str, *sets: str) -> str:
    await play(config_for(llm, f"system={system}", *PLAIN, *sets), folder, llm)
    return words(folder)


async def test_what_a_baseline_was_allowed_and_used(llm: LLM, tmp_path: Path) -> None:
    page = await told(llm, tmp_path / "run", "single", "baseline.tokens=20000")
    assert "of 20,000 tokens" in page
    assert "too few tokens were left for another." in page
    assert "tokens: no further reply." in page
    assert "compared the ideas of highest confidence, without seeing the ratings" in page
    assert re.search(r"Baseline  \d+ ideas from \d{5} of 20000 tokens\n", closing_lines(tmp_path / "run"))


async def test_reflections_are_shown_with_their_ideas(llm: LLM, tmp_path: Path) -> None:
    llm.answers["done"] = True
    page = await told(llm, tmp_path / "run", "self-reflection", "baseline.rounds=2")
    assert page.count("Reflection reflection: ") == 2
    assert "finished first in turn 2; all rounds were completed" in page
    assert "It was written in one reply." in page
    assert "Agents 1 Ideas 3 Tokens" in page
    for team_only in ("Nobody has voted", "has declined", "Each scientist", "Scientists"):
        assert team_only not in page


async def test_a_discussion_shows_who_spoke_and_whether_the_critic_approves(llm: LLM, tmp_path: Path) -> None:
    llm.answers["approve"] = True
    page = await told(llm, tmp_path / "run", "discussion", "baseline.turns=2", "baseline.until_done=true")
    assert "approves the idea" in page
    assert "the idea: is finished. the critic approves the idea" in page
    assert "A Analyst analyst R Researcher researcher C Critic critic" in page
