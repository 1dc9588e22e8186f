"""MAMORX read off what reaches a model server: who is asked what, what a review rests on, what is left of a broken one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.llm import LLM
from support.manuscripts import tei
from support.play import Played, config_for, play

Play = Callable[..., Any]
TOOLS = "models.default.tools=true"
HOSTS = ["autogen", pytest.param("agentscope", marks=pytest.mark.slow)]


@pytest.fixture
def run(llm: LLM, tmp_path: Path) -> Play:
    async def runner(*sets: str, folder: str = "run", **answers: object) -> Played:
        llm.answers.update({"finished": True, **answers})
        paper = tmp_path / "paper.tei.xml"
        if not paper.exists():
            tei(paper)
        sets = ("system=mamorx", f"inputs.paper={paper}", "mamorx.novelty.enabled=false",
                "mamorx.references.enabled=false", "mamorx.figures.enabled=false", *sets)  # fmt: skip
        return await play(config_for(llm, *sets), tmp_path / folder, llm)

    return runner


def question(expert: str, text: str = "What is missing?") -> tuple[str, dict[str, Any]]:
    return "ask", {"expert": expert, "question": text, "expects": "A list."}


@pytest.mark.parametrize("host", HOSTS)
async def test_experts_who_are_asked_at_once_by_tools_answer_at_once(run: Play, llm: LLM, host: str) -> None:
    llm.delay = 0.1
    llm.tool_calls = [question("clarity"), question("experiments"), question("impact")]
    played = await run(TOOLS, f"host={host}")
    assert [each["expert"] for each in played.result["exchanges"]] == ["clarity", "experiments", "impact"]
    assert all(each["answer"] for each in played.result["exchanges"])
    assert llm.peak == 3
