"""Forms are blind and come back: what is written for raters tells nothing, and is read again as it was."""

import csv
from pathlib import Path

import pytest

from manyheads.base.errors import RatingError
from manyheads.core.texts import Subject
from manyheads.measures.forms import Key
from manyheads.measures.ratings import CRITERIA, LAYOUT, identities, rating_form, read_ratings

SUBJECTS = [Subject(f"/runs/{n}", f"Idea {n}", f"We study {n}, “well”,\nand more.") for n in range(12)]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_each_rater_gets_every_text_in_an_order_of_their_own(tmp_path: Path) -> None:
    *tables, guide, key = rating_form(SUBJECTS, 3, seed=1).write(tmp_path / "new" / "form.csv")
    assert [path.name for path in tables] == ["form-1.csv", "form-2.csv", "form-3.csv"]
    assert (guide.name, key.name) == ("form.guide.md", "form.key.csv")
    shown = [rows(path) for path in tables]
    assert all(tuple(row) == LAYOUT.table for table in shown for row in table)
    assert all({row["title"] for row in table} == {s.title for s in SUBJECTS} for table in shown)
    orders = [tuple(row["title"] for row in table) for table in shown]
    assert len({*orders, tuple(s.title for s in SUBJECTS)}) == 4
    assert [{row["rater"] for row in table} for table in shown] == [{"R1"}, {"R2"}, {"R3"}]
    assert all(row[name] == "" for table in shown for row in table for name in (*CRITERIA, "comment"))


def test_nothing_that_raters_get_tells_where_a_text_is_from(tmp_path: Path) -> None:
    *tables, guide, _ = rating_form(SUBJECTS, 2, seed=1).write(tmp_path / "form.csv")
    given = "".join(path.read_text(encoding="utf-8") for path in (*tables, guide))
    assert "/runs" not in given
    assert not [subject for subject in SUBJECTS if subject.sha256 in given]


def test_the_order_of_the_files_does_not_show() -> None:
    first, second = rating_form(SUBJECTS, 2, seed=1), rating_form(SUBJECTS[::-1], 2, seed=1)
    assert first == second
    assert first != rating_form(SUBJECTS, 2, seed=2)


def test_a_filled_in_form_is_read_again(tmp_path: Path) -> None:
    table, _, key = rating_form(SUBJECTS, 1, seed=0).write(tmp_path / "form.csv")
    filled = [{**row, **dict.fromkeys(CRITERIA, "7")} for row in rows(table)]
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(LAYOUT.table))
        writer.writeheader()
        writer.writerows(filled)
    ratings = read_ratings([table])
    known = identities(Key.read(key, LAYOUT))
    assert len(ratings.scores) == 12
    assert {each["sha256"] for each in known.values()} == {subject.sha256 for subject in SUBJECTS}


def test_ratings_are_not_read_with_the_key_of_another_form(tmp_path: Path) -> None:
    table, _, key = rating_form(SUBJECTS, 1, seed=0).write(tmp_path / "form.csv")
    *_, other = rating_form(SUBJECTS, 1, seed=1).write(tmp_path / "other.csv")
    filled = table.read_text(encoding="utf-8-sig").replace(",,,,", ",7,7,7,")
    table.write_text(filled, encoding="utf-8")
    assert len(read_ratings([table], key=Key.read(key, LAYOUT)).scores) == 12
    with pytest.raises(RatingError, match=r"form\.csv:\d+: column title(.|\n)*other\.key\.csv"):
        read_ratings([table], key=Key.read(other, LAYOUT))


@pytest.mark.parametrize("title", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)"])
def test_no_spreadsheet_calculates_what_a_model_wrote(title: str, tmp_path: Path) -> None:
    table, *_ = rating_form([Subject("/a", title, title)], 1, seed=0).write(tmp_path / "form.csv")
    [row] = rows(table)
    assert (row["title"], row["abstract"]) == (f"'{title}", f"'{title}")


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    form = rating_form(SUBJECTS, 2, seed=0)
    (tmp_path / "form-2.csv").write_text("ratings", encoding="utf-8")
    with pytest.raises(RatingError, match=r"form-2\.csv: exists already"):
        form.write(tmp_path / "form.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["form-2.csv"]
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RatingError, match="cannot be written"):
        form.write(tmp_path / "file" / "form.csv")


def test_the_same_text_twice_is_refused() -> None:
    with pytest.raises(RatingError, match="/b: the same text as /a"):
        rating_form([Subject("/a", "A", "x"), Subject("/b", "A", "x")], 1, seed=0)
    with pytest.raises(RatingError, match="at least one text"):
        rating_form([], 1, seed=0)


def test_the_guideline_explains_every_step_of_every_criterion(tmp_path: Path) -> None:
    *_, guide, _ = rating_form(SUBJECTS, 1, seed=0).write(tmp_path / "form.csv")
    lines = guide.read_text(encoding="utf-8").splitlines()
    assert all(any(line.startswith(f"- **{name}**") for line in lines) for name in CRITERIA)
    steps = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
    assert [cells[0].strip() for cells in steps[2:]] == [str(step) for step in range(1, 11)]
    assert all(len(cells) == 4 and all(cell.strip() for cell in cells) for cells in steps[2:])
