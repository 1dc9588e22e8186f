"""OpenAlex for tests: works and authors over a handful of records, with the service's own limits and refusals.

with OpenAlexServer(papers=[work(1, "Tactile fingers", cites=[2])]) as server:
    ...  # give `server.url` to a client, then read `server.requests`
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from support.scholar import Asked, Record, RefusedError, Scholar

SITE = "https://openalex.org/"
KNOWN = {
    "abstract_inverted_index",
    "authorships",
    "best_oa_location",
    "cited_by_count",
    "doi",
    "id",
    "is_retracted",
    "primary_location",
    "publication_date",
    "publication_year",
    "referenced_works",
    "related_works",
    "title",
}
PARAMS = {"cursor", "filter", "per-page", "search", "select", "sort"}


def work(number: int, title: str | None, **known: Any) -> Record:
    """A work with every field; null or empty where nothing is given. `abstract`, `cites`, `related` are turned into theirs."""
    abstract, cites, related = (known.pop(key, None) for key in ("abstract", "cites", "related"))
    return {
        **dict.fromkeys(sorted(KNOWN)),
        "id": f"{SITE}W{number}",
        "title": title,
        "abstract_inverted_index": abstract and _inverted(abstract),
        "authorships": [],
        "cited_by_count": 0,
        "referenced_works": [f"{SITE}W{one}" for one in cites or ()],
        "related_works": [f"{SITE}W{one}" for one in related or ()],
        **known,
    }


@dataclass
class OpenAlexServer(Scholar):
    """The server. `papers` are works, most relevant first; `key` is the only one that it takes, if any is sent."""

    def answer(self, asked: Asked) -> Any:
        """The JSON for a request; raises `RefusedError`."""
        if asked.headers.get("authorization", f"Bearer {self.key}") != f"Bearer {self.key}":
            raise RefusedError(401, "Invalid or missing API key")
        if strange := set(asked.params) - PARAMS:
            raise RefusedError(400, f"Invalid query parameters: {', '.join(strange)}")
        if found := re.fullmatch("/works/(.+)", unquote(asked.raw_path)):
            return _shown(self._work(found[1]), asked.params, KNOWN)
        if asked.path == "/works":
            return self._listed([one for one in self.papers if _fits(one, asked.params)], asked.params, KNOWN)
        raise RefusedError(404, "Not Found")

    def _work(self, name: str) -> Record:
        for one in self.papers:
            doi = str(one["doi"] or "").removeprefix("https://doi.org/")
            if one["id"] == SITE + name or (doi and name.casefold() == f"doi:{doi.casefold()}"):
                return one
        raise RefusedError(404, f"Work {name} not found")

    def _listed(self, found: Sequence[Record], params: Mapping[str, str], known: set[str]) -> Any:
        size = int(params.get("per-page", 25))
        if not 1 <= size <= 100:
            raise RefusedError(400, "per-page must be between 1 and 100")
        if params.get("sort") == "cited_by_count:desc":
            found = sorted(found, key=lambda one: -one["cited_by_count"])
        start = 0 if params["cursor"] == "*" else int(params["cursor"].removeprefix("at-"))
        page = found[start : start + size]
        cursor = f"at-{start + size}" if page else None  # the service ends a list with an empty page
        meta = {"count": len(found), "per_page": size, "next_cursor": cursor}
        return {"meta": meta, "results": [_shown(one, params, known) for one in page]}


def _fits(one: Record, params: Mapping[str, str]) -> bool:
    filters = dict(part.split(":", 1) for part in params["filter"].split(",")) if "filter" in params else {}
    if strange := set(filters) - set(FILTERS):
        raise RefusedError(400, f"Unknown filter field: {', '.join(strange)}")
    text = f"{one['title']} {' '.join(one['abstract_inverted_index'] or ())}"
    return _holds(text, params.get("search", "")) and all(
        FILTERS[name](one, value) for name, value in filters.items()
    )


def _among(one: Record, value: str) -> bool:
    ids = value.split("|")
    if len(ids) > 100:
        raise RefusedError(400, "Maximum number of values exceeded for openalex_id")
    return one["id"].removeprefix(SITE) in ids


def _doi_among(one: Record, value: str) -> bool:
    doi = str(one["doi"] or "").removeprefix("https://doi.org/").casefold()
    return bool(doi) and doi in value.casefold().split("|")


FILTERS: Mapping[str, Callable[[Record, str], bool]] = {
    "openalex_id": _among,
    "doi": _doi_among,
    "cites": lambda one, value: SITE + value in one["referenced_works"],
    "from_publication_date": lambda one, value: (one["publication_date"] or "0") >= value,
    "to_publication_date": lambda one, value: (one["publication_date"] or "9") <= value,
}


def _holds(text: str, search: str) -> bool:
    if re.search(r'["*?~()]|\b(AND|OR|NOT)\b', search):
        raise RefusedError(400, "a query of another kind")
    return set(search.casefold().split()) <= set(re.findall(r"\w+", text.casefold()))


def _shown(one: Record, params: Mapping[str, str], known: set[str]) -> Record:
    wanted = params["select"].split(",")
    if strange := set(wanted) - known:
        raise RefusedError(400, f"{', '.join(strange)} is not a valid select field")
    return {key: value for key, value in one.items() if key in wanted}


def _inverted(text: str) -> dict[str, list[int]]:
    words = text.split()
    return {word: [at for at, other in enumerate(words) if other == word] for word in words}
