"""Recorded turns as answers: of a run that is resumed or forked, and of the provider `replay`."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, partial
from pathlib import Path, PurePath
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from manyheads.asking.forms import schema_of, shipped_forms
from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import JournalError, ModelError, ReplyError
from manyheads.core import NOTHING, Host, Message, Place, Raw, Reply, ToolCall, Turn, Usage
from manyheads.engine.journal import DAMAGES, Journal, digest_of, read_turns, single_keys
from manyheads.engine.replying import asked_at
from manyheads.models.batches import until_kept
from manyheads.models.governor import ToolsRefusedError

R = TypeVar("R", bound=ReplyModel)


@dataclass
class Recorded:
    """A host whose finished turns are recorded in a journal and answered from it.

    Args:
        host: the host for turns that are not recorded.
        journal: the run's journal.
        model_of: settings of a model alias that change its answers; part of the request's hash.
        course: the config keys that determine the turns, besides the requests themselves.
        accept_changes: continue from a changed turn instead of stopping there.
        on_live: called once, before the first new turn.
        on_ended: called after each turn, successful or not, once its reply is on disk.
    """

    host: Host
    journal: Journal
    model_of: Callable[[str], dict[str, Any]]
    _: KW_ONLY
    course: Mapping[str, Any] = field(default_factory=dict[str, Any])
    accept_changes: bool = False
    on_live: Callable[[], None] = lambda: None
    on_ended: Callable[[], None] = lambda: None
    writing: Usage = NOTHING
    """Usage of replies that are being written: not on disk yet."""
    live: bool = False
    """Whether there was a new turn."""

    def __post_init__(self) -> None:
        self.useful = self.journal.useful
        """Usage of all recorded replies, of earlier starts and new, whether they were replayed yet or not."""

    async def gate(self) -> None:
        await self.host.gate()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            ChangedError: the record at this place is of another request, or ends where the config changes the course,
                and changes are not accepted.
        """
        kept: asyncio.Future[None] | None = None
        try:
            request = request_of(turn, self.model_of(turn.speaker.model))
            digest = digest_of(request)
            recorded = self.journal.get(turn.place)
            if recorded and recorded[0] == digest and (reply := self._read(turn, recorded[1])):
                return reply
            if turn.tools and not self.accept_changes and digest in self.journal.fact("refused"):
                raise ToolsRefusedError(f"{turn.place}: the server refused tools")
            if recorded and not (self.accept_changes or turn.nested):
                raise self.journal.changed(turn.place, self._turned())
            if (
                turn.spare
                and not self.accept_changes
                and (given_up := self.journal.given_up(turn.place, request))
            ):
                raise ReplyError(
                    given_up.get("message") or f"{turn.place}: no valid reply; the run continued without it",
                    raw=str(given_up.get("text")),
                    hint="ask it again: manyheads resume RUN --accept-changes",
                )
            self._go_live(turn.place)
            asked = {**request, "task": turn.task or f"{turn.speaker.role}.{turn.place.task}"}
            with until_kept() as later:
                reply = await self._ask_host(turn, digest, asked)
                record = _records(turn.reply_type).dump_python(reply, mode="json")
                kept = self.journal.keep(turn.place, digest, asked, record)
                # Counts as used while it is written: a turn that ends meanwhile must not count it as lost.
                self.useful += reply.usage
                self.writing += reply.usage
                replaced = Usage()
                with suppress(*DAMAGES):  # it stays paid
                    replaced = (
                        Usage.model_validate(json.loads(recorded[1])["usage"]) if recorded else replaced
                    )
                kept.add_done_callback(partial(self._note_kept, reply.usage, replaced))
                if later or recorded:
                    await self.journal.written()
            return reply  # the next prompt is made meanwhile
        finally:
            if kept is None:
                self.on_ended()

    def _note_kept(self, usage: Usage, replaced: Usage, kept: asyncio.Future[None]) -> None:
        """A reply is on disk, in place of a replaced one, or could not be written."""
        self.writing -= usage
        self.useful -= usage if kept.exception() else replaced
        with suppress(JournalError):  # the next request meets it, too
            self.on_ended()

    async def _ask_host(self, turn: Turn[R], digest: str, asked: dict[str, Any]) -> Reply[R]:
        """The host's reply; records a failure."""
        try:
            return await self.host.ask(turn)
        except ToolsRefusedError:
            self.journal.state("refused", {**self.journal.fact("refused"), digest: str(turn.place)})
            raise
        except ReplyError as error:
            said = {"text": error.raw, "unusable": error.unusable, "message": error.message}
            self.journal.give_up(turn.place, asked, said)
            raise

    def _read(self, turn: Turn[R], recorded: Any) -> Reply[R] | None:
        """A recorded reply; None if it is damaged and must be asked again."""
        try:
            return _records(turn.reply_type).validate_python(json.loads(recorded))
        except DAMAGES as error:
            if self.accept_changes:
                return None
            raise self.journal.damaged(turn.place) from error

    def _go_live(self, place: Place) -> None:
        if self.live:
            return
        if (keys := self._turned()) and not self.accept_changes:
            raise self.journal.changed(place, keys)
        self.journal.state("course", self.course)
        self.on_live()
        self.live = True

    def _turned(self) -> list[str]:
        before = single_keys(_by_name(self.journal.fact("course")))
        now = single_keys(_by_name(self.course))
        return [key for key, value in now.items() if before and before.get(key) != value]


