"""The circuit breaker of a source: one that has failed for good is left alone for a while."""

import time

from manyheads.errors import LiteratureError
from manyheads.retry import GarbledError, OverdueError, RefusedError

REST = 600.0
"""Seconds after which a source is asked again: runs and apps outlive the troubles of a service."""
_OF_THE_REQUEST = frozenset({400, 404, 410, 413, 414, 422})
"""Statuses that blame what was asked, not the asker."""
_OUT = 2
"""Strikes with no answer between them after which a source is given up."""


class Breaker:
    """Counts the failures of one source in this process.

    Args:
        rest: seconds for which the source is left alone once it is given up.
    """

    def __init__(self, rest: float = REST) -> None:
        self._rest = rest
        self._strikes = 0
        self._failure: LiteratureError | None = None
        self._given_up_at = 0.0

    @property
    def failure(self) -> LiteratureError | None:
        """Why the source is left alone; None when it may be asked."""
        if time.monotonic() - self._given_up_at >= self._rest:
            self._failure = None
        return self._failure

    def succeed(self) -> None:
        """The source has answered."""
        self._strikes = 0

    def fail(self, error: LiteratureError) -> None:
        """The source has failed."""
        self._strikes += _strikes(error)
        if self._strikes >= _OUT:
            self._failure, self._given_up_at = error, time.monotonic()


def _strikes(error: LiteratureError) -> int:
    """How much a failure says of the next look-up: nothing where a request was at fault or we ourselves stood in line."""
    match error.__cause__:
        case OverdueError(paused=paused):
            return _OUT if paused else 0
        case RefusedError(status=status):
            return 0 if status in _OF_THE_REQUEST else _OUT
        case GarbledError() | TimeoutError():
            return 1
        case _:
            return _OUT
