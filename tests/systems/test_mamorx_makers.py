"""The baselines of MAMORX read off what reaches a model server: one prompt, the same without outside knowledge, one agent alone."""

import asyncio
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

import manyheads
from manyheads.base.errors import BudgetError, ConfigError
from manyheads.systems.loading import load
from support.direct import EVERY, Play, Played, config_for, play
from support.llm import LLM
from support.manuscripts import SECTIONS, TITLE, committee, tei
from support.native import small
from support.person import Scripted
from support.requests import Request

GOOD = {"sources": [{"where": "Section 3", "quote": "91 percent of strikes"}], "text": "It is measured."}
BAD = {
    "sources": [{"where": "Section 3", "quote": "owls sleep through the whole winter"}],
    "text": "It is not.",
}


@pytest.fixture
def run(llm: LLM, tmp_path: Path) -> Play:
    async def runner(*sets: str, folder: str = "run", **answers: object) -> Played:
        llm.answers = {"finished": True, "strengths": [], "weaknesses": [GOOD], "questions": [], **answers}
        own = committee(tei(tmp_path / "paper.tei.xml"), "novelty", "references", "figures")
        return await play(config_for(llm, *own, *sets), tmp_path / folder, llm)

    return runner


@pytest.mark.parametrize(("maker", "form"), [("plain", "free"), ("outline", "outline")])
async def test_one_prompt_with_the_whole_text_and_no_tools(run: Play, maker: str, form: str) -> None:
    points = (
        {}
        if form == "free"
        else {"acceptance": ["Clear."], "rejection": ["Short.", "Cold."], "suggestions": []}
    )
    played = await run(f"mamorx.maker={maker}", f"mamorx.form={form}", "models.default.tools=true", **points)
    [request] = played.requests
    assert not request.tools
    assert all(text in request.asking for text in (TITLE, *SECTIONS.values(), "2.1 Data"))
    assert "search of published work" not in request.asking
    task = request.asking.split("## Your task")[1].split("## The form")[0]
    assert (
        len([line for line in task.splitlines() if line[:1].isdigit()]) == {"plain": 2, "outline": 4}[maker]
    )
    result = played.result
    assert (result["maker"], result["novelty"], result["figures"]) == (maker, None, [])
    assert [each["text"] for each in result["review"]["claims"]] == [
        each for texts in points.values() for each in texts
    ]
    assert "Not verified" not in result["review"]["text"], "nobody asked it for sources"


async def test_the_committee_without_outside_knowledge_asks_nobody_outside(run: Play, llm: LLM) -> None:
    config = load(["mamorx-multi-agent"])
    settings = config.settings
    assert (settings.maker, settings.novelty.enabled, settings.figures.enabled, settings.references.enabled) == (
        "committee", False, False, False,
    )  # fmt: skip
    off = [f"mamorx.{each}.enabled=false" for each in ("novelty", "references", "figures")]
    llm.tool_calls = [("ask", {"expert": "impact", "question": "What is new?", "expects": "Words."})]
    played = await run("models.default.tools=true", *off)
    impact = next(each for each in played.requests if each.title == "ExpertAnswer")
    assert "search_cited" not in impact.tools
    assert played.result["searches"] is None


async def test_one_agent_alone_thinks_again_as_long_as_its_tokens_last(run: Play) -> None:
    first = await run("mamorx.maker=alone", "mamorx.tokens=1")
    assert [each.title for each in first.requests] == ["WrittenReview"]
    once = first.result["usage"]["input_tokens"] + first.result["usage"]["output_tokens"]
    played = await run("mamorx.maker=alone", f"mamorx.tokens={6 * once}", folder="more")
    asked = played.requests[1:]
    assert 2 <= len(asked) <= 6
    firsts = [next(iter((each.schema or {})["properties"])) for each in asked]
    assert firsts == ["thought", *["doubts"] * (len(asked) - 1)]
    usage = played.result["usage"]
    assert usage["input_tokens"] + usage["output_tokens"] <= 6 * once
    assert "It is measured." in (asked[1].fenced("draft") or "")


async def test_one_agent_alone_is_told_which_of_its_sources_are_absent(run: Play, llm: LLM) -> None:
    played = await run("mamorx.maker=alone", "mamorx.exchanges=1", weaknesses=[GOOD, BAD])
    again = played.requests[1]
    assert again.fenced("point") == "It is not."
    shown, apart = played.result["review"]["text"].split("## Not verified")
    assert ("It is measured." in shown, "It is not." in shown, "It is not." in apart) == (True, False, True)
    assert "Correction" not in [each.title for each in played.requests]


