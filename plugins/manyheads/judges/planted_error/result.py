"""The result of a test by planted errors."""

from manyheads.core.results import Figure, Part
from manyheads.judges.planted_error.planted import Kind


class Check(Part):
    """A fault looked for in a review: planted in the reviewed paper or in another version of it."""

    review: str
    """The run or file of the review."""
    document: str
    paper: str
    kind: Kind
    planted: bool
    """Whether the fault is in the reviewed paper; otherwise naming it is a false alarm."""
    about: str
    named: bool | None = None
    """Whether a point of the review names it; None if the judge gave no valid answer."""
    points: list[str] = []
    """The points that name it."""
    reason: str = ""
    """The judge's reasoning, if a model judged."""
    failed: str | None = None
    """The reason for a missing answer."""


class Reviewed(Part):
    """A checked review."""

    source: str
    document: str
    paper: str
    planted: Kind | None = None
    points: int
    alarms: int
    """Points that allege a fault of one of the kinds anywhere in the paper, without those that name the planted one."""


class Rates(Part):
    """How often faults are found and falsely alleged. Values are per paper; intervals are over papers."""

    planted: int = 0
    """Checks in reviews of papers with the fault."""
    clean: int = 0
    """Checks in reviews of papers without a fault."""
    found: Figure | None = None
    """The share of the faults named by the review."""
    false_alarms: Figure | None = None
    """The share of the same faults named by the review of the paper without them."""
    difference: Figure | None = None
    """`found` minus `false_alarms`, over papers with both: 1 for a reviewer who finds all and invents nothing, 0 for a guesser."""


class PlantedErrorResult(Part):
    """Planted faults that reviews name."""

    judged_by: str = "rules"
    reviews: list[Reviewed] = []
    checks: list[Check] = []
    all: Rates = Rates()
    kinds: dict[str, Rates] = {}
    """By kind of fault."""
    alarms: Figure | None = None
    """Points per review of a paper without faults that allege one."""
    failed: int | None = None
    """Checks without a valid answer; left out of the figures."""
    inference_cost: int | None = None
