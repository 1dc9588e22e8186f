"""Tables of votes: our own export, and anybody's columns, with what cannot be used counted in words."""

from pathlib import Path

import pytest

from manyheads.base.errors import RatingError
from manyheads.measures.tables import columns_named
from manyheads.measures.votes import LEADS, PairVote, Repeats, read_votes, style_of, votes_csv


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


COLUMNS = {"left": "model_a", "right": "model_b", "winner": "winner", "rater": "judge", "case": "question_id"}
PUBLISHED = """question_id,model_a,model_b,winner,judge,turn
81,alpaca-13b,gpt-4,model_b,author_2,1
81,gpt-4,vicuna-13b,tie,author_2,1
82,vicuna-13b,alpaca-13b,vicuna-13b,expert_7,1
82,vicuna-13b,gpt-4,tie (bothbad),expert_7,1
83,gpt-4,alpaca-13b,,expert_7,1
83,gpt-4,alpaca-13b,claude,expert_7,1
84,gpt-4,gpt-4,model_a,expert_7,1
84,,gpt-4,model_b,expert_7,1
81,gpt-4,alpaca-13b,👉  Model B is better,author_2,1
"""
"""As in published human judgements of chatbots (MT-bench), with rows that nobody can use."""


def test_published_votes_are_read_by_their_own_columns(tmp_path: Path) -> None:
    read = read_votes(table(tmp_path / "v.csv", PUBLISHED), COLUMNS)
    assert [
        (vote.left, vote.right, vote.answers["overall"], vote.rater, vote.case) for vote in read.votes
    ] == [
        ("alpaca-13b", "gpt-4", "right", "author_2", "81"),
        ("gpt-4", "vicuna-13b", "tie", "author_2", "81"),
        ("vicuna-13b", "alpaca-13b", "left", "expert_7", "82"),
        ("vicuna-13b", "gpt-4", "poor", "expert_7", "82"),
        ("gpt-4", "alpaca-13b", "right", "author_2", "81"),
    ]
    assert sorted(len(rows) for rows in read.left_out.values()) == [1, 1, 1, 1]
    notes = "\n".join(read.notes)
    for row in range(6, 10):
        assert f"v.csv:{row}" in notes
    assert "claude" in notes


