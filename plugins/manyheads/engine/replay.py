"""The replay model: answers from the journal of an earlier run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manyheads.core import Message, Place, Raw, ToolCall, Usage
from manyheads.engine.journal import read_turns
from manyheads.engine.replying import asked_at
from manyheads.errors import ModelError
from manyheads.replies import FORM

FORM_BEGINS = FORM.partition("{schema}")[0]


@dataclass(frozen=True)
class Recorded:
    """One turn of the journal.

    Attributes:
        said: its system prompt and the texts of its thread, without the reply's form.
    """

    place: Place
    said: tuple[str, ...]
    reply: dict[str, Any]

    def answers(self, said: Sequence[str]) -> bool:
        """Whether this is what was asked; a retrieval hook may have put a passage before a text."""
        same = len(said) == len(self.said)
        return same and all(text.endswith(recorded) for text, recorded in zip(said, self.said, strict=True))


class ReplayModel:
    """Gives each question the reply that was recorded for it.

    A question that was asked several times gets the reply of the same place in the run. Where that is not known,
    or was not recorded, it gets the replies in order.

    Args:
        turns: where, a recorded request and its reply.
    """

    def __init__(self, turns: Sequence[tuple[Place, dict[str, Any], dict[str, Any]]]) -> None:
        # Turns that were under way at once ended in any order.
        in_order = sorted(turns, key=lambda turn: (turn[0].turn, turn[0].ordinal))
        self._waiting = {place: _recorded(place, request, reply) for place, request, reply in in_order}

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
        said = [system.strip(), *(_asked(message.text) for message in thread)]
        turn = next((turn for turn in self._candidates() if turn.answers(said)), None)
        if turn is None:
            raise ModelError(
                "replay: the journal holds no reply to this question", tried=" ".join(said[1:])[:200]
            )
        reply = turn.reply
        calls = tuple(ToolCall.model_validate(call) for call in reply["tool_calls"])
        if answered < len(calls):
            return Raw("", reply["model"], tool_calls=calls)
        del self._waiting[turn.place]
        return Raw(reply["text"], reply["model"], Usage.model_validate(reply["usage"]))

    def _candidates(self) -> Iterator[Recorded]:
        """The turn of the same place first, then all others that have not been given yet."""
        if (here := asked_at.get()) in self._waiting:
            yield self._waiting[here]
        yield from self._waiting.values()


def _recorded(place: Place, request: dict[str, Any], reply: dict[str, Any]) -> Recorded:
    said = (request["system"].strip(), *(_asked(message["text"]) for message in request["thread"]))
    return Recorded(place, said, reply)


def _asked(text: str) -> str:
    """A message without the reply's form."""
    return (text.rpartition(FORM_BEGINS)[0] or text).strip()
