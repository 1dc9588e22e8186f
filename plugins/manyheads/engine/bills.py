"""Bills of finished runs and their estimates, by which later estimates are corrected.

Only runs that a user has compared count: `manyheads estimate --against`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Self, TypeAlias

from pydantic import BaseModel

from manyheads.base.errors import UserError
from manyheads.base.files import FileLock, cache_folder, make_folder, read_text, replace_text, writable
from manyheads.base.text import count, hash_of
from manyheads.config import RunConfig
from manyheads.core import NOTHING, Tally, Usage
from manyheads.models.prices import FREE

FEWEST = 3
"""Compared runs that a correction needs."""
TOTAL = "total"
Bill: TypeAlias = dict[str, tuple[Usage, Usage]]
"""What was estimated and what was paid, by title of the stage and as `TOTAL`."""


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
        return cls(about=f"{config.system} with {', '.join(models)}" if models else "")._stored

    @property
    def _stored(self) -> Self:
        try:
            return type(self).model_validate_json(read_text(self.file))
        except (OSError, ValueError, UserError):  # none yet, or no cache
            return self

    @property
    def file(self) -> Path:
        return cache_folder() / "bills" / f"{hash_of(self.about)[:16]}.json"

    def keep(self, folder: Path, bill: Bill) -> None:
        """Add a run's bill, here and in the user's cache."""
        with writable(self.file, hint="set MANYHEADS_CACHE to a writable folder"):
            make_folder(self.file.parent)
            lock = FileLock(self.file.with_suffix(".lock"), wait=True)
            try:  # another process may have added runs
                self.runs = {**self._stored.runs, **self.runs, str(folder.resolve()): bill}
                replace_text(self.file, self.model_dump_json())
            finally:
                lock.release()

    def __bool__(self) -> bool:
        return len(self.runs) >= FEWEST

    @property
    def words(self) -> str:
        """Whether estimates are corrected, and by how many runs; empty if no model is paid."""
        runs = f"{count(len(self.runs), 'run')} of {self.about}"
        told = f"corrected by {runs}" if self else f"not corrected: {runs} compared, fewer than {FEWEST}"
        return self.about and told

    def sums(self) -> Bill:
        """The bill of all runs together."""
        sums: Bill = {}
        for stage, (estimated, paid) in (
            (key, each) for bill in self.runs.values() for key, each in bill.items()
        ):
            before = sums.get(stage, (NOTHING, NOTHING))
            sums[stage] = before[0] + estimated, before[1] + paid
        return sums

    def corrected(self, spent: Mapping[str, Usage]) -> Tally:
        """An estimate by stage, times bill ÷ estimate of the stage; of all stages for one that no run had."""
        sums = self.sums()
        return Tally({stage: scaled(usage, *sums.get(stage, sums[TOTAL])) for stage, usage in spent.items()})

    def each_by_the_others(self) -> tuple[list[float], list[float]]:
        """Bill ÷ estimate of each run, uncorrected and corrected by the others alone: in money if it has a price, else in tokens."""
        plain, corrected = list[float](), list[float]()
        for run, bill in self.runs.items():
            others = Bills(about=self.about, runs={key: self.runs[key] for key in self.runs if key != run})
            right = others.corrected({stage: bill[stage][0] for stage in bill if stage != TOTAL})
            known, paid = bill[TOTAL]
            for ratios, each in ((plain, known), (corrected, right.total)):
                ratios.append((paid.cost or 0) / each.cost if each.cost else paid.tokens / each.tokens)
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
