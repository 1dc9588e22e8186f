"""One turn's view of a model: sends the reply's schema, counts what the turn costs."""

from collections.abc import Sequence

from autogen_core.models import LLMMessage

from manyheads.core import NOTHING
from manyheads.errors import UserError
from manyheads.hosts.autogen.base import Answered, BaseClient, Options, Tools
from manyheads.hosts.autogen.models import ModelClient, as_text
from manyheads.models.request import form_of
from manyheads.replies import ReplyModel


class TurnClient(BaseClient):
    """The model client of one turn's agent.

    Args:
        client: the shared client of the model.
        reply_type: the reply that is asked for.
        warn: where notes for the user go.
    """

    def __init__(self, client: ModelClient, reply_type: type[ReplyModel], warn: list[str]) -> None:
        super().__init__(client.config)
        self._client, self._reply_type, self._warn = client, reply_type, warn
        self._tools: Tools = ()
        self._failure: UserError | None = None
        self.usage = NOTHING
        self.truncated = False
        self.model = client.config.name

    def fail(self, error: UserError) -> None:
        """End the turn with an error that AutoGen would show to the model: the next request raises it."""
        self._failure = error

    async def answer(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        if self._failure:
            raise self._failure
        last = options.get("tool_choice") == "none"
        form = form_of(self.config, self._reply_type, with_tools=bool(options.get("tools")))
        result = await self._client.send(messages, self._with_tools(options), self._warn, form)
        self.usage += result.spent
        self.truncated, self.model = result.cut, result.model
        return as_text(result) if last else result

    async def close(self) -> None:
        """The shared client is closed by the host."""

    def _with_tools(self, options: Options) -> Options:
        """Anthropic wants the tools in every request of a thread that holds calls, the last one too."""
        self._tools = options.get("tools") or self._tools
        if self.config.provider != "anthropic":
            return options
        return options | {"tools": self._tools}
