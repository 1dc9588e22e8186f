"""The files of a built corpus, and its description, `meta.json`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from manyheads.base.errors import CorpusError, describe
from manyheads.base.resources import data_file
from manyheads.config import CORPORA

# Options of an ecosystem: years, filters and presets for the paper's two datasets.

PRESETS: dict[str, dict[str, int]] = {
    "aminer-cs": {
        "start": 2000, "bound": 2011, "end": 2014,
        "min_past_citations": 10, "min_contemporary_citations": 5, "min_papers": 50, "min_coauthors": 50,
    },
    "oag-3.1": {
        "start": 2010, "bound": 2021, "end": 2023,
        "min_past_citations": 200, "min_contemporary_citations": 50, "min_papers": 40, "min_coauthors": 50,
    },
}  # fmt: skip
"""The filters of VirSci 2025, App. C.2.1 (AMiner Computer Science) and C.2.2 (Open Academic Graph 3.1).

The paper's y_bound, 2010 and 2020, is the last past year: its contemporary papers are of 2011–2014 (2024, App. C)
and 2021–2023 (2025, App. A)."""

PUBLISHED: dict[str, dict[str, int]] = {
    "aminer-cs": {"past": 85_217, "contemporary": 92_980, "scientists": 156},
    "oag-3.1": {"past": 139_646, "contemporary": 61_485, "scientists": 3_169},
}
"""Sizes of the papers' own corpora after filtering (VirSci 2025, App. C.2)."""
PUBLISHED_MODEL = "mixedbread-ai/mxbai-embed-large-v1"
"""The papers' embedding model for both (VirSci 2025, App. C.2)."""

PRESET_FORMATS = {"aminer-cs": "aminer", "oag-3.1": "oag"}
"""The dataset format of each preset."""


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BuildOptions(Frozen):
    """Years and filters of an ecosystem (VirSci 2025, §3.1, §4.1, App. C.2)."""

    preset: str | None = None
    """The initial preset, even if options were changed."""
    bound: int
    """Papers before this year, the paper's y_bound + 1, are past, the others contemporary."""
    start: int | None = None
    """First year of papers to include, y_start."""
    end: int | None = None
    """Last year of papers to include, y_end."""
    require_abstract: bool = True
    min_past_citations: int = Field(default=0, ge=0)
    """Minimum citations of a past paper."""
    min_contemporary_citations: int = Field(default=0, ge=0)
    """Minimum citations of a contemporary paper."""
    min_papers: int = Field(default=1, ge=1)
    """Minimum papers of an author."""
    min_coauthors: int = Field(default=0, ge=0)
    """Minimum distinct co-authors of an author."""
    author_counts: Literal["past", "dataset"] = "past"
    """Count an author's papers, citations and co-authors in the past papers, or use the dataset's own counts over a whole career,
    and so past the bound, if it has them."""
    max_scientists: int | None = Field(default=None, ge=1)
    """Maximum number of scientists: those with the most papers."""
    seed: int = 0
    """Random seed: numbers the scientists, Scientist0, Scientist1, …, which are not in alphabetical order."""

    @model_validator(mode="after")
    def _years_in_order(self) -> Self:
        if self.start is not None and self.start >= self.bound:
            raise ValueError(f"start {self.start} must be before bound {self.bound}")
        if self.end is not None and self.end < self.bound:
            raise ValueError(f"end {self.end} must not be before bound {self.bound}")
        return self

    @classmethod
    def of(cls, preset: str | None = None, **given: int | str | None) -> "BuildOptions":
        """A preset's options, overridden by those that are not None. Raises `CorpusError` for an unknown preset, a missing bound,
        or an option out of range."""
        if preset is not None and preset not in PRESETS:
            raise CorpusError(f"unknown preset {preset!r}", hint=f"presets: {', '.join(PRESETS)}")
        chosen = {
            "preset": preset,
            **PRESETS.get(preset or "", {}),
            **{key: v for key, v in given.items() if v is not None},
        }
        if "bound" not in chosen:
            raise CorpusError("bound is missing: the first contemporary year", hint="--bound 2015")
        try:
            return cls.model_validate(chosen)
        except ValidationError as wrong:
            hint = "manyheads corpus build --help"
            raise CorpusError(f"build options, {describe(wrong)}", hint=hint) from wrong


