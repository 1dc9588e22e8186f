"""Spans of runs, stages and turns, in the trace of the app, alike on every host."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import UserMsg
from agentscope.middleware import TracingMiddleware
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from manyheads import ask
from manyheads.base.errors import UserError
from manyheads.core import Message
from manyheads.hosts.agentscope import pipeline_of
from support.caches import PromptCache
from support.command import result_of
from support.faults import Fault
from support.llm import LLM
from support.native import TOPIC, Hosting, Native, small
from support.turns import model
from support.turns import turn as turn_of


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def ours(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    scopes = [(span.instrumentation_scope, span) for span in spans.get_finished_spans()]
    return [span for scope, span in scopes if scope and scope.name == "manyheads"]


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def inside(span: ReadableSpan, outer: ReadableSpan) -> bool:
    return bool(span.parent and outer.context and span.parent.span_id == outer.context.span_id)


async def test_a_run_its_stages_and_turns_are_spans_of_the_apps_trace(
    llm: LLM, spans: InMemorySpanExporter, tmp_path: Path, name: str
) -> None:
    with trace.get_tracer("app").start_as_current_span("request") as request:
        folder = await Native(name, small("virsci", llm), tmp_path).run(TOPIC)
    found, made = result_of(folder), ours(spans)
    [run] = [span for span in made if span.name == "invoke_workflow virsci"]
    assert run.parent == request.get_span_context()
    assert (told(run)["manyheads.system"], told(run)["manyheads.host"]) == ("virsci", name)
    assert told(run)["gen_ai.usage.input_tokens"] == found["usage"]["input_tokens"] > 0
    stages = {told(span)["manyheads.stage"]: span for span in made if inside(span, run)}
    assert list(stages) == ["selection", "idea", "novelty", "abstract"]  # its topic is fixed
    turns = [span for span in made if span.name.startswith("invoke_agent ")]
    assert len(turns) == found["usage"]["calls"]
    for turn in turns:
        about = told(turn)
        assert inside(turn, stages[about["manyheads.stage"]])
        assert about["manyheads.role"] in ("scientist", "leader")
        assert (about["gen_ai.request.model"], about["gen_ai.provider.name"]) == ("test", "openai")
        assert about["manyheads.task"].count(".") == 1
        assert about["gen_ai.usage.input_tokens"] > 0
    assert {told(turn)["gen_ai.agent.name"] for turn in turns} == {each["name"] for each in found["team"]}
    for stage, span in stages.items():
        spent = found["usage"]["by_stage"].get(stage, {"output_tokens": 0})
        assert told(span)["gen_ai.usage.output_tokens"] == spent["output_tokens"]
    assert not any(TOPIC in str(told(span)) for span in made)  # nothing that was said


async def test_cost_is_on_every_span(
    llm: LLM, spans: InMemorySpanExporter, tmp_path: Path, name: str
) -> None:
    price = {"input": 0.15, "output": 0.6, "currency": "USD"}
    config = small("rebuttal", llm, models={"default": {"price": price}})
    folder = await Native(name, config, tmp_path).run(TOPIC)
    spent = result_of(folder)["usage"]
    [run] = [span for span in ours(spans) if span.name == "invoke_workflow rebuttal"]
    assert told(run)["manyheads.cost"] == pytest.approx(spent["cost"])
    assert spent["cost"] > 0
    for names in ("stage ", "invoke_agent "):
        costs = [told(span)["manyheads.cost"] for span in ours(spans) if span.name.startswith(names)]
        assert sum(costs) == pytest.approx(spent["cost"])


async def test_each_request_of_a_turn_is_one_chat_span(
    llm: LLM, spans: InMemorySpanExporter, tmp_path: Path, name: str
) -> None:
    llm.faults.append(Fault("status", status=500))
    await Native(name, small("single", llm, models={"default": {"retries": 1}}), tmp_path).run(TOPIC)
    turns = [span for span in ours(spans) if span.name.startswith("invoke_agent ")]
    chats = [span for span in spans.get_finished_spans() if span.name == "chat test"]
    assert len(chats) in (llm.calls, len(turns))  # Agent Framework has one of all attempts
    if name != "agent_framework":
        assert all(any(inside(chat, each) for each in spans.get_finished_spans()) for chat in chats)
        assert [span.status.is_ok for span in chats].count(False) == 1
    assert sum(told(span).get("gen_ai.usage.output_tokens", 0) for span in chats) == sum(
        told(span)["gen_ai.usage.output_tokens"] for span in turns
    )


@pytest.mark.slow  # each turn is a span of AgentScope, too
async def test_spans_of_agentscope_are_inside_those_of_turns(
    llm: LLM, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    pipeline = pipeline_of("rebuttal")(
        small("rebuttal", llm), out=tmp_path, middlewares=[TracingMiddleware()]
    )
    await pipeline.reply(UserMsg("user", TOPIC))
    assert not [span for span in ours(spans) if span.name.startswith("chat ")], "AgentScope makes them"
    turns = [span for span in ours(spans) if span.name.startswith("invoke_agent ")]
    theirs = [span for span in spans.get_finished_spans() if span.name.startswith("invoke_agent ")]
    theirs = [span for span in theirs if span not in turns]
    assert len(theirs) == len(turns) > 0
    assert all(any(inside(span, turn) for turn in turns) for span in theirs)


async def test_what_fails_is_marked_and_has_its_usage(
    llm: LLM, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    llm.faults.extend([Fault("fenced", times=2), Fault("status", times=None, status=401)])
    with pytest.raises(UserError):
        await Native("autogen", small("virsci", llm), tmp_path).run(TOPIC)
    made = ours(spans)
    [run] = [span for span in made if span.name == "invoke_workflow virsci"]
    assert not run.status.is_ok
    assert told(run)["gen_ai.usage.input_tokens"] > 0
    assert any(span.name.startswith("invoke_agent ") and not span.status.is_ok for span in made)


async def test_a_single_question_is_a_span(spans: InMemorySpanExporter) -> None:
    await ask("reviewer", "review", idea="We plan with owls.", host="autogen")
    [turn] = [span for span in ours(spans) if not span.name.startswith("chat ")]
    assert (turn.name, told(turn)["manyheads.task"]) == ("invoke_agent reviewer", "reviewer.review")


async def test_nothing_where_it_is_not_installed(
    llm: LLM, tmp_path: Path, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("manyheads.engine.tracing._tracer", lambda: None)
    folder = await Native("autogen", small("single", llm), tmp_path).run(TOPIC)
    assert result_of(folder)["finished"]
    assert not ours(spans)


async def test_a_request_tells_what_it_read_from_a_cache(
    llm: LLM, spans: InMemorySpanExporter, host: Hosting
) -> None:
    llm.cache, paper = PromptCache(), "A line of a paper on owls.\n" * 400
    async with host(model(llm)) as on:
        spent = [(await on.ask(turn_of(Message(f"{paper}How {word}?")))).usage for word in ("new", "sound")]
    chats = [told(span) for span in spans.get_finished_spans() if span.name.startswith("chat ")]
    cached = [span.get("gen_ai.usage.cache_read.input_tokens", 0) for span in chats]
    assert cached == [usage.cached_tokens for usage in spent]
    assert 0 == cached[0] < cached[1] < chats[1]["gen_ai.usage.input_tokens"]
