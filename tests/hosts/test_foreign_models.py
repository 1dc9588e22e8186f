"""Models of the user's own, which no provider's class of a framework stands for, and which count no tokens."""

import json
from collections.abc import Callable
from importlib import import_module
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
from manyheads.replies import Review
from support.fill import fill

REVIEW = json.dumps(fill(Review.model_json_schema(), "x"))
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
