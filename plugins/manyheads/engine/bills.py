"""Bills of finished runs and their estimates, by which later estimates are corrected.

Only runs that a user has compared count: `manyheads estimate --against`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel

from manyheads.base.errors import UserError
from manyheads.base.files import cache_folder, make_folder, read_text, replace_text, writable
from manyheads.base.text import count, hash_of
from manyheads.config import RunConfig
from manyheads.core import NOTHING, Tally, Usage
from manyheads.models.prices import FREE

FEWEST = 3
"""Compared runs that a correction needs."""


class Bill(BaseModel):
    """What a run was estimated to use, and what it used, by title of the stage."""

    estimate: dict[str, Usage]
    paid: dict[str, Usage]


class Bills(BaseModel):
    """The bills of a system's runs with the same models; true if they are enough to correct estimates."""

    about: str
    """System and models, as `virsci with openai/gpt-4o-mini`; empty if no model is paid."""
    runs: dict[str, Bill] = {}
    """By folder."""

    @classmethod
    def of(cls, config: RunConfig) -> Self:
        """Those that the user's cache has."""
        models = sorted({f"{m.provider}/{m.name}" for m in config.models.values() if m.provider not in FREE})
        none = cls(about=f"{config.system} with {', '.join(models)}" if models else "")
        try:
            return cls.model_validate_json(read_text(none.file))
        except (OSError, ValueError, UserError):  # none yet, or no cache
            return none

    @property
    def file(self) -> Path:
        return cache_folder() / "bills" / f"{hash_of(self.about)[:16]}.json"

    def keep(self, folder: Path, bill: Bill) -> None:
        """Add a run's bill, here and in the user's cache."""
        self.runs[str(folder.resolve())] = bill
        with writable(self.file, hint="set MANYHEADS_CACHE to a writable folder"):
            make_folder(self.file.parent)
            replace_text(self.file, self.model_dump_json())

    def __bool__(self) -> bool:
        return len(self.runs) >= FEWEST

    @property
    def words(self) -> str:
        """Whether estimates are corrected, and by how many runs; empty if no model is paid."""
        runs = f"{count(len(self.runs), 'run')} of {self.about}"
        told = f"corrected by {runs}" if self else f"not corrected: {runs} compared, fewer than {FEWEST}"
        return self.about and told

    def total(self, stage: str | None = None) -> tuple[Usage, Usage]:
        """The sums of the estimates and of the bills, of one stage or of all."""

        def of(usages: Mapping[str, Usage]) -> Usage:
            return Tally(usages).total if stage is None else usages.get(stage, NOTHING)

        sums = [(of(each.estimate), of(each.paid)) for each in self.runs.values()]
        return sum((each for each, _ in sums), NOTHING), sum((each for _, each in sums), NOTHING)

    def corrected(self, spent: Mapping[str, Usage]) -> Tally:
        """An estimate by stage, times bill ÷ estimate of the stage; of all stages for one that no run had."""
        known = {stage for each in self.runs.values() for stage in each.estimate}
        factors = {stage: self.total(stage if stage in known else None) for stage in spent}
        return Tally({stage: scaled(usage, *factors[stage]) for stage, usage in spent.items()})

    def each_by_the_others(self) -> tuple[list[float], list[float]]:
        """Bill ÷ estimate of each run, uncorrected and corrected by the others alone: in money if it has a price, else in tokens."""
        plain, corrected = list[float](), list[float]()
        for run, bill in self.runs.items():
            others = Bills(about=self.about, runs={key: self.runs[key] for key in self.runs if key != run})
            paid = Tally(bill.paid).total
            for ratios, spent in ((plain, bill.estimate), (corrected, others.corrected(bill.estimate))):
                known = Tally(spent).total
                ratios.append((paid.cost or 0) / known.cost if known.cost else paid.tokens / known.tokens)
        return plain, corrected


def scaled(usage: Usage, estimated: Usage, paid: Usage) -> Usage:
    """A usage times `paid` ÷ `estimated`, field by field; what was not estimated follows the tokens."""
    values = usage.model_dump()
    for name, value in values.items() if estimated.tokens else ():
        before, after = getattr(estimated, name), getattr(paid, name)
        if name == "cost" and not (before and after is not None):
            before, after = estimated.tokens, paid.tokens
        elif not before:
            value, before = usage.tokens, estimated.tokens
        values[name] = value and value * after / before
    return Usage(**{name: value if name == "cost" else round(value) for name, value in values.items()})