async def test_without_a_limit_one_agent_alone_stops_where_nothing_changes(run: Play) -> None:
    texts = iter(["One.", "Two.", "Two.", "Three."])
    held = {"summary": "S.", "assessment": "A."}

    def summary(request: Request) -> str:
        return next(texts)

    played = await run("mamorx.maker=alone", **{**held, "summary": summary})
    assert len(played.requests) == 3
    assert played.result["review"]["entries"][0]["value"] == "Two."


@pytest.mark.parametrize("host", EVERY)
async def test_one_agent_alone_reads_by_tools(run: Play, llm: LLM, host: str) -> None:
    llm.tool_calls = [("read_section", {"name": "Results"}), ("search_cited", {"words": "snow"})]
    played = await run("mamorx.maker=alone", "mamorx.tokens=1", "models.default.tools=true", f"host={host}")
    assert "search_cited" not in played.requests[0].tools, "nothing was looked up"
    [result] = [said.text for said in played.requests[-1].messages if said.role == "tool"]
    assert SECTIONS["3", "Results"] in result


def spent(played: Played) -> int:
    return played.result["usage"]["input_tokens"] + played.result["usage"]["output_tokens"]


async def test_one_prompt_writes_as_many_reviews_as_its_tokens_pay_for_and_picks_one(run: Play) -> None:
    def second(request: Request) -> int:
        """The place of the second draft among those that are shown."""
        shown = re.findall(r"The paper is short (\d+)\.", request.asking)
        return shown.index("2") + 1 if "2" in shown else 1

    def numbered(request: Request) -> str:
        [draft] = re.findall(r"This is draft (\d+)\.", request.asking) or ["0"]
        return f"The paper is short {draft}."

    plain = {"summary": numbered, "weaknesses": []}
    once = await run("mamorx.maker=plain", **plain)
    assert len(once.requests) == once.result["drafts"] == 1
    assert "This is draft" not in once.requests[0].asking
    limit = 6 * spent(once)
    played = await run("mamorx.maker=plain", f"mamorx.tokens={limit}", folder="more", choice=second, **plain)
    _, *drafts, choice = played.requests
    assert [each.title for each in (*drafts, choice)] == [*["WrittenReview"] * len(drafts), "BestReview"]
    assert len(drafts) == played.result["drafts"] >= 3
    assert all(f"This is draft {number}." in each.asking for number, each in enumerate(drafts, 1))
    assert not any("<review>" in each.asking for each in drafts), "no draft is shown another"
    assert all(f"The paper is short {number}." in choice.asking for number in range(1, len(drafts) + 1))
    assert all(text in choice.asking for text in SECTIONS.values()), "it is chosen with the paper at hand"
    assert limit / 2 < spent(played) <= limit
    assert played.result["review"]["entries"][0]["value"] == "The paper is short 2."


async def test_no_choice_is_among_more_than_five_reviews(run: Play) -> None:
    given = {"choice": 1, "weaknesses": []}
    once = await run("mamorx.maker=plain", **given)
    played = await run("mamorx.maker=plain", f"mamorx.tokens={25 * spent(once)}", folder="more", **given)
    shown = [each.asking.count("<review>") for each in played.requests if each.title == "BestReview"]
    assert len(shown) > 1
    assert max(shown) == 5
    assert sum(shown) - len(shown) + 1 == played.result["drafts"], "each choice keeps one"
    assert spent(played) <= 25 * spent(once)


async def test_the_tokens_are_those_of_another_run(run: Play, tmp_path: Path) -> None:
    committee = await run(folder="committee")
    like, given = f"mamorx.like={tmp_path / 'committee'}", {"choice": 1, "weaknesses": []}
    played = await run("mamorx.maker=plain", like, folder="as-much", **given)
    assert played.result["drafts"] > 1
    assert spent(played) <= spent(committee)
    for limit in (like, "mamorx.tokens=1000"):
        with pytest.raises(ConfigError, match="committee"):
            await run(limit, folder="again")


@pytest.mark.parametrize(("maker", "replies"), [("plain", 1), ("outline", 1), ("alone", 3)])
async def test_whose_tokens_nobody_counts_write_once_or_are_refused_a_limit(
    tmp_path: Path, maker: str, replies: int
) -> None:
    inputs, models = {"paper": str(tei(tmp_path / "paper.tei.xml"))}, {"default": {"provider": "human"}}
    for tokens, most in ((None, replies), (1000, 1)):
        mamorx = {"maker": maker, "exchanges": 2, "tokens": tokens}
        config, person = small("mamorx", inputs=inputs, models=models, mamorx=mamorx), Scripted()
        ended = nullcontext() if tokens is None else pytest.raises(BudgetError, match="no token usage")
        with ended:
            await asyncio.wait_for(manyheads.run(config, out=tmp_path / "runs", person=person), 20)
        assert (
            len([each for each in person.requests if each.task in ("plain", "outline", "draft", "rethink")])
            == most
        )
