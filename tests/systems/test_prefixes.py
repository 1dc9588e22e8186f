"""What requests share at their beginnings: the count of `make prompts`, and schemas and tools that stay the same bytes all through a run."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.prefixes import FLOOR, LETTERS, RUNS, STEP, answers_of, counted, share
from manyheads.asking.forms import schema_of
from manyheads.asking.replies import seeking, sent
from manyheads.models.abilities import form_arguments
from manyheads.systems.mamorx.replies import Correction, Inquiries, correction_of, inquiries_of
from manyheads.systems.virsci.replies import Idea, SelfReview, idea_after, review_of
from support.direct import EVERY, Play
from support.manuscripts import committee, tei
from support.requests import Request
from support.wires import Answer

LONG = "word " * FLOOR
AIMS = {"virsci": 0.5, "mamorx": 0.78, "scipip": 0.2, "rebuttal": 0.2}


def request(at: float, *said: str, **front: Any) -> Answer:
    messages = [{"role": "user", "content": text} for text in said]
    return Answer("", Request("/v1/chat/completions", {}, {"messages": messages, **front}, at))


def repeated(*answers: Answer) -> list[int]:
    return [each.repeated for each in counted(answers, delay=1)]


def test_what_repeats_an_answered_request_counts_from_1024_tokens_on_in_steps_of_128() -> None:
    short = "word " * (FLOOR * LETTERS // 5 - 10)
    assert repeated(request(0, short), request(2, short)) == [0, 0]
    first, second = repeated(request(0, LONG + "a"), request(2, LONG + "b"))
    assert first == 0
    assert (second - FLOOR) % STEP == 0
    assert len(LONG) // LETTERS - STEP < second <= len(LONG) // LETTERS + STEP
    assert repeated(request(0, LONG), request(0.5, LONG), request(2, LONG))[1:] == [0, second]


def test_what_differs_in_front_leaves_nothing_to_repeat() -> None:
    assert repeated(request(0, LONG), request(2, LONG, tools=[{"name": "look"}])) == [0, 0]
    assert repeated(request(0, f"You are Ada.{LONG}"), request(2, f"You are Bob.{LONG}")) == [0, 0]


@pytest.mark.parametrize("kinds", [
    (idea_after(Idea, 0), idea_after(Idea, 1), idea_after(Idea, 7)),
    (seeking(idea_after(Idea, 1)), seeking(idea_after(Idea, 7))),
    (review_of(SelfReview, 2), review_of(SelfReview, 5)),
    (inquiries_of(Inquiries, 1), inquiries_of(Inquiries, 6)),
    (correction_of(Correction, 2, 1), correction_of(Correction, 9, 4)),
])  # fmt: skip
@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_limits_that_change_in_a_run_are_not_sent_but_checked(kinds: tuple[Any, ...], provider: str) -> None:
    assert len({json.dumps(form_arguments(provider, kind)["schema"]) for kind in kinds}) == 1
    assert len({json.dumps(schema_of(kind)) for kind in kinds}) == len(kinds), "the prompt's form has them"
    for kind in kinds:
        assert [*sent(kind).model_fields] == [*kind.model_fields]


PAPERS = ("team.size=2", "ideas.references=2", "novelty.references=2", "self_review.enabled=true", "turns=2")
CASES: Mapping[str, tuple[str, ...]] = {
    "virsci": PAPERS,
    "virsci with guests": (*PAPERS, "invitation.enabled=true"),
    "virsci with tools": (*PAPERS, "invitation.enabled=true", "models.default.tools=true"),
    "rebuttal": ("system=rebuttal", "inputs.background=['Owls plan.']", "rebuttal.max_iters=2"),
    "scipip": ("system=scipip", "inputs.background=Owls plan."),
    "mamorx": (),
}


@pytest.mark.parametrize("host", EVERY)
@pytest.mark.parametrize("case", CASES)
async def test_all_requests_of_a_task_send_one_schema_and_the_same_tools(
    run: Play, host: str, case: str, tmp_path: Path
) -> None:
    sets = CASES[case] or (*committee(tei(tmp_path / "paper.xml")), "mamorx.exchanges=5")
    asked = [{"kind": "ask", "expert": "impact", "text": "Why?", "expects": "Reasons."}] * 2
    played = await run(f"host={host}", *sets, inquiries=asked, improved=True)
    fronts = defaultdict[str, set[str]](set)
    for each in played.requests:
        [task] = re.findall(r"^# .*", each.asking, re.MULTILINE)[:1]
        offered = [each.body.get("response_format"), each.body.get("tools")]
        fronts[task].add(json.dumps(offered))
    assert len(fronts) > 3
    assert {task: len(some) for task, some in fronts.items() if len(some) > 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize("system", RUNS)
def test_runs_repeat_the_share_of_their_input_that_they_should(system: str) -> None:
    assert round(share(counted(answers_of(system))), 2) >= AIMS[system]
