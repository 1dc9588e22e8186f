"""What steers SciPIP, its input, and what it needs of the roles' tasks (SciPIP, §3.3)."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.config.files import read_yaml
from manyheads.errors import ConfigError
from manyheads.forms import word_count
from manyheads.replies import (
    Abstract,
    Brainstorm,
    Entities,
    InspiredIdeas,
    Problem,
    Refinement,
    ReplyModel,
    Screening,
    Synonyms,
    Text,
)
from manyheads.resources import data_file
from manyheads.texts import FileOrText, Subject, is_there, subject_of, text_of


def _in_order(value: tuple[int, int]) -> tuple[int, int]:
    if not 1 <= value[0] <= value[1]:
        raise ValueError("name the least and the most, such as [3, 4]")
    return value


Range = Annotated[tuple[int, int], AfterValidator(_in_order)]
"""The least and the most of something, from 1 on."""


class ScipipConfig(Section):
    """How many papers and ideas there are at each stage; those without a number in the paper's text are ours.

    How papers are found, and which of them are one (§3.2), says `literature.retrieval`.
    """

    in_full = frozenset({"ideas"})
    retrieves = True

    path: Literal["A", "B", "C"] = "C"
    """Ideas from the literature (A), beside them ideas of a brainstorming (B), whose entities join the retrieval as well
    (C; §3.3)."""
    area: Text = "computer science"
    """The field of research of the background."""
    papers: int = Field(default=20, ge=1, le=50)
    """Papers that the model is shown, at most: one for each of the clusters found first. The paper tells no number."""
    synonyms: bool = True
    """Have a model name synonyms of the background's entities, and look these up too (§3.2.1)."""
    brainstorm: Range = (4, 6)
    """Ideas of a brainstorming, at least and at most (Table 14)."""
    ideas: int = Field(default=10, ge=1, le=30)
    """Ideas from the literature, give or take a fifth (§3.3.1)."""
    same: float = Field(default=0.8, gt=0, le=1)
    """Cosine similarity from which on two ideas are one. The paper tells no number. With all-MiniLM-L6-v2 an idea of which a
    few words were changed comes to 0.96 and more, one that was reworded to 0.65 to 0.91; but different papers come as near:
    of 29,000, two thirds have another within 0.7, one in seven within 0.8. With `lexical`, copies come to 0.91 and more,
    other papers seldom to 0.6. So near copies are merged here, and what else is alike is joined when ideas are refined."""
    keep: float = Field(default=0.5, gt=0, le=1)
    """Share of the ideas that the filter keeps: about half (§3.3.1)."""
    final: Range = (3, 4)
    """Final ideas, at least and at most (§3.3.1)."""
    abstract: bool = True
    """Write the abstract of the first final idea, such as `manyheads measure` and `manyheads review` read."""

    @property
    def brainstorms(self) -> bool:
        """Whether ideas are brainstormed as well."""
        return self.path != "A"


KINDS = "a text, Markdown or JSON file, the folder of a run that wrote an abstract, or a text in quotes"
BACKGROUND = Slot(
    "all", file=True, metavar="FILE|TEXT", required=True, hint=f"name one: --background {KINDS}"
)


class ScipipInputs(Inputs):
    """The research background that ideas are wanted for."""

    background: Annotated[FileOrText, BACKGROUND] = None
    """What is known and what is wanted: a text file, the folder of a run that wrote an abstract, or the text itself."""

    def course(self) -> dict[str, Any]:
        """Nothing: the background stands in every prompt."""
        return {}


IDEATOR, INDEXER, JUDGE, RESEARCHER = "ideator", "indexer", "judge", "researcher"


def needs(config: RunConfig) -> Mapping[tuple[str, str], type[ReplyModel]]:
    """The tasks that a config makes it ask."""
    settings: ScipipConfig = config.settings
    entities = "entity" in config.literature.retrieval.how
    tasks: list[tuple[str, str, type[ReplyModel], bool]] = [
        (IDEATOR, "brainstorm", Brainstorm, settings.brainstorms),
        (INDEXER, "entities", Entities, entities),
        (INDEXER, "synonyms", Synonyms, entities and settings.synonyms),
        (IDEATOR, "problem", Problem, True),
        (IDEATOR, "propose", InspiredIdeas, True),
        (JUDGE, "screen", Screening, True),
        (IDEATOR, "refine", Refinement, True),
        (RESEARCHER, "abstract", Abstract, settings.abstract),
    ]
    return {(role, task): kind for role, task, kind, needed in tasks if needed}


def need_corpus(config: RunConfig) -> RunConfig:
    """The config as it is; raises `ConfigError` where papers are to come from services, which have no such database, or where
    the shipped background is to be worked on with the papers of another corpus than its own."""
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

LONG = 1500
"""Words of a background that make each question long."""
SHORT = 5
"""Words below which a background says little."""


@dataclass(frozen=True)
class Background:
    """The research background of a run; `text` has its title, where there is one."""

    source: str
    text: str

    def __str__(self) -> str:
        return f"a background of {self.words:,} words" if self.words > 1 else "a background of one word"

    @property
    def words(self) -> int:
        """In scripts that set none apart, two letters count as one."""
        return word_count(self.text)

    def warnings(self) -> Iterator[str]:
        """What a user should know of it before reading the result."""
        if self.words < SHORT:
            yield (
                f"{self}: it says little of what is wanted, so the papers may be about anything that holds these words; "
                "two or three sentences find better ones"
            )
        if self.words > LONG:
            yield (
                f"{self}: all of it stands in most questions, and the model may lose sight of the matter; "
                "what matters fits into a page"
            )
        letters = [letter for letter in self.text if letter.isalpha()]
        if 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters):
            yield (
                "the background is in another script than most papers: what their embedding model makes of it depends on "
                "that model; entities are asked for in English"
            )


def read_background(config: RunConfig) -> Background | None:
    """The background that is named; a single word without a dot or a slash is a text, unless there is such a file.

    Raises:
        SubjectError: the file is not there, cannot be read, or holds no text, or more than one.
    """
    background: str | None = config.inputs.background
    if background is None:
        return None
    word = re.fullmatch(r"[\w-]+", background.strip()) and not is_there(Path(background))
    subject: Subject = (
        text_of(background, "the background", KINDS)
        if word
        else subject_of(background, "the background", KINDS)
    )
    return Background(subject.source, "\n\n".join(filter(None, (subject.title, subject.text))))
