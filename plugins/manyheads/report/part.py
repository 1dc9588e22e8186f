"""Parts of a result as the report reads them: `result.json` typed, of a finished or an unfinished run."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads.errors import JournalError
from manyheads.report.folder import Record
from manyheads.roles import describe


class Part(BaseModel):
    """A part of a result. Keys that the report does not show are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Quality(Part):
    """What ideas are judged by; `traits` is a list in Markdown."""

    area: str = ""
    indicator: str = ""
    traits: str = ""

    @property
    def points(self) -> list[str]:
        """The traits one by one."""
        return [line.removeprefix("- ") for line in self.traits.splitlines() if line.strip()]


P = TypeVar("P", bound=Part)


def part_of(kind: type[P], record: Record, so_far: Callable[[Record], Mapping[str, Any]]) -> P:
    """A part of a finished run's result, or what `so_far` makes of the record of an unfinished one.

    Raises:
        JournalError: `result.json` is not what a run writes.
    """
    return valid(kind, record, so_far(record) if record.result is None else record.result)


def valid(kind: type[P], record: Record, data: Mapping[str, Any]) -> P:
    """Data of a run's result, typed; raises as `part_of` does."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise JournalError(f"{record.folder / 'result.json'}: {describe(error)}") from error
