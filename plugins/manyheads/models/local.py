"""Models that need no server: what both hosts' adapters call."""

from collections.abc import Sequence
from typing import Protocol

from manyheads.config import ModelConfig
from manyheads.core import Message, Raw
from manyheads.errors import ConfigError


class LocalModel(Protocol):
    """Answers a thread in this process.

    A `Raw` whose text is empty and that holds `tool_calls` asks for these calls (their `result` is ignored);
    the host runs them and asks once more.
    """

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """Answer a thread; `answered` counts the tool results that the model has been given so far."""
        ...


def local_model(config: ModelConfig) -> LocalModel:
    """The local model of a config whose provider is `offline` or `replay`."""
    if config.provider == "offline":
        from manyheads.models.offline import OfflineModel

        return OfflineModel(config)
    if config.provider == "replay":
        from manyheads.models.replay import ReplayModel

        return ReplayModel.from_run(config.name)
    raise ConfigError(f"provider {config.provider!r} is not local")
