"""What an attack has come to, and how much of it there is."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LONGER = float(os.environ.get("MANYHEADS_ATTACK", "1"))
"""How many times as much as in CI is tried."""


@dataclass
class Figure:
    """A row of the table.

    Attributes:
        area: what was tried.
        tried: how often.
        faults: what broke, a line each, with what reproduces it.
        notes: what else was counted.
    """

    area: str
    tried: int = 0
    faults: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    def add(self, what: str, faults: Sequence[str], wrong: Mapping[str, object] = {}) -> None:
        """Count one try, and what it broke; of `wrong`, what is true."""
        self.tried += 1
        found = [*faults, *(fault for fault, there in wrong.items() if there)]
        self.faults += [f"{what}: {fault}" for fault in found]

    def row(self) -> str:
        """The row in Markdown."""
        return f"| {self.area} | {self.tried} | {len(self.faults)} | {'; '.join(self.notes)} |"


Attack = Callable[[Path], Figure]
"""An attack in an empty folder."""


def times(count: int) -> int:
    """So many in CI, more where more is asked for."""
    return max(1, round(count * LONGER))
