"""The budget of a suite, or of many reviews: one for all runs and all starts; a question that it cannot pay is not put."""

from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from manyheads.config import RunConfig
from manyheads.config.run import BudgetConfig
from manyheads.engine.budget import JobsBudget
from manyheads.errors import BudgetError, ConfigError, describe

MINUTE = 60
KEYS = ("calls", "tokens", "money", "minutes")
EXAMPLE = "such as --budget calls=1000 --budget minutes=30; there are calls, tokens, money and minutes"


class SuiteBudget(JobsBudget):
    """Limits as `--budget` sets them.

    Args:
        whose: what is said of whose budget it is.
    """

    def __init__(self, limits: BudgetConfig, whose: str = "the suite's") -> None:
        super().__init__(limits)
        self._whose = whose

    @classmethod
    def parse(cls, settings: Sequence[str], whose: str = "the suite's") -> "SuiteBudget":
        """The budget of settings such as `calls=1000`.

        Raises:
            ConfigError: one is no limit, or one is set twice.
        """
        limits: dict[str, str] = {}
        for setting in settings:
            key, equals, value = (part.strip() for part in setting.partition("="))
            if not equals or key not in KEYS:
                raise ConfigError(f"--budget {setting}: no limit", hint=EXAMPLE)
            if key in limits:
                raise ConfigError(f"--budget {setting}: there is a limit of {key} already")
            limits[key] = value
        return cls(_limits(limits), whose)

    def error(self, key: str, limit: float, used: float) -> BudgetError:
        if key == "seconds":
            key, limit, used = "minutes", limit / MINUTE, used / MINUTE
        return BudgetError(
            f"{self._whose} budget is spent: {key} {limit:g}, used are {used:.6g}",
            hint=f"go on with more: the same command with --budget {key}=<larger>",
        )

    def need_prices(self, configs: Iterable[RunConfig]) -> None:
        """Raises `ConfigError` where money is limited, and a model has no price."""
        models = ((alias, model) for config in configs for alias, model in config.models.items())
        unpriced = next((alias for alias, model in models if model.price is None), None)
        if self.limits.money is not None and unpriced:
            raise ConfigError(
                f"--budget money: models.{unpriced} has no price",
                hint=f"--set 'models.{unpriced}.price={{input: 0.15, output: 0.6}}', per million tokens",
            )


def _limits(texts: dict[str, str]) -> BudgetConfig:
    minutes = texts.pop("minutes", None)
    try:
        limits = BudgetConfig.model_validate(texts)
        if minutes is None:
            return limits
        return BudgetConfig.model_validate({**limits.model_dump(), "seconds": float(minutes) * MINUTE})
    except ValidationError as error:
        raise ConfigError(f"--budget: {describe(error)}", hint=EXAMPLE) from error
    except ValueError as error:
        raise ConfigError(f"--budget minutes={minutes}: no number", hint=EXAMPLE) from error
