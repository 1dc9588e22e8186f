"""Ratings from votes: Elo by hand, Bradley–Terry against other libraries and published examples, known strengths recovered."""

import math
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from manyheads.base.errors import RatingError
from manyheads.measures.pairwise import Fit, Likelihood, comparisons, elo, groups
from manyheads.measures.standings import K, Rules, standings
from manyheads.measures.votes import Answer, PairVote
from support.votes import votes_by

Q = "overall"


def vote(left: str, right: str, answer: Answer = "left", **more: Any) -> PairVote:
    return PairVote(left, right, {Q: answer}, **more)


def of_wins(wins: dict[tuple[str, str], int]) -> list[PairVote]:
    return [vote(winner, loser) for (winner, loser), number in wins.items() for _ in range(number)]


def fit(votes: list[PairVote], **how: Any) -> Fit:
    found = Likelihood(comparisons(votes, Q, **how)).fit()
    assert found
    return found


def ratings(votes: list[PairVote]) -> dict[str, float]:
    found = fit(votes)
    return dict(zip(found.makers, found.ratings.tolist(), strict=True))


def test_elo_follows_its_formula() -> None:
    found = elo(comparisons([vote("a", "b"), vote("b", "c", "tie"), vote("c", "a", "right")], Q), K, orders=0)
    a, b, c = 1500.0, 1500.0, 1500.0
    a, b = a + 16, b - 16
    change = 32 * (0.5 - 1 / (1 + 10 ** ((c - b) / 400)))
    b, c = b + change, c - change
    change = 32 * (0 - 1 / (1 + 10 ** ((a - c) / 400)))
    c, a = c + change, a - change
    assert [found[name].rating for name in "abc"] == pytest.approx([a, b, c])


def test_elo_depends_on_the_order_of_the_votes() -> None:
    votes = of_wins({("a", "b"): 20, ("b", "a"): 20})
    found = elo(comparisons(votes, Q), K)["a"]
    assert found.rating < 1500 - 50  # its losses come last
    assert found.low < found.rating + 1
    assert found.high > 1500


BASEBALL = {
    "Milwaukee": {"Detroit": 7, "Toronto": 9, "New York": 7, "Boston": 7, "Cleveland": 9, "Baltimore": 11},
    "Detroit": {"Milwaukee": 6, "Toronto": 7, "New York": 5, "Boston": 11, "Cleveland": 9, "Baltimore": 9},
    "Toronto": {"Milwaukee": 4, "Detroit": 6, "New York": 7, "Boston": 7, "Cleveland": 8, "Baltimore": 12},
    "New York": {"Milwaukee": 6, "Detroit": 8, "Toronto": 6, "Boston": 6, "Cleveland": 7, "Baltimore": 10},
    "Boston": {"Milwaukee": 6, "Detroit": 2, "Toronto": 6, "New York": 7, "Cleveland": 7, "Baltimore": 12},
    "Cleveland": {"Milwaukee": 4, "Detroit": 4, "Toronto": 5, "New York": 6, "Boston": 6, "Baltimore": 6},
    "Baltimore": {"Milwaukee": 2, "Detroit": 4, "Toronto": 1, "New York": 3, "Boston": 1, "Cleveland": 7},
}
"""Wins in the American League, East, 1987 (Agresti, Categorical Data Analysis, 2nd ed., Table 10.10)."""


def test_the_published_strengths_of_baseball_teams() -> None:
    """Agresti, p. 437; also the example of R's BradleyTerry2, without the advantage of playing at home."""
    found = fit([vote(won, lost) for won, of in BASEBALL.items() for lost, n in of.items() for _ in range(n)])
    strength = dict(zip(found.makers, found.strength.tolist(), strict=True))
    differences = {name: strength[name] - strength["Baltimore"] for name in BASEBALL}
    assert differences == pytest.approx(
        {"Milwaukee": 1.58, "Detroit": 1.44, "Toronto": 1.29, "New York": 1.25, "Boston": 1.11, "Cleveland": 0.68, "Baltimore": 0},
        abs=0.006,
    )  # fmt: skip


@pytest.mark.slow
def test_another_library_gives_the_same_effects_of_style() -> None:
    sm = pytest.importorskip("statsmodels.api")
    votes = votes_by({"a": 0.0, "b": 0.5, "c": 1.5}, 800, 2, effect=0.03)
    compared = comparisons(votes, Q, signs=("lines", "headings"))
    found = Likelihood(compared, style=True).fit()
    assert found
    design = np.zeros((800, 3))
    design[np.arange(800), compared.left] = 1
    design[np.arange(800), compared.right] = -1
    x = compared.style / compared.style.std(0)
    regressors = np.column_stack([design[:, 1:], x])
    theirs = sm.GLM(compared.score, regressors, family=sm.families.Binomial()).fit().params
    assert found.strength[1:] - found.strength[0] == pytest.approx(theirs[:2], abs=1e-6)
    assert found.style == pytest.approx(theirs[2:], abs=1e-6)
    assert found.style[0] / compared.style.std(0)[0] == pytest.approx(0.03, abs=0.008)


MAMORX = {
    "Human Reviewer": (1236, 1257, 1237, 1229),
    "Prompt-based": (1391, 1392, 1387, 1396),
    "Liang et al.": (1237, 1251, 1242, 1217),
    "D'Arcy et al.": (1766, 1731, 1761, 1769),
    "MAMORX": (1870, 1869, 1874, 1889),
}
"""Table 2 of MAMORX: technical quality, constructiveness, clarity, overall."""
WIN_RATES = {
    "Human Reviewer": (50, 28, 52, 4, 2),
    "Prompt-based": (72, 50, 74, 11, 6),
    "Liang et al.": (48, 26, 50, 4, 2),
    "D'Arcy et al.": (96, 90, 96, 50, 33),
    "MAMORX": (98, 94, 98, 67, 50),
}
"""Its Table 3, of the overall quality."""


