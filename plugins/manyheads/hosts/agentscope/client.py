"""Models of AgentScope: its own class for a provider, behind a governor, for a turn or a role's agent."""

import base64
import json
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, cast
from uuid import uuid4

from agentscope.credential import AnthropicCredential, CredentialBase, OllamaCredential, OpenAICredential
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import (
    AssistantMsg,
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserMsg,
)
from agentscope.model import (
    AnthropicChatModel,
    ChatModelBase,
    ChatResponse,
    ChatUsage,
    OllamaChatModel,
    OpenAIChatModel,
)
from agentscope.tool import ToolChoice
from pydantic import SecretStr

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ConfigError, install_command
from manyheads.base.text import scrubbed
from manyheads.config import ModelConfig, Provider
from manyheads.core import Message
from manyheads.hosts.clients import Ledger, ServedModel, tap
from manyheads.models.answers import sound_arguments
from manyheads.models.offline import LocalModel
from manyheads.models.requests import key_of

Known = OpenAIChatModel | OllamaChatModel | AnthropicChatModel


def to_msg(message: Message, speaker: str) -> Msg:
    """A message of a thread; the speaker's own messages have its name."""
    if message.sender == "assistant":
        return AssistantMsg(name=speaker, content=message.text)
    images = (
        Base64Source(data=base64.b64encode(image.data).decode("ascii"), media_type=image.media_type)
        for image in message.images
    )
    return UserMsg(
        name="user", content=[TextBlock(text=message.text), *(DataBlock(source=i) for i in images)]
    )


class PlainFormatter(OpenAIChatFormatter):
    """Sends a message without pictures as a string; llama.cpp's Python server, among others, takes no list of parts."""

    async def format(self, msgs: list[Msg]) -> list[dict[str, Any]]:
        messages = await super().format(msgs)
        for message in messages:
            parts = message.get("content")
            if isinstance(parts, list) and parts and all(part.get("type") == "text" for part in parts):
                message["content"] = "\n".join(part["text"] for part in parts)
        return messages


class NativeModel(ServedModel[ChatModelBase]):
    """A model of the config with AgentScope's model of its provider."""

    client_type = ChatModelBase

    def open(self) -> Known:
        config = self.config
        shared: dict[str, Any] = {
            "model": config.name, "stream": False, "max_retries": 0, "context_size": config.window,
            "client_kwargs": {"timeout": config.timeout},
        }  # fmt: skip
        key = SecretStr(key_of(config, self.alias))
        if config.provider != "ollama":
            shared["client_kwargs"]["max_retries"] = 0
        try:
            match config.provider:
                case "openai":
                    credential = OpenAICredential(api_key=key, base_url=config.address)
                    model = OpenAIChatModel(credential, formatter=PlainFormatter(), **shared)
                case "anthropic":
                    credential = AnthropicCredential(api_key=key, base_url=config.address)
                    limit = AnthropicChatModel.Parameters(max_tokens=config.max_tokens)
                    model = AnthropicChatModel(credential, parameters=limit, **shared)
                case _:
                    model = OllamaChatModel(OllamaCredential(host=config.address), **shared)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"provider {config.provider!r} needs the package {error.name!r}, which is not installed",
                hint=install_command("agentscope"),
            ) from error
        tap(model.client, config)
        return model

    @staticmethod
    async def shut(client: ChatModelBase) -> None:
        sdk: Any = cast(Known, client).client
        await (sdk._client.aclose() if isinstance(client, OllamaChatModel) else sdk.close())

    def borrow(self, ready: ChatModelBase) -> ChatModelBase:
        """A copy without streaming and retries; it shares the user's connections."""
        ours = copy(ready)
        ours.stream, ours.max_retries = False, 0
        if isinstance(ready, OpenAIChatModel) and type(ready.formatter) is OpenAIChatFormatter:
            vars(ours)["formatter"] = PlainFormatter()
        if isinstance(ready, OpenAIChatModel | AnthropicChatModel):
            vars(ours)["client"] = ready.client.with_options(max_retries=0)
        return ours

    @staticmethod
    def as_message(message: Msg) -> Message | None:
        block = _text_of(message)
        return Message(block.text, "assistant" if message.role == "assistant" else "user") if block else None

    @staticmethod
    def with_text(message: Msg, text: str) -> Msg:
        block = _text_of(message)
        content = [TextBlock(text=text) if part is block else part for part in message.content]
        return message.model_copy(update={"content": content})

    @staticmethod
    def describe(client: ChatModelBase, base: ModelConfig) -> ModelConfig:
        kinds: dict[Provider, type[ChatModelBase]] = {
            "anthropic": AnthropicChatModel,
            "ollama": OllamaChatModel,
        }
        credential = getattr(client.credential, "__dict__", {})  # a model of the user's own may have none
        address = credential.get("base_url") or credential.get("host")
        update = {
            "base_url": scrubbed(address) if address else None,
            "provider": next((name for name, kind in kinds.items() if isinstance(client, kind)), "openai"),
            "name": client.model,
            "context": client.context_size,
            # Other classes than these two pass a provider's options to APIs that may not take them.
            "response_format": base.response_format
            if isinstance(client, OpenAIChatModel | OllamaChatModel)
            else False,
        }
        return base.model_copy(update=update)


