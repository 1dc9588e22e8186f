"""What a test by planted errors comes to."""

from manyheads.core.results import Figure, Part
from manyheads.systems.planted_error.planted import Kind


class Check(Part):
    """One fault that was looked for in one review: planted in the paper reviewed, or in another version of it."""

    review: str
    """Where the review was read from."""
    document: str
    paper: str
    kind: Kind
    planted: bool
    """Whether it stands in the paper that was reviewed; else naming it is a false alarm."""
    about: str
    named: bool | None = None
    """Whether a point of the review names it; None where the judge gave no valid answer."""
    points: list[str] = []
    """The points that do."""
    reason: str = ""
    """What the judge says to that, where a model judged."""
    failed: str | None = None
    """Why nothing is known."""


class Reviewed(Part):
    """A review that was looked at."""

    source: str
    document: str
    paper: str
    planted: Kind | None = None
    points: int
    alarms: int
    """Points that allege a fault of one of the kinds anywhere in the paper, but for those that name the planted one."""


class Rates(Part):
    """How often faults are found and falsely alleged; the values are of papers: an interval is over papers such as these."""

    planted: int = 0
    """Checks of reviews of papers with such a fault."""
    clean: int = 0
    """Checks of reviews of papers without any."""
    found: Figure | None = None
    """The share of the faults that a review names."""
    false_alarms: Figure | None = None
    """The share of the same faults that a review of the paper without them names."""
    difference: Figure | None = None
    """Of the two, over the papers that have both: 1 of a reviewer who finds all and invents nothing, 0 of one who guesses."""


class PlantedErrorResult(Part):
    """What reviews name of what was planted."""

    judged_by: str = "rules"
    reviews: list[Reviewed] = []
    checks: list[Check] = []
    all: Rates = Rates()
    kinds: dict[str, Rates] = {}
    """By kind of fault."""
    alarms: Figure | None = None
    """Points of a review of a paper without any fault that allege one."""
    failed: int | None = None
    """Checks without a valid answer, left out of the figures."""
    inference_cost: int | None = None