def test_votes_at_the_published_rates_give_the_published_ratings() -> None:
    """Both ways between Tables 2 and 3: the rates as votes, 100 of each pair."""
    places = {name: place for place, name in enumerate(WIN_RATES)}
    rates = {(one, other): WIN_RATES[one][places[other]] for one, other in combinations(WIN_RATES, 2)}
    votes = [vote for (one, other), rate in rates.items()
             for vote in of_wins({(one, other): rate, (other, one): 100 - rate})]  # fmt: skip
    found = ratings(votes)
    assert {name: round(rating) for name, rating in found.items()} == pytest.approx(
        {name: row[3] for name, row in MAMORX.items()}, abs=15
    )


def test_votes_by_the_published_ratings_give_the_published_win_rates() -> None:
    """Table 3 to the per cent, from 400 votes of each pair by Table 2."""
    overall = {name: row[3] for name, row in MAMORX.items()}
    wins = {(one, other): round(400 / (1 + 10 ** ((overall[other] - overall[one]) / 400)))
            for one, other in permutations(overall, 2)}  # fmt: skip
    found = standings(of_wins(wins), Q, Rules(signs=(), resamples=0, orders=0)).win_rates
    places = {name: place for place, name in enumerate(WIN_RATES)}
    off = [abs(100 * (each.expected or 0) - WIN_RATES[each.maker][places[each.other]]) for each in found]
    assert (len(off), max(off)) == (20, pytest.approx(0.5, abs=0.3))


def test_both_poor_is_left_out_or_a_tie() -> None:
    votes = [*of_wins({("a", "b"): 3, ("b", "a"): 1}), vote("a", "b", "poor"), vote("a", "b", "poor")]
    compared = comparisons(votes, Q)
    assert (len(compared), compared.poor) == (4, 2)
    assert len(comparisons(votes, Q, poor="tie")) == 6
    found = Likelihood(comparisons(votes, Q, poor="tie")).fit()
    assert found
    assert found.ratings[0] - found.ratings[1] == pytest.approx(400 * math.log10(4 / 2))


def test_who_always_wins_has_no_finite_rating_unless_regularised() -> None:
    votes = of_wins({("a", "b"): 3, ("b", "c"): 2, ("c", "b"): 1, ("a", "c"): 2})
    compared = comparisons(votes, Q)
    assert Likelihood(compared).fit() is None
    found = Likelihood(compared).fit(regularise=0.5)
    assert found
    assert found.strength[0] > found.strength[1] > found.strength[2]
    known = groups(compared.makers, compared.wins)
    assert known.connected == (("a", "b", "c"),)
    assert known.finite == (("b", "c"),)
    assert known.endless == {"a": "won"}
    assert Likelihood(compared.among(["b", "c"])).fit()


def test_makers_that_never_met_are_in_groups() -> None:
    votes = of_wins({("a", "b"): 1, ("b", "a"): 1, ("c", "d"): 1, ("d", "c"): 1, ("b", "e"): 1})
    compared = comparisons(votes, Q)
    known = groups(compared.makers, compared.wins)
    assert known.connected == (("a", "b", "e"), ("c", "d"))
    assert known.finite == (("a", "b"), ("c", "d"))
    assert known.endless == {"e": "lost"}


def test_style_that_follows_from_the_maker_cannot_be_told_from_it() -> None:
    style = {"a": {"lines": 10}, "b": {"lines": 20}, "c": {"lines": 25}}
    answers: tuple[Answer, ...] = ("left", "right", "left")
    votes = [
        vote(one, other, answer, left_style=style[one], right_style=style[other])
        for one, other in combinations("abc", 2)
        for answer in answers
    ]
    compared = comparisons(votes, Q, signs=("lines",))
    assert compared.signs == ("lines",)
    assert compared.separable_signs() == ()
    mixed = comparisons(votes_by({"a": 0.0, "b": 1.0}, 50), Q, signs=("lines", "headings"))
    assert mixed.separable_signs() == ("lines", "headings")


def test_without_votes_there_is_nothing_to_rate() -> None:
    with pytest.raises(RatingError, match="no votes"):
        comparisons([], Q)
    with pytest.raises(RatingError, match="clarity"):
        comparisons([vote("a", "b")], "clarity")
    with pytest.raises(RatingError, match="poor"):
        comparisons([vote("a", "b", "poor")], Q)


def test_the_effect_of_style_is_in_standard_deviations_of_the_votes_themselves() -> None:
    """The slope of the likelihood is 0 there: not where the deviation is estimated for other votes, with n - 1."""
    votes = votes_by({"a": 0.0, "b": 0.5}, 12, 4, effect=0.1)
    compared = comparisons(votes, Q, signs=("lines",))
    found = Likelihood(compared, style=True).fit()
    assert found
    lines = compared.style[:, 0]
    spread = math.sqrt(float(np.mean(lines**2) - np.mean(lines) ** 2))
    logit = found.strength[compared.left] - found.strength[compared.right] + found.style[0] * lines / spread
    assert abs(found.style[0]) > 0.1
    assert lines @ (compared.score - 1 / (1 + np.exp(-logit))) == pytest.approx(0, abs=1e-6)
