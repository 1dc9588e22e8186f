"""Reading a run folder, as a finished, a killed or a broken run leaves it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from manyheads.core.events import AnyEvent, Said
from manyheads.errors import JournalError
from manyheads.report.record import read_run
from manyheads.report.virsci import outcome_of, unwritten

Write = Callable[..., Path]


def test_reads_events_result_and_config(run: Write) -> None:
    record = read_run(run())
    assert record.result is not None
    assert record.config["team"] == {"size": 4}
    assert [event.kind for event in record.events][:2] == ["stage", "asked"]
    assert record.seconds > 0
    assert record.unread == ()


def test_a_last_line_cut_by_a_kill_is_left_out_and_told(run: Write) -> None:
    folder = run(finished=False)
    whole = len(read_run(folder).events)
    with (folder / "events.jsonl").open("a", encoding="utf-8") as log:
        log.write('{"at": 9.1, "kind": "said", "stage": "abstr')
    record = read_run(folder)
    assert len(record.events) == whole
    assert record.unread == (whole + 1,)


def test_line_separators_inside_a_text_do_not_break_its_line(run: Write, tale: list[AnyEvent]) -> None:
    said = next(event for event in tale if isinstance(event, Said))
    folder = run(events=[said.model_copy(update={"text": "one\u2028two\x85three"})], finished=False)
    assert read_run(folder).of(Said)[0].text == "one\u2028two\x85three"


@pytest.mark.parametrize("line", ["[]", "17", "null", '{"kind": "unheard of"}', '{"at": "soon"}'])
def test_lines_that_are_no_events_are_counted(run: Write, line: str) -> None:
    folder = run(finished=False)
    log = folder / "events.jsonl"
    log.write_text(f"{line}\n{log.read_text(encoding='utf-8')}", encoding="utf-8")
    assert read_run(folder).unread == (1,)


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"events\.jsonl"):
        read_run(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_broken_result_is_named(run: Write, content: str) -> None:
    folder = run()
    (folder / "result.json").write_text(content, encoding="utf-8")
    with pytest.raises(JournalError, match=r"result\.json"):
        read_run(folder)


def test_a_result_of_wrong_types_names_the_key(run: Write) -> None:
    folder = run(outcome={"ideas": [{"number": "first"}]})
    with pytest.raises(JournalError, match=r"ideas\.0\.number"):
        outcome_of(read_run(folder))


def test_the_events_alone_tell_what_a_result_would(run: Write) -> None:
    complete = outcome_of(read_run(run()))
    so_far = outcome_of(replace(read_run(run()), result=None))
    assert [idea.title for idea in so_far.ideas] == [idea.title for idea in complete.ideas]
    assert [draft.by for draft in so_far.drafts] == [draft.by for draft in complete.drafts]
    assert [(p.name, p.role) for p in so_far.team] == [(p.name, p.role) for p in complete.team]
    assert so_far.declined[0].name == "Scientist31"
    assert so_far.topic.topic == complete.topic.topic
    assert so_far.usage == complete.usage
    assert so_far.warnings == complete.warnings


def test_who_hears_a_guest_writes_again_and_the_later_draft_counts(run: Write, tale: list[AnyEvent]) -> None:
    drafts = [event for event in tale if isinstance(event, Said) and event.stage == "abstract"]
    first = drafts[1].model_copy(update={"data": {**drafts[1].data, "title": "Before the advice"}})
    record = read_run(run(events=[drafts[0], first, *drafts[1:]], finished=False))
    assert "Before the advice" not in [draft.title for draft in outcome_of(record).drafts]


@pytest.mark.parametrize(
    ("models", "label", "provider"),
    [
        ("{default: {provider: offline, name: offline}}", "offline", "offline"),
        ("{default: {provider: openai, name: gpt-4o-mini}}", "gpt-4o-mini", "openai"),
        ("{default: {provider: openai, name: gpt-4o-mini}}", "openai/gpt-4o-mini", "openai"),
        ("{default: {provider: replay, name: runs/one}}", "gpt-4o-mini", "replay"),
        ("{default: {provider: replay, name: runs/one}}", "offline", "offline"),
        ("{default: {provider: openai, name: a}, other: {provider: replay, name: b}}", "a", "openai"),
    ],
)
def test_knows_which_provider_spoke(
    run: Write, tale: list[AnyEvent], models: str, label: str, provider: str
) -> None:
    said = next(event for event in tale if isinstance(event, Said)).model_copy(update={"model": label})
    record = read_run(run(events=[said], config=f"models: {models}", finished=False))
    assert record.models() == {label: provider}
    assert bool(unwritten(record)) == (provider in ("offline", "replay"))
