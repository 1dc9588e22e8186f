"""Requests in batches on any host: one batch of all that wait, each with its answer, and none paid for twice."""

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ModelError
from manyheads.base.files import FileLock, cache_folder
from manyheads.config import ModelConfig
from manyheads.core import Charge, Host, Message, Place, Reply, Turn
from manyheads.engine.journal import Journal
from manyheads.engine.replay import Recorded
from manyheads.models import batches
from support.batches import BatchLLM
from support.native import Hosting
from support.requests import Request
from support.turns import model, turn

WIRES = ("openai", "anthropic")
pytestmark = [pytest.mark.usefixtures("own_cache")]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "QUIET", 0.15)
    monkeypatch.setattr(batches, "POLL", 0.02)
    monkeypatch.setattr(batches, "LONGEST_POLL", 0.05)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv("OPENAI_API_KEY", "key")


def subject_of(request: Request) -> str:
    """The word after the first of a question."""
    [subject] = {
        word for said in request.messages for word in re.findall(r"^About (\S+)", said.text, re.MULTILINE)
    }
    return subject


@contextmanager
def served(**settings: Any) -> Generator[BatchLLM]:
    with BatchLLM(answers={"topic": subject_of}, **settings) as llm:
        yield llm


def batched(llm: BatchLLM, wire: str, **settings: Any) -> ModelConfig:
    address = llm.base_url if wire == "openai" else llm.url
    own = {"api_key_env": "OPENAI_API_KEY"} if wire == "openai" else {"max_tokens": 500}
    return model(
        llm, provider=wire, base_url=address, batch=True, max_wait=0.01, retries=4, **own, **settings
    )


def about(subject: str, ordinal: int = 0, **more: Any) -> Turn[Any]:
    question = turn(Message(f"About {subject} : what do you say?"), **more)
    return replace(question, place=Place("topic", 1, "Scientist1", "topic", ordinal))


def subjects(replies: Sequence[Reply[Any]]) -> list[str]:
    return [reply.value.topic for reply in replies]


ANIMALS = [f"owl{number}" for number in range(12)]


@pytest.mark.parametrize("wire", WIRES)
async def test_what_waits_is_one_batch_and_each_gets_its_answer(host: Hosting, wire: str) -> None:
    """More than `concurrency`; lines come in another order; what failed, expired or was lost is asked again in one more."""
    price: dict[str, Any] = {"input": 1_000_000, "output": 0}
    with served(polls=4, busy=2, troubles=["expired", "lost", "failing"]) as llm:
        async with host(batched(llm, wire, price=price, concurrency=2)) as on:
            replies = await asyncio.gather(*(on.ask(about(each, n)) for n, each in enumerate(ANIMALS)))
    assert subjects(replies) == ANIMALS
    assert ([len(each.bodies) for each in llm.batches], llm.singles) == ([12, 3], 0)
    repeated = [len(reply.warnings) for reply in replies]
    assert sorted(repeated) == [*[0] * 9, 1, 1, 1], "in the order in which a framework sends them"
    assert [reply.usage.calls for reply in replies] == [1 + each for each in repeated]
    [*_, last] = replies
    assert last.usage.cost == last.usage.input_tokens / 2, "half the price"
    assert not list((cache_folder() / "batches").iterdir())


@pytest.mark.parametrize("wire", WIRES)
async def test_no_timeout_ends_the_wait(host: Hosting, wire: str) -> None:
    with served(polls=25) as llm:
        async with host(batched(llm, wire, timeout=0.2, turn_timeout=0.3)) as on:
            assert subjects([await on.ask(about("bats"))]) == ["bats"]


