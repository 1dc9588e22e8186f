"""Where a run stands, counted from its events; OpenTelemetry spans of a run, its stages, turns and requests.

There are no spans if OpenTelemetry is not installed, or the app that started the run has set no tracer provider. Names follow its
conventions for generative AI; others begin with `manyheads.`. Spans contain no prompts and no replies.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from manyheads import __version__
from manyheads.asking.replies import ReplyModel
from manyheads.base.text import count, decimals_of
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import NOTHING, Host, Reply, Turn, Usage, money
from manyheads.core.events import AnyEvent, Asked, Began, Estimated, Judged, Result, Said, Stage
from manyheads.core.results import currency_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer


R = TypeVar("R", bound=ReplyModel)


def _tracer() -> "Tracer | None":
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):  # the app has set none
        return None
    return trace.get_tracer("manyheads", __version__)


def _inside(span: "Span") -> "Context":
    from opentelemetry.trace import set_span_in_context

    return set_span_in_context(span)


def _note_usage(span: "Span", usage: Usage) -> None:
    span.set_attributes(
        {
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "manyheads.calls": usage.calls,
        }
    )
    if usage.cached_tokens:
        span.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens)
    if usage.cost is not None:
        span.set_attribute("manyheads.cost", usage.cost)


@contextmanager
def chat_span(config: ModelConfig, spent: Callable[[], Usage]) -> Generator[None]:
    """A span around one request to a model, with its usage, as some frameworks make it themselves."""
    if (tracer := _tracer()) is None:
        yield
        return
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": config.provider,
        "gen_ai.request.model": config.name,
    }  # fmt: skip
    with tracer.start_as_current_span(f"chat {config.name}", attributes=attributes) as span:
        try:
            yield
        finally:
            _note_usage(span, spent())


class Trace:
    def __init__(self, config: RunConfig, folder: str) -> None:
        self._config, self._folder = config, folder
        self._run: Span | None = None
        self.stage: Span | None = None
        self._spent = NOTHING
        """Usage of the current stage."""

    @contextmanager
    def run(self, spent: Callable[[], Usage]) -> Generator[None]:
        if (tracer := _tracer()) is None:
            yield
            return
        config = self._config
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": config.system,
            "manyheads.system": config.system, "manyheads.host": config.host, "manyheads.seed": config.seed,
            "manyheads.folder": self._folder,
        }  # fmt: skip
        with tracer.start_as_current_span(f"invoke_workflow {config.system}", attributes=attributes) as span:
            self._run = span
            try:
                yield
            finally:
                self._end_stage()
                _note_usage(span, spent())
                self._run = None

    def note(self, event: AnyEvent) -> None:
        """At the start of a stage, end the last stage's span and begin the next."""
        if not isinstance(event, Stage) or self._run is None or (tracer := _tracer()) is None:
            return
        self._end_stage()
        attributes: dict[str, Any] = {
            "manyheads.system": self._config.system, "manyheads.stage": event.stage,
            "manyheads.stage.title": event.title, "manyheads.stage.number": event.number,
        }  # fmt: skip
        inside = _inside(self._run)
        self.stage = tracer.start_span(f"stage {event.stage}", context=inside, attributes=attributes)

    def pay(self, usage: Usage) -> None:
        self._spent += usage

    def _end_stage(self) -> None:
        if self.stage:
            _note_usage(self.stage, self._spent)
            self.stage.end()
        self.stage, self._spent = None, NOTHING


@dataclass
class Traced:
    """A host with a span around each turn.

    Args:
        models: by alias.
        trace: of the run; None if turns belong to no run.
        system: of the run.
    """

    host: Host
    models: Mapping[str, ModelConfig]
    trace: Trace | None = None
    system: str | None = None

    async def gate(self) -> None:
        await self.host.gate()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        if (tracer := _tracer()) is None:
            return await self.host.ask(turn)
        name, place, model = turn.speaker.name, turn.place, self.models.get(turn.speaker.model)
        told: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.provider.name": model and model.provider,
            "gen_ai.request.model": model and model.name,
            "manyheads.system": self.system,
            "manyheads.role": turn.speaker.role,
            "manyheads.task": turn.task or place.task,
            "manyheads.stage": place.stage or None,
            "manyheads.turn": place.turn if place.stage else None,
        }
        attributes = {key: value for key, value in told.items() if value is not None}
        # a turn inside a tool call is a part of the current span
        stage = None if turn.nested or self.trace is None else self.trace.stage
        context = stage and _inside(stage)
        with tracer.start_as_current_span(
            f"invoke_agent {name}", context=context, attributes=attributes
        ) as span:
            reply = await self.host.ask(turn)
            span.set_attributes(
                {
                    "gen_ai.response.model": reply.model,
                    "manyheads.attempts": reply.attempts,
                    "manyheads.tool_calls": len(reply.tool_calls),
                }
            )
            _note_usage(span, reply.usage)
        if self.trace:
            self.trace.pay(reply.usage)
        return reply


@dataclass
class RunStatus:
    stage: str = "Setting up"
    turns: int | None = None
    """Maximum of the stage."""
    number: int = 0
    total: int = 0
    turn: int = 0
    usage: Usage = NOTHING
    currency: str | None = None
    estimate: Usage = NOTHING
    thinking: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """By speaker, the times at which unanswered questions were put, in seconds of the clock."""

    def note(self, event: AnyEvent, now: float) -> None:
        """Count an event that happened at `now`."""
        self.turn = event.turn or self.turn
        match event:
            case Began():
                self.currency = currency_of(event.prices)
            case Estimated():
                self.estimate = event.usage
            case Stage():
                self.stage, self.turns, self.turn = event.title, event.turns, 0
                self.number, self.total = event.number, event.total
                self.thinking.clear()
            case Asked():
                self.thinking.setdefault(event.speaker, []).append(now)
            case Said():
                self._answered(event.speaker)
                self.usage += event.usage
            case Judged():
                self._answered(event.subject)  # a judge without a usable ranking says nothing
            case Result():
                self.thinking.clear()
                if "usage" in event.data:  # with that of the runs below it, and of lost replies
                    known = {
                        key: value for key, value in event.data["usage"].items() if key in Usage.model_fields
                    }
                    self.usage = Usage.model_validate(known)
            case _:
                pass

    @property
    def spending(self) -> str:
        """Calls and cost, as shares of the estimate: `41 of about 98 calls · cost 0.04 of about 0.10 USD`."""
        used, whole = self.usage, self.estimate
        calls = _share(used.calls, whole.calls, 0, " calls") if whole.calls else count(used.calls, "call")
        if used.cost is None:
            return calls
        digits, unit = max(2, decimals_of(whole.cost) or 0), f" {self.currency}" if self.currency else ""
        cost = _share(used.cost, whole.cost, digits, unit) if whole.cost else money(used.cost, self.currency)
        return f"{calls} · cost {cost}"

    def _answered(self, speaker: str) -> None:
        waits = self.thinking.get(speaker, [])
        if len(waits) > 1:
            waits.pop(0)
        else:
            self.thinking.pop(speaker, None)


def _share(used: float, whole: float, digits: int, unit: str) -> str:
    done, about = f"{used:,.{digits}f}", f"about {whole:,.{digits}f}"
    return f"{done}{unit}, estimated {about}" if used > whole else f"{done} of {about}{unit}"
