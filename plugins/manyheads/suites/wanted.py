"""What a suite measures, read from its names: `hd`, `review.overall`, `ranking.s`, `rebuttal.iterations < 10`."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

NOVELTY = ("hd", "cd", "ci", "on", "rnd")
JUDGING = ("review", "ranking")
"""How what runs came to is judged; sections of the config that steer it bear the same names."""
Judging: TypeAlias = Literal["review", "ranking"]
STEP = r"[^\s.<>=]+"
NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
MEASURE = re.compile(rf"(?P<path>{STEP}(?:\.{STEP})*)(?:\s*<\s*(?P<below>{NUMBER}))?")


@dataclass(frozen=True)
class Wanted:
    """One measure.

    Attributes:
        name: as tables call it.
        of: `novelty` of the abstract, `review` of it, the `ranking` of a cell's ideas, or the `run` itself.
        path: where in the result of that the value stands; for novelty, the name of the measure.
        below: what the value is held against, where it is a share that is wanted.
    """

    name: str
    of: Literal["novelty", "run"] | Judging
    path: tuple[str, ...]
    below: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Wanted":
        """Raises `ValueError` where the text is neither a path nor `path < number`."""
        found = MEASURE.fullmatch(text.strip())
        if found is None:
            raise ValueError(
                f"{text!r}: a measure is a path such as usage.calls, or a share such as rebuttal.iterations < 10"
            )
        path, below = found["path"], found["below"]
        path = path.lower() if path.lower() in NOVELTY else path  # tables write HD
        name = path if below is None else f"{path} < {below}"
        first, *rest = path.split(".")
        bound = None if below is None else float(below)
        if path in NOVELTY:
            return cls(name, "novelty", (path,), bound)
        if first == "review" and rest:
            return cls(name, "review", ("means", ".".join(rest), "mean"), bound)
        if first == "ranking" and rest:
            return cls(name, "ranking", tuple(rest), bound)
        return cls(name, "run", (first, *rest), bound)

    def value(self, found: float | bool) -> float | bool:
        """What counts of a value that was found: itself, or whether it is below the bound."""
        return found if self.below is None else found < self.below