META, SCIENTISTS, NAMES, REJECTS = "meta.json", "scientists.json", "names.json", "rejects.jsonl"
BYLINES = "bylines.jsonl"
"""The papers with their real authors and titles, for exports, as `NAMES` never for agents."""
AUTHORS = "authors"
"""The folder of the author knowledge bank, beside that of the papers."""
FORMAT = "manyheads-corpus-1"
NO_SCIENTISTS = "its past papers have no authors"
"""Why a corpus has no scientists."""
TOLD_FIELDS = 8
"""Maximum fields of rejects in the summary; `rejected_by_field` has all."""


class EmbeddingMeta(Frozen):
    """The embedding model of the corpus."""

    name: str
    dim: int


class Counts(Frozen):
    """Numbers of papers, authors and rejects."""

    read: int
    """Papers read, before any filter; without rejected records."""
    rejected: int
    rejected_by_field: dict[str, int]
    faulty: int = 0
    """Records read only in part, such as documents with broken pages; `rejects.jsonl` lists the faults."""
    removed: dict[str, int]
    """Number of papers or authors removed by each filter, in order."""
    past: int
    contemporary: int
    scientists: int
    mean_coauthors: float
    """Past collaborators in S, mean over the scientists."""
    without_citations: int = 0
    """Papers of the corpus without citation counts in the dataset."""
    missing: dict[str, int] = {}
    """Number of papers read, before any filter, without an abstract, authors or a citation count."""
    interests_by: dict[str, int] = {}
    """Source of scientists' interests: `dataset`, `keywords` alone, wholly or in part `texts`, or a model's name."""
    vectors_imported: int
    full_texts: int = 0
    """Papers of the corpus with an introduction or a method."""
    with_references: int = 0
    """Papers of the corpus with references in the dataset."""
    citations_within: int = 0
    """Citations between papers of the corpus."""


class LayerMeta(Frozen):
    """What a layer lies over: a built corpus, or another layer of it."""

    base: str
    """The folder of the built corpus."""
    base_fingerprint: str
    below: str | None = None
    """The folder of the layer under this one, from this one's; None if it lies on the base."""
    below_fingerprint: str
    year: int
    """Of its papers: the last past year."""


class ServerMeta(Frozen):
    """The Qdrant server that has a corpus's vectors and papers; see `upload.upload_corpus`."""

    address: str
    collections: str
    """What its collections' names begin with."""


