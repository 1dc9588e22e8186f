"""The one family of users' mistakes: a message that says what to do next, no traceback."""

import reprlib
from typing import Any, Literal

from pydantic import ValidationError

from manyheads.escaping import is_secret, scrubbed


class UserError(Exception):
    """A mistake that a user can mend.

    Args:
        message: what is wrong, with the file and the key.
        tried: what was looked at or attempted.
        hint: the next command or edit that mends it.
    """

    def __init__(self, message: str, *, tried: str | None = None, hint: str | None = None) -> None:
        self.message, self.tried, self.hint = message, tried, hint
        super().__init__(message)

    def __str__(self) -> str:
        more = (("tried", self.tried), ("next", self.hint))
        return "\n  ".join([self.message, *(f"{label}: {text}" for label, text in more if text)])


class ConfigError(UserError):
    """A config, role, prompt or flag is wrong."""


class CorpusError(UserError):
    """A corpus cannot be read, built or opened."""


class LiteratureError(UserError):
    """A literature source cannot be reached, refuses, or cannot do what is asked; `source` names it.

    `fault` is what a model is told by: `silent` (no answer came), `lacking` (no source can do that), `wordless` (a query).
    """

    def __init__(
        self,
        message: str,
        *,
        source: str,
        fault: Literal["silent", "lacking", "wordless"] = "silent",
        **more: str | None,
    ) -> None:
        self.source, self.fault = source, fault
        super().__init__(message, **more)


class DocumentError(UserError):
    """The full text of a paper cannot be read."""


class CacheError(UserError):
    """A cache on disk cannot be read or written."""


class EmbeddingError(UserError):
    """No embedding model is to be had, or its vectors do not fit."""


class ModelError(UserError):
    """A model server is unreachable, refuses, or answers nonsense."""


class ReplyError(ModelError):
    """A model never gave a valid reply; `raw` holds its last text, `unusable` what was wrong with each."""

    def __init__(self, message: str, *, raw: str, unusable: tuple[str, ...] = (), **more: str | None) -> None:
        self.raw, self.unusable = raw, unusable
        super().__init__(message, **more)


class SubjectError(UserError):
    """What is to be reviewed, rated or measured cannot be read."""


class RatingError(UserError):
    """Ratings or scores cannot be read, do not fit each other, or are too few to say anything."""


class MeasureError(UserError):
    """Something cannot be measured: too few papers, too few values, or nothing to divide by."""


class BudgetError(UserError):
    """The run's budget is spent; the run can be resumed with a larger one."""


class JournalError(UserError):
    """A run folder cannot be read, written or continued."""


class ChangedError(JournalError):
    """A run's record answers other questions than today's config and prompts ask."""


SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 60
MOST = 8
"""Faults that are described one by one."""
WORDS = {
    "extra_forbidden": "no such key",
    "list_type": "should be a list",
    "model_type": "should be a mapping of keys to values",
    "tuple_type": "should be a list, such as [one, another]",
}
"""Where pydantic's words are for programmers."""


def describe(error: ValidationError) -> str:
    """A pydantic error in a line of at most some hundred characters: key, what is wrong, what was given."""
    items = error.errors(include_url=False, include_context=False)
    more = f"; and {len(items) - MOST:,} more" if len(items) > MOST else ""
    return "; ".join(_line(item) for item in items[:MOST]) + more


def _line(item: Any) -> str:
    message: str = WORDS.get(item["type"]) or item["msg"]
    problem = f"{message[:1].lower()}{message[1:]}".removeprefix("value error, ")
    if not item["loc"]:
        return problem
    key, given = ".".join(map(str, item["loc"]))[:80], SHORT.repr(item["input"])
    shown = "" if is_secret(key) else f" (given: {given if len(given) <= 60 else given[:57] + '...'})"
    return scrubbed(f"{key}: {problem[:200]}{shown}")
