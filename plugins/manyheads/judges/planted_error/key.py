"""Planted papers as files: each paper without a fault and with one of each kind, their key, and the cases of a suite."""

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from manyheads.base.errors import ConfigError, DocumentError, describe
from manyheads.base.files import make_folder, read_text, replace_text
from manyheads.base.folders import writing
from manyheads.core.results import Part
from manyheads.documents import read_document
from manyheads.judges.planted_error.planted import KINDS, Fault, Kind, Planting, as_json, plant

KEY, CASES, DOCUMENTS = "key.json", "cases.jsonl", "documents"
LARGEST = 50_000_000
"""Maximum bytes of a key."""


class Entry(Part):
    """A document for reviewers."""

    file: str
    """Path relative to the key."""
    sha256: str
    """Of the file."""
    paper: str
    """The original paper."""
    planted: Kind | None = None
    """The kind of fault; None for the document without one."""
    faults: list[Fault]
    """The fault in it. For the document without one: the faults of the paper's other documents, which its review must not name."""

    @property
    def name(self) -> str:
        """Its name for readers."""
        return f"{self.paper}, {self.planted or 'clean'}"


class Key(Part):
    """The planted faults by document; not for reviewers."""

    seed: int = 0
    documents: list[Entry]
    without: dict[str, list[str]] = Field(default_factory=dict[str, list[str]])
    """By paper, the kinds of faults that could not be planted because nothing in the paper proves them."""

    def entry(self, file: str, sha256: str) -> Entry | None:
        """The document of a file, by content or else by name."""
        same = [each for each in self.documents if sha256 and each.sha256 == sha256]
        stem = Path(file).stem
        named = [each for each in self.documents if stem and Path(each.file).stem == stem]
        return next(iter([*same, *named]), None)


def read_key(path: Path) -> Key:
    """The key of planted papers; raises `ConfigError`."""
    hint = f"name the {KEY} that manyheads plant has written"
    try:
        return Key.model_validate_json(read_text(path, LARGEST))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: cannot be read: {why}", hint=hint) from error
    except ValidationError as error:
        raise ConfigError(f"{path}: {describe(error)}", hint=hint) from error


def plant_all(papers: Sequence[Path], out: Path, kinds: Sequence[Kind] = KINDS, seed: int = 0) -> Key:
    """Write each paper without a fault and with one fault of each possible kind, under neutral file names.

    Args:
        papers: files in any format that papers are read from; pictures are left out.
        out: the folder for `documents/`, `key.json` and `cases.jsonl`.

    Raises:
        DocumentError: a paper cannot be read, has the name of another, or no fault can be planted in it.
    """
    entries, without = list[Entry](), dict[str, list[str]]()
    texts: dict[str, str] = {}
    for path in papers:
        paper = path.name.partition(".")[0]
        if paper in without:
            raise DocumentError(
                f"{path}: another paper is called {paper} too", hint="rename one of the files"
            )
        document = read_document(path)
        planted: dict[Kind, Planting] = {
            kind: planting for kind in kinds if (planting := plant(document, kind, seed))
        }
        without[paper] = [kind for kind in kinds if kind not in planted]
        if not planted:
            raise DocumentError(
                f"{path}: no fault can be planted: its text says nothing of its tables, figures and references that they would "
                "contradict",
                tried=", ".join(kinds),
                hint="name a paper with a table whose numbers the text repeats",
            )
        versions: list[tuple[Kind | None, dict[str, Any], list[Fault]]] = [
            (None, as_json(document), [each.fault for each in planted.values()]),
            *((kind, as_json(each.document), [each.fault]) for kind, each in planted.items()),
        ]
        letters = random.Random(f"{seed} {paper}").sample("abcdefghij"[: len(versions)], len(versions))
        for letter, (kind, data, faults) in zip(letters, versions, strict=True):
            file = f"{DOCUMENTS}/{paper}-{letter}.json"
            texts[file] = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
            sha256 = hashlib.sha256(texts[file].encode()).hexdigest()
            entries.append(Entry(file=file, sha256=sha256, paper=paper, planted=kind, faults=faults))
    key = Key(seed=seed, documents=entries, without={paper: some for paper, some in without.items() if some})
    texts[KEY] = key.model_dump_json(indent=1) + "\n"
    texts[CASES] = "".join(json.dumps(_case(each), ensure_ascii=False) + "\n" for each in entries)
    with writing(out):
        make_folder(out / DOCUMENTS)
        for file, text in texts.items():
            replace_text(out / file, text)
    return key


def _case(entry: Entry) -> dict[str, str]:
    about = entry.faults[0].about if entry.planted else "before planting"
    return {"id": entry.name, "about": about, "paper": entry.file, "planted-error.key": KEY}
