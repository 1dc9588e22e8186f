"""What was said is kept, answered again without asking, and never mistaken for an answer to something else."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from manyheads.asking.replies import REPLIES, Remark
from manyheads.base.errors import JournalError
from manyheads.core import Host, Image, Message, Place, Reply, Speaker, Tool, ToolCall, Turn, Usage
from manyheads.engine.journal import Journal, read_turns, spent_in
from manyheads.engine.replay import Recorded
from manyheads.models.governor import ToolsRefusedError
from manyheads.systems.virsci.replies import Idea
from support.hosts import FilledHost

PAID = Usage(input_tokens=90, output_tokens=9, calls=2, cost=0.25)
ADA = Speaker("Ada", "scientist", "You are Ada.")


def turn(number: int = 1, text: str = "What now? 🙂", **changes: Any) -> Turn[Any]:
    place = Place("topic", number, "Ada", "topic")
    return replace(Turn(place, ADA, (Message(text),), Remark), **changes)


def settings_of(alias: str) -> dict[str, Any]:
    return {"alias": alias, "temperature": 0.5}


async def ask(path: Path, host: Host, *turns: Turn[Any], **settings: Any) -> list[Reply[Any]]:
    """Ask as a run that opens the journal, and closes it in the end, would."""
    with closing(Journal(path)) as journal:
        through = Recorded(host, journal, settings.pop("model_of", settings_of), **settings)
        return [await through.ask(each) for each in turns]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


async def test_a_finished_turn_is_never_asked_again(path: Path) -> None:
    host = FilledHost(PAID)
    first = await ask(path, host, turn())
    assert await ask(path, host, turn()) == first
    assert len(host.asked) == 1
    assert spent_in(path) == PAID


async def test_turns_of_every_reply_type_come_back_whole(path: Path) -> None:
    host = FilledHost(PAID)
    kinds = [turn(number, reply_type=kind) for number, kind in enumerate(REPLIES.values())]
    said = await ask(path, host, *kinds)
    assert await ask(path, host, *kinds) == said
    assert len(host.asked) == len(REPLIES)


async def test_turns_are_listed_in_the_order_they_finished(path: Path) -> None:
    await ask(path, FilledHost(), turn(2), turn(1), turn(3))
    listed = read_turns(path)
    assert [place.turn for place, _, _ in listed] == [2, 1, 3]
    _, request, reply = listed[0]
    assert request["thread"] == [{"sender": "user", "text": "What now? 🙂", "images": []}]
    assert request["system"] == "You are Ada."
    assert reply["model"] == "filled"


CHANGES: dict[str, dict[str, Any]] = {
    "text": {"text": "Something else"},
    "thread": {"thread": (Message("What now? 🙂"), Message("And?"))},
    "sender": {"thread": (Message("What now? 🙂", "assistant"),)},
    "picture": {"thread": (Message("What now? 🙂", images=(Image(b"png"),)),)},
    "system": {"speaker": replace(ADA, system="You are Ada Lovelace.")},
    "model": {"speaker": replace(ADA, model="cheap")},
    "reply": {"reply_type": Idea},
    "recall": {"recall": "retrieval"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_changed_request_stops_at_its_place(path: Path, change: dict[str, Any]) -> None:
    host = FilledHost()
    await ask(path, host, turn())
    with pytest.raises(JournalError) as caught:
        await ask(path, host, turn(**change))
    assert "recorded with different settings, from this turn on: topic, turn 1, Ada: topic" in str(
        caught.value
    )
    assert "--accept-changes" in str(caught.value)
    assert len(host.asked) == 1


async def test_accepted_changes_are_asked_and_kept(path: Path) -> None:
    host = FilledHost(PAID)
    changed = turn(text="Something else")
    await ask(path, host, turn(), turn(2))
    with closing(Journal(path)) as journal:
        told = list[Usage]()
        note = lambda: told.append(through.useful)  # noqa: E731
        through = Recorded(host, journal, settings_of, accept_changes=True, on_ended=note)
        assert through.useful == PAID + PAID, "before anything is replayed"
        await through.ask(changed)
        assert told == [PAID + PAID], "what is replaced is paid, and of no use"
    await ask(path, host, changed)
    assert len(host.asked) == 3


async def test_the_same_question_asked_again_has_a_record_of_its_own(path: Path) -> None:
    host = FilledHost()
    both = [turn(), turn(place=replace(turn().place, ordinal=1))]
    one, two = await ask(path, host, *both)
    assert one.value != two.value
    assert await ask(path, host, *both) == [one, two]


async def test_tool_calls_are_kept(path: Path) -> None:
    call = ToolCall(name="search", arguments={"query": "x", "k": [1, 2]}, result="none", failed=True)
    await ask(path, FilledHost(tool_calls=(call,)), turn())
    [again] = await ask(path, FilledHost(), turn())
    assert again.tool_calls == (call,)


def test_a_file_that_is_no_journal_is_one_clear_error(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to look at" * 50)
    with pytest.raises(JournalError, match=r"journal\.sqlite: file is not a database") as caught:
        Journal(path)
    assert "restore it from a copy" in str(caught.value.hint)
    with pytest.raises(JournalError, match="file is not a database"):
        read_turns(path)


def test_a_full_disk_is_one_clear_error(path: Path) -> None:
    with closing(Journal(path)) as journal:
        journal._db.rows("PRAGMA max_page_count = 4")
        with pytest.raises(
            JournalError, match=r"topic, turn 1, Ada: topic could not be written.*full"
        ) as caught:
            journal.put((turn().place, "hash", {"text": "x" * 100_000}, {}))
        assert "not full, then: manyheads resume RUN" in str(caught.value.hint)


def test_a_failed_turn_stays_left_out_only_where_something_came_after_it(path: Path) -> None:
    """Later turns were built on its absence; one without any, or the same request elsewhere, is asked again."""
    here, there = Place("novelty", 1, "Ada", "vote"), Place("novelty", 2, "Ada", "vote")
    with closing(Journal(path)) as journal:
        journal.put((Place("idea", 1, "Ada", "idea"), "hash", {}, {}))
        journal.give_up(here, {"text": "vote", "task": "scientist.vote"}, {"message": "no valid reply"})
    with closing(Journal(path)) as journal:
        assert journal.given_up(here, {"text": "vote"}) is None
        journal.put((Place("abstract", 1, "Ada", "draft"), "hash", {}, {}))
    with closing(Journal(path)) as journal:
        assert (journal.given_up(here, {"text": "vote"}) or {})["message"] == "no valid reply"
        assert journal.given_up(there, {"text": "vote"}) is None
        assert journal.given_up(here, {"text": "another"}) is None


def test_two_runs_do_not_share_a_journal(path: Path) -> None:
    with closing(Journal(path)), pytest.raises(JournalError, match="another process is running"):
        Journal(path)
    Journal(path).close()


async def test_what_invalid_replies_cost_is_spent_too(path: Path) -> None:
    with closing(Journal(path)) as journal:
        for calls in (9, 1, 2):
            journal.lose(Usage(input_tokens=7, calls=calls))
    assert spent_in(path).calls == 2


def warmer(alias: str) -> dict[str, Any]:
    return {**settings_of(alias), "temperature": 0.9}


async def test_a_changed_model_setting_stops_too(path: Path) -> None:
    await ask(path, FilledHost(), turn())
    with pytest.raises(JournalError):
        await ask(path, FilledHost(), turn(), model_of=warmer)


async def searched(arguments: Any) -> str:
    return "nothing"


SEARCH = Tool("search", "Searches.", BaseModel, searched)


async def test_tools_that_a_server_refused_are_not_offered_again(path: Path) -> None:
    """A resumed run would pay for the refusal anew, and then ask without tools at the same place."""
    refused = list[Turn[Any]]()

    def refuse(asked: Turn[Any]) -> None:
        if asked.tools:
            refused.append(asked)
            raise ToolsRefusedError("no tools")

    host = FilledHost(PAID, before=refuse)
    for accept_changes, times in ((False, 1), (False, 1), (True, 2)):
        with pytest.raises(ToolsRefusedError):
            await ask(path, host, turn(tools=(SEARCH,)), accept_changes=accept_changes)
        assert len(refused) == times
    [reply] = await ask(path, host, turn())
    assert reply.value


def test_a_fact_is_read_once_and_again_when_it_has_changed(path: Path) -> None:
    """The file is busy while another turn is written."""
    with closing(Journal(path)) as journal:
        assert journal.fact("refused") == {}
        journal.state("refused", {"a": "b"})
        assert journal.fact("refused") == {"a": "b"}
    assert journal.fact("refused") == {"a": "b"}
    with pytest.raises(JournalError):
        journal.fact("steered")


async def test_a_reply_that_cannot_be_written_stops_what_comes_after_it(path: Path) -> None:
    with closing(Journal(path)) as journal:
        through = Recorded(FilledHost(PAID), journal, settings_of)
        await through.ask(turn())
        assert (through.useful, through.writing) == (PAID, PAID), "given before it is on disk"
        await journal.written()
        assert (through.useful, through.writing) == (PAID, PAID - PAID)
        journal._db.rows("PRAGMA max_page_count = 4")
        await through.ask(turn(2, "x" * 100_000))
        for _ in range(2):
            with pytest.raises(JournalError, match="topic, turn 2, Ada: topic could not be written"):
                await journal.written()
        assert (through.useful, through.writing) == (PAID, PAID - PAID)
