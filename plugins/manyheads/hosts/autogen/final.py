"""A result as the message that an AutoGen team ends with, in Markdown: what a chat around it goes on with."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from manyheads.hosts.reviews import reviews_in_full
from manyheads.models.offline import LABEL
from manyheads.replies import Abstract
from manyheads.report.closing import essence
from manyheads.report.outcome import RANKING
from manyheads.report.review import SYSTEM as REVIEW


def final_text(data: Mapping[str, Any]) -> str:
    """A result's abstract section by section; what was judged; or else all of it as JSON."""
    told = list(_abstract(data.get("abstract") or {})) or list(_judged(data))
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
            yield f"**{key.replace('_', ' ').capitalize()}.** {abstract[key]}"


def _judged(data: Mapping[str, Any]) -> Iterator[str]:
    """Scores and reviews, or a ranking."""
    if data.get("system") in (RANKING, REVIEW):
        yield from (f"**{name}.** {text}" for name, text in essence(data))
        yield from reviews_in_full(data)
