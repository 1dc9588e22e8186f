"""`like`: the tokens of the run that a baseline is compared with, read before the baseline begins."""

from pathlib import Path

from manyheads.config import RunConfig
from manyheads.core.results import Part, read_result
from manyheads.errors import ConfigError, SubjectError
from manyheads.systems.baselines.config import Like, settings_of


def settled(config: RunConfig) -> RunConfig:
    """The config with what `like` comes to; one that is settled already is left alone.

    A run folder keeps the settled config: resumed, it goes by the same number, whatever became of the other run.

    Raises:
        ConfigError: the other run cannot be read, has not come to its end, or counted no tokens.
    """
    named = settings_of(config).like
    if not isinstance(named, str):
        return config
    like = Like(run=named, tokens=_tokens_of(Path(named), f"{config.system}.like"))
    return config.model_copy(update={"settings": settings_of(config).model_copy(update={"like": like})})


def _tokens_of(run: Path, key: str) -> int:
    """Input and output tokens of a finished run."""
    try:
        tokens = read_result(run, Part).tokens
    except SubjectError as error:
        raise ConfigError(f"{key}: {error.message}", hint=error.hint) from error
    if tokens <= 0:
        raise ConfigError(f"{key}: {run}: its models counted no tokens", hint="give a number: --set tokens=N")
    return tokens
