"""The one family of users' mistakes: a message with the next step, no traceback, an exit code."""

import json
import re
import reprlib
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import IntEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import ValidationError


class ExitCode(IntEnum):
    """How a command ends, for scripts."""

    FINE = 0
    BUG = 1
    INPUT = 2
    BUDGET = 3
    SERVER = 4
    PARTIAL = 5
    STOPPED = 130


EXIT_CODES = {
    ExitCode.FINE: "success",
    ExitCode.BUG: "a bug in manyheads (with a traceback)",
    ExitCode.INPUT: "wrong usage or input",
    ExitCode.BUDGET: "the budget is spent; resume with a larger one",
    ExitCode.SERVER: "a model server or a literature service failed",
    ExitCode.PARTIAL: "some of several runs or papers failed; run the command again to retry",
    ExitCode.STOPPED: "stopped by Ctrl-C",
}
"""What each exit code means, as `manyheads --help` shows it."""


class UserError(Exception):
    """A mistake that a user can fix.

    Example:
        >>> print(UserError("idea.md: the file is empty", hint="write a text in it"))
        idea.md: the file is empty
          next: write a text in it

    Args:
        message: what is wrong, with the file and the key.
        tried: what was looked at or attempted.
        hint: the next command or edit that fixes it.
    """

    exit_code: ExitCode = ExitCode.INPUT

    def __init__(self, message: str, *, tried: str | None = None, hint: str | None = None) -> None:
        self.message, self.tried, self.hint = message, tried, hint
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:  # a subclass may need more than a message
        return type(self).__new__, (type(self), *self.args), self.__dict__

    def __str__(self) -> str:
        notes = (("also", note) for note in getattr(self, "__notes__", ()))
        more = (("tried", self.tried), ("next", self.hint), *notes)
        return "\n  ".join([self.message, *(f"{label}: {text}" for label, text in more if text)])


class ConfigError(UserError):
    """A config, role, prompt or flag is wrong.

    Example:
        raise ConfigError("mine.yaml: team.size is 0", hint="choose 1 or more")
    """


EXTRAS = {
    "statistics": ("numpy", "scipy"),
    "corpus": ("bm25s", "fastembed", "onnx", "onnxruntime", "qdrant_client", "qdrant_edge", "tokenizers", "numpy", "scipy"),
    "papers": ("pypdfium2", "PIL", "numpy"),
    "plots": ("matplotlib",),
    "parquet": ("pyarrow",),
    "mcp": ("mcp", "starlette", "uvicorn", "sse_starlette", "python_multipart", "nh3"),
    "ray": ("ray",),
    "web": ("starlette", "uvicorn", "sse_starlette", "python_multipart", "nh3"),
}  # fmt: skip
"""The modules of optional extras."""


def install_command(extra: str) -> str:
    """The command that installs an extra, in the way in which manyheads was installed: package, checkout, or file."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow, and seldom needed
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    target = f"manyheads[{extra}]"
    with suppress(PackageNotFoundError, ValueError):
        origin = json.loads(distribution("manyheads").read_text("direct_url.json") or "{}")
        url = urlsplit(str(origin.get("url", "")))
        if "vcs_info" in origin:
            target += f" @ {origin['vcs_info']['vcs']}+{origin['url']}"
        elif url.scheme == "file":
            folder = url2pathname(url.path)
            target = f"{'.' if Path(folder) == Path.cwd() else folder}[{extra}]"
            if origin.get("dir_info", {}).get("editable"):
                return f"pip install --editable {shlex.quote(target)}"
    return f"pip install {shlex.quote(target)}"


@cache
def _missing(extra: str) -> tuple[str, ...]:
    return tuple(module for module in EXTRAS[extra] if find_spec(module) is None)


def need_extra(extra: str, what: str) -> None:
    """Raises `ConfigError` with the command that installs an extra, if one of its modules is missing."""
    if missing := _missing(extra):
        tried, hint = f"missing: {', '.join(missing)}", install_command(extra)
        raise ConfigError(f"{what} needs the extra {extra!r}, which is not installed", tried=tried, hint=hint)


def missing_extra(error: ImportError) -> ConfigError | None:
    """What to install, if an import failed because an extra is missing."""
    module = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in EXTRAS.items() if module in modules), None)
    if extra is None or not isinstance(error, ModuleNotFoundError):
        return None
    return ConfigError(f"{module} is not installed", hint=install_command(extra))


class NotAllowedError(ConfigError):
    """A key would go to a host; the owner has not allowed `words`: the key's variable, the host, or both."""

    def __init__(self, message: str, words: Sequence[str], *, hint: str) -> None:
        self.words = words
        super().__init__(message, hint=hint)


class BugError(UserError):
    """An unexpected error in a part that the rest can do without: a run of many, a member of a committee, a report."""


class CorpusError(UserError):
    """A corpus cannot be read, built or opened."""


class CorpusServerError(CorpusError):
    """The Qdrant server of a corpus does not do what it should."""

    exit_code = ExitCode.SERVER


class LiteratureError(UserError):
    """A literature source cannot be reached, refuses a request, or does not support it; `source` names it.

    `fault` selects the message for models: `silent` (no response), `lacking` (no source supports it), `wordless` (bad query).
    """

    exit_code = ExitCode.SERVER

    def __init__(
        self,
        message: str,
        *,
        source: str,
        fault: Literal["silent", "lacking", "wordless"] = "silent",
        **more: str | None,
    ) -> None:
        self.source, self.fault = source, fault
        if fault != "silent":
            self.exit_code = ExitCode.INPUT
        super().__init__(message, **more)


class DocumentError(UserError):
    """The full text of a paper cannot be read."""


class CacheError(UserError):
    """A cache on disk cannot be read or written."""


