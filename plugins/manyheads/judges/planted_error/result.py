"""The result of a test by planted errors, its report, and the key: each paper without a fault and with one of each kind."""

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from manyheads.base.errors import ConfigError, DocumentError, describe
from manyheads.base.files import make_folder, read_text, replace_text
from manyheads.base.folders import writing
from manyheads.base.text import count
from manyheads.core.results import Figure, Part
from manyheads.documents import Document, read_document
from manyheads.judges.planted_error.planted import KINDS, TITLES, Fault, Kind, PlantedPaper, as_json, plant
from manyheads.judges.shared import FigureTable, Fold, figure_words, view
from manyheads.report.page import View
from manyheads.report.record import Record

KEY, CASES, DOCUMENTS = "key.json", "cases.jsonl", "documents"
LARGEST = 50_000_000
"""Maximum bytes of a key."""


class PlantedDocument(Part):
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
        return f"{self.paper}, {self.planted or 'clean'}"


class Key(Part):
    """The planted faults by document; not for reviewers."""

    seed: int = 0
    documents: list[PlantedDocument]
    without: dict[str, list[str]] = Field(default_factory=dict[str, list[str]])
    """By paper, the kinds of faults that could not be planted because nothing in the paper proves them."""

    def entry(self, file: str, sha256: str) -> PlantedDocument | None:
        """The document of a file, by content or else by name."""
        same = [each for each in self.documents if sha256 and each.sha256 == sha256]
        named = [
            each for each in self.documents if Path(file).stem and Path(each.file).stem == Path(file).stem
        ]
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
    entries, without, texts = list[PlantedDocument](), dict[str, list[str]](), dict[str, str]()
    for path in papers:
        paper = path.name.partition(".")[0]
        if paper in without:
            hint = "rename one of the files"
            raise DocumentError(f"{path}: another paper is called {paper} too", hint=hint)
        document = read_document(path)
        planted: dict[Kind, PlantedPaper] = {
            kind: found for kind in kinds if (found := plant(document, kind, seed))
        }
        without[paper] = [kind for kind in kinds if kind not in planted]
        if not planted:
            raise DocumentError(
                f"{path}: no fault can be planted: its text says nothing of its tables, figures and references that they would "
                "contradict",
                tried=", ".join(kinds),
                hint="name a paper with a table whose numbers the text repeats",
            )
        versions: list[tuple[Kind | None, Document, list[Fault]]] = [
            (None, document, [each.fault for each in planted.values()]),
            *((kind, each.document, [each.fault]) for kind, each in planted.items()),
        ]
        letters = random.Random(f"{seed} {paper}").sample("abcdefghij"[: len(versions)], len(versions))
        for letter, (kind, version, faults) in zip(letters, versions, strict=True):
            file = f"{DOCUMENTS}/{paper}-{letter}.json"
            texts[file] = json.dumps(as_json(version), ensure_ascii=False, indent=1) + "\n"
            sha256 = hashlib.sha256(texts[file].encode()).hexdigest()
            entries.append(
                PlantedDocument(file=file, sha256=sha256, paper=paper, planted=kind, faults=faults)
            )
    key = Key(seed=seed, documents=entries, without={paper: some for paper, some in without.items() if some})
    cases = (
        {"id": one.name, "of": one.paper, "about": one.faults[0].about if one.planted else "before planting", "paper": one.file,
         "planted-error.key": KEY}
        for one in entries
    )  # fmt: skip
    texts[KEY] = key.model_dump_json(indent=1) + "\n"
    texts[CASES] = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
    with writing(out):
        make_folder(out / DOCUMENTS)
        for file, text in texts.items():
            replace_text(out / file, text)
    return key


class Check(Part):
    """A fault looked for in a review: planted in the reviewed paper or in another version of it."""

    review: str
    """The run or file of the review."""
    document: str
    paper: str
    kind: Kind
    planted: bool
    """Whether the fault is in the reviewed paper; otherwise naming it is a false alarm."""
    about: str
    named: bool | None = None
    """Whether a point of the review names it; None if the judge gave no valid answer."""
    points: list[str] = []
    """The points that name it."""
    reason: str = ""
    """The judge's reasoning, if a model judged."""
    failed: str | None = None
    """The reason for a missing answer."""


