"""Reading a run folder, as a finished, a killed or a broken run leaves it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import JournalError, SubjectError
from manyheads.core.events import AnyEvent, Said
from manyheads.report.record import Record, read_run
from manyheads.systems.results import write_report
from manyheads.systems.virsci.result import VirSciResult
from support.command import SMALL, manyheads_command, served_by
from support.faults import Fault
from support.llm import LLM
from support.requests import Request

Write = Callable[..., Path]


def read(folder: Path) -> Record:
    return read_run(folder, VirSciResult)


def test_reads_events_result_and_config(run: Write) -> None:
    record = read(run())
    assert record.result is not None
    assert record.config["team"] == {"size": 4}
    assert [event.kind for event in record.events][:2] == ["stage", "asked"]
    assert record.seconds > 0
    assert record.unread == ()


def test_a_last_line_cut_by_a_kill_is_left_out_and_told(run: Write) -> None:
    folder = run(finished=False)
    whole = len(read(folder).events)
    with (folder / "events.jsonl").open("a", encoding="utf-8") as log:
        log.write('{"at": 9.1, "kind": "said", "stage": "abstr')
    record = read(folder)
    assert len(record.events) == whole
    assert record.unread == (whole + 1,)


def test_line_separators_inside_a_text_do_not_break_its_line(run: Write, tale: list[AnyEvent]) -> None:
    said = next(event for event in tale if isinstance(event, Said))
    folder = run(events=[said.model_copy(update={"text": "one\u2028two\x85three"})], finished=False)
    assert read(folder).of(Said)[0].text == "one\u2028two\x85three"


def test_concurrent_replies_are_read_in_the_order_of_their_questions(tmp_path: Path) -> None:
    def second(request: Request) -> bool:
        """Whether the question of consensus goes to the one who was asked second for a remark; the first goes ahead."""
        remarks = [each for each in llm.requests if each.title == "Remark"]
        return request.title == "Consensus" and request.system == remarks[1].system

    with LLM(faults=[Fault("slow", seconds=0.5, when=second)]) as llm:
        words = ("run", "virsci", *SMALL, *served_by(llm), "--budget", "calls=8", "--out", "run", "--quiet")
        assert manyheads_command(*words, cwd=tmp_path).code == 3
    lines = map(json.loads, (tmp_path / "run" / "events.jsonl").read_text(encoding="utf-8").splitlines())
    happened = [(line["kind"], line["speaker"]) for line in lines if line.get("task") == "consensus"]
    asked, said = ([speaker for kind, speaker in happened if kind == each] for each in ("asked", "said"))
    assert sorted(said) == sorted(asked)
    assert said != asked
    told = [said.speaker for said in read(tmp_path / "run").of(Said) if said.task == "consensus"]
    assert told == asked


@pytest.mark.parametrize("line", ["[]", "17", "null", '{"kind": "unheard of"}', '{"at": "soon"}'])
def test_lines_that_are_no_events_are_counted(run: Write, line: str) -> None:
    folder = run(finished=False)
    log = folder / "events.jsonl"
    log.write_text(f"{line}\n{log.read_text(encoding='utf-8')}", encoding="utf-8")
    assert read(folder).unread == (1,)


@pytest.mark.parametrize(
    "config",
    [
        "",
        "system: virsci",
        "system: virsci\nvirsci:\n  t",
        "system: virsci\nnovelty: e\nmodels: {default: d}\nseed: x",
    ],
)
def test_a_config_that_was_cut_off_does_not_keep_a_report_from_being_written(run: Write, config: str) -> None:
    folder = run()
    (folder / "config.yaml").write_text(config)
    (folder / "report.html").unlink(missing_ok=True)
    assert write_report(folder) == folder / "report.html"
    assert "Abstract" in (folder / "report.html").read_text()


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"events\.jsonl"):
        read(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_broken_result_is_named(run: Write, content: str) -> None:
    folder = run()
    (folder / "result.json").write_text(content, encoding="utf-8")
    with pytest.raises(SubjectError, match=r"result\.json"):
        read(folder)


def test_without_a_result_the_events_tell_what_was_paid(run: Write, told: dict[str, Any]) -> None:
    result = read(run(finished=False)).result
    assert not result.finished
    assert result.usage.calls == told["usage"]["calls"]
    assert result.warnings == told["warnings"]
    assert result.result == VirSciResult()


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
    record = read(run(events=[said], config=f"system: virsci\nmodels: {models}", finished=False))
    assert record.models() == {label: provider}
    assert bool(record.unwritten()) == (provider in ("offline", "replay"))
