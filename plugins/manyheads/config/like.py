"""`baseline.like`: the tokens of the run that a baseline is compared with, read before the baseline begins."""

from pathlib import Path

from manyheads.config.baseline import Like
from manyheads.config.run import RunConfig
from manyheads.core.results import Part, read_result
from manyheads.errors import ConfigError, SubjectError


def settled(config: RunConfig) -> RunConfig:
    """The config with what `baseline.like` comes to; one that is settled already is left alone.

    A run folder keeps the settled config: resumed, it goes by the same number, whatever became of the other run.

    Raises:
        ConfigError: the other run cannot be read, has not come to its end, or counted no tokens.
    """
    baseline = config.baseline
    if not isinstance(baseline.like, str):
        return config
    like = Like(run=baseline.like, tokens=_tokens_of(Path(baseline.like)))
    return config.model_copy(update={"baseline": baseline.model_copy(update={"like": like})})


def _tokens_of(run: Path) -> int:
    """Input and output tokens of a finished run."""
    try:
        tokens = read_result(run, Part).tokens
    except SubjectError as error:
        raise ConfigError(f"baseline.like: {error.message}", hint=error.hint) from error
    if tokens <= 0:
        raise ConfigError(
            f"baseline.like: {run}: its models counted no tokens",
            hint="give a number: --set baseline.tokens=N",
        )
    return tokens
