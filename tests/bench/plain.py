"""The hosts' plain agents, as one would call them without us: a fresh agent a call, one shared client."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

Ask = Callable[[str, str], Awaitable[object]]
"""System prompt and question to an answer."""


@asynccontextmanager
async def autogen(base_url: str) -> AsyncGenerator[Ask]:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core.models import ModelFamily, ModelInfo
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    info = ModelInfo(
        vision=False,
        function_calling=True,
        json_output=True,
        structured_output=True,
        family=ModelFamily.UNKNOWN,
    )
    client = OpenAIChatCompletionClient(
        model="test", base_url=base_url, api_key="none", max_retries=0, model_info=info
    )

    async def ask(system: str, text: str) -> object:
        return await AssistantAgent("agent", client, system_message=system).run(task=text)

    yield ask
    await client.close()


@asynccontextmanager
async def agentscope(base_url: str) -> AsyncGenerator[Ask]:
    from agentscope.agent import Agent
    from agentscope.credential import OpenAICredential
    from agentscope.message import UserMsg
    from agentscope.model import OpenAIChatModel
    from pydantic import SecretStr

    credential = OpenAICredential(api_key=SecretStr("none"), base_url=base_url)
    model = OpenAIChatModel(credential, "test", stream=False, max_retries=0, context_size=128_000)

    async def ask(system: str, text: str) -> object:
        agent = Agent(name="agent", system_prompt=system, model=model)
        return await agent.reply(UserMsg(name="user", content=text))

    yield ask
    await model.client.close()


@asynccontextmanager
async def agent_framework(base_url: str) -> AsyncGenerator[Ask]:
    from agent_framework import Agent
    from agent_framework_openai import OpenAIChatCompletionClient
    from openai import AsyncOpenAI

    sdk = AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0)
    client = OpenAIChatCompletionClient("test", async_client=sdk)

    async def ask(system: str, text: str) -> object:
        return await Agent(client, system).run(text)

    yield ask
    await sdk.close()


PLAIN: Mapping[str, Callable[[str], AbstractAsyncContextManager[Ask]]] = {
    "autogen": autogen,
    "agentscope": agentscope,
    "agent_framework": agent_framework,
}
