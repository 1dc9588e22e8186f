"""Runs in a notebook: a result as HTML, and a line that shows how far a run is."""

import sys
from collections.abc import Callable, Iterator, Sized
from html import escape
from typing import Any

from pydantic import BaseModel

from manyheads.base.text import count, plain, printable

LONGEST = 2_000
"""Characters that are shown of a text."""
LINE = 200


def result_html(run: Any) -> str:
    """A `RunResult` as HTML: what it says of itself, its texts, how much of everything else there is, and what it cost."""
    said = list(_rows(run.result))
    rows = "".join(
        f"<tr><th style='text-align:left;vertical-align:top'>{escape(name)}</th>"
        f"<td style='text-align:left;white-space:pre-wrap'>{escape(text)}</td></tr>"
        for name, text in said
    )
    state = "finished" if run.finished else "not finished"
    facts = [state, count(run.usage.calls, "call"), f"{run.tokens:,} tokens", *filter(None, [run.cost])]
    if run.warnings:
        facts.append(count(len(run.warnings), "warning"))
    if run.offline:
        facts.append("written by the offline model, which is no language model")
    return f"<p><b>{escape(run.system)}</b>: {escape(', '.join(facts))}</p><table>{rows}</table>"


def _rows(result: BaseModel) -> Iterator[tuple[str, str]]:
    for name in type(result).model_fields:
        label, value = name.replace("_", " ").capitalize(), getattr(result, name)
        match value:
            case str() if value:
                yield label, _shown(value)
            case int() | float():
                yield label, f"{value:.4g}" if isinstance(value, float) else str(value)
            case BaseModel():
                if text := _text_of(value):
                    yield label, _shown(text)
            case Sized() if len(value):
                yield label, f"{len(value):,}"
            case _:
                pass


def _text_of(part: BaseModel) -> str:
    """The title of an idea or an abstract and what it says; of another part, its texts."""
    if body := getattr(part, "body", ""):
        return f"{getattr(part, 'title', '')}\n\n{body}"
    texts = (getattr(part, each) for each in type(part).model_fields)
    return "\n\n".join(each for each in texts if isinstance(each, str) and each)


def _shown(text: str) -> str:
    return printable(text if len(text) <= LONGEST else f"{text[:LONGEST]} …")


def line_below() -> Callable[[str], None] | None:
    """Shows a line below the cell, in place of the one before; None outside a notebook."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # pyright: ignore[reportMissingImports]

    handle: Any = display({"text/plain": "…"}, raw=True, display_id=True)

    def show(line: str) -> None:
        handle.update({"text/plain": plain(line)[:LINE]}, raw=True)

    return show
