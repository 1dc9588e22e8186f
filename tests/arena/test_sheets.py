"""Sheets are blind and come back: what raters get tells no maker, and is read again as strictly as a vote."""

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from manyheads.arena.entries import sets_of
from manyheads.arena.items import Case, NewText, read_form
from manyheads.arena.report import status_of
from manyheads.arena.sheets import export, rankings_of, ratings_of, take, write_sheets
from manyheads.arena.store import Arena
from manyheads.base.errors import ArenaError, RatingError, UserError
from manyheads.measures.ratings import CRITERIA, read_ratings
from support.arenas import arena
from support.results import write as write_result

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


def cells(path: Path) -> Cells:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, say: Callable[[dict[str, str]], Mapping[str, str]]) -> Path:
    rows = [{**row, **say(row)} for row in cells(path)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def rated(folder: Path, ideas: int = 12) -> Arena:
    made = Arena.create(folder, read_form("rating"))
    made.add(
        NewText(Case(f"secret-{n}"), "Zorilla", f"Idea {n}", f"We study {n}, “well”,\nand more.", source=f"/runs/{n}")
        for n in range(ideas)
    )  # fmt: skip
    return made


def ranked(folder: Path, *qualities: str, **changes: Any) -> Arena:
    made = Arena.create(folder, read_form("ranking"))
    for quality in qualities:
        run = write_result(folder / f"run-{quality}", {**RESULT, "indicator": quality, **changes})
        made.add(sets_of([run]))
    return made


def sevens(row: dict[str, str]) -> dict[str, str]:
    return dict.fromkeys(CRITERIA, "7")


def test_each_rater_gets_every_text_in_an_order_of_their_own(tmp_path: Path) -> None:
    with rated(tmp_path / "a") as made:
        *sheets, guide = write_sheets(made, 3, tmp_path / "new" / "sheet.csv")
    assert [path.name for path in (*sheets, guide)] == [
        *(f"sheet-{n}.csv" for n in (1, 2, 3)),
        "sheet.guide.md",
    ]
    shown = [cells(path) for path in sheets]
    assert [{row["rater"] for row in table} for table in shown] == [{"R1"}, {"R2"}, {"R3"}]
    orders = [tuple(row["title"] for row in table) for table in shown]
    assert len({*orders, tuple(sorted(orders[0]))}) == 4
    assert all(len(set(order)) == 12 for order in orders)
    assert not any(row[name] for table in shown for row in table for name in (*CRITERIA, "comment"))
    given = "".join(path.read_text(encoding="utf-8") for path in (*sheets, guide))
    assert not [word for word in ("/runs", "Zorilla", "secret") if word in given]


def test_raters_of_sets_are_not_told_the_target(tmp_path: Path) -> None:
    with ranked(tmp_path / "a", "novelty", "feasibility") as made:
        *sheets, guide = write_sheets(made, 2, tmp_path / "sheet.csv")
    assert all(
        {len([row for row in cells(path) if row["set"] == name]) for name in ("S1", "S2")} == {3}
        for path in sheets
    )
    text = guide.read_text(encoding="utf-8")
    given = text + sheets[0].read_text(encoding="utf-8")
    assert not [word for word in ("/runs", "/papers", "target") if word in given]
    assert text.count("In robotics.") == 2
    assert "- nobody has tried it" in text
    assert "feasibility" in text


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "sheet-2.csv").write_text("ratings", encoding="utf-8")
    with rated(tmp_path / "a") as made, pytest.raises(ArenaError, match=r"sheet-2\.csv: exists already"):
        write_sheets(made, 2, tmp_path / "sheet.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "sheet-2.csv"}
    (tmp_path / "file").write_text("", encoding="utf-8")
    with rated(tmp_path / "b") as made, pytest.raises(UserError):
        write_sheets(made, 1, tmp_path / "file" / "sheet.csv")
    with arena(tmp_path / "c", ["x", "y"]) as made, pytest.raises(ArenaError, match="pairs"):
        write_sheets(made, 1, tmp_path / "pairs.csv")


def test_sheets_come_back_as_answers_that_count_once(tmp_path: Path) -> None:
    with rated(tmp_path / "a", 3) as made:
        one, two, _ = write_sheets(made, 2, tmp_path / "sheet.csv")
        fill(one, sevens)
        fill(two, lambda row: dict.fromkeys(CRITERIA, "4,0") if row["title"] != "Idea 1" else {})
        taken = take(made, [one, two])
        assert (taken.number, taken.new) == (5, 5)
        assert "1 item without an answer" in taken.notes[0]
        assert take(made, [one]).new == 0
        fill(one, lambda row: {"novelty": "8"})
        assert take(made, [one]).new == 3
        found = ratings_of(made)
        by_title = {text.id: text.title for text in made.texts()}
        assert {by_title[item]: by_rater for item, by_rater in found.of("novelty").items()} == {
            "Idea 0": {"R1": 8, "R2": 4}, "Idea 1": {"R1": 8}, "Idea 2": {"R1": 8, "R2": 4},
        }  # fmt: skip
        assert (found.scales["novelty"], found.main) == ((1, 10), "novelty")
        assert found.groups.keys() >= found.scores.keys()
        rater = next(each for each in made.raters() if each.name == "R2")
        assert made.progress(rater).answered == 2
        again = read_ratings([export(made, "csv", tmp_path / "ratings.csv")])
    assert again.means("novelty") == found.means("novelty")
    assert sorted(each["source"] for each in again.texts.values()) == ["/runs/0", "/runs/1", "/runs/2"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"novelty": "11"}, r"sheet\.csv:2: Novelty: '11'"),
        ({"feasibility": "6.5"}, "Feasibility: '6.5'"),
        ({"effectiveness": "high"}, "Effectiveness: 'high'"),
        ({"effectiveness": ""}, "Effectiveness: no answer"),
        ({"id": "x"}, r"sheet\.csv:2: 'x' is no text"),
        ({"rater": ""}, r"sheet\.csv:2: no rater"),
    ],
)
def test_a_bad_answer_is_named_and_nothing_is_taken(
    change: dict[str, str], problem: str, tmp_path: Path
) -> None:
    with rated(tmp_path / "a", 3) as made:
        sheet = fill(write_sheets(made, 1, tmp_path / "sheet.csv")[0], sevens)
        first = cells(sheet)[0]["title"]
        fill(sheet, lambda row: change if row["title"] == first else {})
        with pytest.raises(RatingError, match=problem):
            take(made, [sheet])
        assert made.rows() == []
        with pytest.raises(RatingError, match="no column rater"):
            take(made, [_table(tmp_path, "id,novelty\n1,2\n")])


