"""Known abilities of a model on its server, from `manyheads check` or from an error message; the image that tests its vision."""

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.asking.forms import schema_of
from manyheads.asking.replies import PlainText, ReplyModel, sent
from manyheads.base.errors import ConfigError, UserError
from manyheads.base.files import cache_folder, read_text, replace_text
from manyheads.config import ModelConfig
from manyheads.models.requests import options, served_at, server_address

Limit = Literal["max_tokens", "max_completion_tokens"]
"""The name of the length limit on an OpenAI-compatible server."""
FORMS = ("schema", "object", "none")
"""How a reply's schema is sent with the prompt, strictest first."""
MOST_ITEMS = 50
"""Maximum length of a list where its schema has none: under a grammar, a weak model else writes it until it is cut off.

Texts get no `maxLength`: llama.cpp's Python server ends on a grammar with a repetition of more than about 1,000."""
MOST_NUMBERS = 100
"""Maximum size of a range to write out."""
LASTING = 86_400.0
"""Seconds until abilities expire; the server may be restarted with another model of the same name."""
Form = Mapping[str, Any]
"""Arguments of a request for a reply's schema."""


class Abilities(BaseModel):
    """Abilities of one model on one server; None if unknown."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    tools: bool | None = None
    """Whether it calls a tool on request."""
    parallel: bool | None = None
    """Whether it makes two tool calls at once."""
    form: Literal["schema", "object", "none"] | None = None
    """The strictest form of a schema that it follows."""
    both: bool | None = None
    """Whether it still calls tools if the request has a schema."""
    vision: bool | None = None
    limit: Limit | None = None
    context: int | None = None
    """The server's window, in tokens."""
    at: float = 0.0
    """When tested, in seconds of `time.time`."""


NOTHING_KNOWN = Abilities()
_known: dict[str, Abilities] = {}


def key_of_server(config: ModelConfig) -> str:
    """Key of a model at an address, without any login in the address."""
    named = json.dumps([config.provider, server_address(config), config.name])
    return sha256(named.encode()).hexdigest()[:32]


def abilities_of(config: ModelConfig) -> Abilities:
    """The known abilities of a model; read from the cache once per process."""
    if config.provider not in ("openai", "ollama", "anthropic"):
        return NOTHING_KNOWN
    key = key_of_server(config)
    if key not in _known:
        _known[key] = NOTHING_KNOWN
        with suppress(OSError, UserError, ValidationError):
            kept = Abilities.model_validate_json(read_text(_file(key)))
            if 0 <= time.time() - kept.at < LASTING:
                _known[key] = kept
    return _known[key]


def remember(config: ModelConfig, **found: Any) -> Abilities:
    """Store abilities for this process."""
    known = _known[key_of_server(config)] = abilities_of(config).model_copy(update=found)
    return known


def keep(config: ModelConfig, found: Abilities) -> None:
    """Store abilities for this process and, for a day, for others."""
    key = key_of_server(config)
    _known[key] = found.model_copy(update={"at": time.time()})
    with suppress(OSError, UserError):  # without a cache they are tested again
        file = _file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_text(file, _known[key].model_dump_json())


def forget() -> None:
    """Forget the abilities in this process."""
    _known.clear()


def _file(key: str) -> Path:
    return cache_folder() / "models" / f"{key}.json"


def settled(config: ModelConfig, known: Abilities | None = None) -> ModelConfig:
    """A model's config, completed with its known abilities, current or stored."""
    known = known or abilities_of(config)
    missing = [name for name in ("tools", "vision", "context") if getattr(config, name) is None]
    return config.model_copy(update={name: getattr(known, name) for name in missing})


def is_openai(config: ModelConfig) -> bool:
    """Whether OpenAI itself serves the model, also in a region, not another server with the same protocol."""
    return config.provider == "openai" and served_at(config, "api.openai.com")


def limit_of(config: ModelConfig) -> Limit:
    """OpenAI's own models require the new name; many other servers know only the old one."""
    return abilities_of(config).limit or ("max_completion_tokens" if is_openai(config) else "max_tokens")


def other_limit(config: ModelConfig) -> Abilities:
    """Store that the server rejects the length limit's name."""
    refused = limit_of(config)
    return remember(config, limit=next(name for name in get_args(Limit) if name != refused))


def openai_settings(config: ModelConfig) -> dict[str, Any]:
    """Arguments for an OpenAI-compatible server."""
    limit = {limit_of(config): config.max_tokens}
    return options(temperature=config.temperature, seed=config.seed, **limit)


