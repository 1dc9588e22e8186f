"""The search ledger: a line for each look-up, and a summary without times."""

import json
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import JournalError
from manyheads.core.events import Searched
from manyheads.literature.lookup import SearchLedger


def searched(**changes: Any) -> Searched:
    given: dict[str, Any] = {
        "source": "openalex", "operation": "search", "query": "q", "asked": "q", "at": "2026-11-21T00:00:00+00:00",
        "seconds": 0.1, "hits": 0, "outcome": "empty",
    }  # fmt: skip
    return Searched(**given | changes)


def test_the_ledger_keeps_a_line_for_each_look_up(tmp_path: Path) -> None:
    ledger = SearchLedger(tmp_path / "run" / "searches.jsonl")
    for entry_ in (searched(query="a\u2028b"), searched(hits=2, outcome="found"), searched(query="a\u2028b")):
        ledger.note(entry_)
    lines = (tmp_path / "run" / "searches.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line)["query"] for line in lines[:-1]] == ["a\u2028b", "q"]
    assert SearchLedger(tmp_path / "run" / "searches.jsonl").entries == ledger.entries


def test_a_line_that_a_kill_cut_short_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "searches.jsonl"
    SearchLedger(path).note(searched())
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    ledger = SearchLedger(path)
    assert ledger.entries == (searched(),)
    ledger.note(searched(query="next"))
    assert [one.query for one in SearchLedger(path).entries] == ["q", "next"]


def test_what_is_no_ledger_is_refused_with_words(tmp_path: Path) -> None:
    path = tmp_path / "searches.jsonl"
    path.write_text("{}\n")
    with pytest.raises(JournalError, match="line 1 is not a look-up"):
        SearchLedger(path)
    with pytest.raises(JournalError, match="cannot be written"):
        SearchLedger(path / "below").note(searched())


def test_the_summary_counts_each_different_look_up_once_and_tells_no_times() -> None:
    ledger = SearchLedger()
    for entry_ in (
        searched(source="local", hits=4, outcome="found"),
        searched(seconds=9, at="2026-11-21T00:00:01+00:00", cached=True),
        searched(),
        searched(query="r", outcome="failed", reason="503"),
        searched(source="arxiv", operation="references", outcome="skipped", reason="arXiv keeps none"),
    ):
        ledger.note(entry_)
    data = ledger.as_data()
    assert data["sources"] == {
        "arxiv": {"found": 0, "empty": 0, "skipped": 1, "failed": 0, "hits": 0},
        "local": {"found": 1, "empty": 0, "skipped": 0, "failed": 0, "hits": 4},
        "openalex": {"found": 0, "empty": 1, "skipped": 0, "failed": 1, "hits": 0},
    }
    assert data["degraded"] == ["openalex"]
    assert len(data["searches"]) == 4
    assert not {"at", "seconds", "cached", "stage", "turn"} & set().union(*data["searches"])


def test_a_source_that_has_answered_since_is_not_degraded() -> None:
    ledger = SearchLedger()
    ledger.note(searched(outcome="failed", reason="503"))
    assert ledger.degraded == ("openalex",)
    ledger.note(searched())
    assert ledger.degraded == ()
    ledger.note(searched(outcome="failed", reason="503", at="2026-11-21T00:00:02+00:00"))
    assert ledger.degraded == (), "what it knows of this is known"
