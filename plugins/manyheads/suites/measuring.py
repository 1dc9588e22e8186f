"""What the cells of a suite measure. A corpus is opened once for all of them."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias, cast

from pydantic import BaseModel, ConfigDict

from manyheads.errors import SubjectError
from manyheads.measures.chosen import chosen_corpus
from manyheads.measures.measure import MeasuringCorpus
from manyheads.measures.results import scores
from manyheads.subjects import Subject, read_result, read_subject
from manyheads.suites.cells import Cell
from manyheads.suites.folder import SuiteFolder
from manyheads.suites.spec import MeasuringConfig, SuiteSpec
from manyheads.suites.wanted import NOVELTY

Corpora: TypeAlias = dict[tuple[str, str], MeasuringCorpus]
"""By name or folder, and embedding."""


class Row(BaseModel):
    """One cell, as `results.jsonl` keeps it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cell: str
    condition: dict[str, Any]
    case: str
    seed: int
    error: str | None = None
    """Why the cell has no result."""
    values: dict[str, float] = {}
    """Each measure that there is; the mean where the cell has several runs, each with a value of its own."""
    each: dict[str, tuple[float, ...]] = {}
    """Each such measure to the values of the runs, in their order; empty in a cell of one run."""
    unknown: tuple[str, ...] = ()
    """Measures that the result holds as null, such as a cost without prices: nobody knows them, and nothing failed."""
    missing: dict[str, str] = {}
    """Each other measure to why it is not there."""
    by_language_model: bool | None = None
    """Whether a language model wrote in it, and not only the offline model; null for a cell without a result."""
    warnings: tuple[str, ...] = ()
    """What its run warned of, such as a source that could not be asked; its values count all the same."""


def open_corpora(spec: SuiteSpec, cells: Sequence[Cell]) -> Corpora:
    """The corpora that the cells' texts are measured against; none where nothing is.

    A text is measured in each: what cannot be had is known before the first cell is paid for.

    Raises:
        CorpusError, EmbeddingError: one cannot be opened.
        MeasureError: one has too few papers.
    """
    measures = [name for name in spec.measures if name in NOVELTY]
    if not measures:
        return {}
    found: Corpora = {}
    for corpus, model in dict.fromkeys(map(_corpus_of, cells)):
        found[corpus, model] = chosen_corpus([], corpus, None if model == "auto" else model)
        _measured(found[corpus, model], {"": Subject("", "", spec.title)}, measures, spec.measuring)
    return found


def rows_of(
    spec: SuiteSpec,
    cells: Sequence[Cell],
    failures: Mapping[str, str],
    folder: SuiteFolder,
    corpora: Corpora,
) -> list[Row]:
    """What was measured, a row for each cell, in their order."""
    done = [cell for cell in cells if cell.name not in failures]
    novelty = _novelty(spec, done, folder, corpora)
    rows: list[Row] = []
    for cell in cells:
        told: dict[str, Any] = {
            "cell": cell.name, "condition": dict(cell.condition), "case": cell.case, "seed": cell.seed
        }  # fmt: skip
        if cell.name in failures:
            rows.append(Row(**told, error=failures[cell.name]))
            continue
        found = {**novelty.get(cell.name, {}), **dict(_numbers(spec, cell, folder))}
        try:
            result = read_result(folder.of(cell))
        except SubjectError as error:
            again = f"{error.message}; remove {folder.of(cell)} to run the cell again"
            rows.append(Row(**told, error=again))
            continue
        rows.append(
            Row(
                **told,
                by_language_model=result.get("written_by_language_model"),
                warnings=result.get("warnings", ()),
                values={name: value for name in spec.measures if isinstance(value := found[name], float)},
                missing={name: why for name in spec.measures if isinstance(why := found[name], str)},
            )
        )
    return rows


def _corpus_of(cell: Cell) -> tuple[str, str]:
    return cell.config.corpus, cell.config.embedding


def _novelty(
    spec: SuiteSpec, cells: Sequence[Cell], folder: SuiteFolder, corpora: Corpora
) -> dict[str, dict[str, float | str]]:
    """HD, CD, CI, ON and RND of each cell's abstract, or why there is none; all texts of a corpus at once."""
    wanted = [name for name in spec.measures if name in NOVELTY]
    found: dict[str, dict[str, float | str]] = {}
    texts = defaultdict[tuple[str, str], dict[str, Subject]](dict)
    for cell in cells if wanted else ():
        try:
            texts[_corpus_of(cell)][cell.name] = read_subject(folder.of(cell))
        except SubjectError as error:
            found[cell.name] = dict.fromkeys(wanted, error.message)
    for key, subjects in texts.items():
        found |= _measured(corpora[key], subjects, wanted, spec.measuring)
    return found


def _measured(
    corpus: MeasuringCorpus, subjects: Mapping[str, Subject], wanted: Sequence[str], how: MeasuringConfig
) -> dict[str, dict[str, float | str]]:
    sizes = (how.around, how.own) if "rnd" in wanted else None
    measured = scores(
        corpus, list(subjects.values()), neighbours=how.neighbours, normalise=how.normalise, search="exact", rnd=sizes
    )  # fmt: skip
    found: dict[str, dict[str, float | str]] = {}
    for name, score in zip(subjects, measured, strict=True):
        values = score.model_dump(include=set(wanted))
        found[name] = {
            measure: score.missing.get(measure, "cannot be had") if value is None else value
            for measure, value in values.items()
        }
    return found


def _numbers(spec: SuiteSpec, cell: Cell, folder: SuiteFolder) -> Iterator[tuple[str, float | str]]:
    """What results hold already: the run's own, and that of its review."""
    for each in spec.wanted:
        if each.of == "review":
            yield each.name, _at(folder.review_of(cell), each.path)
        elif each.of == "run":
            yield each.name, _at(folder.of(cell), each.path)


def _at(run: Path, path: Sequence[str]) -> float | str:
    try:
        value = reduce(_inside, path, read_result(run))
    except SubjectError as error:
        return error.message
    except (LookupError, TypeError, ValueError):
        return f"the result has no {'.'.join(path)}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return f"{'.'.join(path)} is {json.dumps(value)[:60]}, which is no number"
    return float(value)


def _inside(data: Any, key: str) -> Any:
    """A mapping's value, or a list's length or element."""
    if isinstance(data, list):
        items = cast(list[Any], data)
        return len(items) if key == "length" else items[int(key)]
    return data[key]
