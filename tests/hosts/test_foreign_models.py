"""Models of the user's own, which no provider's class of a framework stands for, and which count no tokens."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from agent_framework import BaseChatClient, Content
from agent_framework import ChatResponse as AFResponse
from agent_framework import Message as AFMessage
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import TextBlock
from agentscope.model import ChatModelBase, ChatResponse
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

from manyheads import ask
from manyheads.systems.conference_review.replies import ConferenceReview
from manyheads.systems.rebuttal.replies import Review
from support.command import result_of
from support.fill import fill
from support.native import PAPER, Native, small

REVIEW = json.dumps(
    {**fill(ConferenceReview.model_json_schema(), "x"), **fill(Review.model_json_schema(), "x")}
)
"""As a reviewer of ideas or of a conference gives it."""
INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    structured_output=True,
    family=ModelFamily.UNKNOWN,
)


class AutoGens(ReplayChatCompletionClient):
    def __init__(self) -> None:
        super().__init__([""], model_info=INFO)

    async def create(self, *given: Any, **more: Any) -> CreateResult:
        return CreateResult(
            finish_reason="stop", content=REVIEW, usage=RequestUsage(prompt_tokens=0, completion_tokens=0),
            cached=False,
        )  # fmt: skip


class AgentScopes(ChatModelBase):
    def __init__(self) -> None:
        super().__init__(
            credential=cast(Any, None), model="mine", stream=False, max_retries=0, context_size=128_000,
            parameters=self.Parameters(),
        )  # fmt: skip
        self.formatter = OpenAIChatFormatter()

    async def _call_api(self, *given: Any, **more: Any) -> ChatResponse:
        return ChatResponse(content=[TextBlock(text=REVIEW)], is_last=True)


class AgentFrameworks(BaseChatClient[Any]):
    OTEL_PROVIDER_NAME = "mine"

    def _inner_get_response(self, **given: Any) -> Any:
        async def answer() -> AFResponse[Any]:
            return AFResponse(messages=[AFMessage("assistant", [Content.from_text(REVIEW)])])

        return answer()


MODELS: dict[str, Callable[[], Any]] = {
    "autogen": AutoGens,
    "agentscope": AgentScopes,
    "agent_framework": AgentFrameworks,
}


@pytest.mark.parametrize("as_agent", [False, True])
async def test_tokens_that_it_does_not_count_are_estimated(name: str, as_agent: bool) -> None:
    model = MODELS[name]()
    if as_agent:
        who = import_module(f"manyheads.hosts.{name}").role_agent("reviewer", model)
        reply = await ask(who, "review", idea="We plan with owls.", full=True)
    else:
        reply = await ask("reviewer", "review", idea="We plan with owls.", model=model, full=True)
    assert isinstance(reply.value, Review)
    assert (reply.usage.calls, reply.usage.estimated) == (1, 1)
    assert reply.usage.input_tokens > 100
    assert reply.usage.output_tokens > 100


async def test_it_serves_a_team_with_its_own_key(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = small("conference-review", review={"repeats": 1})
    found = result_of(await Native(name, config, tmp_path, model=MODELS[name]()).run(PAPER))
    assert (found["usage"]["calls"], found["usage"]["estimated"]) == (1, 1)
