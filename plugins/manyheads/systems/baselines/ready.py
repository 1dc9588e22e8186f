"""What a baseline's config must hold before anything is asked."""

from manyheads.config import RunConfig
from manyheads.errors import ConfigError


def need_topic(config: RunConfig) -> str:
    """The topic of a system that finds none of its own; raises `ConfigError` without one."""
    if config.topic is None:
        raise ConfigError(f"{config.system}: needs a topic", hint='name one: --topic "…"')
    return config.topic


def need_topic_and_tokens(config: RunConfig) -> str:
    """`need_topic`; raises `ConfigError` too where there are no tokens to go by."""
    if config.baseline.allowed is None:
        raise ConfigError(
            f"{config.system}: needs the number of tokens that it may use",
            hint="--set baseline.like=RUN, a finished run to be like in cost, or --set baseline.tokens=N",
        )
    return need_topic(config)
