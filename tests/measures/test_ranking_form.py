"""Ranking forms: blind, in the judge's own words, and read back as strictly as a judge's ranking."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import RatingError
from manyheads.measures.forms import Key
from manyheads.measures.ranking import (
    LAYOUT,
    RankedSet,
    doubts,
    judged_sets,
    ranking_form,
    read_ranked_set,
    read_rankings,
)
from support.command import manyheads_command
from support.results import write as write_result

SET = RankedSet(
    run="/runs/secret",
    target="5ec",
    area="robotics",
    indicator="novelty",
    traits="- nobody has tried it",
    texts=("Title: Dogs", "Title: Owls", "Title: Bats", "Title: Cats"),
    sources=("/papers/target.md", "/runs/1", "/runs/2", "/runs/3"),
    judge_ranks=((2, 3), (1, 1), (3, 2), (4, 4)),
)
OTHER = replace(SET, run="/runs/other", indicator="feasibility", traits="- all of it can be had")
RESULT: dict[str, Any] = {
    "system": "ranking",
    "target": {"source": "/papers/target.md", "title": "Told", "fields": {"title": "Dogs", "problem": "Mines."},
               "sha256": "7a"},
    "ideas": [
        {"source": "/runs/1", "title": "Owls", "fields": {"title": "Owls", "problem": "Planning."}},
        {"source": "", "title": "Bats", "fields": {}, "text": "They map caves."},
    ],
    "area": "robotics", "indicator": "novelty", "traits": "- nobody has tried it", "shown_fields": ["problem"],
    "orders": [
        {"target_place": 1, "shown": [0, 1, 2], "ranked": [1, 0, 2]},
        {"target_place": 3, "shown": [1, 2, 0], "ranked": None, "failed": "leaves out 2"},
        {"target_place": 2, "shown": [2, 0, 1], "ranked": [1, 2, 0]},
    ],
}  # fmt: skip
Cells = list[dict[str, str]]


def rows(path: Path) -> Cells:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, cells: Sequence[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(cells[0]))
        writer.writeheader()
        writer.writerows(cells)
    return path


def run_folder(folder: Path, **changes: Any) -> Path:
    return write_result(folder, {**RESULT, **changes})


@pytest.fixture
def filled(tmp_path: Path) -> Callable[[Callable[[Cells], None]], tuple[Path, Path]]:
    """A form of one set, ranked as it stands there, then spoilt; and its key."""

    def fill(spoil: Callable[[Cells], None]) -> tuple[Path, Path]:
        table, _, key = ranking_form([SET], 1, seed=0).write(tmp_path / "form.csv")
        cells = rows(table)
        for rank, row in enumerate(cells, 1):
            row["rank"] = str(rank)
        spoil(cells)
        return write(table, cells), key

    return fill


def test_a_run_is_read_as_its_judge_saw_it(tmp_path: Path) -> None:
    found = read_ranked_set(run_folder(tmp_path / "run"))
    assert found.texts == ("Problem: Mines.", "Problem: Planning.", "Bats\n\nThey map caves.")
    # Of the two orders that have a ranking: 2, 1, 3 and 3, 1, 2.
    assert found.judge_ranks == ((2, 3), (1, 1), (3, 2))
    assert found.sources == ("/papers/target.md", "/runs/1", "")
    assert found.target == "7a"
    assert (found.area, found.indicator, found.traits) == ("robotics", "novelty", "- nobody has tried it")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"orders": [{"ranked": None, "shown": [0, 1, 2], "target_place": 1}]}, "no order has a ranking"),
        (
            {"orders": [{"ranked": [0, 1, 1], "shown": [0, 1, 2], "target_place": 1}]},
            "each idea once",
        ),
        ({"ideas": []}, "ideas"),
    ],
)
def test_what_is_no_ranking_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(RatingError, match=told):
        read_ranked_set(run_folder(tmp_path / "run", **changes))
    with pytest.raises(RatingError, match="a run of rebuttal, not of a ranking"):
        read_ranked_set(write_result(tmp_path / "other", {"system": "rebuttal", "rounds": []}))
    with pytest.raises(RatingError, match="not a run folder"):
        read_ranked_set(tmp_path)


def test_each_rater_gets_every_set_and_text_in_an_order_of_their_own(tmp_path: Path) -> None:
    sets = [replace(SET, texts=(f"Title: T{n}", *SET.texts[1:])) for n in range(6)]
    *tables, guide, key = ranking_form(sets, 3, seed=1).write(tmp_path / "new" / "form.csv")
    assert [path.name for path in tables] == ["form-1.csv", "form-2.csv", "form-3.csv"]
    assert (guide.name, key.name) == ("form.guide.md", "form.key.csv")
    shown = [rows(path) for path in tables]
    assert all(tuple(row) == LAYOUT.table for table in shown for row in table)
    assert [{row["rater"] for row in table} for table in shown] == [{"R1"}, {"R2"}, {"R3"}]
    assert all(row["rank"] == row["comment"] == "" for table in shown for row in table)
    asked = [{(row["set"], row["idea"], row["text"]) for row in table} for table in shown]
    assert asked[0] == asked[1] == asked[2]
    assert len(asked[0]) == 24
    orders = [tuple(dict.fromkeys(row["set"] for row in table)) for table in shown]
    assert len(set(orders)) == 3
    within = {tuple(row["idea"] for row in table if row["set"] == "S1") for table in shown}
    assert len(within) > 1


def test_nothing_that_raters_get_tells_which_is_the_target(tmp_path: Path) -> None:
    """Neither words nor places: over many forms the target stands under each letter and in each place."""
    *tables, guide, _ = ranking_form([SET, OTHER], 2, seed=1).write(tmp_path / "form.csv")
    given = "".join(path.read_text(encoding="utf-8") for path in (*tables, guide))
    assert not [word for word in ("/runs", "/papers", "target", "2 3") if word in given]
    first = [ranking_form([SET, OTHER], 1, seed).items[0]["run"] for seed in range(100)]
    assert 30 < first.count(SET.run) < 70
    forms = [ranking_form([SET], 1, seed) for seed in range(400)]
    targets = [next(at for at, item in enumerate(form.items) if item["number"] == "0") for form in forms]
    letters = [form.items[target]["idea"] for form, target in zip(forms, targets, strict=True)]
    places = [form.orders[0].index(target) for form, target in zip(forms, targets, strict=True)]
    assert all(60 < letters.count(letter) < 140 for letter in "ABCD")
    assert all(60 < places.count(place) < 140 for place in range(4))


def test_a_target_that_comes_back_among_other_ideas_is_told() -> None:
    """The same set by two qualities tells nothing: all of its texts come back."""
    changed = replace(SET, run="/runs/changed", texts=(SET.texts[0], "Title: Mice", *SET.texts[2:]))
    apart = replace(changed, target="other", texts=("Title: Eels", *changed.texts[1:]))
    assert not list(doubts(ranking_form([SET, OTHER, apart], 1, seed=0)))
    [doubt] = doubts(ranking_form([SET, apart, changed], 1, seed=0))
    assert "the same target with different ideas" in doubt
    assert doubt.partition(":")[0].count("S") == 2


def test_the_command_warns_of_it(tmp_path: Path) -> None:
    run_folder(tmp_path / "one")
    run_folder(tmp_path / "two", ideas=[*RESULT["ideas"][:1], {**RESULT["ideas"][1], "text": "They sing."}])
    done = manyheads_command("ranking", "form", "one", "two", cwd=tmp_path)
    assert done.code == 0
    assert "warning: S1, S2: the same target with different ideas" in done.err


def test_the_guideline_names_each_quality_and_its_traits(tmp_path: Path) -> None:
    _, guide, _ = ranking_form([SET, OTHER], 1, seed=1).write(tmp_path / "form.csv")
    text = guide.read_text(encoding="utf-8")
    assert text.index("### feasibility") < text.index("- all of it can be had") < text.index("### novelty")
    assert "- nobody has tried it" in text
    assert "In robotics." in text


def test_the_order_of_the_folders_does_not_show() -> None:
    first, second = ranking_form([SET, OTHER], 2, seed=1), ranking_form([OTHER, SET], 2, seed=1)
    assert first == second
    assert first != ranking_form([SET, OTHER], 2, seed=2)


def test_the_same_question_twice_is_refused() -> None:
    turned = replace(SET, run="/runs/turned", texts=(SET.texts[0], *SET.texts[:0:-1]))
    with pytest.raises(RatingError, match=r"/runs/turned: the same ideas .* as /runs/secret"):
        ranking_form([SET, turned], 1, seed=0)
    told_otherwise = replace(SET, run="/runs/2", texts=("Title: Mice", *SET.texts[1:]), traits="- it is odd")
    with pytest.raises(RatingError, match=r"/runs/2: its traits of novelty .* /runs/secret"):
        ranking_form([SET, told_otherwise], 1, seed=0)
    with pytest.raises(RatingError, match="at least one ranking"):
        ranking_form([], 1, seed=0)


def test_a_filled_in_form_is_read_again(
    filled: Callable[[Callable[[Cells], None]], tuple[Path, Path]],
) -> None:
    shown: list[str] = []
    table, key = filled(lambda cells: shown.extend(row["text"] for row in cells))
    judged = judged_sets(Key.read(key, LAYOUT))["S1"]
    assert (judged.judge_ranks, judged.indicator) == (((2, 1, 3, 4), (3, 1, 2, 4)), "novelty")
    found = read_rankings([table], Key.read(key, LAYOUT))
    assert found.ranks == {"S1": {"R1": tuple(shown.index(text) + 1 for text in SET.texts)}}
    assert found.raters == ["R1"]


def put(row: int, **cells: str) -> Callable[[Cells], None]:
    return lambda table: table[row].update(cells)


def drop_a_row(cells: Cells) -> None:
    cells.pop(2)


def repeat_a_row(cells: Cells) -> None:
    cells.append(dict(cells[0]))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (put(1, rank=""), "form.csv:3: column rank: empty"),
        (put(1, rank="1"), "form.csv:3: R1 gives S1 the rank 1 again, after .*form.csv:2"),
        (put(1, rank="5"), "form.csv:3: column rank: '5' is not a whole number from 1 to 4"),
        (put(1, rank="0"), "'0' is not a whole number"),
        (put(1, rank="2.5"), "'2.5' is not a whole number"),
        (put(1, rank="second"), "'second' is not a whole number"),
        (put(1, idea="E"), "form.csv:3: .*idea 'E'.*form.key.csv"),
        (put(1, set="S9"), "form.csv:3: set 'S9'.*form.key.csv"),
        (put(1, rater=""), "form.csv:3: column rater: empty"),
        (
            put(1, text="Owls"),
            "form.csv:3: column text: .*set 'S1', idea '[A-D]'.*form.key.csv",
        ),
        (drop_a_row, "form.csv:2: R1 leaves [A-D] out of S1"),
        (repeat_a_row, "form.csv:6: R1 gives S1 the idea [A-D] again"),
    ],
)
def test_what_is_no_ranking_is_named_and_never_guessed(
    spoil: Callable[[Cells], Any],
    told: str,
    filled: Callable[[Callable[[Cells], None]], tuple[Path, Path]],
) -> None:
    table, key = filled(spoil)
    with pytest.raises(RatingError, match=told) as caught:
        read_rankings([table], Key.read(key, LAYOUT))
    assert "--exclude FILE:ROW" in (caught.value.hint or "")


def test_ranks_are_read_with_the_key_of_their_own_form_whatever_a_spreadsheet_does_to_blanks(
    tmp_path: Path,
) -> None:
    forms = [ranking_form([SET, OTHER], 1, seed=seed).write(tmp_path / f"form-{seed}.csv") for seed in (0, 1)]
    (table, _, own), (*_, other) = forms
    cells = rows(table)
    for place, row in enumerate(cells):
        row |= {"rank": str(place % 4 + 1), "text": row["text"].replace("\n", "\r\n") + " "}
    write(table, cells)
    assert len(read_rankings([table], Key.read(own, LAYOUT)).ranks) == 2
    with pytest.raises(RatingError, match=r"column text.*form-1\.key\.csv"):
        read_rankings([table], Key.read(other, LAYOUT))


def test_a_set_can_be_left_out_by_one_of_its_rows(tmp_path: Path) -> None:
    one, two, _, key = ranking_form([SET, OTHER], 2, seed=0).write(tmp_path / "form.csv")
    for table in (one, two):
        cells = rows(table)
        for place, row in enumerate(cells):
            row["rank"] = str(place % 4 + 1)
        cells[5]["rank"] = "" if table == one else cells[5]["rank"]
        write(table, cells)
    kept, spoilt = Key.read(key, LAYOUT), rows(one)[5]["set"]
    with pytest.raises(RatingError, match=r"form-1\.csv:7: column rank: empty"):
        read_rankings([one, two], kept)
    found = read_rankings([one, two], kept, [f"{one}:6"])
    assert {name: sorted(given) for name, given in found.ranks.items()} == {
        name: ["R2"] if name == spoilt else ["R1", "R2"] for name in ("S1", "S2")
    }
    assert found.excluded == (f"{one}:6",)
    with pytest.raises(RatingError, match="no such row"):
        read_rankings([one, two], kept, [f"{one}:60"])
    with pytest.raises(RatingError, match="no rankings"):
        read_rankings([one], kept, [f"{one}:2", f"{one}:6"])


@pytest.mark.parametrize(
    "spoil",
    [
        put(0, number="7"), put(0, judge_ranks="9 9"), put(0, judge_ranks="nan 1"), put(0, judge_ranks="1"),
        put(0, judge_ranks=""), put(0, quality="other"), put(0, target="other"), put(0, idea="B"), repeat_a_row, drop_a_row,
    ],
)  # fmt: skip
def test_a_damaged_key_is_refused(spoil: Callable[[Cells], None], tmp_path: Path) -> None:
    *_, key = ranking_form([SET], 1, seed=0).write(tmp_path / "form.csv")
    cells = rows(key)
    spoil(cells)
    with pytest.raises(RatingError, match=r"form\.key\.csv:\d: the key.* damaged"):
        judged_sets(Key.read(write(key, cells), LAYOUT))


def test_a_form_is_no_key(tmp_path: Path) -> None:
    table, *_ = ranking_form([SET], 1, seed=0).write(tmp_path / "form.csv")
    with pytest.raises(
        RatingError, match=r"form\.csv: no column number, target, judge_ranks, source, run, sha256"
    ):
        Key.read(table, LAYOUT)
