"""Crossref's REST API for tests, over a handful of works, with the service's own limits and refusals."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from support.scholar import Asked, Record, RefusedError, Scholar

SELECT = {
    "DOI", "abstract", "author", "container-title", "is-referenced-by-count", "issued", "reference", "subtitle", "title",
    "type", "updated-by",
}  # fmt: skip
PARAMS = {"filter", "offset", "query.bibliographic", "rows", "select"}


def crossref_work(doi: str, title: str | None, *issued: int, **known: Any) -> Record:
    """A work as the service writes it: no key for what a publisher did not deposit. `cites` are the DOIs of its references."""
    if (cites := known.pop("cites", None)) is not None:
        known |= {"reference": [{"key": f"ref{n}", "DOI": one} for n, one in enumerate(cites)]}
    return {
        "DOI": doi,
        "type": "journal-article",
        "title": [title] if title else [],
        "issued": {"date-parts": [[*issued] or [None]]},
        "is-referenced-by-count": 0,
        "reference-count": len(known.get("reference", ())),
        **known,
    }


@dataclass
class CrossrefServer(Scholar):
    """The server. `papers` are works, most relevant first."""

    def body(self, asked: Asked) -> str:
        if asked.path.startswith("/works/"):
            for one in self.papers:
                if one["DOI"].casefold() == asked.path.removeprefix("/works/").casefold():
                    return _message("work", one)
            refused = RefusedError(404, "")
            refused.body = "Resource not found."  # plain text
            raise refused
        if asked.path != "/works":
            raise RefusedError(404, "no Route matched with those values", "message")
        return _message("work-list", self._listed(asked.params))

    def _listed(self, params: Mapping[str, str]) -> Record:
        if strange := set(params) - PARAMS:
            raise _failure(f"Unknown parameter {', '.join(strange)}")
        wanted = params["select"].split(",")
        if strange := set(wanted) - SELECT:
            raise _failure(f"Select element {', '.join(strange)} not available")
        rows, start = int(params["rows"]), int(params["offset"])
        if rows > 1000 or start + rows > 10_000:
            raise _failure("Offset too large")
        works = [one for one in self.papers if _fits(one, params)]
        page = [{key: one[key] for key in wanted if key in one} for one in works[start : start + rows]]
        query = {"start-index": start, "search-terms": None}
        return {
            "facets": {},
            "total-results": len(works),
            "items": page,
            "items-per-page": rows,
            "query": query,
        }


def _failure(message: str) -> RefusedError:
    refused = RefusedError(400, message)
    failure = [{"type": "parameter-not-allowed", "value": "x", "message": message}]
    refused.body = json.dumps({"status": "failed", "message-type": "validation-failure", "message": failure})
    return refused


def _message(kind: str, message: Record) -> str:
    return json.dumps({"status": "ok", "message-type": kind, "message-version": "1.0.0", "message": message})


def _fits(one: Record, params: Mapping[str, str]) -> bool:
    """Any of the words matches; filters of one kind are alternatives."""
    words = set(params.get("query.bibliographic", "").casefold().split())
    if words and words.isdisjoint(re.findall(r"\w+", " ".join(one["title"]).casefold())):
        return False
    filters = [part.partition(":") for part in params["filter"].split(",")] if "filter" in params else []
    parts = [*(one["issued"]["date-parts"][0]), 1, 1][:3]
    day = "-".join(f"{part or 0:02}" for part in parts)
    dois = {value.casefold() for name, _, value in filters if name == "doi"}
    bounds = {name: value for name, _, value in filters if name != "doi"}
    if strange := set(bounds) - {"from-pub-date", "until-pub-date"}:
        raise _failure(f"Filter {', '.join(strange)} specified but there is no such filter")
    first, last = bounds.get("from-pub-date", "0"), bounds.get("until-pub-date", "9")
    return (not dois or one["DOI"].casefold() in dois) and first <= day <= last
