"""Valid and invalid replies, counted by role and task from the journals of runs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from manyheads.asking.forms import off_length, shape_of, word_count
from manyheads.base.errors import JournalError
from manyheads.base.folders import JOURNAL
from manyheads.engine.journal import replies_in
from manyheads.team.tools import INVITE

ALL = "all"
"""All tasks of all roles."""


class ReplyCount(BaseModel):
    """Replies to a task."""

    model_config = ConfigDict(frozen=True)

    asked: int = 0
    first: int = 0
    """Replies that were valid at the first attempt."""
    repaired: int = 0
    """Replies that were valid after the model was asked again."""
    given_up: int = 0
    """Tasks for which no attempt gave a valid reply."""
    lengths: int = 0
    """Valid replies whose form asks for a length."""
    length_met: int = 0
    """Of these, replies that ended up not far too short or too long."""
    copied: int = 0
    """Tasks with an attempt that copied a field from the form."""
    invited: int = 0
    """Tasks in which an outside scientist was asked or requested, by tool or field."""
    unusable: dict[str, int] = {}
    """Unusable attempts by kind of fault, see `manyheads.asking.forms.Unusable`."""
    characters: int = 0
    """Of all first requests together: system prompt, thread and form."""
    input_tokens: int = 0
    calls: int = 0
    """Calls that the tokens were counted over; calls of failed tasks are unknown."""

    def __add__(self, other: "ReplyCount") -> "ReplyCount":
        sums = {name: value + getattr(other, name) for name, value in self if isinstance(value, int)}
        kinds = Counter(self.unusable) + Counter(other.unusable)
        return ReplyCount(**sums, unusable=dict(sorted(kinds.items())))

    @property
    def figures(self) -> dict[str, float | None]:
        """Shares of the tasks, of replies with a length, and means per request; None for a share of nothing."""
        parts = {
            **{name: (getattr(self, name), self.asked) for name in SHARES},
            "length_met": (self.length_met, self.lengths),
            "characters": (self.characters, self.asked),
            "tokens": (self.input_tokens, self.calls),
        }
        return {name: part / whole if whole else None for name, (part, whole) in parts.items()}


SHARES = ("first", "repaired", "given_up", "copied", "invited")
FIGURES = (*ReplyCount().figures,)


def reply_counts(folders: Iterable[Path]) -> dict[str, ReplyCount]:
    """Replies of runs, finished or not, by `role.task` and in total (`all`). Runs without a journal count as empty.

    Raises:
        JournalError: a journal cannot be read.
    """
    counts: defaultdict[str, ReplyCount] = defaultdict(ReplyCount)
    for folder in folders:
        path = folder / JOURNAL
        for request, reply in replies_in(path) if path.exists() else ():
            try:
                one = _count(request, reply)
            except (TypeError, ValueError, LookupError, AttributeError) as error:
                raise JournalError(f"{path}: damaged, or written by an older version: {error!r}") from error
            counts[request["task"]] += one
    return {**dict(sorted(counts.items())), ALL: sum(counts.values(), ReplyCount())} if counts else {}


def _count(request: Mapping[str, Any], reply: Mapping[str, Any]) -> ReplyCount:
    kinds, value = Counter(reply["unusable"]), reply.get("value")
    texts = (request["system"], *(message["text"] for message in request["thread"]), request["form"])
    called = any(call["name"] == INVITE and not call["failed"] for call in reply.get("tool_calls", ()))
    asked = {
        name: part["words"]
        for name, part in (shape_of(request["form"]) or {}).get("properties", {}).items()
        if "words" in part and value
    }
    said = sum(word_count(str((value or {})[name])) for name in asked)
    usage = reply.get("usage", {})
    return ReplyCount(
        asked=1,
        first=value is not None and not kinds,
        repaired=value is not None and bool(kinds),
        given_up=value is None,
        lengths=bool(asked),
        length_met=bool(asked) and not off_length(said, asked.values()),
        copied="copied" in kinds,
        invited=called or bool(value and value.get("invite")),
        unusable=dict(kinds),
        characters=sum(map(len, texts)),
        input_tokens=usage.get("input_tokens", 0),
        calls=usage.get("calls", 0),
    )


def table_row(count: ReplyCount) -> dict[str, object]:
    """A table row: counts, shares, means, and faults by kind."""
    line: dict[str, object] = {"asked": count.asked}
    for name in (*SHARES, "length_met"):
        line |= {"lengths": count.lengths} if name == "length_met" else {}
        line |= {name: getattr(count, name), f"{name}_share": count.figures[name]}
    kinds = ", ".join(f"{kind} {number}" for kind, number in count.unusable.items())
    return line | {name: count.figures[name] for name in ("characters", "tokens")} | {"unusable": kinds}
