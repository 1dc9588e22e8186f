"""The replay model: answers from the journal of an earlier run."""

from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manyheads.core import Message, Raw, ToolCall, Usage
from manyheads.errors import ModelError
from manyheads.journal import read_turns


class ReplayModel:
    """Gives each question the reply that was recorded for it; a question asked twice gets the next one.

    Args:
        turns: pairs of a recorded request and its reply, in order.
    """

    def __init__(self, turns: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        self._replies: dict[tuple[str, str], deque[dict[str, Any]]] = defaultdict(deque)
        for request, reply in turns:
            self._replies[_key(request["system"], request["thread"][0]["text"])].append(reply)

    @classmethod
    def from_run(cls, folder: str) -> "ReplayModel":
        """The model that answers from `folder/journal.sqlite`.

        Raises:
            JournalError: there is no journal.
        """
        path = Path(folder) / "journal.sqlite" if Path(folder).is_dir() else Path(folder)
        return cls([(request, reply) for _, request, reply in read_turns(path)])

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """See `LocalModel.complete`; recorded tool calls are made again before the answer.

        Raises:
            ModelError: the journal holds no reply to this question.
        """
        key = _key(system, _asked(thread))
        waiting = self._replies.get(key)
        if not waiting:
            raise ModelError(
                "replay: the journal holds no reply to this question", tried=_asked(thread)[:200]
            )
        calls = tuple(ToolCall.model_validate(call) for call in waiting[0]["tool_calls"])
        if answered < len(calls):
            return Raw("", waiting[0]["model"], tool_calls=calls)
        reply = waiting.popleft()
        return Raw(reply["text"], reply["model"], Usage.model_validate(reply["usage"]))


def _asked(thread: Sequence[Message]) -> str:
    return next((message.text for message in thread if message.sender == "user"), "")


def _key(system: str, asked: str) -> tuple[str, str]:
    """A question, without the reply's form and what a retrieval hook may have put beside it."""
    return system.strip(), asked.split("Answer with one JSON object")[0].strip()
