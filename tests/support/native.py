"""Any system as each host's own team, used alike."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from inspect import isawaitable
from pathlib import Path
from typing import Any

from agent_framework import Message as AFMessage
from agent_framework_openai import OpenAIChatCompletionClient
from agentscope.console import ConsoleRenderer
from agentscope.credential import OpenAICredential
from agentscope.event import ModelCallEndEvent, ReplyEndEvent, ReplyStartEvent, UserInterruptEvent
from agentscope.message import AssistantMsg, UserMsg
from agentscope.model import OpenAIChatModel
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from autogen_ext.models.openai import OpenAIChatCompletionClient as AGClient
from openai import AsyncOpenAI
from pydantic import SecretStr
from rich.console import Console

from manyheads.config import ModelConfig, RunConfig
from manyheads.config.files import merge
from manyheads.core import Recall, recall_nothing
from manyheads.engine.replying import StructuredHost
from manyheads.hosts import host_factory
from manyheads.hosts.agent_framework import agent_of
from manyheads.hosts.agentscope import pipeline_of
from manyheads.hosts.autogen import team_of
from manyheads.hosts.autogen.client import model_info
from manyheads.judges.replies import CRITERIA, ReviewPlacing
from manyheads.systems.loading import validate
from support.llm import LLM

SMALL: dict[str, dict[str, Any]] = {
    "virsci": {"team": {"size": 2}, "turns": 1, "invitation": {"enabled": False}},
    "self-reflection": {"baseline": {"rounds": 2}},
    "discussion": {"baseline": {"turns": 1}},
    "single": {"baseline": {"tokens": 9000}},
    "conference-review": {"review": {"repeats": 2}},
    "rebuttal": {"rebuttal": {"max_iters": 2}},
    "ranking": {"ranking": {"ideas": ["We plan with bats.", "We plan with moles."], "orders": 2}},
    "scipip": {"scipip": {"ideas": 5, "brainstorm": [2, 3], "papers": 4}},
    "mamorx": {"mamorx": {"exchanges": 3, "novelty": {"enabled": False}}},
    "idea-comparison": {"inputs": {"rivals": ["We plan with moles."]}},
    "review-comparison": {"inputs": {"rivals": ["The paper counts moles, and no others."]}},
    "idea-novelty": {"idea-novelty": {"rounds": 2}, "literature": {"cascade": ["local"]}},
    "interview": {"inputs": {"idea": "We plan with owls.", "scientist": "Scientist3"}},
    "society": {
        "society": {
            "epochs": 1,
            "teams": 2,
            "size": {"draw": "fixed", "most": 2},
            "acceptance": {"by": "hd", "least": 0},
        }
        | {"virsci": {"turns": 1, "invitation": {"enabled": False}, "novelty": {"enabled": False}}},
    },
    "idea-match": {},
    "retrieval-recall": {},
    "planted-error": {},
}
"""Each system with as few questions as show how it goes."""
TOPIC = "How retrieval fails on long documents"
PAPER = "# Owls for planning\n\nWe plan with owls. We expect fewer collisions than with drones, and less noise over the houses."
ABOUT_A_PAPER = (
    "idea-comparison",
    "review-comparison",
    "idea-novelty",
    "idea-match",
    "conference-review",
    "ranking",
    "mamorx",
)
OF_NOTHING = (
    "retrieval-recall",
    "planted-error",
    "society",
)  # given no text; or reviews of certain papers, and they ask nobody
ASKED = {system: PAPER if system in ABOUT_A_PAPER else TOPIC for system in SMALL if system not in OF_NOTHING}
"""What each is given: the text to review or to rank ideas beside, a topic, or an abstract to start from."""
ANSWERS: dict[str, Any] = {
    "choice": 1,
    "places": [dict.fromkeys((*CRITERIA, *ReviewPlacing.model_fields, "idea"), place) for place in (2, 1)],
    "ranking": [{"idea": place, "rationale": f"It is number {place}."} for place in (3, 1, 2)],
}
"""What cannot be made up from a schema: a choice among few, each of three ideas once."""


def small(system: str, llm: LLM | None = None, **more: Any) -> RunConfig:
    """A small run of a system, its model on `llm` or offline."""
    server = {"provider": "openai", "name": "test", "base_url": llm.base_url, "retries": 0} if llm else {}
    data: dict[str, Any] = {
        "system": system,
        "seed": 3,
        "embedding": "lexical",
        "ideas": {"references": 2},
        "novelty": {"references": 2},
        "models": {"default": server},
    }
    return validate(merge(merge(data, SMALL[system]), more), "test", strict=False)


CLASSES: dict[str, Callable[[str], type[Any]]] = {
    "autogen": team_of,
    "agentscope": pipeline_of,
    "agent_framework": agent_of,
}
"""The class of a system on each host."""
Said = str | Sequence[str] | Mapping[str, str] | None
"""A message, several, or those of speakers by name."""


def by_speaker(text: Said) -> list[tuple[str, str]]:
    """Who says what."""
    if isinstance(text, Mapping):
        return list(text.items())
    return [("user", each) for each in ([text] if isinstance(text, str) else text or ())]


class Native:
    """A host's own team of a system.

    Attributes:
        told: the text that its last run has ended with.
        said: all that a reader is shown of its last run.
        tokens: read and written in its last run, as the host counts them.
    """

    def __init__(self, host: str, config: RunConfig, out: Path, **more: Any) -> None:
        self._team: Any = CLASSES[host](config.system)(config, out=out, **more)
        self._host = host
        self._token, self._running = CancellationToken(), asyncio.Future[None]()
        self.told, self.said, self.tokens = "", "", (0, 0)

    async def run(self, text: Said) -> Path:
        """One run of a message, or of several, to its end; gives its folder."""
        self._running = asyncio.ensure_future(getattr(self, f"_run_{self._host}")(text))
        await self._running
        return await self.folder()

    async def _run_agent_framework(self, text: Said) -> None:
        messages = [AFMessage("user", [each], author_name=who) for who, each in by_speaker(text)]
        response = await self._team.run(None if text is None else messages)
        self.told = response.messages[-1].text
        self.said = "\n".join(message.text for message in response.messages)
        spent = response.usage_details or {}
        self.tokens = spent.get("input_token_count", 0), spent.get("output_token_count", 0)

    async def _run_autogen(self, text: Said) -> None:
        self._token = CancellationToken()
        task = [TextMessage(content=each, source=who) for who, each in by_speaker(text)]
        task = text if text is None or isinstance(text, str) else task
        result: TaskResult = await self._team.run(task=task, cancellation_token=self._token)
        self.told = result.messages[-1].to_text()
        self.said = "\n".join(message.to_text() for message in result.messages)
        spent = [each.models_usage for each in result.messages if each.models_usage]
        self.tokens = sum(each.prompt_tokens for each in spent), sum(each.completion_tokens for each in spent)

    async def _run_agentscope(self, text: Said) -> None:
        said = [(UserMsg if who == "user" else AssistantMsg)(who, each) for who, each in by_speaker(text)]
        renderer, events = ConsoleRenderer(console=Console(quiet=True)), list[Any]()
        async for event in self._team.reply_stream(None if text is None else said):
            renderer.render(event)
            events.append(event)
        assert renderer.last_msg
        assert renderer.last_msg.finished_reason == "completed"
        kinds = [type(event) for event in events]
        assert (kinds[0], kinds[-1]) == (ReplyStartEvent, ReplyEndEvent)
        assert kinds.count(ReplyStartEvent) == kinds.count(ReplyEndEvent) == 1
        self.said = self.told = renderer.last_msg.get_text_content() or ""
        calls = [event for event in events if isinstance(event, ModelCallEndEvent)]
        self.tokens = sum(each.input_tokens for each in calls), sum(each.output_tokens for each in calls)

    async def stop(self) -> None:
        """End the run that is under way, as the host's users do."""
        if self._host == "autogen":
            self._token.cancel()
            return
        if self._host == "agent_framework":
            self._running.cancel()
            return
        async for _ in self._team.reply_stream(UserInterruptEvent(reply_id="any")):
            raise AssertionError("an interrupt is no reply")

    async def run_and_stop(self, text: Said, llm: LLM, calls: int) -> Path:
        """Begin a run and stop it when so many questions have come; gives its folder."""
        running = asyncio.create_task(self.run(text))
        while llm.calls < calls:
            assert not running.done(), "it ended before it could be stopped"
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)  # what was asked beside the last question is answered
        await self.stop()
        await asyncio.gather(running, return_exceptions=True)
        return await self.folder()

    async def pause(self) -> None:
        """Let it ask nobody until `resume`."""
        await _awaited(self._team.pause())

    async def resume(self) -> None:
        """Go on after `pause`."""
        await _awaited(self._team.resume())

    async def state(self) -> dict[str, Any]:
        """What it saves, as a file gives it."""
        return json.loads(json.dumps(await _awaited(self._team.save_state())))

    async def load(self, state: dict[str, Any]) -> None:
        """Take over what another has saved."""
        await _awaited(self._team.load_state(state))

    async def folder(self) -> Path:
        """Of its last run."""
        return Path((await self.state())["folder"])


