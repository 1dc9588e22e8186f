"""What a baseline's config must hold before anything is asked."""

from manyheads.config import RunConfig
from manyheads.errors import ConfigError
from manyheads.systems.baselines.config import settings_of


def need_topic(config: RunConfig) -> str:
    """The topic of a system that finds none of its own; raises `ConfigError` without one."""
    if config.inputs.topic is None:
        raise ConfigError(f"{config.system}: needs a topic", hint='name one: --topic "…"')
    return config.inputs.topic


def need_topic_and_tokens(config: RunConfig) -> str:
    """`need_topic`; raises `ConfigError` too where there are no tokens to go by."""
    if settings_of(config).allowed is None:
        raise ConfigError(
            f"{config.system}: needs the number of tokens that it may use",
            hint=f"--set {config.system}.like=RUN, a finished run to be like in cost, or --set {config.system}.tokens=N",
        )
    return need_topic(config)