class Reviewed(Part):
    """A checked review."""

    source: str
    document: str
    paper: str
    planted: Kind | None = None
    points: int
    alarms: int
    """Points that allege a fault of one of the kinds anywhere in the paper, without those that name the planted one."""


class Rates(Part):
    """How often faults are found and falsely alleged. Values are per paper; intervals are over papers."""

    planted: int = 0
    """Checks in reviews of papers with the fault."""
    clean: int = 0
    """Checks in reviews of papers without a fault."""
    found: Figure | None = None
    """The share of the faults named by the review."""
    false_alarms: Figure | None = None
    """The share of the same faults named by the review of the paper without them."""
    difference: Figure | None = None
    """`found` minus `false_alarms`, over papers with both: 1 for a reviewer who finds all and invents nothing, 0 for a guesser."""


class PlantedErrorResult(Part):
    """Planted faults that reviews name."""

    judged_by: str = "rules"
    reviews: list[Reviewed] = []
    checks: list[Check] = []
    all: Rates = Rates()
    kinds: dict[str, Rates] = {}
    """By kind of fault."""
    alarms: Figure | None = None
    """Points per review of a paper without faults that allege one."""
    failed: int | None = None
    """Checks without a valid answer; left out of the figures."""
    inference_cost: int | None = None

    @property
    def checked_kinds(self) -> dict[str, Rates]:
        """The kinds of faults that were looked for."""
        return {kind: each for kind, each in self.kinds.items() if each.planted or each.clean}


def words(each: Rates) -> str:
    """The two shares."""
    return f"found {figure_words(each.found)}, falsely alleged {figure_words(each.false_alarms)}"


def essence(result: PlantedErrorResult) -> Iterator[tuple[str, str]]:
    """The shares by kind, and failures."""
    planted, clean = count(result.all.planted, "planted error"), count(result.all.clean, "check")
    yield "Checked", f"{planted}, {clean} of papers without them"
    yield "All kinds", words(result.all)
    yield from ((kind, words(each)) for kind, each in result.checked_kinds.items())
    yield from _asides(result)


def _asides(result: PlantedErrorResult) -> Iterator[tuple[str, str]]:
    if result.alarms:
        yield (
            "Alarms",
            f"{figure_words(result.alarms)} points per review of a paper without errors allege one",
        )
    if result.failed:
        yield "No answer", count(result.failed, "check")


def report(record: Record) -> View:
    result: PlantedErrorResult = record.result.result
    lead = (
        "Found: the share of planted errors that a review names. False alarms: the share of the same errors that a review names in "
        "the paper without them. Difference: found minus false alarms, paper by paper; a review that complains about everything "
        "has 0. Intervals are 95% intervals over papers. Whether a point names an error is decided by "
        + ("rules on its words." if result.judged_by == "rules" else "a judge model.")
    )
    named = [("All", result.all), *((TITLES[kind], each) for kind, each in result.checked_kinds.items())]
    tables = [
        FigureTable(
            title="Found and false alarms", lead=lead,
            head=["Error", "Found", "False alarms", "Difference", "Planted errors", "Checks of clean papers"],
            rows=[[title, *map(figure_words, (each.found, each.false_alarms, each.difference)), str(each.planted), str(each.clean)]
                  for title, each in named],
        ),
        FigureTable(
            title="Reviews", lead="Alarms: points that allege an error of one of these kinds, other than the planted one.",
            head=["Review", "Paper", "Points", "Alarms"], wordy=True,
            rows=[[Path(each.source).name, f"{each.paper}, {each.planted or 'clean'}", str(each.points), str(each.alarms)]
                  for each in result.reviews],
        ),
    ]  # fmt: skip
    steps = [
        Fold(
            title=f"{each.paper}: {each.about}",
            note=each.failed or ("not judged" if each.named is None else
                                 f"{'planted' if each.planted else 'not planted'}, {'named' if each.named else 'not named'}"),
            failed=each.named is None,
            texts=[("Points that name it", "\n".join(f"– {point}" for point in each.points) or "none"),
                   *([("Why", each.reason)] if each.reason else [])],
        )
        for each in result.checks
    ]  # fmt: skip
    rates = (
        ("Found", result.all.found),
        ("False alarms", result.all.false_alarms),
        ("Difference", result.all.difference),
    )
    facts = [*((name, figure_words(each)) for name, each in rates), *_asides(result)]
    return view(record, "Planted errors", facts, tables if result.checks else [], steps)
