"""The top of a report: the idea in a few sentences, novelty with the nearest papers, reviews of the run; without paths of the user."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from pydantic import Field

from manyheads.base.files import read_text
from manyheads.core.results import MEASURE, RESULT, Part
from manyheads.measures import BY_FIELD

REPORT = "report.html"

LONGEST = 650
"""Maximum characters of an idea's summary."""
SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bal\.)(?<!\bcf\.)\s+")


@dataclass(frozen=True)
class RelatedRun:
    """A run that reviews or judges this one.

    Attributes:
        title: of its system.
        href: relative link to its report.
        scores: in words; empty if it ranks or compares.
    """

    title: str
    href: str
    scores: str = ""


class Near(Part):
    """A paper near the text."""

    title: str
    year: int | None = None
    distance: float


class Measured(Part):
    """The novelty of a run's abstract, as saved by `manyheads measure` in `measure.json`."""

    on: float | None = None
    hd: float | None = None
    cd: float | None = None
    ci: float | None = None
    rnd: float | None = None
    corpus: str | None = None
    embedding: str = ""
    normalise: str = ""
    against: str = "corpus"
    known: dict[str, tuple[int, int]] = Field(default={})
    past: tuple[Near, ...] = ()
    contemporary: tuple[Near, ...] = ()

    @property
    def values(self) -> Sequence[tuple[str, float]]:
        """The measures by name, without missing ones."""
        names = ("on", "hd", "cd", "ci", "rnd")
        return [(name.upper(), value) for name in names if (value := getattr(self, name)) is not None]

    @property
    def note(self) -> str:
        """What a reader of CI and ON must know, where there is one."""
        gaps = [f"{some:,} of {n:,} {name}" for name, (some, n) in self.known.items() if some < n]
        over = f"Citation counts are known of {' and '.join(gaps)}. " if gaps else ""
        return over * (self.ci is not None) + ("" if self.on is None else f"{BY_FIELD}.")

    @property
    def papers(self) -> list[tuple[str, Near]]:
        """The nearest papers by period."""
        later = "found" if self.against == "services" else "contemporary"
        return [*(("past", paper) for paper in self.past), *((later, paper) for paper in self.contemporary)]

    @property
    def nearest(self) -> Near | None:
        """The paper nearest to the abstract."""
        return min((paper for _, paper in self.papers), key=lambda paper: paper.distance, default=None)


def read_measure(folder: Path) -> Measured | None:
    """The measures of a run; None if there are none, or the file cannot be read."""
    try:
        return Measured.model_validate(json.loads(read_text(folder / MEASURE)))
    except (OSError, ValueError):
        return None


def first_sentences(text: str, most: int = 3) -> str:
    """The first sentences of a text, cut between words if they are long."""
    sentences = SENTENCE_END.split(" ".join(text.split()))
    return cut(" ".join(sentences[:most]), LONGEST)


def cut(text: str, most: int) -> str:
    """A text cut between words to a maximum length."""
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0].rstrip('.,;:') or text[: most - 1]}…"


def place(source: str) -> str:
    """The name of a file or run folder without its parents; anything but an absolute path is unchanged."""
    full = source.startswith("/") or re.match(r"[A-Za-z]:[\\/]", source)
    return re.split(r"[\\/]", source.rstrip("\\/"))[-1] if full and "\n" not in source else source


def report_link(run: Path, folder: Path) -> str:
    """The relative link from a folder to the report of a run; empty if there is none."""
    try:
        if not (run / RESULT).is_file():
            return ""
    except OSError:  # not a valid folder name
        return ""
    return quote(Path(os.path.relpath(run.resolve() / REPORT, folder.resolve())).as_posix())


def without_places(html: str, folder: Path) -> str:
    """A page without the paths of the project and of the user's home."""
    project = folder.resolve().parent.parent
    for path, short in ((Path.cwd(), ""), (project, ""), (Path.home(), "~/")):
        if len(path.parts) > 2 or (short and len(path.parts) > 1):
            html = html.replace(f"{escape(str(path))}/", short)
    return html
