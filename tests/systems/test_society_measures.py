"""The measures of a society, against small cases counted by hand."""

from math import log2, sqrt

import numpy as np
import pytest

from manyheads.measures.novelty import novelty
from manyheads.measures.papers import Papers
from manyheads.systems.society.measuring import (
    SocietyMeasures,
    asking_figures,
    own_dissimilarity,
    society_figures,
    team_figures,
    topic_diversity,
)
from manyheads.systems.society.network import gini, network_figures
from manyheads.systems.society.result import EpochRecord, TeamRecord


def test_a_network_of_two_parts() -> None:
    # a-b-c is a triangle, d hangs on a; e-f stands alone.
    found = network_figures([["a", "b", "c"], ["a", "d"], ["e", "f"], ["b", "a"]])
    assert (found["scientists"], found["links"], found["components"]) == (6, 5, 2)
    assert found["largest"] == pytest.approx(4 / 6)
    # a: one of the three pairs of b, c and d is linked; b and c: the only pair is; the others have one neighbour.
    assert found["clustering"] == pytest.approx((1 / 3 + 1 + 1) / 6)
    # Of the pairs that reach each other: ab ac bc ad ef are 1 apart, bd cd 2.
    assert found["path"] == pytest.approx((5 * 1 + 2 * 2) / 7)
    # Degrees at the ends of ab ac ad bc ef, both ways: Pearson's correlation.
    ends = [(3, 2), (3, 2), (3, 1), (2, 2), (1, 1)]
    x, y = zip(*[*ends, *((b, a) for a, b in ends)], strict=True)
    mean = sum(x) / 10
    over = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    assert found["assortativity"] == pytest.approx(over / sum((a - mean) ** 2 for a in x))


