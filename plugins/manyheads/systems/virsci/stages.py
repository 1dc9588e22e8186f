"""The five stages, by name and title, and what each is for."""

from manyheads.config import STAGES
from manyheads.core import Stage

TITLES = {
    "selection": "Collaborator selection",
    "topic": "Topic discussion",
    "idea": "Idea generation",
    "novelty": "Novelty assessment",
    "abstract": "Abstract generation",
}
GOALS = {
    "topic": "one precise research topic that the members share and can support.",
    "idea": "a small set of testable ideas on the topic, at least one of them clearly new.",
    "novelty": "a clear majority for the idea that overlaps least with published work.",
    "abstract": "an abstract that is clear, complete and original.",
}


def stage_event(stage: str) -> Stage:
    return Stage(stage=stage, title=TITLES[stage], number=STAGES.index(stage) + 1, total=len(STAGES))
