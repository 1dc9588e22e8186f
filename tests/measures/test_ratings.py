"""Ratings are read strictly: what is wrong is named by file, row and column; nothing is left out unless told to."""

from pathlib import Path

import pytest

from manyheads.base.errors import RatingError
from manyheads.measures.agreement import as_lines, compare
from manyheads.measures.ratings import read_ratings
from manyheads.measures.statistics import rating_mean

HEADER = "rater,id,title,abstract,novelty,feasibility,effectiveness,comment\n"


def table(folder: Path, *rows: str, header: str = HEADER, name: str = "r.csv") -> Path:
    path = folder / name
    path.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_ratings_by_text_and_rater(tmp_path: Path) -> None:
    first = table(tmp_path, 'R1,T1,Owls,"a, b\nc",7,5,3,"new, I think"', "R1,T2,Bats,d,2,10,1,")
    second = table(tmp_path, "R2,T1,,,8,5,4,", name="s.csv")
    ratings = read_ratings([first, second])
    assert ratings.of("novelty") == {"T1": {"R1": 7, "R2": 8}, "T2": {"R1": 2}}
    assert ratings.means("effectiveness") == {"T1": 3.5, "T2": 1.0}
    assert (ratings.raters, ratings.main) == (["R1", "R2"], "novelty")
    with pytest.raises(RatingError, match="no ratings of 'overall'"):
        ratings.of("overall")


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_spreadsheets_of_other_countries(delimiter: str, tmp_path: Path) -> None:
    header = "\ufeff" + "Rater,ID,Novelty\r\n".replace(",", delimiter)
    ratings = read_ratings([table(tmp_path, delimiter.join(["R1", "T1", " 7 "]), "\r", header=header)])
    assert ratings.of("novelty") == {"T1": {"R1": 7}}
    assert ratings.criteria == ("novelty",)


def test_any_criteria_and_scale(tmp_path: Path) -> None:
    path = table(tmp_path, "A,1,80,3,x", "B,1,90,NA,x", "A,2,20,,y", header="who,paper,clear,new,venue\n")
    columns = {"rater": "who", "id": "paper", "clarity": "clear", "fresh": "new"}
    ratings = read_ratings([path], columns, {"": (0, 100), "fresh": (1, 5)})
    assert (ratings.criteria, ratings.unread) == (("clarity", "fresh"), ("venue",))
    assert ratings.scales == {"clarity": (0, 100), "fresh": (1, 5)}
    assert (ratings.means("clarity"), ratings.missing) == ({"1": 85, "2": 20}, {"fresh": 2})
    with pytest.raises(RatingError, match=r"r\.csv:2: column clarity: '80' is not a number from 0 to 50"):
        read_ratings([path], columns, {"": (0, 50)})
    with pytest.raises(RatingError, match="--scale cleer: no criterion"):
        read_ratings([path], columns, {"cleer": (0, 50)})


@pytest.mark.parametrize("group", ["novelty", "Rater", "id"])
def test_a_criterion_is_no_group_and_no_column_has_two_names(group: str, tmp_path: Path) -> None:
    path = table(tmp_path, "R1,T1,,,7,5,5,")
    with pytest.raises(RatingError, match=f"grouped by '{group.lower()}'"):
        read_ratings([path], {"group": group})
    with pytest.raises(RatingError, match="'title' is named twice, as quality and group"):
        read_ratings([path], {"quality": "title", "group": "title"})


@pytest.mark.parametrize("cell", ["٣", "high", "1e9", "-"])
def test_a_cell_that_is_no_number_is_named_or_missing(cell: str, tmp_path: Path) -> None:
    path = table(tmp_path, f"R1,T1,,,{cell},5,5,")
    if cell == "-":
        assert read_ratings([path]).missing == {"novelty": 1}
    else:
        with pytest.raises(RatingError, match=f"r.csv:2: column novelty: '{cell}' is no"):
            read_ratings([path])


def test_a_rater_rates_a_text_once_and_unknown_raters_are_others(tmp_path: Path) -> None:
    path = table(tmp_path, "R1,T1,,,5,5,5,", "R1,T1,,,6,5,5,")
    with pytest.raises(RatingError, match=r"r\.csv:3: R1 has already rated T1"):
        read_ratings([path])
    nameless = table(tmp_path, "p1,4", "p1,6", header="paper,score\n")
    assert read_ratings([nameless]).means("score") == {"p1": 5}
    assert read_ratings([nameless]).nameless
    partly = read_ratings([table(tmp_path, "p1,4,A", "p1,6,", "p2,3,", header="paper,score,rater\n")])
    assert (len(partly.raters), len(partly.unnamed), partly.nameless) == (3, 2, False)
    assert next(as_lines(compare(partly))).startswith("2 texts, 1 rater and 2 ratings without a rater's name")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("moles,A,high,no", r"people\.csv:5: column score: 'high' is not a number"),
        ("owls,A,5,yes", "A has already rated owls"),
        ("owls,C,5,no", "owls is accepted in one row and not in another"),
        ("moles,A,5,perhaps", "accepted is 'perhaps': begin with one of yes, .*reject"),
        ("moles,A,5,", "no decision .* moles"),
        (",A,5,yes", "no text is named"),
    ],
)
def test_decisions_on_papers(row: str, problem: str, tmp_path: Path) -> None:
    header = "paper,rater,Mark,accepted\n"
    rows = ("owls,A,6,yes", "owls,B,8,yes", "bats,A,3,no")
    named = {"score": "Mark"}
    ratings = read_ratings([table(tmp_path, *rows, header=header)], named)
    assert ratings.means("score") == {"owls": 7, "bats": 3}
    assert ratings.decisions == {"owls": True, "bats": False}
    with pytest.raises(RatingError, match=problem):
        read_ratings([table(tmp_path, *rows, row, header=header, name="people.csv")], named)


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("rater,novelty\n", "no column id or paper"),
        ("rater,id,title\n", "no column novelty or feasibility or effectiveness or score"),
        ("rater,id,novelty,novelty\n", "duplicate column novelty"),
        ("", "no column"),
    ],
)
def test_a_table_without_ratings_is_refused(header: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(RatingError, match=problem):
        read_ratings([table(tmp_path, "R1,T1,5,5", header=header)])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RatingError, match="No such file"):
        read_ratings([tmp_path / "no.csv"])
    (tmp_path / "latin.csv").write_bytes("rater,id,novelty\nMüller,T1,5\n".encode("latin-1"))
    with pytest.raises(RatingError, match="not UTF-8"):
        read_ratings([tmp_path / "latin.csv"])
    with pytest.raises(RatingError, match="more cells than the header"):
        read_ratings([table(tmp_path, "R1,T1,5,9", header="rater,id,novelty\n")])
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(RatingError, match=r"empty\.csv: empty"):
        read_ratings([tmp_path / "empty.csv"])


def test_the_mean_of_three_by_hand() -> None:
    # 2, 4, 6: spread 2, t(0.975; 2) = 4.302653, half width 4.302653 × 2 / √3 = 4.968276.
    found = rating_mean([2, 4, 6])
    assert (found.mean, found.spread, found.n) == (4, 2, 3)
    assert (found.low, found.high) == (1, pytest.approx(8.968276, abs=1e-6))


def test_one_rating_or_equal_ones_have_no_interval() -> None:
    assert (rating_mean([7]).spread, rating_mean([7]).low) == (None, None)
    assert (rating_mean([7, 7]).spread, rating_mean([7, 7]).low) == (0, None)
    with pytest.raises(RatingError, match="no ratings"):
        rating_mean([])
