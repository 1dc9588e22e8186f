"""What was measured, as it is kept, a text a line: `manyheads measure … --out measures.jsonl`."""

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from manyheads.config import SourceName
from manyheads.errors import MeasureError
from manyheads.literature.publication import fold
from manyheads.measures.bootstrap import Interval, interval
from manyheads.measures.lines import as_lines
from manyheads.measures.measure import Measured, MeasuringCorpus, Search
from manyheads.measures.side import Neighbour, Normalise
from manyheads.subjects import Subject

Measure = Literal["hd", "cd", "ci", "on", "rnd"]
MEASURES: tuple[Measure, ...] = ("hd", "cd", "ci", "on", "rnd")
SAME = 1e-3
"""Nearer than this a paper is the text itself: models round, and embed a text alike but for its place in a batch."""


class Retrieval(BaseModel):
    """How the papers were found that a text was held against, where services gave them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    """The text's idea, title or first sentence."""
    queries: tuple[str, ...]
    """The forms of it that were asked, wider and wider."""
    wanted: int
    found: int
    incomplete: int
    """Of those found, papers without abstract or year."""
    compared: int
    """Papers that the text was held against, or would have been, had there been enough."""
    sources: tuple[SourceName, ...]
    """In the order in which they are asked."""
    dates: str
    """Between which all papers lie, in words, or `any`."""
    degraded: tuple[str, ...]
    """Sources that could not be asked: there may be nearer papers."""


class Score(BaseModel):
    """One text's measures, with all that is needed to measure it again. See `Novelty` for what they are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """The text's title, or its file's name."""
    source: str
    """Where it was read from: a file, a run's folder, or a file and line."""
    sha256: str
    hd: float | None = None
    cd: float | None
    ci: float | None
    on: float | None = None
    rnd: float | None = None
    missing: dict[str, str]
    """Measure to why it is not there."""
    unread: int | None
    """Tokens at the text's end that the embedding model did not read; null where that is not known."""
    normalise: Normalise
    neighbours: int = Field(ge=1)
    around: int | None = None
    """P and Q of RND, where it was asked for."""
    own: int | None = None
    search: Search = "exact"
    against: Literal["corpus", "services"] = "corpus"
    corpus: str | None = None
    fingerprint: str | None = None
    retrieval: Retrieval | None = None
    embedding: str
    past: tuple[Neighbour, ...] = ()
    contemporary: tuple[Neighbour, ...] = ()
    """Of the papers retrieved, where services gave them."""
    excluded: tuple[str, ...] = ()
    """Ids of papers that were left out on demand."""
    itself: tuple[str, ...] = ()
    """Ids of neighbours that have the text's title or its very vector: it was held against itself."""

    def value(self, measure: Measure) -> float | None:
        """One of the measures by name."""
        return {"hd": self.hd, "cd": self.cd, "ci": self.ci, "on": self.on, "rnd": self.rnd}[measure]


def scores(
    corpus: MeasuringCorpus,
    subjects: Sequence[Subject],
    *,
    neighbours: int,
    normalise: Normalise,
    search: Search,
    rnd: tuple[int, int] | None = None,
    exclude: Collection[str] = (),
    exclude_same_title: bool = False,
) -> list[Score]:
    """Measure texts, all at once.

    Args:
        rnd: P and Q of the relative neighbour density, if it is wanted.
        exclude: ids of papers that do not count.
        exclude_same_title: whether papers do not count that bear the title of one of the texts.

    Raises:
        MeasureError: the corpus has too few papers, or lacks one of `exclude`.
        EmbeddingError: the corpus's model cannot be loaded.
    """
    around, own = rnd or (None, None)
    excluded = sorted(
        {*exclude, *(corpus.titled([one.title for one in subjects]) if exclude_same_title else ())}
    )
    sizes = {} if rnd is None else {"around": rnd[0], "own": rnd[1]}
    found = corpus.measure(
        [subject.text for subject in subjects],
        neighbours=neighbours,
        normalise=normalise,
        search=search,
        rnd=rnd is not None,
        exclude=excluded,
        **sizes,
    )
    meta = corpus.meta
    made = {
        "neighbours": neighbours, "normalise": normalise, "search": search, "around": around, "own": own,
        "corpus": meta.name, "fingerprint": meta.fingerprint, "embedding": meta.embedding.name,
        "excluded": excluded,
    }  # fmt: skip
    return [
        Score.model_validate({**told(subject), **_measured(subject, one), **made})
        for subject, one in zip(subjects, found, strict=True)
    ]


def told(subject: Subject) -> dict[str, object]:
    """What a score says of its text."""
    return {"name": subject.name, "source": subject.source, "sha256": subject.sha256}


def alike(subject: Subject, neighbours: Iterable[Neighbour]) -> tuple[str, ...]:
    """Ids of papers that are the text itself, by title or vector."""
    title = fold(subject.title)
    return tuple(one.id for one in neighbours if one.distance < SAME or (title and fold(one.title) == title))


def _measured(subject: Subject, one: Measured) -> dict[str, object]:
    novelty = one.novelty
    values = {"hd": novelty.hd, "cd": novelty.cd, "ci": novelty.ci, "on": novelty.on, "rnd": one.rnd}
    near = {"past": novelty.past, "contemporary": novelty.contemporary}
    itself = alike(subject, (*novelty.past, *novelty.contemporary))
    return {**values, **near, "itself": itself, "missing": dict(novelty.missing), "unread": one.unread}


def mean_of(
    found: Sequence[Score], measure: Measure, *, level: float = 0.95, seed: int = 0
) -> Interval | str:
    """The mean of a measure over several texts with its bootstrap interval; or why there is none.

    There is none over the texts that happen to have the measure: those that lack it may be the unusual ones.
    """
    values = [value for one in found if (value := one.value(measure)) is not None]
    if len(values) < len(found):
        return f"{len(found) - len(values)} of {len(found)} texts have none"
    return interval(values, level=level, seed=seed)


def write_scores(path: Path, found: Sequence[Score]) -> None:
    """A score a line; the file is replaced as a whole, or not at all.

    Raises:
        MeasureError: it cannot be written.
    """
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_text(as_lines(found), encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise MeasureError(
            f"{path}: cannot be written: {error.strerror}", hint="choose another --out"
        ) from error
