"""`baseline.like`: the tokens of the run that a baseline is compared with, read before the baseline begins."""

import json
from pathlib import Path
from typing import Any

from manyheads.config.baseline import Like
from manyheads.config.run import RunConfig
from manyheads.errors import ConfigError


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
        usage: Any = json.loads((run / "result.json").read_text(encoding="utf-8"))["usage"]
        tokens = int(usage["input_tokens"]) + int(usage["output_tokens"])
    except OSError as error:
        raise _without_result(run, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"baseline.like: {run / 'result.json'}: says nothing of the tokens that were used"
        ) from error
    if tokens <= 0:
        raise ConfigError(
            f"baseline.like: {run}: its models counted no tokens",
            hint="give a number: --set baseline.tokens=N",
        )
    return tokens


def _without_result(run: Path, error: OSError) -> ConfigError:
    if (run / "config.yaml").is_file():
        return ConfigError(
            f"baseline.like: {run}: has not come to its end", hint=f"finish it first: manyheads resume {run}"
        )
    return ConfigError(
        f"baseline.like: {run}: no run folder ({error.strerror or error})",
        hint="name one, such as runs/<time>-<name>",
    )