class GovernedModel(ChatModelBase):
    """A thin wrapper of a shared model, for one turn or the life of a role's agent.

    Args:
        served: the model of the config.
        ledger: records usage, notes and failures of tools.
        reply_type: sent as the provider's response format if it takes one.
    """

    def __init__(
        self,
        served: ServedModel[ChatModelBase],
        ledger: Ledger,
        reply_type: type[ReplyModel] | None = None,
    ) -> None:
        inner, config = None if served.local else served.client, served.config
        super().__init__(
            inner.credential if inner else CredentialBase(), inner.model if inner else config.name,
            inner.parameters if inner else self.Parameters(), stream=False, max_retries=0,
            context_size=config.window,
        )  # fmt: skip
        self.formatter: Any = vars(inner)["formatter"] if inner else OpenAIChatFormatter()
        self.served, self.ledger = served, ledger
        self._reply_type, self._ids = reply_type, set[str]()

    async def __call__(
        self,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        """One governed request.

        The base class turns a cancelled call into an ordinary response; here the cancellation is raised.

        Raises:
            ModelError: the server cannot be reached, refuses, or still fails after retries.
        """
        return await self._call_api(self.model, messages, tools, tool_choice, **kwargs)

    async def _call_api(
        self,
        model_name: str,
        messages: list[Msg],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: ToolChoice | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        served = self.served

        async def count(messages: Sequence[Msg]) -> int:
            return await self.count_tokens(list(messages), tools)

        async def send(fitting: Sequence[Msg], tokens: int, form: Mapping[str, Any]) -> ChatResponse:
            if served.local:
                return await _answer_here(served.local, fitting, self.ledger)
            call: Any = served.client._call_api(
                model_name, list(fitting), tools, tool_choice, **{**served.settings(tokens), **kwargs}, **form
            )
            before = self.ledger.usage
            response: ChatResponse = await served.counted(call, self.ledger, tokens, _spent)  # never a stream
            cost, spent = self.ledger.usage - before, response.usage
            response.usage = ChatUsage(
                cost.input_tokens, cost.output_tokens, time=spent.time if spent else 0.0
            )
            for call in calls_of(response):
                call.input = sound_arguments(call.name, call.input)
            return response

        response = await served.request(
            messages, count, send, self.ledger, self._reply_type, tools=bool(tools)
        )
        may_call = tools and not (tool_choice and tool_choice.mode == "none")
        calls = calls_of(response) if may_call else []  # some servers send calls where none may be made
        for call in calls:
            # Some servers reuse ids: AgentScope would mistake the call for a finished one and skip it.
            if not call.id or call.id in self._ids:
                call.id = uuid4().hex[:9]  # Mistral's servers take ids of nine letters and digits only
            self._ids.add(call.id)
        if not calls:  # AgentScope would repeat the request without end after an answer with only thoughts
            dropped = ThinkingBlock, ToolCallBlock
            response.content = [part for part in response.content if not isinstance(part, dropped)]
        return response

    async def close(self) -> None:
        """Release the connections of a model made from a config; for roles' agents, after use."""
        await self.served.close()


def _text_of(msg: Msg) -> TextBlock | None:
    """The text of a question or an answer, which may be shortened; None for system messages and tool results."""
    kept = msg.role == "system" or any(
        isinstance(part, ToolCallBlock | ToolResultBlock) for part in msg.content
    )
    return None if kept else next((part for part in msg.content if isinstance(part, TextBlock)), None)


def _spent(response: ChatResponse) -> tuple[int, int, object, bool]:
    spent = response.usage
    return spent.input_tokens if spent else 0, spent.output_tokens if spent else 0, response.content, False


def calls_of(response: ChatResponse) -> list[ToolCallBlock]:
    return [block for block in response.content if isinstance(block, ToolCallBlock)]


async def _answer_here(local: LocalModel, messages: Sequence[Msg], ledger: Ledger) -> ChatResponse:
    """The answer of a model in this process, which counts the results of tool calls without reading them.

    Hints, which hooks put into a message, become separate messages.
    """
    system, thread, answered = list[str](), list[Message](), 0
    for msg in messages:
        text = msg.get_text_content() or ""
        if msg.role == "system":
            system.append(text)
            continue
        if text:
            thread.append(Message(text, "assistant" if msg.role == "assistant" else "user"))
        for block in msg.content:
            answered += isinstance(block, ToolResultBlock)
            if isinstance(block, HintBlock):
                parts = [TextBlock(text=block.hint)] if isinstance(block.hint, str) else block.hint
                thread.append(Message("\n".join(part.text for part in parts if isinstance(part, TextBlock))))
    raw = await local.complete("\n".join(system), thread, answered)
    ledger.enter(raw.usage, raw.model, raw.truncated)
    calls = [
        ToolCallBlock(id=f"call_{number}", name=call.name, input=json.dumps(call.arguments))
        for number, call in enumerate(raw.tool_calls, start=1)
    ]
    text = [TextBlock(text=raw.text)] if raw.text else []
    usage = ChatUsage(raw.usage.input_tokens, raw.usage.output_tokens, time=0.0)
    return ChatResponse(content=[*text, *calls], is_last=True, usage=usage)
