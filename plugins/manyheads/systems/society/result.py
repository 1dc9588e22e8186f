"""What comes of a society: a record of each team in its epoch's file, and of each epoch in the result."""

import json
from collections.abc import Sequence
from pathlib import Path

from manyheads.base.files import make_folder, read_text
from manyheads.base.folders import ABSTRACTS, write
from manyheads.core import NOTHING, Usage
from manyheads.core.results import Part
from manyheads.systems.society.config import SocietyConfig
from manyheads.team.run import Run

EPOCHS = "epochs"
"""The folder of the epochs: `003.json` is the third one's record, `003/` the layer that it adds to the ecosystem."""
MEASURES = ("hd", "cd", "ci", "on", "own")
"""Measures of an abstract: against the corpus as it was published, and `own`: HD against the corpus and what the society wrote before."""
FIGURES = {
    "own": "HD against corpus and society",
    "accepted": "Accepted abstracts, share",
    "repeated": "Repeated ideas, share",
    "topic_entropy": "Entropy of topics, bits",
    "topic_distance": "Mean distance of topics",
    "freshness": "Freshness of teams",
    "diversity": "Diversity of teams",
    "gini_invited": "Gini of invitations",
    "gini_guests": "Gini of questions to guests",
    "gini_members": "Gini of memberships",
    "scientists": "Scientists in teams so far",
    "links": "Pairs who worked together",
    "components": "Components of the network",
    "largest": "Largest component, share",
    "clustering": "Clustering",
    "path": "Mean path length",
    "assortativity": "Assortativity of degrees",
}
"""The titles of figures, besides those of the measures."""


class TeamRecord(Part):
    """A team, what it wrote, and what became of it. Scientists are masked; `members` begins with the leader."""

    number: int
    """From 1, among those founded in the same epoch."""
    founded: int = 0
    """The epoch in which it formed, if its run takes several; else 0."""
    seed: int = 0
    """Of its run, while that goes on."""
    members: list[str]
    declined: list[str] = []
    guests: list[str] = []
    """Who was asked for advice, once for each question."""
    freshness: float | None = None
    diversity: float | None = None
    topic: str | None = None
    title: str | None = None
    abstract: str | None = None
    """None if the team failed, or has not finished."""
    cites: list[str] = []
    """Ids of the papers that its idea stands on."""
    marks: list[float] = []
    """The reviewers' marks of the last version, 1 to 10; a missing mark is no mark."""
    revised: bool = False
    accepted: bool = False
    paper: str | None = None
    """Id of the paper that it became."""
    measures: dict[str, float | None] = {}
    """See `MEASURES`."""
    repeats: str | None = None
    """The society's earlier paper that it repeats."""
    calls: int = 0
    tokens: int = 0
    stage: str | None = None
    """What its run did last, if it takes several epochs; None if it has only formed."""
    usage: Usage = NOTHING
    """Of its run so far, while that goes on."""
    folder: str | None = None
    """Its run folder in the society's, if that is kept."""
    failure: str | None = None


class EpochRecord(Part):
    """One year of a society."""

    number: int
    year: int
    teams: list[TeamRecord] = []
    """Those that ended in it."""
    under_way: list[TeamRecord] = []
    """Those whose runs go on in the next one, the newest last."""
    figures: dict[str, float | None] = {}
    """Of the whole society at the end of the epoch, such as `gini` or `clustering`."""
    usage: dict[str, Usage] = {}
    """Of the invitations, and of the teams' runs."""
    warnings: list[str] = []

    @property
    def active(self) -> list[TeamRecord]:
        """All teams of the epoch."""
        return [*self.teams, *self.under_way]

    @property
    def formed(self) -> list[TeamRecord]:
        """Those that formed in it."""
        return [team for team in self.active if team.founded in (0, self.number)]


class EpochSummary(Part):
    """An epoch in the result: counts, means, and figures of the network."""

    number: int
    year: int
    teams: int
    accepted: int
    failed: int = 0
    under_way: int = 0
    figures: dict[str, float | None] = {}


class SocietyPaper(Part):
    """A paper that the society wrote, with those that it stands on."""

    id: str
    year: int
    title: str
    abstract: str
    authors: list[str]
    citations: int = 0
    measures: dict[str, float | None] = {}
    stands_on: list[str] = []
    """Ids of the papers that it cites."""
    folder: str | None = None


class SocietyResult(Part):
    """The epochs of a society, and its best papers."""

    epochs: list[EpochSummary] = []
    best: list[SocietyPaper] = []
    papers: int = 0
    """All that were accepted."""
    scientists: int = 0
    figures: dict[str, float | None] = {}
    """Of the whole society, see `measuring.society_figures`."""


SocietyRun = Run[SocietyResult, SocietyConfig]


def write_abstracts(folder: Path, epochs: Sequence[EpochRecord]) -> None:
    """Write all abstracts of a society, for `manyheads measure`."""
    teams = ((epoch.number, team) for epoch in epochs for team in epoch.teams if team.abstract)
    lines = (
        {
            "id": f"epoch-{team.founded or number}-team-{team.number}",
            "title": team.title,
            "abstract": team.abstract,
        }
        for number, team in teams
    )
    write(folder / ABSTRACTS, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))


def read_epochs(folder: Path) -> list[EpochRecord]:
    """The finished epochs of a society, in order."""
    return [
        EpochRecord.model_validate_json(read_text(path, 1_000_000_000))
        for path in sorted((folder / EPOCHS).glob("*.json"))
    ]


def write_epoch(folder: Path, record: EpochRecord) -> None:
    """Write the record of a finished epoch."""
    make_folder(folder / EPOCHS)
    file = folder / EPOCHS / f"{record.number:03d}.json"
    write(file, record.model_dump_json(exclude_defaults=True) + "\n")