class Meta(Frozen):
    """`meta.json`."""

    format: Literal["manyheads-corpus-1"] = FORMAT
    name: str
    source: str
    """The source: the name of a file or a folder."""
    completed: dict[str, dict[str, int]] = {}
    """By field, how many papers that lacked it got it from which service, and of how many it was not found."""
    options: BuildOptions
    past_years: tuple[int, int]
    contemporary_years: tuple[int, int] | None
    """None without contemporary papers."""
    counts: Counts
    embedding: EmbeddingMeta
    fingerprint: str
    """Changes with every paper, full text, reference, scientist, or the embedding model."""
    rejects: tuple[str, ...] = ()
    """The first rejected records; `rejects.jsonl` has all."""
    seconds: float = Field(ge=0)
    """Duration of the build."""
    layer: LayerMeta | None = Field(default=None, exclude_if=lambda value: value is None)
    """Of a layer; the counts are then of all that it shows."""
    server: ServerMeta | None = Field(default=None, exclude_if=lambda value: value is None)
    """Of a corpus on a server; this folder then has no vectors."""

    @property
    def uses(self) -> str:
        """The limited uses of a corpus without scientists or contemporary papers; empty for a complete one."""
        lacks = list[str]()
        if not self.counts.scientists:
            lacks.append(f"for virsci (no scientists: {NO_SCIENTISTS})")
        if not self.counts.contemporary:
            lacks.append(f"for measure (no contemporary papers, from {self.options.bound} on)")
        return f"usable for search and scipip, but not {' nor '.join(lacks)}" if lacks else ""

    def rows(self) -> list[tuple[str, str]]:
        """The summary, as labels and values."""
        counts, past, read = self.counts, self.past_years, f"{self.counts.read:,}"
        span = "" if (years := self.contemporary_years) is None else f" ({years[0]}–{years[1]})"
        published = PUBLISHED.get(self.options.preset or "", {})

        def beside(key: str) -> str:
            return f"; the paper: {published[key]:,}" if key in published else ""

        def of_all(count: int) -> str:
            return f"{count:,} ({count / (counts.past + counts.contemporary):.0%})"

        most = sorted(counts.rejected_by_field.items(), key=lambda one: (-one[1], one[0]))
        return [
            ("papers read", read),
            ("records rejected", f"{counts.rejected:,}"),
            *((f"rejected: {name}", f"{n:,}") for name, n in most[:TOLD_FIELDS]),
            *((f"{field} completed", _completed(counts)) for field, counts in self.completed.items()),
            *((("read in part", f"{n:,}, listed in {REJECTS}"),) if (n := counts.faulty) else ()),
            *(("missing", f"{n:,} of {read} papers have no {one}") for one, n in counts.missing.items()),
            *((f"removed by {name}", f"{n:,}") for name, n in counts.removed.items()),
            ("past papers", f"{counts.past:,} ({past[0]}–{past[1]}){beside('past')}"),
            ("contemporary papers", f"{counts.contemporary:,}{span}{beside('contemporary')}"),
            *((("without citation counts", f"{n:,}"),) if (n := counts.without_citations) else ()),
            *((("with full text", of_all(n)),) if (n := counts.full_texts) else ()),
            *((("with references", of_all(n)),) if (n := counts.with_references) else ()),
            *((("citations within", f"{counts.citations_within:,}"),) if counts.with_references else ()),
            ("scientists", f"{counts.scientists:,}{beside('scientists')}"),
            *(
                (
                    ("mean co-authors among them", f"{counts.mean_coauthors:g}"),
                    ("interests by", ", ".join(f"{by} for {n:,}" for by, n in counts.interests_by.items())),
                )
                if counts.scientists
                else ()
            ),
            ("embedding", f"{self.embedding.name}, {self.embedding.dim} numbers per text"),
            *((("embedding; the paper", PUBLISHED_MODEL),) if published else ()),
            ("vectors imported", f"{counts.vectors_imported:,}"),
            *((("server", self.server.address),) if self.server else ()),
            *((("layer over", layer.base), ("its year", f"{layer.year}")) if (layer := self.layer) else ()),
            ("time", f"{self.seconds:,.1f} s"),
        ]


def _completed(counts: Mapping[str, int]) -> str:
    """`380 of 412 papers that lacked it: 300 by openalex, 80 by crossref`."""
    sources = {name: count for name, count in counts.items() if name != "not found"}
    by = ", ".join(f"{count:,} by {name}" for name, count in sources.items())
    lacked = f"{sum(sources.values()):,} of {sum(counts.values()):,} papers that lacked it"
    return f"{lacked}: {by}" if by else lacked


def read_meta(folder: Path) -> Meta:
    """Raises CorpusError if the folder is not a built corpus."""
    try:
        return Meta.model_validate(read_json(folder, META))
    except ValidationError as wrong:
        raise damaged(folder / META, describe(wrong)) from wrong


def all_corpora() -> Iterator[tuple[str, str, Counts | None]]:
    """The corpora that a config can name, with words about each: those that ship, then the folders of built ones with their
    counts, or with why they cannot be read."""
    for file in sorted(data_file("configs/corpora").glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            yield file.stem, f"{sum(1 for _ in lines)} invented papers, shipped with manyheads", None
    for folder in (file.parent for file in sorted(CORPORA.glob(f"*/{META}"))):
        try:
            meta = read_meta(folder)
        except CorpusError as error:
            yield str(folder), error.message, None
        else:
            papers, authors = meta.counts.past + meta.counts.contemporary, meta.counts.scientists
            about = f"{papers:,} papers, {authors:,} scientists; {meta.embedding.name}"
            yield str(folder), about, meta.counts


def read_json(folder: Path, name: str) -> Any:
    """A JSON file of the corpus; raises CorpusError if it is missing or broken."""
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as missing:
        tried, hint = str(path), f"manyheads corpus build papers.jsonl.gz --bound 2015 --out {folder}"
        raise CorpusError(f"{folder}: not a built corpus", tried=tried, hint=hint) from missing
    except (OSError, ValueError) as wrong:
        raise damaged(path, str(wrong)) from wrong


def damaged(path: Path, why: str) -> CorpusError:
    return CorpusError(f"{path}: this version cannot read the corpus: {why}", hint="build the corpus again")
