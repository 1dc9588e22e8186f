"""Ratings are read strictly: what is wrong is named by file, row and column; nothing is left out unless told to."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.errors import RatingError
from manyheads.measures.ratings import read_ratings
from manyheads.measures.statistics import rating_mean

HEADER = "rater,id,title,abstract,novelty,feasibility,effectiveness,comment\n"


def sheet(folder: Path, *rows: str, header: str = HEADER, name: str = "r.csv") -> Path:
    path = folder / name
    path.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_ratings_by_text_and_rater(tmp_path: Path) -> None:
    first = sheet(tmp_path, 'R1,T1,Owls,"a, b\nc",7,5,3,"new, I think"', "R1,T2,Bats,d,2,10,1,")
    second = sheet(tmp_path, "R2,T1,,,8,5,4,", name="s.csv")
    ratings = read_ratings([first, second])
    assert ratings.of("novelty") == {"T1": {"R1": 7, "R2": 8}, "T2": {"R1": 2}}
    assert ratings.means("effectiveness") == {"T1": 3.5, "T2": 1.0}
    assert (ratings.raters, ratings.excluded) == (["R1", "R2"], ())
    with pytest.raises(RatingError, match="no ratings of 'overall'"):
        ratings.of("overall")


def test_whole_numbers_as_spreadsheets_write_them(tmp_path: Path) -> None:
    path = sheet(tmp_path, "R1,T1,3.0", 'R2,T1,"4,0"', header="rater,id,novelty\n")
    assert read_ratings([path]).of("novelty") == {"T1": {"R1": 3, "R2": 4}}


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_spreadsheets_of_other_countries(delimiter: str, tmp_path: Path) -> None:
    header = "\ufeff" + "Rater,ID,Novelty\r\n".replace(",", delimiter)
    ratings = read_ratings([sheet(tmp_path, delimiter.join(["R1", "T1", " 7 "]), "\r", header=header)])
    assert ratings.of("novelty") == {"T1": {"R1": 7}}
    assert ratings.criteria == ("novelty",)


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ("R1,T1,,,11,5,5,", "r.csv:2: column novelty: '11' is not a whole number from 1 to 10"),
        ("R1,T1,,,5,0,5,", "r.csv:2: column feasibility: '0' is no"),
        ("R1,T1,,,5,5,6.5,", "r.csv:2: column effectiveness: '6.5' is no"),
        ("R1,T1,,,-5,5,5,", "column novelty: '-5' is no"),
        ("R1,T1,,,٣,5,5,", "column novelty: '٣' is no"),
        ("R1,T1,,,high,5,5,", "column novelty: 'high' is no"),
        ("R1,T1,,,5,,5,", "r.csv:2: column feasibility: empty"),
        ("R1,T1,,,5,5", "r.csv:2: column effectiveness: empty"),
        (",T1,,,5,5,5,", "r.csv:2: column rater: empty"),
        ("R1,,,,5,5,5,", "r.csv:2: column id: empty"),
        ("R1,T1,a, b,,5,5,5,,", "r.csv:2: column novelty: empty"),
    ],
)
def test_a_bad_cell_is_named(cells: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(RatingError) as refused:
        read_ratings([sheet(tmp_path, cells)])
    assert problem in str(refused.value)
    assert "--exclude" in str(refused.value)


def test_a_rater_rates_a_text_once(tmp_path: Path) -> None:
    path = sheet(tmp_path, "R1,T1,,,5,5,5,", "R1,T1,,,6,5,5,")
    with pytest.raises(RatingError, match=r"r\.csv:3: R1 has already rated T1"):
        read_ratings([path])


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    path = sheet(tmp_path, *(f"R1,T{n},,,,5,5," for n in range(12)))
    with pytest.raises(
        RatingError, match=r"12 ratings .* 12 for an empty cell(.|\n)*r.csv:9(.|\n)*and 4 more"
    ):
        read_ratings([path])


def test_a_row_is_left_out_only_by_name(tmp_path: Path) -> None:
    path = sheet(tmp_path, "R1,T1,,,,5,5,no idea", "R1,T2,,,6,5,5,")
    ratings = read_ratings([path], ["2"])
    assert (list(ratings.of("novelty")), ratings.excluded) == (["T2"], (f"{path}:2",))
    assert read_ratings([path], [f"{path}:2"]) == ratings
    with pytest.raises(RatingError, match=r"r\.csv:4: no such row"):
        read_ratings([path], ["2", "4"])
    other = sheet(tmp_path, "R2,T2,,,6,5,5,", name="s.csv")
    with pytest.raises(RatingError, match="name the file"):
        read_ratings([path, other], ["2"])
    with pytest.raises(RatingError, match="no ratings"):
        read_ratings([path], ["2", "3"])


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("id,novelty\n", "no column rater"),
        ("rater,id,title\n", "no column novelty or feasibility or effectiveness"),
        ("rater,id,novelty,novelty\n", "duplicate column novelty"),
        ("", "no column"),
    ],
)
def test_a_table_that_is_no_form_is_refused(header: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(RatingError, match=problem):
        read_ratings([sheet(tmp_path, "R1,T1,5,5", header=header)])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RatingError, match="No such file"):
        read_ratings([tmp_path / "no.csv"])
    (tmp_path / "latin.csv").write_bytes("rater,id,novelty\nMüller,T1,5\n".encode("latin-1"))
    with pytest.raises(RatingError, match="not UTF-8"):
        read_ratings([tmp_path / "latin.csv"])
    with pytest.raises(RatingError, match="more cells than the header"):
        read_ratings([sheet(tmp_path, "R1,T1,5,9", header="rater,id,novelty\n")])
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(RatingError, match=r"empty\.csv: empty"):
        read_ratings([tmp_path / "empty.csv"])


def test_an_open_quotation_mark_swallows_no_ratings(tmp_path: Path) -> None:
    path = sheet(tmp_path, 'R1,T1,5,"a fine idea', "R1,T2,9,", header="rater,id,novelty,comment\n")
    with pytest.raises(RatingError, match=r"r\.csv: not a CSV file") as refused:
        read_ratings([path])
    assert "quotation mark" in str(refused.value)


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


@given(st.lists(st.integers(1, 10), min_size=2, max_size=30))
def test_an_interval_holds_its_mean_and_stays_on_the_scale(ratings: list[int]) -> None:
    found = rating_mean(ratings)
    if len(set(ratings)) > 1:
        assert found.low is not None
        assert found.high is not None
        assert 1 <= found.low <= found.mean <= found.high <= 10
    assert rating_mean(ratings[::-1]).mean == pytest.approx(found.mean)