@pytest.mark.parametrize("wire", WIRES)
async def test_what_was_sent_is_fetched_after_a_stop_and_equal_questions_have_answers_of_their_own(
    host: Hosting, wire: str
) -> None:
    numbers, charges = iter(range(99)), list[Charge]()

    @asynccontextmanager
    async def metered(charge: Charge) -> AsyncGenerator[None]:
        charges.append(charge)
        yield

    def numbered(request: Request) -> str:
        return f"{subject_of(request)} {next(numbers)}"

    with BatchLLM(answers={"topic": numbered}, polls=10**6) as llm:
        async with host(batched(llm, wire)) as on:
            first = [asyncio.ensure_future(on.ask(about("owls", n, meter=metered))) for n in range(4)]
            while not any(each.polls for each in llm.batches):  # noqa: ASYNC110 - of another thread
                await asyncio.sleep(0.01)
            for task in first:
                task.cancel()
            await asyncio.gather(*first, return_exceptions=True)
        assert len(list((cache_folder() / "batches").glob("*.json"))) == 1
        assert [each.usage.calls for each in charges] == [0] * 4, "counted when it is fetched"
        llm.polls = llm.batches[0].polls + 2
        async with host(batched(llm, wire)) as on:
            some = await asyncio.gather(*(on.ask(about("owls", n)) for n in range(3)))
            assert len(llm.batches) == 1, "nothing is sent again"
            llm.polls = 2
            more = await asyncio.gather(*(on.ask(about("owls", n)) for n in range(2)))
    assert [len(each.bodies) for each in llm.batches] == [4, 1], "one line was left"
    assert sorted(subjects([*some, *more])) == [f"owls {number}" for number in range(5)]
    assert not list((cache_folder() / "batches").iterdir())


async def test_a_process_leaves_the_batches_of_others_alone(host: Hosting) -> None:
    with served(polls=40) as llm:
        async with host(batched(llm, "openai")) as one, host(batched(llm, "openai", timeout=9)) as other:
            waiting = asyncio.ensure_future(one.ask(about("owls")))
            while not any(each.polls for each in llm.batches):  # noqa: ASYNC110 - of another thread
                await asyncio.sleep(0.01)
            assert subjects([await other.ask(about("owls")), await waiting]) == ["owls", "owls"]
    assert len(llm.batches) == 2


@pytest.mark.parametrize(
    ("settings", "sent", "words"),
    [
        ({"without": True}, 0, "--batch"),
        ({"failure": "invalid_model"}, 1, "invalid_model"),
        ({"troubles": ["refused"] * 9}, 1, "no such parameter"),
    ],
)
async def test_what_no_batch_can_answer_is_said(host: Hosting, settings: Any, sent: int, words: str) -> None:
    with served(**settings) as llm:
        async with host(batched(llm, "openai", response_format="none")) as on:
            with pytest.raises(ModelError) as told:
                await on.ask(about("owls"))
    assert words in told.value.message
    assert (len(llm.batches), llm.singles) == (sent, 0)
    assert not list((cache_folder() / "batches").glob("*.json"))


async def test_a_refused_form_is_left_out_in_the_next_batch(host: Hosting) -> None:
    with served(troubles=["refused"]) as llm:
        async with host(batched(llm, "openai")) as on:
            assert subjects([await on.ask(about("owls"))]) == ["owls"]
    forms = [
        body.get("response_format", {}).get("type") for each in llm.batches for body in each.bodies.values()
    ]
    assert forms == ["json_schema", "json_object"]


