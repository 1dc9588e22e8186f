"""What `result.json` keeps of a review and rebuttal."""

from typing import Any

from manyheads.replies import Abstract, FirstIdea, Proposal
from manyheads.systems.rebuttal.panel import NAMES, REBUTTAL, WRITING, Panel, Round
from manyheads.systems.rebuttal.ready import PROPOSER
from manyheads.texts import Subject


def result_of(panel: Panel, final: Round, abstract: Abstract | None) -> dict[str, Any]:
    """The result: the rounds, how they ended, the final idea, and the abstract where one was written.

    The improvements that were found are counted where somebody has looked for some, and null elsewhere.
    `inference_cost` is the number of replies; `idea` and `abstract` have the shape of a team's, so that what takes
    one takes the other.
    """
    works = [{"id": work.source, "title": work.title} for work in panel.background.works]
    return {
        "team": [{"name": each.name, "role": role} for role, each in panel.people.items()],
        "background": {
            "source": panel.background.source,
            "sha256": panel.background.sha256,
            "works": works,
            "left_out": panel.background.without,
        },
        "rounds": [_round(one) for one in panel.rounds],
        "idea": {**_idea(final), "number": final.number, "references": works},
        "rebuttal": _course(panel, final),
        **(_abstract(panel, abstract) if abstract else {}),
        "turns": {REBUTTAL: len(panel.rounds) - 1, **({WRITING: 1} if abstract else {})},
        "inference_cost": panel.asked,
    }


def _round(one: Round) -> dict[str, Any]:
    return {
        "round": one.number,
        "idea": _idea(one),
        "review": one.review.model_dump(mode="json", include={"strengths", "weaknesses", "suggestions"})
        if one.review
        else None,
        "verdict": one.verdict.model_dump(mode="json", include={"reasoning", "improved"})
        if one.verdict
        else None,
        "improved": one.improved,
    }


def _idea(one: Round) -> dict[str, Any]:
    """Title and text, and whatever form its author gave it: six fields from the first revision on."""
    match one.idea:
        case Proposal() as idea:
            own = idea.model_dump(mode="json", include={*Proposal.model_fields, "reflection"})
            return {**own, "idea": idea.body(), "by": _author(one)}
        case FirstIdea() as idea:
            return {"title": "", "thought": idea.thought, "idea": idea.idea, "by": _author(one)}
        case Subject() as given:
            return {"title": given.title, "idea": given.text, "by": _author(one), "source": given.source}


def _author(one: Round) -> str:
    return "" if isinstance(one.idea, Subject) else NAMES[PROPOSER]


def _course(panel: Panel, final: Round) -> dict[str, Any]:
    chosen = panel.run.settings
    judged = [one.improved for one in panel.rounds if one.improved is not None]
    return {
        "area": chosen.area,
        "indicator": chosen.indicator,
        "traits": panel.traits,
        "method": chosen.method,
        "iterations": len(panel.rounds) - 1,
        "improvements": sum(judged) if judged else None,
        "stopped_by": panel.stopped,
        "converged": panel.stopped == "converged" if judged else None,
        "final": final.number,
    }


def _abstract(panel: Panel, abstract: Abstract) -> dict[str, Any]:
    sections: dict[str, str] = {name: getattr(abstract, name) for name in Abstract.model_fields}
    by = panel.people[PROPOSER].name
    return {
        "abstract": {**sections, "text": abstract.as_text()},
        "drafts": [{"by": by, "turn": 1, "evaluation": None, "changes": None, **sections}],
    }
