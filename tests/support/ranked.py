"""A ranking as its run keeps it: three ideas beside a target, in four orders, one of which has failed."""

from typing import Any

from manyheads.measures.ranking import position_bias, relative_quality

TITLES = (
    "Owls that plan by ear",
    "Bats for dense traffic",
    "Moles that map in the dark",
    "Eels on power lines",
)
SHOWN = [(2, 0, 1, 3), (1, 3, 2, 0), (0, 2, 3, 1), (3, 1, 0, 2)]
RANKED = [(1, 2, 0, 3), (1, 3, 2, 0), None, (3, 1, 0, 2)]
WHY = "The judge went astray: the ranking names idea 5, but there are 4; asked 3 times"


def form(number: int) -> dict[str, str]:
    return {
        "title": TITLES[number],
        "problem": f"Machine {number} loses its way where nobody has been before, and no map tells it so.",
        "objective": "To come home by what is heard alone.",
        "hypothesis": "What is heard changes less with the light than what is seen.",
        "method": "We fly forty missions at night beside a plain baseline, and count how many come home.",
    }


def order(shown: tuple[int, ...], ranked: tuple[int, ...] | None) -> dict[str, Any]:
    rank = ranked.index(0) + 1 if ranked else None
    return {
        "shown": shown,
        "ranked": ranked,
        "rationales": [f"Because {TITLES[idea]} stands there." for idea in ranked] if ranked else None,
        "target_place": shown.index(0) + 1,
        "target_rank": rank,
        "s": relative_quality(rank, 3) if rank else None,
        "failed": None if ranked else WHY,
    }


def ranking(**changes: Any) -> dict[str, Any]:
    """What a run of three ideas and a target comes to, one of its four orders failed."""
    orders = [order(*each) for each in zip(SHOWN, RANKED, strict=True)]
    whole = [each for each in orders if each["ranked"]]
    found = position_bias([each["shown"] for each in whole], [each["ranked"] for each in whole])
    ideas = [
        {
            "source": f"runs/{n}",
            "title": TITLES[n],
            "fields": form(n),
            "round": 2 if n < 3 else None,
            "settled": n == 1,
        }
        for n in (1, 2, 3)
    ]
    return {
        "system": "ranking",
        "title": TITLES[0],
        "target": {"source": "papers/owls.md", "title": TITLES[0], "sha256": "0", "words": 120, "fields": form(0)},
        "ideas": ideas,
        "area": "robotics",
        "indicator": "novelty",
        "traits": "- few would have thought of it\n- it closes a gap",
        "shown_fields": ["title", "problem", "objective", "method"],
        "orders": orders,
        "s": sum(each["s"] for each in whole) / len(whole),
        "s_interval": {"low": 0.61, "high": 0.97, "level": 0.95},
        "failed": 1,
        "position_bias": found.bias,
        "position_p": found.p,
        "consistency": found.consistency,
        "by_place": found.by_place,
        "s_by_place": [None, 0.67, 0.67, 1.0],
        "settled": 1 / 3,
        "inference_cost": 8,
        "usage": {"input_tokens": 9000, "output_tokens": 900, "calls": 8, "by_stage": {}},
        "warnings": ["order 3 failed"],
        "written_by_language_model": True,
        **changes,
    }  # fmt: skip