def test_a_table_that_cannot_be_read_has_a_next_step(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.csv", tmp_path):
        with pytest.raises(RatingError) as caught:
            read_votes(path)
        assert caught.value.hint, path


def test_a_column_is_missing_or_has_no_winners(tmp_path: Path) -> None:
    path = table(tmp_path / "v.csv", PUBLISHED)
    with pytest.raises(RatingError, match="left") as caught:
        read_votes(path)
    assert caught.value.hint
    assert "--columns" in caught.value.hint
    with pytest.raises(RatingError, match="nobody"):
        read_votes(path, {**COLUMNS, "right": "nobody"})
    with pytest.raises(RatingError, match="no votes"):
        read_votes(table(tmp_path / "w.csv", "left,right,winner\na,b,c\n"))
    with pytest.raises(RatingError, match="winners"):
        read_votes(table(tmp_path / "x.csv", "left,right,rater\na,b,c\n"))


@pytest.mark.parametrize(
    "poor", ["both_poor", "both-poor", "Both Poor", "BOTH_BAD", "👎  Both are poor", "Both bad."]
)
def test_a_cell_that_names_no_winner_leaves_out_itself_alone(tmp_path: Path, poor: str) -> None:
    path = table(
        tmp_path / "v.csv", f"left,right,q1,q2\na,b,{poor},left\na,b,owl,right\nb,a,owl,\na,b,owl,tie\n"
    )
    read = read_votes(path, {"left": "left", "right": "right", "q1": "q1", "q2": "q2"})
    assert [dict(vote.answers) for vote in read.votes] == [
        {"q1": "poor", "q2": "left"}, {"q2": "right"}, {"q2": "tie"}
    ]  # fmt: skip
    cells, row, known = read.notes
    assert "both bad" in known
    assert cells.startswith("2 cells left out: q1 'owl'")
    assert [f"v.csv:{row}" in cells for row in (2, 3, 4, 5)] == [False, True, False, True]
    assert row.startswith("1 row left out: q1 'owl'")


def test_several_questions_have_a_column_each(tmp_path: Path) -> None:
    path = table(tmp_path / "v.csv", "one,other,quality,clear\na,b,a,b\nb,a,tie,\n")
    columns = columns_named("left=one,right=other,quality=quality,clarity=clear", LEADS)
    read = read_votes(path, columns)
    assert [dict(vote.answers) for vote in read.votes] == [
        {"quality": "left", "clarity": "right"}, {"quality": "tie"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "answer"),
    [
        ("👉  B is better", "right"), ("👈  A is better", "left"), ("A wins!", "left"), ("response 2", "right"),
        ("🤝 Tie", "tie"), ("About the same", "tie"), ("Neither is better", "tie"), ("both are equally bad", "poor"),
        ("Model-X is better", "left"), ("model y", "right"), ("not A", None), ("A is worse", None), ("👉", None),
        ("A>B", "left"), ("[[A>>B]]", "left"), ("B > A", "right"), ("a<b", "right"), ("A=B", "tie"), ("Model Y>Model X", "right"),
        ("A>A", None), ("A>C", None), ("A>B>A", None), ("left_vote", "left"), ("rightvote", "right"), ("tie_vote", "tie"),
        ("bothbad_vote", "poor"), ("vote", None),
    ],
)  # fmt: skip
def test_answers_in_words_and_symbols(cell: str, answer: str | None, tmp_path: Path) -> None:
    path = table(tmp_path / "v.csv", f"left,right,winner\nModel X,Model Y,left\nModel X,Model Y,{cell}\n")
    read = read_votes(path)
    assert [vote.answers["overall"] for vote in read.votes][1:] == ([answer] if answer else [])
    assert len(read.left_out) == (answer is None)


def test_makers_called_as_sides_are_makers_before_sides(tmp_path: Path) -> None:
    path = table(tmp_path / "v.csv", "left,right,winner\nB,A,A is better\nB,A,left\nB,A,A>B\na=1,b=2,a=1\n")
    assert [vote.answers["overall"] for vote in read_votes(path).votes] == ["right", "left", "right", "left"]


@pytest.mark.parametrize(("repeats", "left"), [("keep", 2), ("first", 1), ("last", 0)])
def test_repeated_votes_of_a_rater_count_as_told_and_of_unknown_raters_each_time(
    repeats: Repeats, left: int, tmp_path: Path
) -> None:
    known = "left,right,winner,rater,case\na,b,a,R,c\nb,a,a,R,c\na,b,a,R,c\na,b,a,R,d\n"
    read = read_votes(table(tmp_path / "v.csv", known), repeats=repeats)
    assert [vote.case for vote in read.votes] == ["c"] * (3 if repeats == "keep" else 1) + ["d"]
    assert sum(vote.left == "a" for vote in read.votes if vote.case == "c") == max(left, repeats == "last")
    assert (read.repeated, "2 repeated votes" in read.headline) == (2, True)
    unknown = "left,right,winner\na,b,a\na,b,a\n"
    plain = read_votes(table(tmp_path / "w.csv", unknown), repeats=repeats)
    assert (len(plain.votes), plain.headline) == (2, "")


def test_a_column_a_rater(tmp_path: Path) -> None:
    path = table(tmp_path / "v.csv", "one,other,Ann,Ben\na,b,one,b\na,c,,tie\n".replace("one,b", "a,b"))
    read = read_votes(path, {"left": "one", "right": "other", "winner": "Ann+Ben"})
    assert [(vote.rater, vote.answers["overall"]) for vote in read.votes] == [
        ("Ann", "left"), ("Ben", "right"), ("Ben", "tie"),
    ]  # fmt: skip


def test_a_cell_of_ten_megabytes_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "v.csv", f"left,right,winner\na,b,{'x' * 10_000_000}\n")
    with pytest.raises(RatingError) as caught:
        read_votes(path)
    assert len(str(caught.value)) < 1000


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    style = style_of("# One\n\n- a\n- b")
    votes = [
        PairVote(
            "=maker", "b", {"overall": "poor", "clarity": "left"}, "Ada", "c1", "person", style, style, 3.5
        ),
        PairVote("b", "c", {"overall": "tie", "clarity": "right"}, "M", "c1", "model", style, style),
        PairVote("c", "b", {"overall": "left", "clarity": "right"}, "M", "c1", "model", style, style),
    ]
    path = table(tmp_path / "v.csv", votes_csv(votes, ("overall", "clarity"), ["a, “b”", "", ""]))
    read = read_votes(path)
    assert [vote.answers for vote in read.votes] == [vote.answers for vote in votes]
    assert [vote.kind for vote in read.votes] == ["person", "model", "model"]
    assert read.votes[1:] == tuple(votes[1:])
    assert read.votes[0].left == "'=maker"  # no formula in a spreadsheet
    assert read.left_out == {}