def _by_name(value: Any) -> Any:
    """The same with files by their names: a project may be moved."""
    match value:
        case dict():
            return {key: _by_name(each) for key, each in cast(dict[str, Any], value).items()}
        case list() | tuple():
            return [_by_name(each) for each in cast(Sequence[Any], value)]
        case str() if value.startswith(("/", "./", "../")) and "\n" not in value:
            return PurePath(value).name
        case _:
            return value


def request_of(turn: Turn[Any], model: dict[str, Any]) -> dict[str, Any]:
    """Everything in a turn that its answer depends on, as JSON data."""
    thread = [
        {
            "sender": message.sender,
            "text": message.text,
            "images": [hashlib.sha256(image.data).hexdigest() for image in message.images],
        }
        for message in turn.thread
    ]
    return {
        "system": turn.speaker.system,
        "thread": thread,
        "schema": schema_of(turn.reply_type),
        "form": (turn.forms or shipped_forms()).form(turn.reply_type),
        "tools": sorted(tool.name for tool in turn.tools),
        "recall": turn.recall,
        "model": model,
    }


@cache
def _records(reply_type: type[R]) -> TypeAdapter[Reply[R]]:
    """How replies are written and read; reading a damaged one raises one of `DAMAGES`."""
    return TypeAdapter(Reply[reply_type])  # pyright: ignore[reportInvalidTypeForm]


class ReplayModel:
    """A model that answers each question with the recorded reply of an earlier run.

    A question with several recorded replies gets the one of the same place in the run, or else the replies in order.

    Args:
        turns: place, recorded request and its reply.
    """

    def __init__(self, turns: Sequence[tuple[Place, dict[str, Any], dict[str, Any]]]) -> None:
        # Concurrent turns ended in any order.
        self._waiting = {
            place: (_asked(request["system"], (each["text"] for each in request["thread"])), reply)
            for place, request, reply in sorted(turns, key=lambda turn: (turn[0].turn, turn[0].ordinal))
        }

    @classmethod
    def from_run(cls, folder: str) -> "ReplayModel":
        """The model that answers from `folder/journal.sqlite`.

        Raises:
            JournalError: there is no journal.
        """
        path = Path(folder) / "journal.sqlite" if Path(folder).is_dir() else Path(folder)
        return cls(read_turns(path))

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """See `LocalModel.complete`; recorded tool calls are repeated before the answer.

        Raises:
            ModelError: the journal has no reply to this question.
        """
        asked = _asked(system, (message.text for message in thread))
        here = asked_at.get()
        for place in (here, *self._waiting) if here in self._waiting else self._waiting:
            recorded, reply = self._waiting[place]
            # The passage of a retrieval hook, and the reply's form, come after the text.
            if len(asked) == len(recorded) and all(map(str.startswith, asked, recorded)):
                break
        else:
            tried = " ".join(asked[1:])[:200]
            raise ModelError("replay: the journal has no reply to this question", tried=tried)
        calls = tuple(map(ToolCall.model_validate, reply["tool_calls"]))
        if answered < len(calls):
            return Raw("", reply["model"], tool_calls=calls)
        del self._waiting[place]
        return Raw(reply["text"], reply["model"], Usage.model_validate(reply["usage"]))


def _asked(system: str, thread: Iterable[str]) -> tuple[str, ...]:
    return (system.strip(), *(text.strip() for text in thread))
