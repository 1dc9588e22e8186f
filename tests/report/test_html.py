"""The report as a page: whole, safe, and honest about what is missing."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import JournalError
from manyheads.core.events import AnyEvent, Invited, Said
from manyheads.report.page import FOLD_AT, split
from manyheads.systems.results import write_report
from report.conftest import TITLES
from support.results import today

Write = Callable[..., Path]
Read = Callable[[Path], Any]
EVIL = "<script>document.title='owned'</script><img src=x onerror=alert(1)>{{ 7 * 7 }}{% raw %}\"'>&amp;"


def changed(data: Any, text: str) -> Any:
    """The same data with every free text replaced."""
    if isinstance(data, dict):
        return {
            k: v if k in ("kind", "stage", "part", "system") else changed(v, text) for k, v in data.items()
        }
    if isinstance(data, list | tuple):
        return [changed(item, text) for item in data]
    return text if isinstance(data, str) else data


def test_tells_the_whole_run(run: Write, read: Read) -> None:
    words = read(run()).words
    for expected in (
        "Forgetting on Purpose: Budgeted Episodic Memory", "Not written by a language model.",
        "Scientist31", "My group is bound to another project", "asks outside the team: Which rules of forgetting",
        "Scientist17 sums up", "Lifelong localization under changing appearance 2011 P00 similarity 0.71",
        "winning idea", "kept for the vote", "Scientist9, turn 1 0 7.67 8 7 8 –", "Scientist23, turn 1 – 8 7 7 9 2", "Nobody has priced memory 2.",
        "The vote was tied.", "2 of 4", "Name what is done today", "Technical accuracy",
        "consensus", "3 of 4 agree", "was not valid and was asked for again", "By speaker", "provider: offline",
    ):  # fmt: skip
        assert expected.lower() in words.lower(), expected


def test_is_one_page_that_asks_for_nothing_else(run: Write, read: Read) -> None:
    page = read(run())
    assert page.values("src") == []
    assert all(link.startswith("#") for link in page.values("href"))
    html = (run() / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"@import|url\(|https?://", html)
    assert "default-src 'none'" in html
    assert "script" not in {tag for tag, _ in page.tags}


def test_can_be_walked_by_headings_and_links(run: Write, read: Read) -> None:
    page = read(run())
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("href")} <= set(ids)
    assert {*" ".join(page.values("aria-labelledby")).split()} <= set(ids)
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert ("html", {"lang": "en"}) in page.tags


@pytest.mark.parametrize("finished", [True, False])
def test_a_model_text_is_never_markup(
    run: Write, read: Read, tale: list[AnyEvent], told: dict[str, Any], finished: bool
) -> None:
    events = [type(e).model_validate(changed(e.model_dump(mode="json"), EVIL)) for e in tale]
    folder = run(
        events=events,
        outcome=changed(told, EVIL),
        finished=finished,
        config=json.dumps({"system": "virsci", "topic": EVIL}),
    )
    page = read(folder)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "img" not in {tag for tag, _ in page.tags}
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert EVIL in page.text


def test_characters_that_no_page_may_hold_are_replaced(run: Write, read: Read, told: dict[str, Any]) -> None:
    folder = run()
    told["abstract"]["title"] = "Half a pair, \x00 and \x1b[31m red"
    (folder / "result.json").write_text(json.dumps(today(told)), encoding="utf-8")
    title = next(line for line in read(folder).text.splitlines() if "Half" in line)
    assert "Half a pair, \ufffd and \ufffd[31m red" in title


def test_huge_texts_fold_and_are_kept_whole(run: Write, read: Read, told: dict[str, Any]) -> None:
    told["ideas"][0]["idea"] = "wordy " * 50_000 + "the end."
    told["ideas"][1]["idea"] = "x" * 100_000
    folder = run(outcome=told)
    page = read(folder)
    assert page.words.count("wordy") >= 50_000
    assert page.text.count("x" * 90_000) == 1
    assert "the other 29" in page.words


def test_an_unfinished_run_says_so(run: Write, read: Read, tale: list[AnyEvent]) -> None:
    words = read(run(events=tale[:20], finished=False)).words
    assert "This run is not finished." in words
    assert "manyheads resume" in words
    assert "No idea has been put forward yet." in words
    assert "The abstract has not been written yet." in words


def test_a_language_model_needs_no_banner(
    run: Write, read: Read, tale: list[AnyEvent], told: dict[str, Any]
) -> None:
    events = [e.model_copy(update={"model": "gpt-4o-mini"}) if isinstance(e, Said) else e for e in tale]
    config = "models: {default: {provider: openai, name: gpt-4o-mini}}"
    words = read(run(events=events, config=config, outcome={**told, "written_by_language_model": True})).words
    assert "language model" not in words.lower()
    replay = "models: {default: {provider: replay, name: runs/one}}"
    words = read(run(events=events, config=replay, outcome={**told, "written_by_language_model": True})).words
    assert "Not written by a language model in this run." in words


def test_costs_are_shown_where_they_are_known(run: Write, read: Read, told: dict[str, Any]) -> None:
    assert "Cost" not in read(run()).words
    told["usage"]["cost"] = 0.01234
    words = read(run(outcome=told)).words
    assert "Cost 0.0123 (in the currency of your prices)" in words
    told["prices"] = {
        "default": {"input": 1, "output": 2, "currency": "EUR", "as_of": "2026-01-02", "listed": "x"}
    }
    words = read(run(outcome=told)).words
    assert "Cost 0.0123 EUR (list prices of 2026-01-02)" in words
    assert "at a cost of 0.0123 EUR" in words


def test_advice_stands_at_the_version_that_it_went_into(run: Write, read: Read, tale: list[AnyEvent]) -> None:
    def heard(by: str, turn: int) -> Invited:
        return Invited(stage="abstract", turn=turn, guest="Scientist88", by=by, question=f"What of {turn}?")

    words = read(run(events=[*tale, heard("Scientist9", 1), heard("Scientist9", 7)])).words
    versions, other = words.split("Other advice from outside")
    assert versions.index("Version 3") < versions.index("What of 1?") < versions.index("Version 4")
    assert "What of 7?" in other


def test_what_was_paid_for_nothing_is_told(run: Write, read: Read, told: dict[str, Any]) -> None:
    assert "unused calls" not in read(run(outcome=told)).words
    told["usage"]["calls"] += 2
    told["usage"]["unused"] = {"input_tokens": 90, "output_tokens": 10, "calls": 2}
    words = read(run(outcome=told)).words
    assert words.count("unused calls") == 2, "in the bar and in the table"


def test_a_folder_that_takes_no_report_is_named(run: Write) -> None:
    folder = run()
    (folder / "report.html").mkdir()
    with pytest.raises(JournalError, match=r"report\.html"):
        write_report(folder)


def test_splits_long_texts_between_words() -> None:
    shown, rest = split("word " * FOLD_AT)
    assert shown.endswith("word")
    assert shown + rest == "word " * FOLD_AT
    assert split("short") == ("short", "")


def test_the_vote_says_who_voted_for_whom(run: Write, read: Read) -> None:
    page = read(run())
    heads = "Idea Scientist17 Scientist4 Scientist9 Scientist23 All"
    rows = (
        f"{TITLES[0]} Scientist17 1 1 – – 2 {TITLES[1]} Scientist4 – – 1 1 2 {TITLES[2]} Scientist9 – – – – 0"
    )
    assert f"{heads} {rows}" in page.words
    assert [attrs.get("class") for tag, attrs in page.tags if tag == "td"].count("own") == 3


def test_lines_with_a_dash_are_a_list(run: Write, told: dict[str, Any]) -> None:
    told["ideas"][0]["idea"] = (
        "Two ways:\n- by <age>\n- by use\nBoth - old and new - are cheap.\n-5 is a number."
    )
    page = write_report(run(outcome=told)).read_text(encoding="utf-8")
    assert (
        '<p dir="auto">Two ways:</p><ul><li dir="auto">by &lt;age&gt;</li><li dir="auto">by use</li></ul>'
        in page
    )
    assert "Both - old and new - are cheap.\n-5 is a number.</p>" in page


def test_the_bar_of_stages_is_of_the_cost_where_there_is_one(
    run: Write, read: Read, told: dict[str, Any]
) -> None:
    page = read(run(outcome=told))
    assert "Share of the tokens" in page.values("aria-label")
    for place, stage in enumerate(told["usage"]["by_stage"].values()):
        stage["cost"] = 3.0 if place == 1 else 1.0 if place == 2 else 0.0
    page = read(run(outcome=told))
    assert "Share of the cost" in page.values("aria-label")
    assert "Topic discussion 75% Idea generation 25% By stage" in page.words
