"""What a built corpus says of itself: the folder's files and its `meta.json`."""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from manyheads.bank.options import BuildOptions
from manyheads.errors import CorpusError

META, SCIENTISTS, NAMES, REJECTS = "meta.json", "scientists.json", "names.json", "rejects.jsonl"
AUTHORS = "authors"
"""The folder of the author knowledge bank, beside that of the papers."""
FORMAT = "manyheads-corpus-1"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EmbeddingMeta(_Frozen):
    """The model of all vectors in the corpus."""

    name: str
    dim: int


class Counts(_Frozen):
    """What was read, what was left out and why, what is there."""

    read: int
    """Papers read, before any filter; rejected lines not among them."""
    rejected: int
    rejected_by_field: dict[str, int]
    removed: dict[str, int]
    """Filter to the number of papers or authors it removed; they apply in this order."""
    past: int
    contemporary: int
    scientists: int
    mean_coauthors: float
    """Past collaborators in S, mean over the scientists."""
    interests_from_keywords: int
    """Scientists whose interests are their papers' keywords alone; the others' come, wholly or in part, from texts."""
    vectors_imported: int


class Meta(_Frozen):
    """`meta.json`."""

    format: Literal["manyheads-corpus-1"] = FORMAT
    name: str
    source: str
    """Name of the file it was built from."""
    options: BuildOptions
    past_years: tuple[int, int]
    contemporary_years: tuple[int, int]
    counts: Counts
    embedding: EmbeddingMeta
    fingerprint: str
    """Changes whenever a paper, a scientist or the model of the vectors does."""
    rejects: tuple[str, ...] = ()
    """The first rejected lines; all of them are in `rejects.jsonl`."""
    seconds: float = Field(ge=0)
    """How long the build took."""

    def rows(self) -> list[tuple[str, str]]:
        """The summary, as label and value."""
        counts = self.counts
        texts = counts.scientists - counts.interests_from_keywords
        return [
            ("papers read", f"{counts.read:,}"),
            ("lines rejected", f"{counts.rejected:,}"),
            *((f"removed: {name}", f"{count:,}") for name, count in counts.removed.items()),
            ("past papers", f"{counts.past:,} ({self.past_years[0]}–{self.past_years[1]})"),
            (
                "contemporary papers",
                f"{counts.contemporary:,} ({self.contemporary_years[0]}–{self.contemporary_years[1]})",
            ),
            ("scientists", f"{counts.scientists:,}"),
            ("mean co-authors among them", f"{counts.mean_coauthors:g}"),
            (
                "interests",
                f"keywords for {counts.interests_from_keywords:,}, titles and abstracts for {texts:,}",
            ),
            ("embedding", f"{self.embedding.name}, {self.embedding.dim} numbers a text"),
            ("vectors imported", f"{counts.vectors_imported:,}"),
            ("time", f"{self.seconds:,.1f} s"),
        ]


def read_meta(folder: Path) -> Meta:
    """Raises CorpusError when the folder holds no built corpus."""
    return _valid(folder, META, Meta)


def read_names(folder: Path) -> dict[str, str]:
    """Masked name to real name. For people who ask for it; nothing that agents see is made from it."""
    names = read_json(folder, NAMES)
    if not isinstance(names, dict):
        raise _damaged(folder / NAMES, "not an object of names")
    return {str(mask): str(real) for mask, real in names.items()}


def read_json(folder: Path, name: str) -> Any:
    """A JSON file of the corpus; raises CorpusError when it is not there or broken."""
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as missing:
        raise CorpusError(
            f"{folder}: no built corpus",
            tried=str(path),
            hint=f"manyheads corpus build papers.jsonl.gz --bound 2015 --out {folder}",
        ) from missing
    except (OSError, ValueError) as wrong:
        raise _damaged(path, str(wrong)) from wrong


def _valid(folder: Path, name: str, kind: type[Meta]) -> Meta:
    try:
        return kind.model_validate(read_json(folder, name))
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        raise _damaged(folder / name, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from wrong


def _damaged(path: Path, why: str) -> CorpusError:
    return CorpusError(
        f"{path}: not of a corpus that this version reads: {why}", hint="build the corpus anew"
    )
