"""The report of a ranking: S, ranks and places in each order, what places have done, and the ideas as ranked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.core.events import AnyEvent
from manyheads.systems.ranking.result import bias_in_words
from manyheads.systems.results import essence, load, write_report
from report.conftest import Reader, said
from support.ranked import RANKED, SHOWN, TITLES, WHY, form, order, ranking
from support.results import run_of

Write = Callable[..., Path]
Read = Callable[[Path], Reader]
CONFIG = "system: ranking\nhost: autogen\nranking: {indicator: novelty}\n"


def events() -> list[AnyEvent]:
    told: list[AnyEvent] = [
        said("condense", 0, "Judge", "condense", TITLES[0], {**form(0), "expected_impact": "NONE"})
    ]
    places = [{"idea": place, "rationale": "So."} for place in (2, 1, 4, 3)]
    return [*told, said("ranking", 1, "Judge", "rank", "1. Idea 2: So.", {"ranking": places})]


@pytest.fixture
def ranked_run(run: Write) -> Write:
    def write(**changes: Any) -> Path:
        return run(events=events(), outcome=ranking(**changes), config=CONFIG)

    return write


def test_s_stands_with_its_interval_and_what_it_means(ranked_run: Write, read: Read) -> None:
    words = read(ranked_run()).words
    assert "S 0.78 95% interval 0.61 to 0.97" in words
    assert "S = 0.78: on average 78% of the 3 ideas ranked above the target" in words
    assert "3 ideas ranked together with this target for novelty in robotics" in words
    assert "Orders ranked 3 of 4" in words


def test_each_order_tells_rank_and_place(ranked_run: Write, read: Read) -> None:
    words = read(ranked_run()).words
    assert "Bats for dense traffic idea 1 1.33 1 at 3 1 at 1 – at 4 2 at 2" in words
    assert "Owls that plan by ear target 3.33 3 at 2 4 at 4 – at 1 3 at 3" in words
    assert "S 0.78 0.67 1 failed 0.67" in words
    best = [
        words.index(f"{title} {mark}") for title, mark in ((TITLES[1], "idea 1 1"), (TITLES[0], "target 3"))
    ]
    assert best == sorted(best), "the best mean rank stands first"


def test_a_failed_order_tells_why_and_counts_nowhere(ranked_run: Write, read: Read) -> None:
    words = read(ranked_run()).words
    assert f"Order 3: {WHY}" in words
    assert "1 order without a ranking. It failed and is left out of every mean" in words


def told_of(folder: Path) -> str:
    return " ".join(bias_in_words(load(folder).result))


@pytest.mark.parametrize(
    ("bias", "p", "told"),
    [
        (0.8, 0.005, "shown early (r = 0.80, p = 0.005)"),
        (-0.8, 0.04, "shown late (r = −0.80, p = 0.04)"),
        (0.8, 0.05, "No significant position bias (r = 0.80, p = 0.05)"),
    ],
)  # fmt: skip
def test_a_bias_is_told_in_words(ranked_run: Write, bias: float, p: float, told: str) -> None:
    assert told in told_of(ranked_run(position_bias=bias, position_p=p))


def test_an_unfinished_ranking_shows_what_has_come(run: Write, read: Read) -> None:
    begun = {key: ranking()[key] for key in ("system", "title", "target", "ideas", "area", "indicator")}
    words = read(run(events=events(), outcome={**begun, "finished": False}, config=CONFIG)).words
    assert "This run is not finished." in words
    assert "Ranked for novelty" in words
    assert "Machine 0 loses its way" in words
    assert "Expected impact" not in words, "the text does not tell it"
    assert "1. Idea 2: So." in words
    assert "target, shown in place" not in words


def test_nothing_that_a_model_writes_becomes_markup(ranked_run: Write) -> None:
    evil = "<script>owned()</script>"
    orders = [
        {**order(SHOWN[0], RANKED[0]), "rationales": [evil] * 4},
        {**order(SHOWN[2], None), "failed": evil},
    ]
    ideas = [{"title": evil, "fields": {evil: evil}, "source": evil}] * 3
    page = write_report(ranked_run(orders=orders, ideas=ideas, title=evil)).read_text(encoding="utf-8")
    assert evil not in page
    assert page.count("&lt;script&gt;owned()") > 10


def test_the_last_lines_tell_s_ranks_and_places() -> None:
    told = dict(essence(run_of(ranking())))
    assert (
        told["S"]
        == "0.78 for novelty: 78% of the 3 ideas ranked above the target on average, 95% interval 0.61 to 0.97"
    )
    assert told["Orders"] == "3 of 4 ranked, the others failed; agreement 0.47 (Kendall's W)"
    assert told["1"] == f"{TITLES[1]} (mean rank 1.33)"
    assert told["4"] == f"{TITLES[0]} (mean rank 3.33, the target)"
    assert told["Position bias"].startswith("Position bias: the judge prefers ideas that it is shown early")


def test_each_rank_is_a_dot_of_the_size_of_its_orders(ranked_run: Write) -> None:
    page = write_report(ranked_run()).read_text(encoding="utf-8")
    charts = [chart.split("</span>")[0] for chart in page.split('class="track spread"')[1:]]
    # Bats were first twice and second once, of three orders.
    assert charts[0].count("<i ") == 2
    assert "--at: 0.0; --share: 0.67" in charts[0]
    assert '<b style="--at: 0.1111">' in charts[0]
    assert len(charts) == len(TITLES)
