"""How makers stand: intervals cover what is true, and nobody is put in order whom the votes do not put in order."""

from dataclasses import replace
from statistics import pstdev

import pytest

from manyheads.arena.report import conclusions
from manyheads.measures.pairwise import POINTS, START
from manyheads.measures.standings import Rules, Standings, agreement_with_people, standings, steadiness
from manyheads.measures.votes import Answer, PairVote
from support.votes import QUESTION, votes_by

QUICK = Rules(signs=(), resamples=60, orders=5)


def vote(
    left: str, right: str, answer: Answer = "left", rater: str = "R0", case: str = "c0", **more: object
) -> PairVote:
    return replace(PairVote(left, right, {QUESTION: answer}, rater, case), **more)  # type: ignore[arg-type]


def words(found: Standings) -> str:
    return "\n".join(conclusions(found))


def test_makers_far_apart_are_put_in_order_and_others_not() -> None:
    found = standings(votes_by({"a": 0.0, "b": 0.1, "c": 2.5}, 400), QUESTION, QUICK)
    assert found.makers[0].maker == "c"
    assert (found.makers[0].best, found.makers[0].worst) == (1, 1)
    assert [(each.best, each.worst) for each in found.makers[1:]] == [(2, 3), (2, 3)]
    assert [{*pair} for pair in found.unordered] == [{"a", "b"}]
    assert "overlap" in words(found)
    assert found.resampled == "raters and cases"


def test_win_rates_are_expected_and_observed() -> None:
    votes = [vote("a", "b", "left", f"R{n % 5}", f"c{n % 4}") for n in range(30)]
    votes += [vote("b", "a", "left", f"R{n % 5}", f"c{n % 4}") for n in range(10)]
    found = standings(votes, QUESTION, QUICK)
    rate = next(each for each in found.win_rates if each.maker == "a")
    assert (rate.n, rate.observed, rate.expected) == (40, 0.75, pytest.approx(0.75))


def test_style_is_taken_out_where_it_drives_the_votes() -> None:
    """Equal makers, one of which writes longer texts; raters prefer lines."""
    votes = list[PairVote]()
    for one in votes_by({"a": 0.0, "b": 0.0, "c": 0.0}, 1500, effect=0.0):
        extra = 15 * (one.left == "c") - 15 * (one.right == "c")
        left = {**one.left_style, "lines": one.left_style["lines"] + 15 * (one.left == "c")}
        right = {**one.right_style, "lines": one.right_style["lines"] + 15 * (one.right == "c")}
        lines = left["lines"] - right["lines"]
        assert lines == one.left_style["lines"] - one.right_style["lines"] + extra
        answer: Answer = "left" if lines > 0 else "right"
        answer = one.answers[QUESTION] if int(one.case[1:]) % 3 else answer
        votes.append(replace(one, answers={QUESTION: answer}, left_style=left, right_style=right))
    found = standings(votes, QUESTION, replace(QUICK, signs=("lines", "headings")))
    by_name = {each.maker: each for each in found.makers}
    assert by_name["c"].rated.rating
    assert by_name["c"].adjusted.rating
    assert by_name["c"].rated.rating > by_name["a"].rated.rating  # type: ignore[operator]
    assert abs(by_name["c"].adjusted.rating - START) < abs(by_name["c"].rated.rating - START)
    effects = {each.sign: each for each in found.effects}
    differences = [vote.left_style["lines"] - vote.right_style["lines"] for vote in votes]
    assert effects["lines"].unit == pytest.approx(pstdev(differences), rel=1e-6), "of these votes, not n - 1"
    assert effects["lines"].points > 5 * abs(effects["headings"].points)
    assert effects["lines"].low
    assert effects["lines"].low > 0


def test_who_always_wins_is_not_rated() -> None:
    votes = [vote("a", other, "left", f"R{n % 4}", f"c{n % 3}") for n in range(12) for other in ("b", "c")]
    votes += [vote("b", "c", "left" if n % 3 else "right", f"R{n % 4}", f"c{n % 3}") for n in range(12)]
    found = standings(votes, QUESTION, QUICK)
    first = found.makers[0]
    assert (first.maker, first.endless, first.rated.rating, first.best) == ("a", "won", None, None)
    assert {each.maker for each in found.makers if each.rated.rating is not None} == {"b", "c"}
    assert "a: won every comparison" in words(found)
    regular = standings(votes, QUESTION, replace(QUICK, regularise=0.5))
    assert all(each.rated.rating for each in regular.makers)
    assert regular.makers[0].maker == "a"


