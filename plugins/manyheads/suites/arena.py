"""The texts of a suite's runs, anonymised for a blind comparison.

<folder>/
    cases.jsonl     one line per case: id, title, its paper's file, and the ids of its texts in random order
    papers/         the papers of the cases
    texts/<id>.md   one text each, without hints at its author
    key.csv         the author of each text; keep it from the raters
"""

import hashlib
import json
import random
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any, NamedTuple

from manyheads.arena.blinding import ArenaConfig, nameless, names_of
from manyheads.base.files import make_folder
from manyheads.base.folders import writing
from manyheads.base.text import csv_text
from manyheads.measures.forms import anonymous
from manyheads.measures.votes import style_of
from manyheads.suites.cells import Cell
from manyheads.suites.folder import write
from manyheads.suites.spec import label_of
from manyheads.systems.results import load, prose
from manyheads.team.system import system_of

ARENA, KEY, CASES, TEXTS, PAPERS = "arena", "key.csv", "cases.jsonl", "texts", "papers"
COLUMNS = ("id", "case", "maker", "seed", "run", "sha256", "words", "lines", "headings", "lists", "changed")
"""Columns of the key; `lines`, `headings` and `lists` are the signs of style that ratings may be adjusted for (MAMORX, §5)."""


class Piece(NamedTuple):
    """A text of a run."""

    case: str
    maker: str
    seed: int
    run: Path
    text: str
    changed: int
    """Number of removed hints at the author."""


def write_arena(spec: ArenaConfig, cells: Sequence[Cell], failed: Collection[str], folder: Path) -> int:
    """Write the texts of finished runs in a random order that depends on the runs alone.

    Returns:
        Number of texts.
    """
    pieces, titles = list[Piece](), dict[str, str]()
    for cell in cells:
        for job in cell.runs:
            if job.key in failed:
                continue
            run = load(job.folder, unfinished=False)
            text, changed = nameless("\n\n".join(prose(run)), names_of(job.config, spec.names), spec)
            pieces.append(
                Piece(cell.case, label_of(cell.condition), job.config.seed, job.folder, text, changed)
            )
            titles.setdefault(cell.case, str(getattr(run.result, "title", "") or ""))
    # Conditions of one maker may share a run: compare its text once.
    once = {_digest(each.case, str(each.run), each.text): each for each in reversed(pieces)}
    ids = anonymous(once, "T", random.Random("".join(sorted(once))))
    with writing(folder):
        for part in (TEXTS, PAPERS):
            make_folder(folder / part)
        for old in (folder / TEXTS).glob("*.md"):
            old.unlink()
    for name, each in ids.items():
        write(folder / TEXTS / f"{name}.md", f"{each.text}\n")
    papers = _papers(cells, folder)
    lines = (
        {
            "id": case,
            "title": titles[case],
            "paper": papers.get(case),
            "texts": [n for n, each in ids.items() if each.case == case],
        }
        for case in titles
    )
    write(folder / CASES, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    write(folder / KEY, csv_text([COLUMNS, *(_row(name, each) for name, each in ids.items())]))
    return len(ids)


def _row(name: str, piece: Piece) -> list[object]:
    style = style_of(piece.text)
    return [
        name, piece.case, piece.maker, piece.seed, piece.run.name, _digest(piece.text),
        *(style[each] for each in ("words", "lines", "headings", "lists")), piece.changed,
    ]  # fmt: skip


def _papers(cells: Sequence[Cell], folder: Path) -> dict[str, str]:
    """Copy the input files of the cells' runs; returns one file per case."""
    found = dict[str, str]()
    for cell in cells:
        system, inputs = system_of(cell.config), cell.config.inputs
        values: list[Any] = [getattr(inputs, name) for name, slot in system.slots.items() if slot.file]
        files = [Path(value) for value in values if isinstance(value, str) and Path(value).is_file()]
        if cell.case not in found and files:
            name = f"{re.sub(r'[^A-Za-z0-9]+', '-', cell.case).strip('-')}{files[0].suffix.lower()}"
            with writing(folder):
                copyfile(files[0], folder / PAPERS / name)
            found[cell.case] = f"{PAPERS}/{name}"
    return found


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
