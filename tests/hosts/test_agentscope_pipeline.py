"""VirSci as a pipeline of AgentScope: in a console, interrupted, paused, gone on with."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from agentscope.console import ConsoleRenderer, launch_console
from agentscope.credential import OpenAICredential
from agentscope.event import ModelCallEndEvent, ReplyEndEvent, ReplyStartEvent, UserInterruptEvent
from agentscope.message import Msg, UserMsg
from agentscope.model import OpenAIChatModel
from pydantic import SecretStr
from rich.console import Console

from manyheads.base.errors import ConfigError, ModelError
from manyheads.hosts.agentscope import SinglePipeline, SystemPipeline, VirSciPipeline
from support.command import result_of
from support.faults import Fault
from support.llm import LLM
from support.native import small

TOPIC = UserMsg("user", "Robust retrieval for robots")


@pytest.fixture
def pipeline(llm: LLM, tmp_path: Path) -> SystemPipeline:
    return SinglePipeline(small("single", llm), out=tmp_path)


def result(pipeline: SystemPipeline) -> dict[str, Any]:
    folder = pipeline.folder
    assert folder is not None
    return result_of(Path(folder))


async def run(pipeline: SystemPipeline, inputs: Any = TOPIC) -> tuple[list[Any], Msg, str]:
    """Events of a reply, its message, and what a console shows of it."""
    shown = io.StringIO()
    renderer = ConsoleRenderer(console=Console(file=shown, width=200))
    events: list[Any] = []
    async for event in pipeline.reply_stream(inputs):
        assert not isinstance(event, Msg)
        renderer.render(event)
        events.append(event)
    assert renderer.last_msg is not None
    return events, renderer.last_msg, shown.getvalue()


async def collect(pipeline: SystemPipeline, events: list[Any]) -> None:
    async for event in pipeline.reply_stream(TOPIC):
        events.append(event)


async def test_a_run_is_one_reply_with_its_usage(llm: LLM, tmp_path: Path) -> None:
    pipeline = VirSciPipeline(small("virsci", llm), out=tmp_path)
    events, message, shown = await run(pipeline)
    assert [isinstance(event, ReplyStartEvent) for event in events].count(True) == 1
    assert isinstance(events[0], ReplyStartEvent)
    assert isinstance(events[-1], ReplyEndEvent)
    found = result(pipeline)
    assert message.usage is not None
    assert message.usage.input_tokens == found["usage"]["input_tokens"] > 0
    assert message.usage.output_tokens == found["usage"]["output_tokens"]
    assert f"# {found['abstract']['title']}\n\n**Introduction.** " in (message.get_text_content() or "")
    assert "## 5/5" in shown
    assert f"{found['team'][0]['name']}, idea, turn 1:" in shown


async def test_it_runs_in_the_console_of_agentscope(
    pipeline: SystemPipeline, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["Robust retrieval for robots", "exit"])

    def type_in(prompt: str = "") -> str:
        return next(typed)

    monkeypatch.setattr("builtins.input", type_in)
    await launch_console(pipeline)
    assert result(pipeline)["abstract"]["text"].splitlines()[0][:40] in capsys.readouterr().out


async def test_an_interrupt_from_elsewhere_ends_the_reply(pipeline: SystemPipeline, llm: LLM) -> None:
    assert [event async for event in pipeline.reply_stream(UserInterruptEvent(reply_id="any"))] == []
    llm.delay = 0.2
    asking = asyncio.create_task(run(pipeline))
    await asyncio.sleep(0.3)
    assert [event async for event in pipeline.reply_stream(UserInterruptEvent(reply_id="any"))] == []
    events, message, _ = await asyncio.wait_for(asking, 2)
    assert events[-1].finished_reason == message.finished_reason == "interrupted"
    assert not pipeline.save_state()["finished"]


async def test_leaving_early_stops_the_run(pipeline: SystemPipeline, llm: LLM) -> None:
    llm.delay = 0.05
    stream = pipeline.reply_stream(TOPIC)
    async for event in stream:
        if isinstance(event, ModelCallEndEvent):
            break
    await stream.aclose()
    after = llm.calls
    await asyncio.sleep(0.3)
    assert llm.calls <= after + 1
    assert not pipeline.save_state()["finished"]


async def test_what_went_wrong_is_said_and_raised(pipeline: SystemPipeline, llm: LLM) -> None:
    llm.faults.append(Fault("status", times=None, status=401))
    events: list[Any] = []
    with pytest.raises(ModelError, match="the key is refused"):
        await collect(pipeline, events)
    assert events[-1].finished_reason == "error"
    assert "the key is refused" in events[-1].error.message


async def test_one_pipeline_runs_one_at_a_time(pipeline: SystemPipeline, llm: LLM) -> None:
    llm.faults.append(Fault("slow", seconds=0.2))
    asking = asyncio.create_task(run(pipeline))
    await asyncio.sleep(0.05)
    with pytest.raises(ConfigError, match="is running"):
        await run(pipeline)
    await asking


async def test_a_model_of_agentscope_takes_the_place_of_the_default(llm: LLM, tmp_path: Path) -> None:
    key = SecretStr("mine")
    native = OpenAIChatModel(OpenAICredential(api_key=key, base_url=llm.base_url), "my-model")
    llm.faults.append(Fault("status", status=429, retry_after=0))
    config = small("single", models={"default": {"retries": 1}})
    pipeline = SinglePipeline(config, model=native, out=tmp_path)
    await run(pipeline)
    assert {request.body["model"] for request in llm.requests} == {"my-model"}
    assert {request.stream for request in llm.requests} == {False}
    assert native.stream
    assert native.max_retries == 3
    assert result(pipeline)["models"] == {"default": "openai/my-model"}
    await native.client.close()
