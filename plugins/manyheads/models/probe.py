"""The abilities of a model on its server, tested by a few small requests."""

import base64
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pydantic import BaseModel, ValidationError

from manyheads.asking.json_text import UnreadableError, objects
from manyheads.asking.prompts import Prompts
from manyheads.base.http import GarbledError, RefusedError, is_failure
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig
from manyheads.core import NOTHING, Usage
from manyheads.models.abilities import (
    COLOURS,
    Abilities,
    abilities_of,
    colours_in,
    forms_of,
    image_of_bands,
    is_openai,
    keep,
    openai_settings,
    other_limit,
)
from manyheads.models.answers import SoundTransport, body_of, refusal_of
from manyheads.models.governor import in_words, matter_of
from manyheads.models.requests import key_of, key_variable, server_address, usage_of

TOKENS = 300
"""Maximum tokens of one answer; if a thinking model needs more, the ability stays unknown."""
ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOL = {"type": "function", "function": {"name": "add_numbers", "parameters": ADD}}
WINDOWS = ("max_model_len", "max_context_length", "context_length", "context_window", "n_ctx", "n_ctx_train")
"""Names for a model's context in servers' lists."""


class Sea(BaseModel):
    """A text that no model would write without being forced to by a schema."""

    ninth_wave: Literal["tall", "small"]
    gulls: int


@dataclass(frozen=True)
class ProbeAnswer:
    """The answer to one request. `whole` is False if it was cut at its length limit."""

    text: str
    calls: int
    whole: bool