def _table(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return folder / "t.csv"


def test_rankings_come_back_beside_the_judges(tmp_path: Path) -> None:
    likes = ("Planning", "caves", "Mines")
    with ranked(tmp_path / "a", "novelty") as made:
        [sheet, _] = write_sheets(made, 1, tmp_path / "sheet.csv")
        fill(
            sheet,
            lambda row: {"rank": str(next(n for n, word in enumerate(likes, 1) if word in row["text"]))},
        )
        assert take(made, [sheet]).new == 1
        found = rankings_of(made)
        [(name, one)] = found.sets.items()
        assert (one.indicator, one.target, one.size, one.has_target) == ("novelty", "7a", 3, True)
        # Of the two orders that have a ranking: the target second and third.
        assert one.judge_ranks == ((2, 1, 3), (3, 1, 2))
        assert found.ranks == {name: {"R1": (3, 1, 2)}}
        fill(sheet, lambda row: {"rank": "1"})
        with pytest.raises(RatingError, match="the ranks are 1, 1, 1"):
            take(made, [sheet])
        with pytest.raises(ArenaError, match="not of ratings"):
            ratings_of(made)
        data = json.loads(export(made, "json", tmp_path / "r.json").read_text(encoding="utf-8"))
    assert len(data["answers"]) == 1


def test_a_target_that_comes_back_among_other_ideas_is_told(tmp_path: Path) -> None:
    """The same set by two qualities tells nothing: all of its texts come back."""
    with ranked(tmp_path / "a", "novelty", "feasibility") as made:
        assert not [each for each in status_of(made)["problems"] if "among different others" in each]
        ideas = [RESULT["ideas"][0], {**RESULT["ideas"][1], "text": "They sing."}]
        made.add(sets_of([write_result(tmp_path / "run", {**RESULT, "ideas": ideas})]))
        [problem] = [each for each in status_of(made)["problems"] if "among different others" in each]
    assert problem.count("novelty-") == 2


def test_a_run_is_read_as_its_judge_saw_it(tmp_path: Path) -> None:
    found = sets_of([write_result(tmp_path / "run", RESULT)])
    assert [each.body for each in found] == [
        "Problem: Mines.",
        "Problem: Planning.",
        "Bats\n\nThey map caves.",
    ]
    assert [each.details["judge_ranks"] for each in found] == ["2 3", "1 1", "3 2"]
    assert [each.source for each in found] == ["/papers/target.md", "/runs/1", ""]
    assert {(each.details["target"], each.details["quality"]) for each in found} == {("7a", "novelty")}
    assert {each.case.context for each in found} == {"In robotics.\n\n- nobody has tried it"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"orders": [{"ranked": None, "shown": [0, 1, 2], "target_place": 1}]}, "no order has a ranking"),
        ({"orders": [{"ranked": [0, 1, 1], "shown": [0, 1, 2], "target_place": 1}]}, "each idea once"),
        ({"ideas": []}, "ideas"),
    ],
)
def test_what_is_no_ranking_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(RatingError, match=told):
        sets_of([write_result(tmp_path / "run", {**RESULT, **changes})])
    with pytest.raises(RatingError, match="a run of rebuttal"):
        sets_of([write_result(tmp_path / "other", {"system": "rebuttal", "rounds": []})])
    with pytest.raises(RatingError, match="not a run folder"):
        sets_of([tmp_path])
