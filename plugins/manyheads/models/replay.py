"""The replay model: answers from the journal of an earlier run."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manyheads.core import Message, Place, Raw, ToolCall, Usage
from manyheads.errors import ModelError
from manyheads.journal import read_turns
from manyheads.structured import FORM, asked_at

Asked = tuple[str, ...]
Recorded = dict[str, Any]
FORM_BEGINS = FORM.partition("{schema}")[0]


class ReplayModel:
    """Gives each question the reply that was recorded for it.

    A question that was asked several times gets the reply of the same place in the run. Where that is not known,
    or was not recorded, it gets the replies in order.

    Args:
        turns: where, a recorded request and its reply.
    """

    def __init__(self, turns: Sequence[tuple[Place, dict[str, Any], Recorded]]) -> None:
        self._replies: dict[Asked, dict[Place, Recorded]] = defaultdict(dict)
        # Turns that were under way at once ended in any order.
        for place, request, reply in sorted(turns, key=lambda turn: (turn[0].turn, turn[0].ordinal)):
            texts = [message["text"] for message in request["thread"]]
            self._replies[_key(request["system"], texts)][place] = reply

    @classmethod
    def from_run(cls, folder: str) -> "ReplayModel":
        """The model that answers from `folder/journal.sqlite`.

        Raises:
            JournalError: there is no journal.
        """
        path = Path(folder) / "journal.sqlite" if Path(folder).is_dir() else Path(folder)
        return cls(read_turns(path))

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """See `LocalModel.complete`; recorded tool calls are made again before the answer.

        Raises:
            ModelError: the journal holds no reply to this question.
        """
        said = _said(thread)
        waiting = self._replies.get(_key(system, said))
        if not waiting:
            asked = next(iter(said), "")
            raise ModelError("replay: the journal holds no reply to this question", tried=asked[:200])
        here = asked_at.get()
        place = here if here in waiting else next(iter(waiting))
        reply = waiting[place]
        calls = tuple(ToolCall.model_validate(call) for call in reply["tool_calls"])
        if answered < len(calls):
            return Raw("", reply["model"], tool_calls=calls)
        del waiting[place]
        return Raw(reply["text"], reply["model"], Usage.model_validate(reply["usage"]))


def _said(thread: Sequence[Message]) -> list[str]:
    """What a journal keeps of a thread: not the reply's form, nor the retrieval hook's passage behind it."""
    ends = [
        number
        for number, message in enumerate(thread, start=1)
        if message.sender == "assistant" or FORM_BEGINS in message.text
    ]
    kept = thread[: ends[-1]] if ends else thread
    return [message.text.rpartition(FORM_BEGINS)[0] or message.text for message in kept]


def _key(system: str, said: Sequence[str]) -> Asked:
    return tuple(text.strip() for text in (system, *said))
