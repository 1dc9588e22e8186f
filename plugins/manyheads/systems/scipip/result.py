"""Settings, input and result of SciPIP, and the tasks required of roles (SciPIP, §3.3)."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from manyheads.asking import replies as shared
from manyheads.asking.forms import word_count
from manyheads.asking.replies import ReplyModel, Text
from manyheads.base.errors import ConfigError
from manyheads.base.resources import data_file
from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.config.files import read_yaml
from manyheads.core.results import Abstract, Draft, Idea, Part, Person
from manyheads.core.texts import FileOrText, is_there, subject_of, text_of
from manyheads.systems.scipip import replies
from manyheads.team.run import Run


def _in_order(value: tuple[int, int]) -> tuple[int, int]:
    if not 1 <= value[0] <= value[1]:
        raise ValueError("give minimum and maximum, such as [3, 4]")
    return value


Range = Annotated[tuple[int, int], AfterValidator(_in_order)]  # minimum and maximum, from 1 on


class ScipipConfig(Section):
    """Numbers of papers and ideas at each stage; where the paper gives no number, the default is ours.

    `literature.retrieval` sets how papers are found and clustered (§3.2).
    """

    in_full = frozenset({"ideas"})
    retrieves = True

    path: Literal["A", "B", "C"] = "C"
    """A: ideas from the literature; B: also ideas from brainstorming; C: as B, with the entities of brainstormed ideas in the
    retrieval (§3.3)."""
    area: Text = "computer science"
    """The field of research of the background."""
    papers: int = Field(default=20, ge=1, le=50)
    """Maximum papers shown to the model: one for each of the first clusters. The paper gives no number."""
    synonyms: bool = True
    """Have a model name synonyms of the background's entities, and look these up too (§3.2.1)."""
    brainstorm: Range = (4, 6)
    """Minimum and maximum ideas of a brainstorming (Table 14)."""
    ideas: int = Field(default=10, ge=1, le=30)
    """Number of ideas from the literature, ±20% (§3.3.1)."""
    same: float = Field(default=0.8, gt=0, le=1)
    """Minimum cosine similarity for merging two ideas. The paper gives no number. With all-MiniLM-L6-v2 an idea with a few
    changed words has 0.96 or more, a paraphrase 0.65 to 0.91. But different papers are as close: of 29,000, two thirds
    have another within 0.7, one in seven within 0.8. With `lexical`, copies have 0.91 or more,
    other papers rarely 0.6. So near copies are merged here, and other similar ideas are joined in the refinement."""
    keep: float = Field(default=0.5, gt=0, le=1)
    """Share of the ideas that the filter keeps: about half (§3.3.1)."""
    final: Range = (3, 4)
    """Minimum and maximum final ideas (§3.3.1)."""
    abstract: bool = True
    """Write the abstract of the first final idea, which `manyheads measure` and `manyheads review` can read."""

    @property
    def brainstorms(self) -> bool:
        """Whether ideas are also brainstormed."""
        return self.path != "A"


KINDS = "a text, Markdown or JSON file, the folder of a run that wrote an abstract, or a text in quotes"
BACKGROUND = Slot(
    "all", file=True, metavar="FILE|TEXT", required=True, hint=f"name one: --background {KINDS}"
)


class ScipipInputs(Inputs):
    """The research background for the ideas."""

    background: Annotated[FileOrText, BACKGROUND] = None
    """The state of research and the goal: a text file, the folder of a run that wrote an abstract, or the text itself."""

    def course(self) -> dict[str, Any]:
        """Nothing: every prompt contains the background."""
        return {}


STEERS = {
    "retrieval": "accept the papers, or pick those that are kept",
    "problem": "accept or edit the problem, or send it back",
    "ideas": "accept the ideas, pick those that are kept, add one, or send the stage back",
    "refinement": "accept the final ideas, pick the first one, or send them back",
    "writing": "accept or edit the abstract, or send it back",
}
"""What a person may do after a stage."""
IDEATOR, INDEXER, JUDGE, RESEARCHER = "ideator", "indexer", "judge", "researcher"


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    settings: ScipipConfig = config.settings
    entities = "entity" in config.literature.retrieval.how
    tasks: list[tuple[str, str, type[ReplyModel], bool]] = [
        (IDEATOR, "brainstorm", replies.Brainstorm, settings.brainstorms),
        (INDEXER, "entities", replies.Entities, entities),
        (INDEXER, "synonyms", replies.Synonyms, entities and settings.synonyms),
        (IDEATOR, "problem", replies.Problem, True),
        (IDEATOR, "propose", replies.InspiredIdeas, True),
        (JUDGE, "screen", replies.Screening, True),
        (IDEATOR, "refine", replies.Refinement, True),
        (RESEARCHER, "abstract", shared.Abstract, settings.abstract),
    ]
    return {(role, task): kind for role, task, kind, needed in tasks if needed}


