"""Judge and people, by hand: D(S), whole rankings, first places (Review and Rebuttal, Eq. 4 and Table 4)."""

import json
from itertools import count
from pathlib import Path

import pytest

from manyheads.base.errors import RatingError
from manyheads.measures.ranking import (
    Alignment,
    IdeaSet,
    Rankings,
    alignments,
    as_data,
    as_lines,
    read_rankings,
)
from manyheads.measures.statistics import Mean

Ranks = tuple[int, ...]
COUNT = count()


def judged(*judge: Ranks, indicator: str = "novelty", target: str = "") -> IdeaSet:
    """Beside a target of its own, unless one is named."""
    return IdeaSet(indicator, target or f"another {next(COUNT)}", "/runs/1", len(judge[0]), judge)


def mean(found: Alignment, figure: str) -> Mean:
    there = found.means[figure]
    assert there is not None
    return there


def rankings(*sets: tuple[IdeaSet, dict[str, Ranks]]) -> Rankings:
    named = {f"S{number}": told for number, told in enumerate(sets, 1)}
    return Rankings(
        {name: people for name, (_, people) in named.items()}, {name: one for name, (one, _) in named.items()}
    )


def test_one_set_by_hand() -> None:
    """The judge ranks the target second of four: S = 1/3. Two people have it first and last: S = 0 and 1."""
    [found] = alignments(rankings((judged((2, 1, 3, 4)), {"R1": (1, 2, 3, 4), "R2": (4, 1, 2, 3)})))
    [one] = found.sets
    assert (one.ideas, one.orders, one.figures["s_judge"]) == (3, 1, pytest.approx(1 / 3))
    assert one.raters == {"R1": 0, "R2": 1}
    assert one.figures["difference"] == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert one.figures["between_people"] == 1
    # |0 - 0|, |0 - 1/3|, |0 - 2/3|, |0 - 1|, and the same from 1.
    assert one.figures["by_chance"] == pytest.approx(0.5)
    assert one.figures["of_means"] == pytest.approx(1 / 2 - 1 / 3)
    # Pairs in the same order less those in the other, of six: 5 - 1 for R1, 4 - 2 for R2; between them 3 - 3.
    assert one.figures["tau"] == pytest.approx((4 / 6 + 2 / 6) / 2)
    assert one.figures["tau_between_people"] == pytest.approx(0)
    # Rank sums 5, 3, 5, 7 about 5: 12 × 8 / (4 × 60).
    assert one.figures["concordance"] == pytest.approx(12 * 8 / (4 * 60))
    assert (one.figures["first"], one.figures["first_between_people"]) == (0.5, 0)
    assert (found.alignment, found.raters, found.rankings) == (pytest.approx(0.5), 2, 2)
    assert mean(found, "first_by_chance").mean == 0.25


def test_means_are_over_sets_with_an_interval() -> None:
    """D(S) of 0 and 1/2: mean 1/4, standard error 1/4."""
    sets = [(judged((1, 2, 3)), {"R1": (1, 2, 3)}), (judged((2, 1, 3)), {"R1": (1, 2, 3)})]
    [found] = alignments(rankings(*sets))
    of_two = mean(found, "difference")
    assert (of_two.n, of_two.mean, of_two.se) == (2, 0.25, pytest.approx(0.25))
    assert (of_two.low, of_two.high) == (0, 1)
    sets += [(judged((1, 2, 3)), {"R1": (1, 2, 3)}) for _ in range(2)]
    [found] = alignments(rankings(*sets))
    # 0, 1/2, 0, 0: mean 1/8, standard error 1/8, t of three degrees of freedom 3.1824; no D(S) lies below 0.
    of_four = mean(found, "difference")
    assert (of_four.low, of_four.high) == (0, pytest.approx(1 / 8 + 3.1824 / 8, abs=1e-4))
    assert {found.means[name] for name in ("between_people", "tau_between_people", "concordance")} == {None}