@dataclass
class Probe:
    """The requests to one model; see `probe`."""

    config: ModelConfig
    alias: str
    usage: Usage = NOTHING
    _prompts: Prompts = field(default_factory=lambda: Prompts(Resources.of()))

    async def abilities(self) -> Abilities:
        """Test the model; see `probe`."""
        import httpx

        config = self.config
        headers = {"authorization": f"Bearer {key_of(config, self.alias)}"} if key_variable(config) else {}
        if config.provider == "anthropic":
            key = key_of(config, self.alias)
            headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        async with (
            httpx.AsyncClient(headers=headers, timeout=config.timeout) as listing,
            httpx.AsyncClient(
                headers=headers,
                timeout=config.timeout,
                transport=cast(Any, SoundTransport(listing, config.provider)),
            ) as http,
        ):
            self._listing, self._http = listing, http
            match config.provider:
                case "ollama":
                    return await self._ollama()
                case "anthropic":
                    limited = {"model": config.name, "max_tokens": 20, "messages": self._messages("ready")}
                    await self._ask("/v1/messages", limited)
                    return Abilities(form="none")
                case _:
                    return await self._openai()

    async def _openai(self) -> Abilities:
        await self._chat("ready")
        tools = await self._try("tools", tools=[TOOL])
        calls = tools.calls if tools else 0
        forms = forms_of(self.config, Sea)
        form: Literal["schema", "object", "none"] = "schema"
        unwanted = is_openai(self.config) and self.config.response_format != "schema"  # see `forms_for`
        if unwanted or not fits(await self._try("form", **forms["schema"])):
            form = "object" if is_object(await self._try("form", **forms["object"])) else "none"
        both = None
        if calls and form != "none":
            answer = await self._try("tools", tools=[TOOL], **forms[form])
            both = bool(answer and answer.calls)
        return Abilities(
            tools=None if tools and not calls and not tools.whole else bool(calls),
            parallel=calls > 1 if calls else None,
            form=form,
            both=both,
            vision=await self._sees(),
            context=await self._window(),
        )

    async def _ollama(self) -> Abilities:
        """Ollama lists a model's abilities; it only gets one request to answer."""
        shown = await self._get("POST", "/api/show", {"model": self.config.name})
        await self._chat("ready")
        able = shown.get("capabilities")
        info = cast(dict[str, Any], shown.get("model_info") or {})
        windows = [value for name, value in info.items() if name.endswith(".context_length")]
        return Abilities(
            tools="tools" in able if isinstance(able, list) else None,
            form="schema" if fits(await self._try("form", format=Sea.model_json_schema())) else "none",
            both=False,
            vision="vision" in able if isinstance(able, list) else None,
            context=next((value for value in windows if type(value) is int and value > 0), None),
        )

    async def _sees(self) -> bool | None:
        """Whether it names the colours of an image; None if it answers otherwise."""
        bands = f"data:image/png;base64,{base64.b64encode(image_of_bands()).decode()}"
        text = {"type": "text", "text": self._prompts.render("probe/image.md.j2", {}).strip()}
        content = [text, {"type": "image_url", "image_url": {"url": bands}}]
        answer = await self._try("image", messages=[{"role": "user", "content": content}])
        return False if answer is None else True if colours_in(answer.text) == COLOURS else None

    async def _window(self) -> int | None:
        """The context, from the server's list of models, or from llama.cpp's own page."""
        if is_openai(self.config):
            return None
        import httpx

        with suppress(httpx.HTTPError, GarbledError, RefusedError):
            listed = await self._get("GET", "/models")
            models = [one for one in listed.get("data") or [] if isinstance(one, dict)]
            mine = [one for one in models if one.get("id") == self.config.name] or models
            if len(mine) == 1 and (window := window_in(mine[0])):
                return window
        with suppress(httpx.HTTPError, GarbledError, RefusedError):
            return window_in(await self._get("GET", "/../props"))
        return None

    def _messages(self, prompt: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": self._prompts.render(f"probe/{prompt}.md.j2", {}).strip()}]

    async def _try(self, prompt: str, **body: Any) -> ProbeAnswer | None:
        """An answer, None if the server refuses the request or fails."""
        try:
            return await self._chat(prompt, **body)
        except (RefusedError, GarbledError):
            return None

    async def _chat(self, prompt: str, **body: Any) -> ProbeAnswer:
        config = self.config.model_copy(update={"max_tokens": TOKENS})
        body = {"model": config.name, "messages": self._messages(prompt), **body}
        if config.provider == "ollama":
            options = {"num_predict": TOKENS}
            return await self._ask("/api/chat", {**body, "stream": False, "options": options})
        try:
            return await self._ask("/chat/completions", {**openai_settings(config), **body})
        except RefusedError as error:
            if matter_of(error) != "limit" or abilities_of(config).limit:
                raise
            other_limit(config)
            return await self._ask("/chat/completions", {**openai_settings(config), **body})

    async def _ask(self, path: str, body: Mapping[str, Any]) -> ProbeAnswer:
        answer = (await self._http.post(self._address(path), json=body)).json()
        choice: dict[str, Any] = (answer.get("choices") or [answer])[0]
        message: dict[str, Any] = choice.get("message") or {}
        spent = answer.get("usage") or {}
        read = spent.get("prompt_tokens", spent.get("input_tokens", answer.get("prompt_eval_count")))
        written = spent.get("completion_tokens", spent.get("output_tokens", answer.get("eval_count")))
        self.usage += usage_of(self.config, read, written, body, message)
        ended = {choice.get("finish_reason"), choice.get("done_reason"), choice.get("stop_reason")}
        whole = not ended & {"length", "max_tokens"}
        return ProbeAnswer(message.get("content") or "", len(message.get("tool_calls") or []), whole)

    async def _get(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """A server's page about itself, a JSON object."""
        async with self._listing.stream(method, self._address(path), json=body) as response:
            if response.status_code >= 400:
                raise RefusedError(response.status_code, None, await refusal_of(response))
            try:
                value = json.loads(await body_of(response, 4_000_000))
            except ValueError as error:
                raise GarbledError("its answer is not JSON") from error
        if not isinstance(value, dict):
            raise GarbledError("its answer is not a JSON object")
        return cast(dict[str, Any], value)

    def _address(self, path: str) -> str:
        base = server_address(self.config).rstrip("/")
        if path.startswith("/../"):
            return f"{base.removesuffix('/v1')}{path[3:]}"
        return base + path


async def probe(config: ModelConfig, alias: str) -> tuple[Abilities, Usage]:
    """A model's abilities and their cost, tested by about seven small requests and cached for a day.

    Raises `ModelError` if the server cannot be reached, or refuses even a plain request; `ConfigError` without its key.
    """
    asking = Probe(config, alias)
    try:
        found = await asking.abilities()
    except Exception as error:
        if not is_failure(error):
            raise
        raise in_words(error, alias, config, 1) from error
    found = found.model_copy(update={"limit": abilities_of(config).limit})
    keep(config, found)
    return found, asking.usage


def in_short(config: ModelConfig, found: Abilities) -> str:
    """Abilities in one line for the user; the config has priority."""
    tools = found.tools if config.tools is None else config.tools
    ways = {"schema": "json_schema", "object": "json_object", "none": "not used; the prompt shows the form"}
    able = found.form or "none"
    form = able if config.response_format is True else config.response_format or "none"
    taken = "" if form == able else f" (tested: {'none' if able == 'none' else ways[able]})"
    words = {True: "yes", False: "no", None: "not known"}
    several = ", several at once" if tools and found.parallel else ""
    beside = "" if found.both is None or form == "none" else f", {'also' if found.both else 'not'} with tools"
    context = config.context or found.context
    vision = found.vision if config.vision is None else config.vision
    return "; ".join([
        f"tools {words[tools]}{several}" + ("" if tools in (True, None) else " (fields of the reply replace them)"),
        f"response_format {ways[form]}{taken}{beside}",
        f"images {words[vision]}",
        f"context {context:,}" if context else f"context unknown ({config.window:,} assumed)",
    ])  # fmt: skip


def fits(answer: ProbeAnswer | None) -> bool:
    """Whether an answer fits the schema; an answer cut at its limit is not counted as a failure."""
    if answer is None or not answer.whole:
        return answer is not None
    with suppress(ValidationError, UnreadableError):
        return any(Sea.model_validate(each) for found in objects(answer.text) for each in found.dicts)
    return False


def is_object(answer: ProbeAnswer | None) -> bool:
    """Whether an answer is only JSON."""
    if answer is None or not answer.whole:
        return answer is not None
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(answer.text), dict)
    return False


def window_in(model: Mapping[str, Any]) -> int | None:
    """A context in a server's list, under any known name."""
    parts: Sequence[Any] = (model, model.get("meta"), model.get("default_generation_settings"))
    values = (part.get(name) for part in parts if isinstance(part, dict) for name in WINDOWS)
    return next((value for value in values if type(value) is int and value > 0), None)
