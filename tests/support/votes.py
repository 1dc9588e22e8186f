"""Votes of simulated raters, whose makers have known strengths."""

import math
import random
from collections.abc import Mapping

from manyheads.measures.votes import Answer, PairVote

QUESTION = "overall"


def votes_by(
    strengths: Mapping[str, float],
    number: int,
    seed: int = 1,
    *,
    raters: int = 20,
    cases: int = 15,
    ties: float = 0.1,
    of_rater: float = 0.0,
    of_case: float = 0.0,
    effect: float = 0.0,
) -> list[PairVote]:
    """Votes by Bradley–Terry.

    Args:
        strengths: of the makers, in logits.
        of_rater, of_case: standard deviation of what a rater thinks of a maker, or of how a maker does on a case, in logits.
        effect: of a line more, in logits.
    """
    rng, names = random.Random(seed), list(strengths)
    by_rater = {(at, name): rng.gauss(0, of_rater) for at in range(raters) for name in names}
    by_case = {(at, name): rng.gauss(0, of_case) for at in range(cases) for name in names}
    votes = list[PairVote]()
    for at in range(number):
        rater, case, (left, right) = at % raters, rng.randrange(cases), rng.sample(names, 2)
        styles = [{"lines": rng.randrange(10, 60), "headings": rng.randrange(5)} for _ in range(2)]
        one, other = (strengths[each] + by_rater[rater, each] + by_case[case, each] for each in (left, right))
        logit = one - other + effect * (styles[0]["lines"] - styles[1]["lines"])
        answer: Answer = "left" if rng.random() < 1 / (1 + math.exp(-logit)) else "right"
        answer = "tie" if rng.random() < ties else answer
        votes.append(
            PairVote(
                left,
                right,
                {QUESTION: answer},
                f"R{rater}",
                f"c{case}",
                left_style=styles[0],
                right_style=styles[1],
            )
        )
    return votes
