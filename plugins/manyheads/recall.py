"""What the hosts' retrieval hooks deliver: nearby scientists from the author knowledge bank."""

from dataclasses import dataclass, field

from manyheads.bank.records import Literature
from manyheads.prompts import Prompts

PASSAGE = "partials/recall.md.j2"


@dataclass
class AuthorRecall:
    """A `core.Recall` over an ecosystem's author knowledge bank (VirSci 2025, §3.1, §3.2).

    Attributes:
        count: how many scientists are shown.
        insiders: names that are left out: the present team. Shared with the run, which changes it.
    """

    literature: Literature
    prompts: Prompts
    count: int
    insiders: set[str] = field(default_factory=set[str])

    async def __call__(self, query: str, speaker: str) -> str:
        outside = {speaker, *self.insiders}
        found = await self.literature.find_scientists(query, self.count, exclude=outside)
        return self.prompts.render(PASSAGE, {"scientists": found}) if found else ""
