"""What is sent with a request beside its messages, in each provider's words."""

from dataclasses import dataclass
from typing import Any

from manyheads.config import ModelConfig
from manyheads.models.window import window
from manyheads.replies import ReplyModel
from manyheads.structured import schema_of


@dataclass(frozen=True)
class Ask:
    """What of a request its options depend on.

    Args:
        reply_type: the typed reply that is asked for, None for free text.
        with_format: whether to send its schema beside the prompt.
        with_tools: whether tools are offered.
        tokens: estimate of the prompt's length.
    """

    reply_type: type[ReplyModel] | None
    with_format: bool
    with_tools: bool
    tokens: int


def options(config: ModelConfig, ask: Ask) -> dict[str, Any]:
    """Keyword arguments for the provider's API; settings that the config leaves out are not sent."""
    schema = schema_of(ask.reply_type) if ask.reply_type and ask.with_format else None
    match config.provider:
        case "openai":
            return _set({**_openai(config), "response_format": _response_format(schema)})
        case "ollama":
            # Ollama holds the whole answer to `format`, so that with it no tool could be called.
            return _set({"options": _ollama(config, ask), "format": None if ask.with_tools else schema})
        case "anthropic":
            return _set({"temperature": config.temperature})
        case _:
            return {}


def _openai(config: ModelConfig) -> dict[str, Any]:
    # OpenAI's own models want the new name, many other servers know only the old one.
    limit = "max_tokens" if config.base_url else "max_completion_tokens"
    return {"temperature": config.temperature, "seed": config.seed, limit: config.max_tokens}


def _response_format(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    return {
        "type": "json_schema",
        "json_schema": {"name": schema.get("title", "reply"), "schema": schema, "strict": False},
    }


def _ollama(config: ModelConfig, ask: Ask) -> dict[str, Any]:
    sampling = {"temperature": config.temperature, "seed": config.seed, "num_predict": config.max_tokens}
    return _set({**sampling, "num_ctx": window(config, ask.tokens)})


def _set(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
