"""A result as the message that an AutoGen team ends with, in Markdown: what a chat around it goes on with."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from manyheads.hosts.reviews import reviews_in_full
from manyheads.models.offline import LABEL
from manyheads.replies import Abstract, label
from manyheads.report import rebuttal
from manyheads.report.closing import essence
from manyheads.report.outcome import RANKING
from manyheads.report.review import SYSTEM as REVIEW


def final_text(data: Mapping[str, Any]) -> str:
    """A result's abstract section by section, or its idea; what was judged; or else all of it as JSON."""
    told = list(_abstract(data.get("abstract") or {})) or list(_idea(data)) or list(_judged(data))
    if not told:
        return f"```json\n{json.dumps(data, ensure_ascii=False, indent=1)}\n```"
    label = [] if data.get("written_by_language_model", True) else [f"> {LABEL}"]
    return "\n\n".join([*label, *told])


def _abstract(abstract: Mapping[str, str]) -> Iterator[str]:
    if "title" not in abstract:
        return
    yield f"# {abstract['title']}"
    for key in Abstract.model_fields:
        if key in abstract and key != "title":
            yield f"**{label(key)}.** {abstract[key]}"


def _idea(data: Mapping[str, Any]) -> Iterator[str]:
    """The idea that was revised, field by field; one that never was is a paragraph."""
    if data.get("system") != rebuttal.SYSTEM:
        return
    for name, text in rebuttal.Version.model_validate(data["idea"]).fields:
        yield {"title": f"# {text}", "idea": text}.get(name, f"**{label(name)}.** {text}")


def _judged(data: Mapping[str, Any]) -> Iterator[str]:
    """Scores and reviews, or a ranking."""
    if data.get("system") in (RANKING, REVIEW):
        yield from (f"**{name}.** {text}" for name, text in essence(data))
        yield from reviews_in_full(data)