class EmbeddingError(UserError):
    """No embedding model is available, or its vectors do not fit."""


class ModelError(UserError):
    """A model server is unreachable, refuses a request, or sends an invalid response."""

    exit_code = ExitCode.SERVER


class ReplyError(ModelError):
    """A model never gave a valid reply; `raw` is its last text, `unusable` the fault of each reply."""

    def __init__(self, message: str, *, raw: str, unusable: tuple[str, ...] = (), **more: str | None) -> None:
        self.raw, self.unusable = raw, unusable
        super().__init__(message, **more)


class SubjectError(UserError):
    """A text to review, rate or measure cannot be read."""


class RatingError(UserError):
    """Ratings or scores cannot be read, do not fit each other, or are too few for a result."""


class ArenaError(UserError):
    """An arena cannot be created, opened, written or used as asked."""


class MeasureError(UserError):
    """Something cannot be measured: too few papers, too few values, or nothing to divide by."""


class BudgetError(UserError):
    """The run's budget is spent; the run can be resumed with a larger one."""

    exit_code = ExitCode.BUDGET


class StoppedError(UserError):
    """A run was stopped on request; finished turns are kept."""

    exit_code = ExitCode.STOPPED


class PartialError(UserError):
    """Some parts of a command's work failed; the others are finished and kept."""

    exit_code = ExitCode.PARTIAL


class JournalError(UserError):
    """A run folder cannot be read, written or continued."""


class HeldError(JournalError):
    """Another process is running in the folder."""


class ChangedError(JournalError):
    """A run's journal was recorded with a different config or different prompts."""


# Messages without secrets.

_CREDENTIALS = re.compile(
    r"(?i)\b(?:Bearer|Basic)\s+[\w.~+/=-]{4,}|\bsk-[\w-]{6,}|(?<=//)(?!\$\{\w+\}@)[^/@\s]+(?=@)"
    r"|([?&](?:api[-_]?|access[-_]?)?(?:key|token)=)(?!\$\{|…)[^&\s\"']+"
)
_SECRET = re.compile(r"(?i)(?:^|[._-])(?:api_?key|key|secret|password|passwd|token|authorization)(?:_env)?$")


def scrubbed(text: str, *secrets: str) -> str:
    """A message of a server, a user or an error without keys and credentials."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "…")
    return _CREDENTIALS.sub(lambda match: f"{match[1] or ''}…", text)


def is_secret(key: str) -> bool:
    """Whether a config key names a secret, which must not be shown."""
    return _SECRET.search(key) is not None


# Misspelt names: the closest match.


def closest(word: str, names: Iterable[str]) -> str | None:
    """The closest name to a misspelt word, if there is one. Ignores case."""
    from difflib import get_close_matches

    by_case = {name.lower(): name for name in names}
    near = get_close_matches(word.lower()[:100], by_case, 1, 0.6)
    return by_case[near[0]] if near and by_case[near[0]] != word else None


def did_you_mean(word: str, names: Iterable[str], otherwise: str | None = None) -> str | None:
    """A hint: the closest name, if there is one, then the alternative."""
    if (near := closest(word, names)) is None:
        return otherwise
    return f"did you mean {near}?{f' If not, {otherwise}' if otherwise else ''}"


# Errors of pydantic, for people.


SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 60
MOST = 8
"""Maximum number of errors in one message."""
WORDS = {
    "extra_forbidden": "no such key",
    "list_type": "should be a list",
    "model_type": "should be a mapping of keys to values",
    "tuple_type": "should be a list, such as [one, another]",
}
"""Plain words for some of pydantic's errors."""
KIND = re.compile(r"(constrained-|function-|literal\[|(int|str|float|bool|list|dict|tuple|none)\b).*")
"""What pydantic adds to a key: the kind of a union that it has tried."""
CHOICE = re.compile(r"'([^']*)'")


def describe(error: "ValidationError") -> str:
    """A pydantic error in one line of a few hundred characters: key, problem, value."""
    items = _joined(error.errors(include_url=False, include_context=False))
    more = f"; and {len(items) - MOST:,} more" if len(items) > MOST else ""
    return "; ".join(_line(item) for item in items[:MOST]) + more


def _joined(items: Sequence[Any]) -> list[Any]:
    """Of a value that may be of several kinds, pydantic says of each why not: one line for all."""
    joined = dict[tuple[Any, ...], Any]()
    for item in items:
        *key, last = item["loc"] or ("",)
        if not KIND.fullmatch(str(last)):
            joined[item["loc"]] = item
        elif first := joined.get(tuple(key)):
            first["msg"] += f", or {problem_of(item).removeprefix('input should be ')}"
        else:
            joined[tuple(key)] = {**item, "loc": tuple(key), "type": "", "msg": problem_of(item)}
    return [*joined.values()]


def problem_of(item: Any) -> str:
    """One of pydantic's errors in plain words, without its key."""
    message: str = WORDS.get(item["type"]) or item["msg"]
    problem = f"{message[:1].lower()}{message[1:]}".removeprefix("value error, ")
    if item["type"] == "literal_error" and (near := closest(str(item["input"]), CHOICE.findall(message))):
        problem = f"{problem[:200]}; did you mean {near}?"
    return scrubbed(problem)


def _line(item: Any) -> str:
    problem = problem_of(item)
    if not item["loc"]:
        return problem
    key, given = ".".join(map(str, item["loc"]))[:80], SHORT.repr(item["input"])
    given = given if len(given) <= 60 else f"{given[:57]}..."
    # Of a missing key, the input is all that stands around it.
    hidden = item["type"] == "missing" or is_secret(key)
    return scrubbed(f"{key}: {problem[:200]}{'' if hidden else f' (given: {given})'}")
