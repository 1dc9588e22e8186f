"""One budget for a whole suite: what earlier starts have paid for counts, and a question that it cannot pay is not put."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from manyheads.budget import BudgetConfig, Ledger
from manyheads.core import Usage
from manyheads.errors import BudgetError, ConfigError
from manyheads.folder import JOURNAL
from manyheads.journal import spent_in
from manyheads.roles import describe
from manyheads.suites.plan import Job

MINUTE = 60
SUCH_AS = "such as --budget calls=1000 --budget minutes=30; there are calls, tokens, money and minutes"


class Purse(Ledger):
    """What the jobs of a suite may spend together; minutes are those of this start."""

    def error(self, key: str, limit: float, used: float) -> BudgetError:
        if key == "seconds":
            key, limit, used = "minutes", limit / MINUTE, used / MINUTE
        return BudgetError(
            f"the suite's budget is spent: {key} {limit:g}, used are {used:.6g}",
            hint=f"go on with more: the same command with --budget {key}=<larger>",
        )

    def open(self, jobs: Iterable[Job], folder: Path) -> None:
        """Count what earlier starts have paid in a suite's folder, for these jobs or for others.

        Raises:
            ConfigError: money is limited, and a model has no price.
            BudgetError: money is limited, and what was paid earlier is not known.
            JournalError: what was paid cannot be read.
        """
        if self.limits == BudgetConfig():
            return
        for job in jobs:
            self._need_prices(job)
        for journal in folder.rglob(JOURNAL):
            self._count(journal.parent, spent_in(journal))

    def _need_prices(self, job: Job) -> None:
        unpriced = [alias for alias, model in job.config.models.items() if model.price is None]
        if self.limits.money is not None and unpriced:
            raise ConfigError(
                f"--budget money: models.{unpriced[0]} has no price",
                hint=f"--set 'models.{unpriced[0]}.price={{input: 0.15, output: 0.6}}', per million tokens",
            )

    def _count(self, run: Path, paid: Usage) -> None:
        if self.limits.money is not None and paid.calls and paid.cost is None:
            raise BudgetError(
                f"--budget money: {run}: was begun without prices, so that nobody knows what it has cost",
                hint="limit calls or tokens, or begin anew: --out FOLDER",
            )
        self.pay(paid)


def purse_of(settings: Sequence[str]) -> Purse:
    """The purse of settings such as `calls=1000`.

    Raises:
        ConfigError: one is no limit, or one is given twice.
    """
    given: dict[str, str] = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or key not in ("calls", "tokens", "money", "minutes"):
            raise ConfigError(f"--budget {setting}: no limit", hint=SUCH_AS)
        if key in given:
            raise ConfigError(f"--budget {setting}: there is a limit of {key} already")
        given[key] = value
    return Purse(_limits(given))


def _limits(given: dict[str, str]) -> BudgetConfig:
    minutes = given.pop("minutes", None)
    try:
        limits = BudgetConfig.model_validate(given)
        return limits if minutes is None else _timed(limits, minutes)
    except ValidationError as error:
        raise ConfigError(f"--budget: {describe(error)}", hint=SUCH_AS) from error


def _timed(limits: BudgetConfig, minutes: str) -> BudgetConfig:
    try:
        seconds = float(minutes) * MINUTE
    except ValueError as error:
        raise ConfigError(f"--budget minutes={minutes}: no number", hint=SUCH_AS) from error
    return BudgetConfig.model_validate({**limits.model_dump(), "seconds": seconds})
