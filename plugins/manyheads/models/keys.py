"""Keys of model servers; they come from the environment and from nowhere else."""

import os

from manyheads.config import ModelConfig
from manyheads.errors import ConfigError

USUAL = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
NO_KEY = "none"
"""Sent to a server of one's own that wants no key; the SDKs refuse to send nothing."""


def key_variable(config: ModelConfig) -> str | None:
    """The environment variable that holds a model's key, None for providers without one."""
    return config.api_key_env or USUAL.get(config.provider)


def key_of(config: ModelConfig, alias: str = "default") -> str:
    """The key from the environment; a server of one's own may do without.

    Raises:
        ConfigError: the variable is not set.
    """
    variable = key_variable(config) or ""
    if key := os.environ.get(variable):
        return key
    if config.base_url and not config.api_key_env:
        return NO_KEY
    raise ConfigError(
        f"models.{alias}: no key for {config.provider}/{config.name}",
        tried=f"the environment variable {variable}",
        hint=f"export {variable}=…, or name a server of your own in models.{alias}.base_url",
    )
