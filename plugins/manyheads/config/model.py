"""The sections `models` and `roles`."""

from typing import Any, Literal, cast, get_args

from pydantic import Field, field_validator

from manyheads.config.strict import Strict, is_address
from manyheads.errors import ConfigError

Provider = Literal["openai", "ollama", "anthropic", "offline", "replay"]


class Price(Strict):
    """Price of a million tokens, in a currency of your choice."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class ModelConfig(Strict):
    """A language model. Keys come from the environment, never from here."""

    provider: Provider = "offline"
    """`openai` is any OpenAI-compatible server; `offline` and `replay` need no server."""
    name: str = "offline"
    """The model's name at its provider; for `replay` the run folder whose journal answers."""
    base_url: str | None = None
    """The server's address; the provider's own when left out."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; the provider's usual one when left out."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sent only when set."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Length limit of a reply, sent only when set."""
    seed: int | None = None
    """Sent only when set, to providers that take one; the offline model takes the run's when left out."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds that one request may take."""
    retries: int = Field(default=4, ge=0)
    """How often a failed request is sent again, with exponential back-off; Retry-After is honoured."""
    max_wait: float = Field(default=60.0, gt=0)
    """Longest pause between two tries, in seconds; a server that asks for more is given up."""
    concurrency: int = Field(default=8, gt=0)
    """Requests under way at once."""
    context: int = Field(default=128_000, gt=0)
    """The model's context window in tokens; a prompt that cannot fit is refused, never cut."""
    tools: bool | None = None
    """Whether the model can call tools; when left out, yes for `openai` and `anthropic`, else no."""
    vision: bool = True
    """Whether the model can see images."""
    response_format: bool = True
    """Whether to send the reply's schema as `response_format`; a server that refuses it is remembered."""
    price: Price | None = None
    """Lets the run count money."""

    @field_validator("base_url")
    @classmethod
    def _whole_address(cls, value: str | None) -> str | None:
        if value is not None and not is_address(value):
            raise ValueError("write it with http:// or https://")
        return value

    @classmethod
    def parse(cls, text: str) -> "ModelConfig":
        """The model that `provider/name` stands for; `offline` needs no name.

        Raises:
            ConfigError: an unknown provider, or no name.
        """
        provider, _, name = text.partition("/")
        name = name or ("offline" if provider == "offline" else "")
        known = provider in get_args(Provider)
        if known and name:
            return cls(provider=cast(Provider, provider), name=name)
        raise ConfigError(
            f"model {text!r}: {'no name' if known else f'unknown provider {provider!r}'}",
            tried=f"providers: {', '.join(get_args(Provider))}",
            hint="write it as provider/name, such as openai/gpt-4o-mini",
        )

    @property
    def calls_tools(self) -> bool:
        return self.provider in ("openai", "anthropic") if self.tools is None else self.tools

    def identity(self) -> dict[str, Any]:
        """The settings that change what the model answers: part of each recorded request."""
        kept = {"provider", "name", "temperature", "max_tokens", "seed"}
        return self.model_dump(include=kept)


class RoleConfig(Strict):
    """What a config may change about a role."""

    model: str = "default"
    """Alias of one of `models`."""
