"""The one family of users' mistakes: a message that says what to do next, no traceback.

UserError
├── ConfigError          a config, role, prompt or flag is wrong
├── CorpusError          a corpus cannot be read, built or opened
├── LiteratureError      a literature source cannot be reached, refuses, or cannot do what is asked
├── CacheError           a cache on disk cannot be read or written
├── EmbeddingError       no embedding model is to be had
├── ModelError           a model server is unreachable, refuses or answers nonsense
│   └── ReplyError       a model never gave a valid reply; keeps the raw text
├── MeasureError         something cannot be measured
├── BudgetError          the run's budget is spent
└── JournalError         a run folder cannot be read, written or continued
    └── ChangedError     what is recorded there answers other questions than today's
"""

from pydantic import ValidationError


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
    """A literature source cannot be reached, refuses, or cannot do what is asked; `source` names it."""

    def __init__(self, message: str, *, source: str, **more: str | None) -> None:
        self.source = source
        super().__init__(message, **more)


class CacheError(UserError):
    """A cache on disk cannot be read or written."""


class EmbeddingError(UserError):
    """No embedding model is to be had, or its vectors do not fit."""


class ModelError(UserError):
    """A model server is unreachable, refuses, or answers nonsense."""


class ReplyError(ModelError):
    """A model never gave a valid reply; `raw` holds its last text."""

    def __init__(self, message: str, *, raw: str, **more: str | None) -> None:
        self.raw = raw
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


WORDS = {
    "extra_forbidden": "no such key",
    "list_type": "should be a list",
    "model_type": "should be a mapping of keys to values",
    "tuple_type": "should be a list, such as [one, another]",
}
"""Where pydantic's words are for programmers."""


def describe(error: ValidationError) -> str:
    """A pydantic error in a line: key, what is wrong, what was given."""
    lines: list[str] = []
    for item in error.errors(include_url=False, include_context=False):
        message = WORDS.get(item["type"]) or item["msg"]
        problem = f"{message[:1].lower()}{message[1:]}".removeprefix("value error, ")
        if item["loc"]:
            given = repr(item["input"])
            shown = given if len(given) <= 60 else given[:57] + "..."
            problem = f"{'.'.join(map(str, item['loc']))}: {problem} (given: {shown})"
        lines.append(problem)
    return "; ".join(lines)
