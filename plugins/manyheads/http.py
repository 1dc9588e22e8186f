"""What every client of an HTTP service needs to know of refusals, whoever sends the request."""

import math
import time
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that may be gone at the next try."""


def asked_to_wait(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or a date (RFC 9110, §10.2.3); None if it is neither."""
    if value is None:
        return None
    with suppress(ValueError):
        seconds = float(value)
        return None if math.isnan(seconds) else max(0.0, seconds)
    with suppress(ValueError):
        date = parsedate_to_datetime(value)
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, aware.timestamp() - time.time())
    return None


def in_short(error: BaseException | None, most: int = 200) -> str:
    """An exception's text on one line of at most `most` characters; its type where it has none."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= most else text[:most] + " …"