def test_small_networks() -> None:
    alone = network_figures([["a"]])
    assert (alone["components"], alone["clustering"], alone["path"], alone["assortativity"]) == (
        1,
        0,
        None,
        None,
    )
    assert network_figures([])["components"] is None
    square = network_figures([["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]])
    assert (square["clustering"], square["assortativity"]) == (0, None)
    assert square["path"] == pytest.approx(4 / 3)


def test_paths_of_a_large_network_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from manyheads.systems.society import network

    monkeypatch.setattr(network, "MOST_SOURCES", 2)
    # A chain of four: from its ends 1, 2, 3.
    assert network_figures([["a", "b"], ["b", "c"], ["c", "d"]])["path"] == pytest.approx(2)


def test_gini() -> None:
    assert gini([2, 2], 2) == pytest.approx(0)
    assert gini([4], 4) == pytest.approx(3 / 4)
    # 0 1 3: the mean difference of all nine pairs is (1 + 3 + 2) * 2 / 9, over twice the mean of 4 / 3.
    assert gini([3, 1], 3) == pytest.approx(12 / 9 / (8 / 3))
    assert gini([], 5) is None


def test_who_is_asked() -> None:
    team = TeamRecord(number=1, members=["a", "b"], declined=["c"], guests=["c", "c"])
    found = asking_figures([EpochRecord(number=1, year=2011, teams=[team])], 4)
    assert found["gini_invited"] == pytest.approx(0.5)  # b and c once, a and d never
    assert found["gini_guests"] == pytest.approx(3 / 4)
    assert found["gini_members"] == pytest.approx(0.5)


def test_topics() -> None:
    vectors = np.array([[1, 0], [0.9, sqrt(0.19)], [0, 1], [-1, 0]], dtype=np.float32)
    entropy, distance = topic_diversity(vectors)
    # The first two have a cosine of 0.9: clusters of 2, 1 and 1.
    assert entropy == pytest.approx(0.5 * 1 + 2 * 0.25 * 2)
    cosines = [0.9, 0, -1, sqrt(0.19), -0.9, 0]
    assert distance == pytest.approx(1 - sum(cosines) / 6, abs=1e-6)
    assert topic_diversity(vectors[:1]) == (0, None)
    assert topic_diversity(vectors[:0]) == (None, None)
    assert topic_diversity(np.eye(8, dtype=np.float32))[0] == pytest.approx(log2(8))


def _papers(vectors: "np.ndarray[tuple[int, int], np.dtype[np.float32]]", first: int) -> Papers:
    number = len(vectors)
    ids = [f"p{first}-{n}" for n in range(number)]
    return Papers.of(
        ids, ids, [first + n % 2 for n in range(number)], [1 + n for n in range(number)], vectors
    )


class Points:
    """A model whose texts are their vectors."""

    name, dim = "points", 3

    def embed(self, texts: list[str]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        rows = np.array([[float(each) for each in text.split()] for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


RNG = np.random.default_rng(1)
PAST, CONTEMPORARY = (_papers(Points().embed([" ".join(map(str, row)) for row in RNG.normal(size=(12, 3))]), year)
                      for year in (2008, 2011))  # fmt: skip


@pytest.mark.parametrize("normalise", ["year", "database", "none"])
def test_own_is_hd_until_the_society_has_papers(normalise: str) -> None:
    vectors = Points().embed(["1 0 0", "0 1 1"])
    plain = [one.hd for one in novelty(vectors, PAST, CONTEMPORARY, normalise=normalise)]  # pyright: ignore[reportArgumentType]
    nothing = np.empty((0, 3), dtype=np.float32)
    assert own_dissimilarity(vectors, PAST, nothing, normalise) == pytest.approx(plain)  # pyright: ignore[reportArgumentType]


def test_own_counts_the_society_s_papers() -> None:
    vectors = Points().embed(["1 0 0"])
    own = np.concatenate([vectors] * 5)
    assert own_dissimilarity(vectors, PAST, own, "year") == [0]  # five copies are nearest
    distances = sorted(np.linalg.norm(PAST.vectors - vectors[0], axis=1))
    [found] = own_dissimilarity(vectors, PAST, own[:1], "none")
    assert found == pytest.approx(sum(distances[:4]) / 5, abs=1e-6)
    # A society's paper is divided by the mean distance to the last year: the only far one here.
    [one] = own_dissimilarity(vectors, PAST, Points().embed(["1 0.01 0"] * 5), "year")
    last = [row for row, year in enumerate(PAST.years) if year == 2009]
    mean = np.linalg.norm(PAST.vectors[last] - vectors[0], axis=1).mean()
    assert one == pytest.approx(np.linalg.norm(Points().embed(["1 0.01 0"])[0] - vectors[0]) / mean, abs=1e-5)


def test_teams_are_measured_in_their_order() -> None:
    measuring = SocietyMeasures(Points(), PAST, CONTEMPORARY)  # pyright: ignore[reportArgumentType]
    first = EpochRecord(number=1, year=2010, teams=[
        TeamRecord(number=1, members=["a"], topic="1 0 0", abstract="1 0 0", accepted=True, paper="epoch-1-team-1"),
        TeamRecord(number=2, members=["b"], abstract=None),
        TeamRecord(number=3, members=["c"], topic="0 1 0", abstract="0 1 0"),
    ])  # fmt: skip
    second = EpochRecord(number=2, year=2011, teams=[
        TeamRecord(number=1, members=["a"], topic="1 0 0", abstract="1 0.1 0", marks=[7]),
        TeamRecord(number=2, members=["b"], topic="1 0 0", abstract="0 1 0"),
    ])  # fmt: skip

    vectors = measuring.measure(first.teams, [])
    assert np.allclose(vectors, [[1, 0, 0], [0, 1, 0]])
    first.figures = measuring.figures([first], 5)
    measuring.measure(second.teams, [first])
    second.figures = measuring.figures([first, second], 5)
    one, _, three = first.teams
    assert one.measures["own"] == pytest.approx(one.measures["hd"])
    assert not first.teams[1].measures
    expected = novelty(Points().embed(["1 0 0"]), PAST, CONTEMPORARY)[0]
    assert (one.measures["hd"], one.measures["on"]) == pytest.approx((expected.hd, expected.on))
    # Only what was accepted is a paper that can be repeated.
    assert [team.repeats for team in second.teams] == ["epoch-1-team-1", None]
    assert (first.figures["repeated"], second.figures["repeated"]) == (None, 0.5)
    assert (second.teams[0].measures["own"] or 9) < (second.teams[0].measures["hd"] or 0)
    assert first.figures["hd_accepted"] == one.measures["hd"]
    assert first.figures["hd_rejected"] == three.measures["hd"]
    assert (first.figures["hd_n"], first.figures["hd_accepted_n"], second.figures["hd_accepted_n"]) == (
        2,
        1,
        0,
    )
    assert (first.figures["topic_entropy"], second.figures["topic_entropy"]) == (1, 0)
    whole = society_figures([first, second])
    assert (whole["hd_n"], whole["topic_entropy"], whole["repeated"]) == (4, 0.5, 0.25)


def test_without_contemporary_papers_nothing_is_measured_but_repeats() -> None:
    measuring = SocietyMeasures(Points(), None, None)  # pyright: ignore[reportArgumentType]
    paper = TeamRecord(number=1, members=["a"], abstract="1 0 0", accepted=True, paper="epoch-1-team-1")
    team = TeamRecord(number=1, members=["a"], abstract="1 0 0")
    measuring.measure([team], [EpochRecord(number=1, year=2010, teams=[paper])])
    assert set(team.measures.values()) == {None}
    assert team.repeats == "epoch-1-team-1"


def test_means_leave_out_what_is_unknown() -> None:
    teams = [
        TeamRecord(number=n, members=["a"], abstract="x", measures={"on": value})
        for n, value in enumerate((1.0, None, 3.0))
    ]
    found = team_figures(teams, later=False)
    assert (found["on"], found["on_n"], found["on_accepted"], found["on_accepted_n"]) == (2, 2, None, 0)
    assert (found["accepted"], found["freshness"]) == (0, None)
