"""Semantic Scholar for tests: its Academic Graph and Recommendations APIs, over a handful of papers.

    with Scholar(papers=[record("a" * 40, "Tactile fingers")], cites={"b" * 40: ["a" * 40]}) as scholar:
        ...  # give `scholar.url` to a client, then read `scholar.requests`

Shapes, limits and messages are the service's: an empty search has no `data`, the last page no `next`, a list that its
publisher withholds `data: null`, unknown fields and limits beyond the service's are refused.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote

from support.http import Connection, Incoming, Server

Record = dict[str, Any]

PAPER = {
    "abstract",
    "authors",
    "citationCount",
    "externalIds",
    "openAccessPdf",
    "paperId",
    "publicationDate",
    "title",
    "references",
    "url",
    "venue",
    "year",
}
BEYOND = "Requested data for this limit and/or offset is not available"


def record(paper_id: str, title: str | None, **known: Any) -> Record:
    """A paper with every field; null where nothing is given."""
    return {**dict.fromkeys(sorted(PAPER)), "paperId": paper_id, "title": title, **known}


@dataclass
class Trouble:
    """One way to misbehave, for the first `times` requests whose path holds `path`; for all if None.

    Args:
        kind: `status` answers with an error, `malformed` with half of the JSON as if it were all, `truncated` breaks off
            within the answer, `drop` closes instead of answering, `slow` waits first, `body` answers 200 with `body`.
    """

    kind: Literal["status", "malformed", "truncated", "drop", "slow", "body"]
    times: int | None = 1
    path: str = ""
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str = '{"message": "Internal Server Error"}'
    seconds: float = 5.0

    def takes(self, path: str) -> bool:
        """Whether this request shall suffer; counts it if so."""
        if self.path not in path or self.times == 0:
            return False
        self.times = None if self.times is None else self.times - 1
        return True


@dataclass(frozen=True)
class Asked:
    """A request as it came: its path unescaped, header names in lower case, `at` in seconds of `time.monotonic`."""

    path: str
    raw_path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    at: float


class RefusedError(Exception):
    """The service says no."""

    def __init__(self, status: int, message: str, key: str = "error") -> None:
        self.status, self.body = status, json.dumps({key: message})
        super().__init__(message)


@dataclass
class Scholar(Server):
    """The server.

    Args:
        papers: what it holds.
        cites: ids of the papers that a paper cites; None where the publisher withholds them.
        key: the only key that it takes, if any is sent.
        ungiven: further matches that a search counts and never gives: it refuses the pages that would hold them.
        troubles: how to misbehave; each request meets the first that takes it.
    """

    papers: Sequence[Record] = ()
    cites: Mapping[str, Sequence[str] | None] = field(default_factory=dict[str, Sequence[str] | None])
    key: str = "right"
    ungiven: int = 0
    troubles: list[Trouble] = field(default_factory=list[Trouble])
    requests: list[Asked] = field(default_factory=list[Asked], init=False)

    async def handle(self, connection: Connection, incoming: Incoming) -> None:
        params = dict(parse_qsl(incoming.query, keep_blank_values=True))
        asked = Asked(unquote(incoming.path), incoming.path, params, incoming.headers, time.monotonic())
        self.requests.append(asked)
        trouble = next((one for one in self.troubles if one.takes(asked.path)), None)
        kind = trouble.kind if trouble else None
        try:
            ids = json.loads(incoming.body)["ids"] if asked.path == "/graph/v1/paper/batch" else None
            body = self.body(asked) if ids is None else json.dumps(self.batch(asked, ids))
            status = 200
        except RefusedError as refused:
            status, body = refused.status, refused.body
        if trouble and kind in ("status", "body"):
            status, body = (trouble.status if kind == "status" else 200), trouble.body
        if trouble and kind == "slow":
            await asyncio.sleep(trouble.seconds)
        if kind == "drop":
            connection.drop()
        else:
            headers = trouble.headers if trouble else None
            cut = "drop_body" if kind == "truncated" else kind
            await connection.send(status, body.encode(), headers, cut=cut)

    def body(self, asked: Asked) -> str:
        """What is sent for a request; raises `RefusedError`."""
        return json.dumps(self.answer(asked))

    def answer(self, asked: Asked) -> Any:
        """The JSON for a request; raises `RefusedError`."""
        if asked.headers.get("x-api-key", self.key) != self.key:
            raise RefusedError(403, "Forbidden", "message")
        for pattern, answer in self._paths().items():
            if found := re.fullmatch(pattern, asked.path):
                return answer(asked.params, *found.groups())
        raise RefusedError(404, "Not Found", "message")

    def _paths(self) -> Mapping[str, Callable[..., Any]]:
        return {
            "/graph/v1/paper/search": self._search,
            "/graph/v1/paper/(.+)/references": self._references,
            "/graph/v1/paper/(.+)": self._paper,
        }

    def batch(self, asked: Asked, ids: Sequence[str]) -> Any:
        """The papers of some ids, null for each that is not there."""
        found = [next((one for one in self.papers if self._is(one, name)), None) for name in ids]
        return [one and _shown(one, asked.params) for one in found]

    def _search(self, params: Mapping[str, str]) -> Any:
        words = params["query"].casefold().split()
        found = [paper for paper in self.papers if _holds(paper, words) and _dated(paper, params)]
        if not found:
            return {"total": 0, "offset": 0}
        page, total = _page(found, params, 100, 1000), len(found) + self.ungiven
        if not page["data"]:
            raise RefusedError(400, BEYOND)
        end = page["offset"] + len(page["data"])
        return {"total": total, **page, **({"next": end} if end < total else {})}

    def _paper(self, params: Mapping[str, str], name: str) -> Any:
        return _shown(self._named(name), params)

    def _references(self, params: Mapping[str, str], name: str) -> Any:
        cited = self.cites.get(self._named(name)["paperId"], ())
        if cited is None:
            return {"data": None, "citingPaperInfo": {"openAccessPdf": {"disclaimer": "fields are elided"}}}
        page = _page([self._held(one) for one in cited], params, 1000, 9999)
        return {**page, "data": [{"citedPaper": paper} for paper in page["data"]]}

    def _held(self, paper_id: str) -> Record:
        """A paper, or what there is of one that is cited but not held."""
        return next(
            (one for one in self.papers if one["paperId"] == paper_id), {"title": paper_id, "paperId": None}
        )

    def _named(self, name: str) -> Record:
        for paper in self.papers:
            if self._is(paper, name):
                return paper
        raise RefusedError(404, f"Paper with id {name} not found")

    def _is(self, paper: Record, name: str) -> bool:
        kind, _, rest = name.partition(":")
        ids = {key.casefold(): str(value) for key, value in (paper["externalIds"] or {}).items()}
        return name == paper["paperId"] or bool(rest and ids.get(kind.casefold()) == rest)


def _holds(paper: Record, words: Iterable[str]) -> bool:
    text = f"{paper['title']} {paper['abstract']}".casefold()
    return all(word in text and "-" not in word for word in words)


def _dated(paper: Record, params: Mapping[str, str]) -> bool:
    """The service's own rule: a paper without a day counts from the first of its year."""
    bounds = params.get("publicationDateOrYear")
    day = paper["publicationDate"] or f"{paper['year']}-01-01"
    first, _, last = bounds.partition(":") if bounds else ("", "", "")
    return (not first or day >= first) and (not last or day <= last)


def _page(
    found: Sequence[Record], params: Mapping[str, str], size: int, most: int, known: set[str] = PAPER
) -> Record:
    offset, limit = int(params["offset"]), _limit(params, size)
    if offset + limit > most:
        raise RefusedError(400, BEYOND)
    data = [_shown(one, params, known) for one in found[offset : offset + limit]]
    rest = {"next": offset + limit} if len(found) > offset + limit else {}
    return {"offset": offset, **rest, "data": data}


def _limit(params: Mapping[str, str], most: int) -> int:
    if not 1 <= int(params["limit"]) <= most:
        raise RefusedError(400, f"limit must be <= {most}")
    return int(params["limit"])


def _shown(one: Record, params: Mapping[str, str], known: set[str] = PAPER) -> Record:
    """The fields that were asked for; the id comes always."""
    wanted = [name.partition(".")[0] for name in params["fields"].split(",")]
    if unknown := set(wanted) - known:
        raise RefusedError(400, f"Unrecognized or unsupported fields: [{', '.join(sorted(unknown))}]")
    return {key: value for key, value in one.items() if key in {*wanted, "paperId", "authorId"}}