async def test_looks_that_fail_for_long_send_nothing_again(
    host: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PATIENCE", 0)
    with served(busy=2) as llm:
        async with host(batched(llm, "openai")) as on:
            assert subjects(await asyncio.gather(on.ask(about("owls")), on.ask(about("bats", 1)))) == [
                "owls",
                "bats",
            ]
    assert [len(each.bodies) for each in llm.batches] == [2]


async def test_large_requests_are_several_batches(host: Hosting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_LINES", 5)
    with served() as llm:
        async with host(batched(llm, "openai")) as on:
            replies = await asyncio.gather(*(on.ask(about(each, n)) for n, each in enumerate(ANIMALS)))
    assert subjects(replies) == ANIMALS
    assert max(len(each.bodies) for each in llm.batches) <= 5


async def stopped(on: Host, question: Turn[Any], llm: BatchLLM, sent: int = 1) -> None:
    """Ask, and stop once a number of batches came to the server."""
    task = asyncio.ensure_future(on.ask(question))
    while len(llm.batches) < sent:
        assert not task.done(), task
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_is_fetched_again_until_its_turn_is_in_the_journal(
    host: Hosting, wire: str, tmp_path: Path
) -> None:
    """The turn is stopped while its second request waits: the answer to its first one is paid."""
    numbers = iter(range(9))

    def numbered(request: Request) -> str:
        return f"{subject_of(request)} {next(numbers)}"

    def fault(reply: Any) -> str | None:
        return "try 1" if reply.topic == "owls 0" else None

    question = about("owls", check=fault)
    with BatchLLM(answers={"topic": numbered}) as llm, closing(Journal(tmp_path / "j.sqlite")) as journal:
        async with host(batched(llm, wire)) as on:
            await stopped(Recorded(on, journal, lambda alias: {}), question, llm, 2)
        async with host(batched(llm, wire)) as on:
            reply = await Recorded(on, journal, lambda alias: {}).ask(question)
            assert not list((cache_folder() / "batches").iterdir()), "in the journal, and no longer locked"
    assert (reply.value.topic, reply.attempts) == ("owls 1", 2)
    assert [len(each.bodies) for each in llm.batches] == [1, 1]


async def test_an_answer_without_use_is_not_fetched_again(host: Hosting, tmp_path: Path) -> None:
    def fault(reply: Any) -> str:
        return "not so"

    question = about("owls", check=fault)
    with served() as llm, closing(Journal(tmp_path / "j.sqlite")) as journal:
        async with host(batched(llm, "openai")) as on:
            with pytest.raises(ModelError):
                await Recorded(on, journal, lambda alias: {}).ask(question)
    assert not list((cache_folder() / "batches").iterdir())


async def test_a_batch_that_is_being_sent_at_a_stop_is_recorded(host: Hosting) -> None:
    with served(slow=0.4) as llm:
        async with host(batched(llm, "openai")) as on:
            await stopped(on, about("owls"), llm)
        async with host(batched(llm, "openai")) as on:
            assert subjects([await on.ask(about("owls"))]) == ["owls"]
    assert len(llm.batches) == 1


async def test_a_record_without_ids_is_left_alone_and_unlocked(host: Hosting) -> None:
    with served(slow=0.1) as llm:
        async with host(batched(llm, "openai")) as on:
            await stopped(on, about("owls"), llm)
        [record] = (cache_folder() / "batches").glob("*.json")
        record.write_text(record.read_text(encoding="utf-8").replace('"ids"', '"was"'), encoding="utf-8")
        async with host(batched(llm, "openai")) as on:
            assert subjects([await on.ask(about("owls"))]) == ["owls"]
            FileLock(record.with_suffix(".lock"), mode="r+").release()


async def test_a_record_older_than_its_answers_is_removed(host: Hosting) -> None:
    (folder := cache_folder() / "batches").mkdir()
    (folder / "x.json").write_text("{}", encoding="utf-8")
    os.utime(folder / "x.json", (0, time.time() - 30 * 86_400))
    with served() as llm:
        async with host(batched(llm, "openai")) as on:
            assert subjects([await on.ask(about("owls"))]) == ["owls"]
    assert not list(folder.iterdir())


async def test_a_record_that_cannot_be_read_is_left_alone(host: Hosting, tmp_path: Path) -> None:
    (folder := cache_folder() / "batches").mkdir()
    (folder / "x.json").write_text("[", encoding="utf-8")
    (folder / "gone.json").symlink_to(tmp_path / "gone")  # as one that another process removes meanwhile
    with served() as llm:
        async with host(batched(llm, "openai")) as on:
            assert subjects([await on.ask(about("owls"))]) == ["owls"]
    assert (folder / "x.json").exists()
