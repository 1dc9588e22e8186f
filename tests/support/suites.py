"""Small suites, written down as users write them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from manyheads.resources import Resources
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