def test_sets_beside_one_target_count_once() -> None:
    """D(S) of 0, 1/2 and 1/2 beside one target, of 0 beside another: 1/3 and 0, mean 1/6, standard error 1/6."""
    judges = ((1, 2, 3), (2, 1, 3), (2, 3, 1))
    sets = [(judged(each, target="a"), {"R1": (1, 2, 3)}) for each in judges]
    [found] = alignments(rankings(*sets, (judged((1, 2, 3)), {"R1": (1, 2, 3)})))
    assert (len(found.sets), found.targets, mean(found, "difference").n) == (4, 2, 2)
    assert (mean(found, "difference").mean, mean(found, "difference").se) == (
        pytest.approx(1 / 6),
        pytest.approx(1 / 6),
    )


def test_qualities_are_kept_apart() -> None:
    both = rankings(
        (judged((1, 2)), {"R1": (2, 1)}), (judged((1, 2), indicator="feasibility"), {"R1": (1, 2)})
    )
    found = alignments(both)
    assert [(each.indicator, mean(each, "difference").mean) for each in found] == [
        ("feasibility", 0),
        ("novelty", 1),
    ]
    data = json.loads(json.dumps(as_data(both, found)))
    assert (data["sets"], data["rankings"], data["raters"]) == (2, 2, ["R1"])
    assert data["qualities"]["novelty"]["alignment"] == 0
    assert data["qualities"]["novelty"]["sets"][0]["s_human"] == {"R1": 1}


OWN = """who;topic;paper;place
A;1;a;1
A;1;b;2.0
A;1;c;30
B;1;a;1
B;1;b;3
B;1;c;2
J;1;a;2
J;1;b;1
J;1;c;3
A;2;a;1
A;2;b;1
B;2;a;1
B;2;b;NA
C;2;a;3
C;2;b;1
"""
NAMED = {"rater": "who", "set": "topic", "idea": "paper", "rank": "place"}


def own(tmp_path: Path, text: str = OWN) -> list[Path]:
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    return [tmp_path / "own.csv"]


def test_rankings_of_another_origin_need_no_key(tmp_path: Path) -> None:
    ranked = read_rankings(own(tmp_path), NAMED, ["J"], "b")
    assert ranked.ranks == {"1": {"A": (2, 1, 3), "B": (3, 1, 2)}, "2": {"C": (1, 2)}}
    assert ranked.sets["1"].judge_ranks == ((1, 2, 3),)
    assert [each.partition("own.csv")[2] for each in ranked.unused] == [
        ":11: A, set 2: two ideas have the same rank",
        ":13: B, set 2: 1 of 2 ideas have no rank",
    ]
    [found] = alignments(ranked)
    first, second = found.sets
    assert first.figures["difference"] == pytest.approx((0.5 + 1) / 2)
    assert (second.figures["difference"], second.figures["s_human"]) == (None, 0)


def test_without_judge_and_target_people_are_compared(tmp_path: Path) -> None:
    [found] = alignments(ranked := read_rankings(own(tmp_path), NAMED))
    assert (found.means["s_human"], found.means["tau"], found.alignment) == (None, None, None)
    assert found.means["tau_between_people"] is not None
    assert as_data(ranked, [found])["qualities"]["rank"]["by_chance"] is None
    assert "--judge" in "\n".join(as_lines(ranked, [found]))


def test_what_is_wrong_with_a_table_of_rankings(tmp_path: Path) -> None:
    with pytest.raises(RatingError, match=r"own\.csv:4: column rank: 'last' is not a number"):
        read_rankings(own(tmp_path, OWN.replace("30", "last")), NAMED)
    with pytest.raises(RatingError, match="--judge X: no such rater"):
        read_rankings(own(tmp_path), NAMED, ["X"])
    with pytest.raises(RatingError, match="--target z: in no set"):
        read_rankings(own(tmp_path), NAMED, ["J"], "z")
    with pytest.raises(RatingError, match="no column 'topic2'"):
        read_rankings(own(tmp_path), {**NAMED, "set": "topic2"})
    alone = read_rankings(own(tmp_path, "rater,idea,rank\nA,x,1\nA,y,2\n"), {"rank": "rank"})
    assert alone.ranks == {"all": {"A": (1, 2)}}
