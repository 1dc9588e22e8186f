"""What both hosts send to a provider beside the messages, in its own words, and what they refuse to send."""

from typing import Any

from manyheads.config import ModelConfig
from manyheads.errors import ConfigError
from manyheads.models.window import window
from manyheads.replies import ReplyModel
from manyheads.structured import schema_of


def given(**settings: Any) -> dict[str, Any]:
    """The settings that have a value; what a config leaves out is not sent."""
    return {name: value for name, value in settings.items() if value is not None}


def form_of(config: ModelConfig, reply_type: type[ReplyModel] | None, *, with_tools: bool) -> dict[str, Any]:
    """Arguments that ask a provider for a reply's schema; empty for free text, and where it takes none."""
    if reply_type is None:
        return {}
    schema = schema_of(reply_type)
    if config.provider == "openai":
        named = {"name": reply_type.__name__, "schema": schema, "strict": False}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    # Ollama writes nothing but the schema, so never a tool call, once it is given one.
    return {"format": schema} if config.provider == "ollama" and not with_tools else {}


def openai_settings(config: ModelConfig) -> dict[str, Any]:
    """Arguments of an OpenAI-compatible server."""
    # OpenAI's own models want the new name, many other servers know only the old one.
    limit = "max_tokens" if config.base_url else "max_completion_tokens"
    return given(temperature=config.temperature, seed=config.seed, **{limit: config.max_tokens})


def ollama_settings(config: ModelConfig, tokens: int) -> dict[str, Any]:
    """Ollama's arguments for a prompt of about so many tokens."""
    sampling = given(temperature=config.temperature, seed=config.seed, num_predict=config.max_tokens)
    return {"options": {**sampling, "num_ctx": window(config, tokens)}}


def refuse_unfit(who: str, model: str, tokens: int, context: int) -> None:
    """Raises `ConfigError` when a prompt is longer than a model's context window, both in tokens.

    `who` is the model in the config, such as `models.default`, or the agent where there is no config.
    """
    if tokens > context:
        raise ConfigError(
            f"{who}: a prompt of about {tokens:,} tokens does not fit {model}, whose context is {context:,}",
            hint="take a larger model, set its `context` if it takes more, or shorten the discussion (turns)",
        )


def refuse_unseen(alias: str, config: ModelConfig, *, images: bool) -> None:
    """Raises `ConfigError` when images are shown to a model that cannot see them."""
    if images and not config.vision:
        raise ConfigError(
            f"models.{alias}: {config.name} cannot see images (vision: false)",
            hint="give this role a model that can, roles.<role>.model, or set its vision to true",
        )
