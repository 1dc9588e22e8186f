"""Run folders made of events, without a run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from manyheads.core import Usage
from manyheads.core.events import Event, Said
from manyheads.core.results import FORMAT

USAGE = Usage(input_tokens=100, output_tokens=20, calls=1)
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\n\n# Heading\n\n[click](javascript:alert(3)) "
    "![pixel](https://elsewhere.example/p.png) <style>*{display:none}</style> \x1b[31mred\x1b[0m \u202eevil\n\n"
    "<details open ontoggle=alert(4)> | a | b |\n|---|---|\n| <b>c</b> | d |"
)


def said(speaker: str, text: str, turn: int = 1) -> Said:
    return Said(
        stage="topic", turn=turn, speaker=speaker, task="discuss", text=text, data={}, model="m", usage=USAGE
    )


def line(event: Event, at: float = 1.0) -> str:
    return json.dumps({"at": at, **event.model_dump(mode="json")}, ensure_ascii=False) + "\n"


def a_run(
    folder: Path, *events: Event, finished: bool | None = None, system: str = "virsci", **result: Any
) -> Path:
    """A run folder with these events; `finished` is None for a run without a result."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"system: {system}\ninputs: {{}}\n", encoding="utf-8")
    (folder / "events.jsonl").write_text("".join(map(line, events)), encoding="utf-8")
    if finished is not None:
        data: Mapping[str, Any] = {
            "format": FORMAT, "system": system, "finished": finished, "seed": 0, "corpus": "sample", "models": {},
            "written_by_language_model": False, "usage": {"calls": 2, "input_tokens": 1000, "output_tokens": 234},
            "result": result,
        }  # fmt: skip
        (folder / "result.json").write_text(json.dumps(data), encoding="utf-8")
    return folder
