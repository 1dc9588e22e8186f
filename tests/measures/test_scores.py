"""Scores find the texts that were rated: by the text itself, by where it was read, by its id."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import RatingError
from manyheads.measures.agreement import compare
from manyheads.measures.ratings import RatingTable, TextScore, pair, read_reviews, read_scores
from support.results import write


def lines(path: Path, *rows: dict[str, Any] | str) -> Path:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def reviewed(folder: Path, source: str, *overall: int, **more: Any) -> Path:
    """The folder of a finished review."""
    folder.mkdir()
    reviews = [{"reviewer": f"Reviewer{n}", "overall": each} for n, each in enumerate(overall, 1)]
    result = {
        "system": "conference-review", "subject": {"source": source, "sha256": f"hash of {source}"},
        "reviews": reviews, "means": {"overall": {"mean": sum(overall) / len(overall)}},
    }  # fmt: skip
    return write(folder, {**result, **more})


def test_scores_of_json_lines_and_tables(tmp_path: Path) -> None:
    first = lines(tmp_path / "a.jsonl", {"source": "a.md", "on": 1.5, "hd": None}, "", {"name": "B", "on": 2})
    second = tmp_path / "b.csv"
    second.write_text("id;on\nT7; 0.25\n", encoding="utf-8")
    found = read_scores([first, second], "on")
    assert [score.value for score in found] == [1.5, 2.0, 0.25]
    assert [score.place for score in found] == [f"{first}:1", f"{first}:3", f"{second}:2"]
    assert found[0].identity == {"source": str(Path("a.md").resolve())}


@pytest.mark.parametrize(
    ("row", "by", "problem"),
    [
        ({"hd": 1}, "hd", "no text is named"),
        ({"id": "a", "hd": True}, "hd", "hd is True"),
        ({"id": "a", "hd": "high"}, "hd", "hd is 'high'"),
        ({"id": "a", "hd": float("nan")}, "hd", "not valid JSON: NaN is not valid JSON"),
        ({"id": "a", "hd": 1}, "on", "no 'on'"),
        ("[1]", "on", "not a JSON object"),
        ("{", "on", "not valid JSON"),
        ("[" * 50_000, "on", "nested too deep"),
        ({"source": "~nosuchuser/x", "on": "x"}, "on", "on is 'x'"),
    ],
)
def test_a_missing_score_is_no_score(row: Any, by: str, problem: str, tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", {"id": "z", "on": 1, "hd": 1}, row)
    with pytest.raises(RatingError, match=problem) as refused:
        read_scores([path], by)
    assert f"{path}:2" in str(refused.value)


def test_the_surest_sign_decides() -> None:
    scores = [
        TextScore("1", {"sha256": "x", "source": "/old", "name": "Owls"}, 1),
        TextScore("2", {"sha256": "y", "source": "/a", "name": "Owls"}, 2),
        TextScore("3", {"source": "/b", "name": "Owls"}, 3),
        TextScore("4", {"source": "/b", "name": "Bats"}, 4),
    ]
    known = {
        "T1": {"sha256": "x", "source": "/a"},
        "T2": {"sha256": "gone", "source": "/a"},
        "T3": {"source": "/b", "name": "Bats"},
    }
    found = pair({"T1": 5.0, "T2": 6.0, "T3": 7.0}, scores, known)
    assert (found.items, found.scores, found.ratings) == (("T1", "T2", "T3"), (1, 2, 4), (5, 6, 7))
    assert found.unrated == ("3",)
    with pytest.raises(RatingError, match="T4: several scores: 3, 4"):
        pair({"T4": 1.0}, scores, {"T4": {"source": "/b"}})
    with pytest.raises(RatingError, match=r"no rated text has a score\n.*T5(.|\n)*--columns id=COLUMN"):
        pair({"T5": 1.0}, scores, {})
    twice, absent = replace(scores[0], place="5", value=4), TextScore("6", {"id": "T5"}, float("nan"))
    some = pair({"T5": 1.0, "Bats": 2.0, "T1": 3.0}, [*scores, twice, absent], known)
    assert (some.items, some.scores, some.ratings) == (("Bats", "T1"), (4, 2.5), (2, 3))
    assert some.repeated == 1


def test_an_unknown_id_stands_for_itself() -> None:
    assert pair({"Bats": 3.0}, [TextScore("1", {"name": "Bats"}, 9.0)], {}).scores == (9.0,)


def rated(*items: str) -> RatingTable:
    return RatingTable(("novelty",), {item: {"R1": {"novelty": 5}} for item in items})


def test_reviews_are_ratings_and_scores_too(tmp_path: Path) -> None:
    folders = [reviewed(tmp_path / f"r{n}", f"/{n}.md", n + 1, n + 3) for n in range(4)]
    ratings = read_reviews(folders)
    assert ratings.of("overall")["/2.md"] == {"Reviewer1": 3, "Reviewer2": 5}
    assert compare(ratings).per_text == (2, 2)
    on = lines(tmp_path / "on.jsonl", *({"source": f"/{n}.md", "on": n**2} for n in range(4)))
    found = compare(ratings, read_scores([on], "on"), "on", "overall", resamples=50)
    assert found.pairs
    assert found.calibration
    assert found.pairs.ratings == (2, 3, 4, 5)
    spearman = found.calibration.scores.figures["spearman"]
    assert spearman
    assert spearman.estimate == pytest.approx(1)
    assert [score.value for score in read_scores(folders, "overall")] == [2, 3, 4, 5]
    with pytest.raises(RatingError, match=r"these reviews have no 'on'(.|\n)*--by overall"):
        read_scores(folders, "on")


def test_what_is_no_finished_review_is_refused(tmp_path: Path) -> None:
    first = reviewed(tmp_path / "r", "/a.md", 5)
    twin = reviewed(tmp_path / "twin", "/a.md", 6)
    with pytest.raises(RatingError, match=r"twin: /a.md is reviewed in another"):
        read_reviews([first, twin])
    other = write(tmp_path / "other", {"system": "virsci"})
    with pytest.raises(RatingError, match="a run of virsci"):
        read_reviews([other])
    rated = {"reviews": [{"reviewer": "Reviewer1", "novelty": 5}], "means": {"novelty": {"mean": 5}}}
    with pytest.raises(RatingError, match=r"different forms: .*r on overall; .*rated on novelty"):
        read_reviews([first, reviewed(tmp_path / "rated", "/c.md", 5, **rated)])
    (tmp_path / "stopped").mkdir()
    with pytest.raises(RatingError, match="not a run folder") as strange:
        read_scores([tmp_path / "stopped"], "overall")
    assert strange.value.hint == "name a run folder of manyheads review"
    (tmp_path / "stopped" / "config.yaml").touch()
    with pytest.raises(RatingError, match="not a finished run") as begun:
        read_scores([tmp_path / "stopped"], "overall")
    assert begun.value.hint == f"manyheads resume {tmp_path / 'stopped'}"


def test_an_open_quotation_mark_swallows_no_scores(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,on,name\nT1,1,"owls\nT2,2,bats\n', encoding="utf-8")
    with pytest.raises(RatingError, match=r"a\.csv: not a CSV file"):
        read_scores([tmp_path / "a.csv"], "on")
