"""The scatter plot of a score against ratings."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from manyheads.base.errors import RatingError
from manyheads.measures.agreement import RatingSummary, compare
from manyheads.measures.ratings import RatingTable, TextScore
from manyheads.report.plots import scatter_plot

RATINGS = RatingTable(
    ("novelty",), {f"T{n}": {"R1": {"novelty": each}} for n, each in enumerate((2, 1, 4, 3, 5))}
)


@pytest.fixture(scope="module")
def comparison() -> RatingSummary:
    scores = [TextScore(str(n), {"id": f"T{n}"}, n + 1.0) for n in range(5)]
    return compare(RATINGS, scores, "on", resamples=50)


def test_a_plot_tells_n_and_r(comparison: RatingSummary, tmp_path: Path) -> None:
    scatter_plot(comparison, tmp_path / "new" / "a.svg")
    drawn = (tmp_path / "new" / "a.svg").read_text(encoding="utf-8")
    assert "n = 5 texts, 1 rater; Pearson r = 0.80 (95% interval -0.28 to 0.99); Spearman ρ = 0.80" in drawn
    assert "ON, overall novelty" in drawn
    assert "novelty, mean of raters" in drawn
    assert drawn.count("<use ") >= 5


def test_names_are_drawn_as_they_are_written(comparison: RatingSummary, tmp_path: Path) -> None:
    scatter_plot(replace(comparison, by=r"cost $\frac{<b>"), tmp_path / "a.svg")
    assert r"cost $\frac{&lt;b&gt;" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_what_cannot_be_drawn_is_told(
    comparison: RatingSummary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RatingError, match="not a picture format"):
        scatter_plot(comparison, tmp_path / "a.docx")
    with pytest.raises(RatingError, match="there are no scores"):
        scatter_plot(compare(RATINGS), tmp_path / "a.svg")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RatingError, match="cannot be written"):
        scatter_plot(comparison, tmp_path / "file" / "a.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RatingError, match=r"not installed(.|\n)*pip install .*\[plots\]"):
        scatter_plot(comparison, tmp_path / "a.svg")
