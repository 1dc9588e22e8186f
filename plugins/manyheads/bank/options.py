"""What goes into an ecosystem: years, filters and the two datasets of the paper as presets."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from manyheads.errors import CorpusError

PRESETS: dict[str, dict[str, int]] = {
    "aminer-cs": {
        "start": 2000, "bound": 2011, "end": 2014,
        "min_past_citations": 10, "min_contemporary_citations": 5, "min_papers": 50, "min_coauthors": 50,
    },
    "oag-3.1": {
        "start": 2010, "bound": 2021, "end": 2023,
        "min_past_citations": 200, "min_contemporary_citations": 50, "min_papers": 40, "min_coauthors": 50,
    },
}  # fmt: skip
"""The filters of VirSci 2025, App. C.2.1 (AMiner Computer Science) and C.2.2 (Open Academic Graph 3.1).

The paper's y_bound, 2010 and 2020, is the last past year: its contemporary papers are of 2011–2014 (2024, App. C)
and 2021–2023 (2025, App. A)."""


PRESET_FORMATS = {"aminer-cs": "aminer", "oag-3.1": "oag"}
"""The format of the dataset that each preset is of."""


class BuildOptions(BaseModel):
    """Years and filters of an ecosystem (VirSci 2025, §3.1, §4.1, App. C.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bound: int
    """The first contemporary year, the paper's y_bound + 1: past is start ≤ year < bound, contemporary is
    bound ≤ year ≤ end."""
    start: int | None = None
    """y_start; without it, all years before the bound."""
    end: int | None = None
    """y_end; without it, all years from the bound on."""
    require_abstract: bool = True
    min_past_citations: int = Field(default=0, ge=0)
    min_contemporary_citations: int = Field(default=0, ge=0)
    min_papers: int = Field(default=1, ge=1)
    """Papers that an author needs to become a scientist."""
    min_coauthors: int = Field(default=0, ge=0)
    """Distinct co-authors that an author needs to become a scientist."""
    author_counts: Literal["past", "dataset"] = "past"
    """Where an author's papers, citations and co-authors are counted, for the filters and for the profile: in B_past,
    or by the dataset itself, over a whole life and so past the bound; where it has no number, in B_past."""
    max_scientists: int | None = Field(default=None, ge=1)
    """Keep only this many scientists, those with the most papers."""
    seed: int = 0
    """Shuffles who is Scientist0, Scientist1, …, so that numbers do not follow the alphabet."""

    @model_validator(mode="after")
    def _years_in_order(self) -> Self:
        if self.start is not None and self.start >= self.bound:
            raise ValueError(f"start {self.start} must be before bound {self.bound}")
        if self.end is not None and self.end < self.bound:
            raise ValueError(f"end {self.end} must not be before bound {self.bound}")
        return self

    @classmethod
    def of(cls, preset: str | None = None, **given: int | str | None) -> "BuildOptions":
        """A preset's options, overridden by those given (None is not given).

        Raises:
            CorpusError: no such preset, no bound, or an option is out of range.
        """
        if preset is not None and preset not in PRESETS:
            raise CorpusError(f"preset {preset!r}: no such preset", hint=f"there are: {', '.join(PRESETS)}")
        chosen = {**PRESETS.get(preset or "", {}), **{key: v for key, v in given.items() if v is not None}}
        if "bound" not in chosen:
            raise CorpusError(
                "bound: the year that parts past from contemporary is missing", hint="--bound 2015"
            )
        try:
            return cls.model_validate(chosen)
        except ValidationError as wrong:
            first = wrong.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "years"
            problem = first["msg"].removeprefix("Value error, ")
            raise CorpusError(
                f"build options, {where}: {problem}", hint="manyheads corpus build --help"
            ) from wrong
