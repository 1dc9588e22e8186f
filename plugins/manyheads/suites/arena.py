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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any, NamedTuple

from manyheads.config import RunConfig
from manyheads.config.hosts import hosts
from manyheads.engine.folder import writing
from manyheads.engine.system import system_of
from manyheads.escaping import csv_text
from manyheads.measures.forms import anonymous
from manyheads.suites.cells import Cell
from manyheads.suites.folder import write
from manyheads.suites.spec import ArenaConfig, label_of
from manyheads.systems.results import in_full, load

ARENA, KEY, CASES, TEXTS, PAPERS = "arena", "key.csv", "cases.jsonl", "texts", "papers"
COLUMNS = ("id", "case", "maker", "seed", "run", "sha256", "words", "lines", "headings", "lists", "changed")
"""Columns of the key; `lines`, `headings` and `lists` are the signs of style that ratings may be adjusted for (MAMORX, §5)."""
ITSELF = re.compile(
    r"\b(?:as an? (?:AI|artificial intelligence|(?:large )?language model)|I am an? (?:AI|(?:large )?language model)"
    r"|this review (?:was|is) (?:written|generated|produced) by)\b",
    re.IGNORECASE,
)
"""How a text names its author."""
NEUTRAL, EARLIER = "the reviewer", "an earlier paper"


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
            text, changed = nameless("\n\n".join(in_full(run)), names_of(job.config, spec.names), spec)
            pieces.append(
                Piece(cell.case, label_of(cell.condition), job.config.seed, job.folder, text, changed)
            )
            titles.setdefault(cell.case, str(getattr(run.result, "title", "") or ""))
    # Conditions of one maker may share a run: compare its text once.
    once = {_digest(each.case, str(each.run), each.text): each for each in reversed(pieces)}
    ids = anonymous(once, "T", random.Random("".join(sorted(once))))
    with writing(folder):
        for part in (TEXTS, PAPERS):
            (folder / part).mkdir(parents=True, exist_ok=True)
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


def nameless(text: str, names: Iterable[str], spec: ArenaConfig) -> tuple[str, int]:
    """A text without hints at its author, and their number."""
    text, sections = _without(text, spec.cut)
    text, sentences = _without_itself(text)
    text, alone = re.subn(
        r"\A\s*#+ [^\n]+\n(?![\s\S]*^#)", "", text, count=1, flags=re.MULTILINE
    )  # its only heading
    marks = 0
    for mark in spec.marks:
        named = rf"(?<![\w-])(?:{mark.pattern})(?![\w-])"
        for pattern, instead in (
            (rf" ?[(\[]{named}[)\]]", ""),
            (rf"; {named}(?=[;)\]])|(?<=[(\[]){named}; ", ""),
            (named, EARLIER),
        ):
            text, number = re.subn(pattern, instead, text)
            marks += number
    words = sorted(
        {re.escape(name).replace("_", "[ _-]").replace("\\ ", r"[ _-]") for name in names},
        key=len,
        reverse=True,
    )
    replaced = 0
    if words:
        # Neither "the the reviewer" nor half of a longer word.
        known = re.compile(
            rf"(?:\b(?:the|our|a)\s+)?(?<![\w-])(?:{'|'.join(words)})s?(?![\w-])", re.IGNORECASE
        )
        text, replaced = known.subn(_neutral, text)
    return re.sub(r"\n{3,}", "\n\n", text).strip(), sections + sentences + alone + marks + replaced


def _without_itself(text: str) -> tuple[str, int]:
    """A text without sentences in which it names its author."""
    kept, cut = list[str](), 0
    for line in text.splitlines():
        parts = re.split(r"(?<=[.!?])(?=\s)", line)
        left = [part for part in parts if not ITSELF.search(part)]
        cut += len(parts) - len(left)
        kept.append(line if len(left) == len(parts) else "".join(left).lstrip())
    return "\n".join(kept), cut


def _neutral(found: re.Match[str]) -> str:
    """The replacement of a name, capitalised at the start of a sentence."""
    begins = re.search(r"(?:^|\n|[.!?])[\s>#*+•\d.)-]*$", found.string[: found.start()])
    return NEUTRAL.capitalize() if begins else NEUTRAL


def _without(text: str, headings: Sequence[str]) -> tuple[str, int]:
    """A Markdown text without the sections under these headings."""
    kept, level, cut = list[str](), 0, 0
    for line in text.splitlines():
        if heading := re.match(r"(#+)\s+(.+?)\s*#*\s*$", line):
            depth = len(heading[1])
            if level and depth <= level:
                level = 0
            if not level and heading[2].casefold() in map(str.casefold, headings):
                level, cut = depth, cut + 1
        if not level:
            kept.append(line)
    return "\n".join(kept), cut


def names_of(config: RunConfig, others: Iterable[str]) -> Iterator[str]:
    """Names that would reveal the author of a run's text: package, system, roles, hosts and models."""
    system = system_of(config)
    yield from ("manyheads", *hosts(), *others)
    yield from (name for name in (system.name, system.title) if len(name) > 3)
    yield from (role for role, _ in system.needs(config) if "_" in role)
    for model in config.models.values():
        yield from (
            name for name in (model.name, f"{model.provider}/{model.name}") if re.search(r"[\d/:-]", name)
        )


def style_of(text: str) -> Mapping[str, int]:
    """Numbers of words, lines, headings and list items."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return {
        "words": len(text.split()),
        "lines": len(lines),
        "headings": sum(bool(re.match(r"#{1,6}\s|\*\*[^*]+\*\*:?$", line)) for line in lines),
        "lists": sum(bool(re.match(r"(?:[-*+•]|\d{1,2}[.)])\s", line)) for line in lines),
    }


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
