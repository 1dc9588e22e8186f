"""`like`: the tokens of the run that a baseline is compared with, read before the baseline begins."""

import json
from pathlib import Path
from typing import Any

from manyheads.config import RunConfig
from manyheads.errors import ConfigError
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
        usage: Any = json.loads((run / "result.json").read_text(encoding="utf-8"))["usage"]
        tokens = int(usage["input_tokens"]) + int(usage["output_tokens"])
    except OSError as error:
        raise _without_result(run, key, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{key}: {run / 'result.json'}: says nothing of the tokens that were used"
        ) from error
    if tokens <= 0:
        raise ConfigError(
            f"{key}: {run}: its models counted no tokens",
            hint="give a number: --set tokens=N",
        )
    return tokens


def _without_result(run: Path, key: str, error: OSError) -> ConfigError:
    if (run / "config.yaml").is_file():
        return ConfigError(
            f"{key}: {run}: has not come to its end", hint=f"finish it first: manyheads resume {run}"
        )
    return ConfigError(
        f"{key}: {run}: no run folder ({error.strerror or error})",
        hint="name one, such as runs/<time>-<name>",
    )