def test_makers_that_never_met_are_not_compared() -> None:
    votes = [
        vote(one, other, answer, f"R{n}", f"c{n}")
        for n in range(4)
        for one, other in (("a", "b"), ("c", "d"))
        for answer in ("left", "right", "left")
    ]  # type: ignore[misc]
    found = standings(votes, QUESTION, QUICK)
    assert {each.maker: each.group for each in found.makers} == {"a": 1, "b": 1, "c": 2, "d": 2}
    assert "never met" in words(found)
    assert next(each for each in found.win_rates if (each.maker, each.other) == ("a", "c")).expected is None
    assert ("a", "c") not in found.unordered


@pytest.mark.parametrize("answer", ["left", "tie"])
def test_one_vote_puts_nobody_in_order(answer: Answer) -> None:
    found = standings([vote("a", "b", answer)], QUESTION, QUICK)
    assert all(each.best is None for each in found.makers)
    assert words(found)


def test_a_rater_that_dominates_and_a_single_one_are_named() -> None:
    votes = [
        vote("a", "b", "left" if n % 3 else "right", "Ada" if n < 9 else f"R{n}", f"c{n % 4}")
        for n in range(12)
    ]
    assert "Ada" in words(standings(votes, QUESTION, QUICK))
    alone = standings([replace(each, rater="Ada") for each in votes], QUESTION, QUICK)
    assert alone.resampled == "cases"
    assert "one rater" in words(alone)
    some = standings([replace(each, rater=each.rater.strip("Ada")) for each in votes], QUESTION, QUICK)
    assert "name no rater" in words(some)
    assert "dominates" not in words(some)
    unknown = standings([replace(each, rater="", case="") for each in votes], QUESTION, QUICK)
    assert unknown.resampled == "votes"


def test_agreement_of_raters_on_the_same_pair() -> None:
    votes = [
        vote("a", "b", "left", "R1", "c1"), vote("b", "a", "right", "R2", "c1"),  # the same answer
        vote("a", "b", "left", "R1", "c2"), vote("a", "b", "tie", "R2", "c2"),
        vote("a", "b", "left", "R1", "c3"),
    ]  # fmt: skip
    found = standings(votes, QUESTION, QUICK).agreement
    assert (found.pairs, found.equal) == (2, 0.5)


def test_models_are_kept_apart_from_people() -> None:
    people = [vote("a", "b", "left", f"R{n % 3}", f"c{n}") for n in range(8)] + [
        vote("a", "b", "right", "R9", "c9")
    ]
    models = [vote("a", "b", "left" if n < 6 else "right", "M", f"c{n}", kind="model") for n in range(8)]
    found = standings([*people, *models], QUESTION, QUICK)
    assert found.votes == 9
    assert standings([*people, *models], QUESTION, QUICK, "model").raters == {"M": 8}
    assert agreement_with_people([*people, *models], QUESTION)["M"].pairs == 8
    assert agreement_with_people([*people, *models], QUESTION)["M"].equal == 0.75


def test_a_model_that_prefers_a_side_is_not_steady() -> None:
    votes = [vote("a", "b", "left", "M", "c1"), vote("b", "a", "left", "M", "c1"),
             vote("a", "b", "left", "M", "c2"), vote("b", "a", "right", "M", "c2")]  # fmt: skip
    assert steadiness(votes, QUESTION) == (2, 0.5)
    assert steadiness(votes[:1], QUESTION) is None


TRUE = {"a": 0.0, "b": 0.4, "c": 0.8, "d": 1.6}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_rater", "of_case", "raters", "cases", "number"),
    [(0.0, 0.0, 20, 15, 300), (1.0, 0.0, 20, 15, 300), (0.0, 1.0, 20, 15, 300), (0.7, 0.7, 30, 30, 900)],
)
def test_intervals_cover_the_true_ratings(
    of_rater: float, of_case: float, raters: int, cases: int, number: int
) -> None:
    """Of 95 % intervals, at least 92 % of 200: for other raters and other cases, also where raters or cases differ much."""
    rules, covered = Rules(signs=(), resamples=100, orders=1), list[bool]()
    many = votes_by(TRUE, 60_000, 0, raters=3000, cases=3000, of_rater=of_rater, of_case=of_case)
    true = {
        each.maker: each.rated.rating
        for each in standings(many, QUESTION, replace(rules, resamples=1)).makers
    }
    if not (of_rater or of_case):
        middle = sum(TRUE.values()) / 4
        # A tie is half a win, which draws ratings together: with a tenth of ties, by about a tenth.
        assert true["d"] == pytest.approx(START + POINTS * (1.6 - middle), abs=40)
    for seed in range(1, 51):
        votes = votes_by(TRUE, number, seed, raters=raters, cases=cases, of_rater=of_rater, of_case=of_case)
        for each in standings(votes, QUESTION, rules).makers:
            truth = true[each.maker]
            assert truth is not None
            covered.append(each.rated.low is not None and each.rated.low <= truth <= (each.rated.high or 0))
    assert len(covered) == 200
    assert sum(covered) >= 184