async def _awaited(value: Any) -> Any:
    """What a method gives, which only AutoGen's must be awaited for."""
    return await value if isawaitable(value) else value


Hosting = Callable[..., AbstractAsyncContextManager[StructuredHost]]


def hosting(name: str) -> Hosting:
    """Opens a host on models, or on one that is the default."""

    @asynccontextmanager
    async def opened(
        models: ModelConfig | Mapping[str, ModelConfig], recall: Recall = recall_nothing, attempts: int = 3
    ) -> AsyncGenerator[StructuredHost]:
        aliases = {"default": models} if isinstance(models, ModelConfig) else models
        made = host_factory(name)(aliases, recall, attempts)
        assert isinstance(made, StructuredHost)
        try:
            yield made
        finally:
            await made.close()

    return opened


def plain_client(base_url: str, name: str = "m") -> Any:
    """A client of Agent Framework's own, as its users make one."""
    sdk = AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0)
    return OpenAIChatCompletionClient(name, async_client=sdk)


@asynccontextmanager
async def own_client(
    host: str, base_url: str, name: str = "m", *, stream: bool = False
) -> AsyncGenerator[Any]:
    """A client of a framework's own, as its users make one; closed at the end."""
    if host == "autogen":
        info = model_info(ModelConfig(provider="openai"))
        yield (client := AGClient(model=name, base_url=base_url, api_key="k", model_info=info, max_retries=0))
        await client.close()
        return
    if host == "agent_framework":
        client = plain_client(base_url, name)
    else:
        credential = OpenAICredential(api_key=SecretStr("k"), base_url=base_url)
        client = OpenAIChatModel(credential, name, stream=stream)
    yield client
    await client.client.close()


@asynccontextmanager
async def role_of(
    name: str, role: str, *args: Any, **more: Any
) -> AsyncGenerator[Callable[[str], Awaitable[str]]]:
    """A role's agent of a host, to be asked."""
    agent = import_module(f"manyheads.hosts.{name}").role_agent(role, *args, **more)

    async def ask(question: str) -> str:
        if name == "autogen":
            return (await agent.run(task=question)).messages[-1].to_text()
        if name == "agent_framework":
            return (await agent.run(question, session=agent.chat)).messages[-1].text
        return (await agent.reply(UserMsg("user", question))).get_text_content() or ""

    try:
        yield ask
    finally:
        await agent.close()
