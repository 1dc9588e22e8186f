"""What requests to models come to: tokens, calls, cost; prices; the meter of a request."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field


class Amount(BaseModel):
    """Price per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    """Input tokens."""
    output: float = Field(ge=0)
    """Output tokens."""
    cached: float | None = Field(default=None, ge=0)
    """Input tokens read from the provider's cache; as `input` if omitted."""
    cache_write: float | None = Field(default=None, ge=0)
    """Input tokens written to it; as `input` if omitted."""


class Price(Amount):
    """Price per million tokens."""

    currency: str | None = None
    """Such as USD; the same for all prices of a run."""
    as_of: date | None = None
    """Date of the price list."""
    listed: str | None = None
    """The entry in the price list, as `provider/name`; omitted for a price of your own."""


def money(cost: float, currency: str | None) -> str:
    """An amount in words, `0.0312 USD`."""
    return f"{cost:.4f}{f' {currency}' if currency else ''}"


class Usage(BaseModel):
    """Tokens and cost of replies. `cost` is None if the model's price is unknown."""

    model_config = ConfigDict(frozen=True)

    input_tokens: int = 0
    """All of them, cached or not, whatever the provider's way to count."""
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input tokens, those read from the provider's cache, as far as it says so."""
    calls: int = 0
    cost: float | None = None
    estimated: int = 0
    """Calls without valid token counts from the server; their tokens are estimated, one per four bytes."""

    def __add__(self, other: "Usage") -> "Usage":
        costs = [c for c in (self.cost, other.cost) if c is not None]
        names = (name for name in Usage.model_fields if name != "cost")
        counts = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Usage(**counts, cost=round(sum(costs), 10) if costs else None)

    def __sub__(self, other: "Usage") -> "Usage":
        return self + Usage(**{name: value and -value for name, value in other})

    def times(self, factor: float) -> "Usage":
        """This usage a number of times, rounded to whole tokens and calls."""
        counts = {name: round(value * factor) for name, value in self if name != "cost"}
        return Usage(**counts, cost=self.cost and self.cost * factor)

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens

    def beyond(self, known: "Usage") -> "Usage":
        """The usage beyond a known one, at least zero, without cost."""
        return Usage(**{name: max(0, value) for name, value in self - known if name != "cost"})


NOTHING = Usage()


class Tally(dict[str, Usage]):
    """Usage by stage, by speaker and by model: the one counter of tokens."""

    def pay(self, key: str, usage: Usage) -> None:
        self[key] = self.get(key, NOTHING) + usage

    @property
    def total(self) -> Usage:
        return sum(self.values(), NOTHING)


@dataclass
class Charge:
    """What one request to a model comes to: at most, before it is sent, and then; nothing if it was not sent."""

    most: Usage
    usage: Usage = NOTHING


Meter: TypeAlias = Callable[[Charge], AbstractAsyncContextManager[None]]
"""Wraps each request to a model; raises `BudgetError` if the budget does not allow it."""


def unmetered(charge: Charge) -> AbstractAsyncContextManager[None]:
    """The meter of a turn that is not counted."""
    return nullcontext()