def need_corpus(config: RunConfig) -> RunConfig:
    """The config itself; raises `ConfigError` if papers come from services, which have no such database, or if the shipped
    background is used with another corpus than its own."""
    if config.literature.references != "corpus":
        raise ConfigError(
            f"{config.system}: literature.references={config.literature.references}: its papers come from a corpus",
            hint="leave the key out, and name a corpus: --set corpus=…",
        )
    example = read_yaml(data_file("configs/scipip.yaml"))
    if config.corpus != example["corpus"] and config.inputs.background == example["inputs"]["background"]:
        raise ConfigError(
            f"{config.system}: needs a background for the corpus {config.corpus}: the one of the shipped config, about "
            f"household robots, belongs to the corpus {example['corpus']}",
            hint=BACKGROUND.hint,
        )
    return config


# The background.

LONG = 1500  # words; more make each question long
SHORT = 5  # words; fewer say little


class ResearchBackground(Part):
    """The research background of the run."""

    source: str
    """The file or run it was read from; empty for a text."""
    text: str
    """With the title, if there is one."""

    def __str__(self) -> str:
        return f"a background of {self.words:,} words" if self.words > 1 else "a background of one word"

    @property
    def words(self) -> int:
        """The number of words; in scripts without spaces two letters count as one."""
        return word_count(self.text)

    def warnings(self) -> Iterator[str]:
        """Warnings about the background."""
        if self.words < SHORT:
            found = "any paper with these words may be found; two or three sentences find better ones"
            yield f"{self}: it says little about the goal, so {found}"
        if self.words > LONG:
            thread = "the model may lose the thread; shorten it to a page"
            yield f"{self}: most questions contain all of it, and {thread}"
        letters = [letter for letter in self.text if letter.isalpha()]
        if 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters):
            yield (
                "the background is in another script than most papers: how well it is embedded depends on the "
                "embedding model; entities are requested in English"
            )


def read_background(config: RunConfig) -> ResearchBackground | None:
    """The named background; a single word without dot or slash is a text, unless a file has this name.

    Raises:
        SubjectError: the file is missing, cannot be read, or does not contain exactly one text.
    """
    if (background := config.inputs.background) is None:
        return None
    word = re.fullmatch(r"[\w-]+", background.strip()) and not is_there(Path(background))
    subject = (text_of if word else subject_of)(background, "the background", KINDS)
    text = "\n\n".join(filter(None, (subject.title, subject.text)))
    return ResearchBackground(source=subject.source, text=text)


Origin = Literal["literature", "brainstorm", "both", "person"]


class EntitySet(Part):
    """The entities used for look-ups, in addition to those the database finds (§3.2.1)."""

    background: list[str] = []
    brainstorm: list[str] = []
    """Of the brainstormed ideas; empty but on path C."""
    synonyms: dict[str, list[str]] = {}
    """Other names of them, by entity."""

    @property
    def terms(self) -> list[str]:
        """Each once, the background's first, without synonyms."""
        return list(dict.fromkeys([*self.background, *self.brainstorm]))

    @property
    def others(self) -> list[str]:
        """The synonyms, each once."""
        return list(dict.fromkeys(name for names in self.synonyms.values() for name in names))


class PaperCluster(Part):
    """Papers with nearly the same content (§3.2.2), as evidence; the first represents all."""

    number: int
    members: list[str]
    shown: bool = False
    """Whether the model was shown its first paper, under the cluster's number."""


class ScreeningRecord(Part):
    """The judgement of an idea by itself, and the filter's decision (§3.3.1)."""

    fit: int
    fit_reason: str
    novelty: int
    novelty_reason: str
    feasibility: int
    feasibility_reason: str
    place: int | None = None
    """Among all ideas, 1 the best; None before all are judged."""
    kept: bool | None = None
    why: str = ""
    """The reason why it was kept or not: the rule in words."""


class Twin(Idea):
    """An idea merged into another one."""

    origin: Origin
    similarity: float
    """Cosine similarity of the two, -1 to 1."""


class Candidate(Idea):
    """An idea before the filter. `references` are the papers that it, and those it stands for, say they build on."""

    origin: Origin
    merged: list[Twin] = []
    """Nearly equal ideas merged into it."""
    screening: ScreeningRecord | None = None


class FinalIdea(Idea):
    """An idea after refinement; `references` are those of the ideas that it comes from."""

    details: str
    sources: list[int]
    """Numbers of the ideas that it comes from."""
    origin: Origin | None = None
    """Where these come from; None where it names none of them."""

    @property
    def body(self) -> str:
        return f"{self.idea}\n\n{self.details}"


class ScipipResult(Part):
    """A problem, the papers behind it, ideas with their fate, and the final ideas; `idea` is the first of these."""

    team: list[Person] = []
    path: str | None = None
    background: ResearchBackground | None = None
    entities: EntitySet = EntitySet()
    clusters: list[PaperCluster] = []
    """Of the papers that were found, the most relevant first; `evidence` tells how each was found."""
    records: dict[str, int] = {}
    """Of the papers that the model was shown, how many records each maker has made; an empty name stands for none."""
    rationale: str | None = None
    problem: str | None = None
    ideas: list[Candidate] = []
    """In the order of their numbers, those of the brainstorming first; without those that others stand for."""
    coherence: str | None = None
    """How the final ideas fit together."""
    final: list[FinalIdea] = []
    idea: FinalIdea | None = None
    abstract: Abstract | None = None
    drafts: list[Draft] = []
    turns: dict[str, int] = {}
    inference_cost: int | None = None
    """Number of replies requested."""


ScipipRun = Run[ScipipResult, ScipipConfig, ResearchBackground]
