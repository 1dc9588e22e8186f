"""The last lines that a finished run prints."""

import json
from pathlib import Path
from textwrap import fill
from typing import Any

from manyheads.models.offline import LABEL


def closing_lines(folder: Path) -> str:
    """Topic, title, abstract, what it cost, and where the report is."""
    result: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    abstract, usage = result["abstract"], result["usage"]
    warnings = len(result["warnings"])
    tokens = usage["input_tokens"] + usage["output_tokens"]
    cost = f", cost {usage['cost']:.4f}" if usage["cost"] is not None else ""
    lines = [
        "",
        f"Topic     {result['topic']['topic']}",
        f"Title     {abstract['title']}",
        "",
        fill(abstract["text"], width=100),
        "",
        f"{_count(usage['calls'], 'call')}, {tokens} tokens{cost}; {_count(warnings, 'warning')}",
    ]
    if not result["written_by_language_model"]:
        lines.append(LABEL)
    return "\n".join([*lines, f"Report    {folder / 'report.html'}"])


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
