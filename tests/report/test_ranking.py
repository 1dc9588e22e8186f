"""The report of a ranking: S, ranks and places in each order, what places have done, and the ideas as ranked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.errors import JournalError
from manyheads.events import AnyEvent
from manyheads.measures.ranking import position_bias, relative_quality
from manyheads.report.closing import essence
from manyheads.report.folder import read_run
from manyheads.report.html import write_report
from manyheads.report.ranking import bias_in_words, meaning, ranked_of
from report.conftest import Reader, said

Write = Callable[..., Path]
Read = Callable[[Path], Reader]
TITLES = (
    "Owls that plan by ear",
    "Bats for dense traffic",
    "Moles that map in the dark",
    "Eels on power lines",
)
CONFIG = "system: ranking\nhost: autogen\nranking: {indicator: novelty}\n"
SHOWN = [(2, 0, 1, 3), (1, 3, 2, 0), (0, 2, 3, 1), (3, 1, 0, 2)]
RANKED = [(1, 2, 0, 3), (1, 3, 2, 0), None, (3, 1, 0, 2)]
WHY = "The judge went astray: the ranking names idea 5, but there are 4; asked 3 times"


def form(number: int) -> dict[str, str]:
    return {
        "title": TITLES[number],
        "problem": f"Machine {number} loses its way where nobody has been before, and no map tells it so.",
        "objective": "To come home by what is heard alone.",
        "hypothesis": "What is heard changes less with the light than what is seen.",
        "method": "We fly forty missions at night beside a plain baseline, and count how many come home.",
    }


def order(shown: tuple[int, ...], ranked: tuple[int, ...] | None) -> dict[str, Any]:
    rank = ranked.index(0) + 1 if ranked else None
    return {
        "shown": shown,
        "ranked": ranked,
        "rationales": [f"Because {TITLES[idea]} stands there." for idea in ranked] if ranked else None,
        "target_place": shown.index(0) + 1,
        "target_rank": rank,
        "s": relative_quality(rank, 3) if rank else None,
        "failed": None if ranked else WHY,
    }


def ranking(**changes: Any) -> dict[str, Any]:
    """What a run of three ideas and a target comes to, one of its four orders failed."""
    orders = [order(*each) for each in zip(SHOWN, RANKED, strict=True)]
    whole = [each for each in orders if each["ranked"]]
    found = position_bias([each["shown"] for each in whole], [each["ranked"] for each in whole])
    ideas = [
        {
            "source": f"runs/{n}",
            "title": TITLES[n],
            "fields": form(n),
            "round": 2 if n < 3 else None,
            "settled": n == 1,
        }
        for n in (1, 2, 3)
    ]
    return {
        "system": "ranking",
        "title": TITLES[0],
        "target": {"source": "papers/owls.md", "title": TITLES[0], "sha256": "0", "words": 120, "fields": form(0)},
        "ideas": ideas,
        "area": "robotics",
        "indicator": "novelty",
        "traits": "- few would have thought of it\n- it closes a gap",
        "shown_fields": ["title", "problem", "objective", "method"],
        "orders": orders,
        "s": sum(each["s"] for each in whole) / len(whole),
        "s_interval": {"low": 0.61, "high": 0.97, "level": 0.95},
        "failed": 1,
        "position_bias": found.bias,
        "position_p": found.p,
        "consistency": found.consistency,
        "by_place": found.by_place,
        "s_by_place": [None, 0.67, 0.67, 1.0],
        "settled": 1 / 3,
        "inference_cost": 8,
        "usage": {"input_tokens": 9000, "output_tokens": 900, "calls": 8, "by_stage": {}},
        "warnings": ["order 3 failed"],
        "written_by_language_model": True,
        **changes,
    }  # fmt: skip


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
    assert "S 0.78 95 % interval 0.61 to 0.97" in words
    assert "S is the share of the 3 ideas that the judge ranks above the target, here 78%" in words
    assert "3 ideas ranked beside it for novelty in robotics" in words
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
    assert "1 order without a ranking. It is counted as failed and left out of every mean" in words


def test_reasons_stand_by_the_ideas_names(ranked_run: Write, read: Read) -> None:
    words = read(ranked_run()).words
    told = f"{TITLES[0]} target shown in place 2 Because {TITLES[0]} stands there."
    assert told in words
    assert "Order 4 S 0.67 the target, shown in place 3, came to rank 3" in words


def test_forms_tell_what_the_judge_was_not_shown(ranked_run: Write, read: Read) -> None:
    page = read(ranked_run())
    assert page.words.count("Hypothesis (not shown)") == 4
    assert "Method (not shown)" not in page.words
    assert "after 2 revisions, where it had come to rest" in page.words
    assert page.words.count("after 2 revisions, not at rest yet") == 1
    assert "few would have thought of it" in page.words
    links = {link.removeprefix("#") for link in page.values("href")}
    assert links <= set(page.values("id"))


def test_places_are_drawn_between_the_ends_of_the_ranks(ranked_run: Write, read: Read) -> None:
    page = read(ranked_run(by_place=[1.0, 2.5, 4.0, 2.5]))
    assert [style for style in page.values("style") if "--at" in style] == [
        "--at: 0.0", "--at: 0.5", "--at: 1.0", "--at: 0.5",
    ]  # fmt: skip


def told_of(folder: Path) -> str:
    return " ".join(bias_in_words(ranked_of(read_run(folder))))


@pytest.mark.parametrize(
    ("bias", "p", "told"),
    [
        (0.8, 0.005, "favours what it is shown early: place and rank correlate at 0.80, and by chance alone 0.5%"),
        (-0.8, 0.04, "favours what it is shown late"),
        (0.8, 0.05, "No favour for a place can be told from chance"),
    ],
)  # fmt: skip
def test_a_bias_is_told_in_words(ranked_run: Write, bias: float, p: float, told: str) -> None:
    assert told in told_of(ranked_run(position_bias=bias, position_p=p))


def test_few_orders_are_said_to_tell_little(ranked_run: Write) -> None:
    assert "It takes 4 whole orders" in told_of(ranked_run(position_p=0.5))
    orders = [order(shown, RANKED[0]) for shown in SHOWN]
    assert "It takes 4" not in told_of(ranked_run(position_p=0.5, orders=orders))


def test_one_order_has_neither_interval_nor_agreement(ranked_run: Write, read: Read) -> None:
    alone = {"orders": [order(SHOWN[0], RANKED[0])], "s_interval": None, "consistency": None, "s": 0.67}
    folder = ranked_run(**alone)
    assert "No interval can be told from these orders." in read(folder).words
    assert "A single order cannot tell how far rankings agree." in told_of(folder)


def test_many_orders_go_into_tables_that_fit(ranked_run: Write, read: Read) -> None:
    page = read(ranked_run(orders=[order(SHOWN[0], RANKED[0])] * 17))
    assert [attrs["colspan"] for tag, attrs in page.tags if tag == "th" and "colspan" in attrs] == [
        "8",
        "8",
        "1",
    ]
    assert [tag["rowspan"] for _, tag in page.tags if "rowspan" in tag] == ["2"] * 4, (
        "means in the first alone"
    )


def test_a_single_idea_is_spoken_of_as_one(ranked_run: Write) -> None:
    ranked = ranked_of(read_run(ranked_run(ideas=ranking()["ideas"][:1], orders=[], s=1.0)))
    assert meaning(ranked).startswith(
        "S is the share of the one idea that the judge ranks above the target, here 100%"
    )


def test_an_unfinished_ranking_shows_what_has_come(run: Write, read: Read) -> None:
    words = read(run(events=events(), config=CONFIG, finished=False)).words
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


def test_what_no_run_writes_is_refused(ranked_run: Write) -> None:
    folder = ranked_run()
    (folder / "result.json").write_text(json.dumps(ranking(orders=[{"shown": "x"}])), encoding="utf-8")
    with pytest.raises(JournalError, match=r"orders\.0\.shown"):
        write_report(folder)


def test_the_last_lines_tell_s_ranks_and_places() -> None:
    told = dict(essence(ranking()))
    assert told["S"] == "0.78 of 3 ideas above the target for novelty, 95% interval 0.61 to 0.97"
    assert told["Orders"] == "3 of 4 ranked, the others failed"
    assert told["1"] == f"{TITLES[1]} (mean rank 1.33)"
    assert told["4"] == f"{TITLES[0]} (mean rank 3.33, the target)"
    assert told["Places"].startswith("The judge favours what it is shown early")
