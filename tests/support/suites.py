"""Small suites, written down as users write them."""

import csv
import json
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import yaml

from manyheads.base.resources import Resources
from manyheads.suites.cells import Load
from manyheads.systems.loading import load

SPEC: dict[str, Any] = {
    "title": "Small teams",
    "version": 1,
    "sources": ["nowhere"],
    "configs": ["virsci"],
    "set": {"embedding": "lexical"},
    "grid": {"team.size": [2, 3]},
    "repeats": 2,
    "measures": ["hd", "usage.calls"],
    "plot": {"kind": "bars", "x": "team.size", "value": ["hd", "usage.calls"]},
}
"""Two conditions of the shortest runs."""


def words_of(page: Path) -> str:
    """A report's words in one line, with a bar after each cell of a table."""
    body = page.read_text(encoding="utf-8").partition("<body")[2]
    text = re.sub(r"<style.*?</style>|<script.*?</script>", "", body, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", "", re.sub(r"</t[dh]>", " | ", text))
    return re.sub(r"[\s|]*\|[\s|]*", " | ", " ".join(unescape(text).split()))


def summary_of(folder: Path) -> list[dict[str, str]]:
    """The lines of a suite's summary."""
    with (folder / "summary.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_suite(base: Path, name: str, *, cases: Sequence[dict[str, Any]] | None = None, **keys: Any) -> Path:
    """The folder of a suite: `SPEC` with `keys` laid on."""
    folder = base / name
    folder.mkdir(parents=True)
    spec = {**SPEC, "set": {**SPEC["set"], "turns": 1}, **keys}
    if cases is not None:
        spec["cases"] = "cases.jsonl"
        (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    (folder / "suite.yaml").write_text(yaml.safe_dump(spec))
    return folder


def loader(configs: Sequence[str], resources: Resources | None = None) -> Load:
    """Loads a suite's configs as `manyheads eval` does."""
    return lambda keys, system: load(configs, keys, resources=resources, system=system, strict=False)