def takes_both(config: ModelConfig) -> bool:
    """Whether a request can have tools and a reply's schema."""
    return is_openai(config) or bool(abilities_of(config).both)


def keeps_tools(config: ModelConfig) -> bool:
    """Whether a request that allows no tool call sends the tools all the same, so that it begins as those before it.

    Other servers enforce the schema only without tools, and what they cache is free; Ollama has no `tool_choice`, and for
    Anthropic another one is another prompt.
    """
    return config.provider == "openai" and takes_both(config)


def forms_for(
    config: ModelConfig, reply_type: type[ReplyModel] | None, *, with_tools: bool
) -> dict[str, Form]:
    """Arguments for a reply's schema, strictest first, then fallbacks in case the provider rejects them.

    The last, `none`, is empty: the prompt contains the form anyway. A form set in the config has no fallback.
    """
    most = config.response_format
    formless = reply_type is None or issubclass(reply_type, PlainText) or most in (False, "none")
    if reply_type is None or formless:
        return {"none": {}}
    # servers that enforce a grammar (vLLM, llama.cpp, Ollama) silently make tool calls impossible
    if with_tools and not takes_both(config):
        return {"none": {}}
    forms = forms_of(config, reply_type)
    if most is not True:
        return {most: forms[most]} if most in forms else {"none": {}}
    first = FORMS.index(abilities_of(config).form or "schema")
    # OpenAI puts a schema before the prompt, where its cache then finds no beginning of another task
    if is_openai(config):
        first = max(first, FORMS.index("object"))
    return {name: forms[name] for name in FORMS[first:] if name in forms}


def forms_of(config: ModelConfig, kind: type[Any]) -> dict[str, Form]:
    """The arguments for each of `FORMS` that a model's server supports."""
    plain = {"object": {"response_format": {"type": "json_object"}}}  # its API has no schema beside it
    return form_arguments(config.provider, kind) | (plain if is_openai(config) else {})


@cache
def form_arguments(provider: str, kind: type[Any]) -> dict[str, Form]:
    """The arguments for each of `FORMS` that a provider supports; do not modify."""
    none: dict[str, Form] = {"none": {}}
    schema = rewritten(schema_of(sent(kind)), _bounded)
    match provider:
        case "openai":
            named = {"name": kind.__name__, "schema": schema, "strict": False}
            strict = {"type": "json_schema", "json_schema": named}
            loose = {"type": "json_object", "schema": rewritten(schema, _enumerated)}
            return {"schema": {"response_format": strict}, "object": {"response_format": loose}} | none
        case "ollama":
            return {"schema": {"format": schema}, "object": {"format": "json"}} | none
        case _:
            return none


def rewritten(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """A schema with a change of each of its parts, the inner ones first."""
    match schema:
        case dict():
            parts = cast(dict[str, Any], schema).items()
            return change({name: rewritten(part, change) for name, part in parts})
        case list():
            return [rewritten(part, change) for part in cast(list[Any], schema)]
        case _:
            return schema


def _bounded(part: dict[str, Any]) -> dict[str, Any]:
    return {"maxItems": MOST_ITEMS, **part} if part.get("type") == "array" else part


def _enumerated(part: dict[str, Any]) -> dict[str, Any]:
    """A small range of integers as a list: grammars of servers without limits then enforce it, too."""
    match part:
        case {"type": "integer", "minimum": int(low), "maximum": int(high)} if high - low <= MOST_NUMBERS:
            return {"enum": list(range(low, high + 1))}
        case _:
            return part


COLOURS = ("yellow", "blue", "green")
"""The bands in `colours.png`, left to right; no flag has them, so a guess fails."""


@cache
def image_of_bands() -> bytes:
    """A PNG that shows whether a model sees: a file, since drawn images differ between versions of a library."""
    return Path(__file__).with_name("colours.png").read_bytes()


def colours_in(text: str) -> tuple[str, ...]:
    """The colours named in a text, in order, including `none`."""
    return tuple(re.findall(r"\b(red|green|blue|yellow|black|white|none)\b", text.casefold()))


def refuse_images(alias: str, config: ModelConfig, *, images: bool) -> None:
    """Raises `ConfigError` for images to a model without vision, which is blind to them."""
    if images and not config.sees:
        hint = "give this role another model with roles.<role>.model, or set its vision to true"
        raise ConfigError(f"models.{alias}: {config.name} cannot see images (vision: false)", hint=hint)
