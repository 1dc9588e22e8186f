"""Literature services that misbehave in the way that the first part of their path says."""

import asyncio
import gzip
import itertools
import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from attack.drive import SECRET, Driver, sets
from attack.figures import Figure
from support.arxiv import ArxivServer, entry
from support.crossref import CrossrefServer, crossref_work
from support.http import Connection, Incoming, Server
from support.http import RawAnswer as Answer
from support.openalex import OpenAlexServer, work
from support.pubmed import PubMedServer, article
from support.scholar import Asked, RefusedError, Scholar, record

MOST = 160
"""MB that an answer may cost: the HTTP client unpacks a read of 64 KB at once, which may grow a thousandfold."""
TITLES = ("Owls that plan", "Owls that learn", "Owls that vote", "Owls that rest")
KNOWN = {"citationCount": 3, "year": 2011, "publicationDate": "2011-03-04"}
SHAPES: dict[str, Scholar] = {
    "semantic_scholar": Scholar(
        [record(f"{n:040x}", title, **KNOWN) for n, title in enumerate(TITLES)], key=SECRET
    ),
    "openalex": OpenAlexServer(
        [work(n, title, publication_year=2011, publication_date="2011-03-04") for n, title in enumerate(TITLES, 1)],
        key=SECRET,
    ),
    "crossref": CrossrefServer([crossref_work(f"10.1000/{n}", title, 2011, 3, 4) for n, title in enumerate(TITLES)]),
    "pubmed": PubMedServer([article(n, title) for n, title in enumerate(TITLES, 1)], key=SECRET),
    "arxiv": ArxivServer([entry(f"1103.0000{n}", title, "2011-03-04") for n, title in enumerate(TITLES, 1)]),
}  # fmt: skip
ELSEWHERE = "http://localhost"
"""Another host than 127.0.0.1, by its name."""


def endless() -> Iterator[bytes]:
    yield b'{"total": "'
    yield from itertools.repeat(b"a" * 65536)


@cache
def packed(count: int, layers: int) -> bytes:
    data = b"a" * count
    for _ in range(layers):
        data = gzip.compress(data, 9)
    return data


GZIP = {"Content-Encoding": "gzip"}
Behaviour = Callable[[bytes, Incoming], Answer]


def status(code: int, body: bytes = b'{"message": "no"}', **headers: str) -> Behaviour:
    return lambda good, request: Answer(
        body, code, {name.replace("_", "-"): text for name, text in headers.items()}
    )


def sent(body: bytes) -> Behaviour:
    return lambda good, request: Answer(body)


def many(unit: bytes, count: int = 12_000_000) -> Behaviour:
    page = b'{"total": 1, "offset": 0, "meta": {}, "%s": [' + unit * (count // len(unit)) + b"0]}"
    return lambda good, request: Answer(page % (b"results" if request.path.endswith("/works") else b"data"))


NAMELESS = [
    {"id": "https://openalex.org/W1", "title": None, "publication_year": None, "publication_date": None}
] * 2
DEAD: dict[str, Behaviour] = {
    **{f"s{code}": status(code) for code in (204, 301, 304, 400, 401, 403, 404, 410, 418, 429, 500, 502, 503, 999)},
    "s429never": status(429, Retry_After="1e9"), "s502html": status(502, b"<html>Bad gateway</html>"),
    "s500esc": status(500, b"\x1b[2J\x1b]0;OWNED\x07 \xe2\x80\xae oops"), "s500huge": status(500, b"a" * 3_000_000),
    "s500utf": status(500, b"\xff\xfe"), "s500deep": status(500, b"[" * 50_000),
    "s503echo": lambda good, request: Answer(json.dumps({"message": f"refused: {dict(request.headers)}"}).encode(), 503),
    "s500endless": lambda good, request: Answer(endless(), 500, length=None),
    "loop": lambda good, request: Answer(b"", 302, {"Location": f"{request.path}?{request.query}"}),
    "endlessmove": lambda good, request: Answer(endless(), 302, {"Location": "/s500/x"}, length=None),
    "tofile": status(302, Location="file:///etc/passwd"), "tonothing": status(302, Location="http://"),
    "tologin": status(302, Location="/html/login"), "toodd": status(301, Location="http://[::1:x"),
    "empty": sent(b""), "html": sent(b"<html><body>Sign in</body></html>"), "plain": sent(b"hello"), "object": sent(b"{}"),
    "list": sent(b"[]"), "null": sent(b"null"), "number": sent(b"5"), "text": sent(b'"text"'), "deep": sent(b"[" * 100_000),
    "deepobject": sent(b'{"data":' * 100_000), "deepxml": sent(b"<feed>" * 100_000), "nan": sent(b"NaN"), "hugeint": sent(b"9" * 6000),
    "error": sent(b'{"error": "overloaded"}'), "dataobject": sent(b'{"data": {}, "results": {}, "meta": []}'),
    "counted": sent(b'{"total": 1200, "offset": 0, "data": [], "meta": {"count": 1200}, "results": []}'),
    "nameless": sent(json.dumps({"total": 2, "data": [{"paperId": None, "title": "Owls"}] * 2, "meta": {"count": 2}, "results": NAMELESS}).encode()),
    "emptyerror": sent(b'{"total": 0, "data": [], "meta": {"count": 0}, "results": [], "error": "backend timeout"}'),
    "dataint": sent(b'{"data": 5, "results": 5, "meta": 5}'), "hugetotal": sent(b'{"data": "x", "total": ' + b"9" * 6000 + b"}"),
    "manylists": many(b"[],"), "manyobjects": many(b"{},"), "manynumbers": many(b"0,"), "manykeys": many(b'{"":0},'),
    "fewwrong": many(b'{"title": 5},', 300_000), "manytags": sent(b"<feed>" + b"<a/>" * 3_000_000 + b"</feed>"),
    "manyattributes": sent(b"<feed>" + b"<a" + b"".join(b' a%d=""' % n for n in range(900_000)) + b"/></feed>"),
    "entities": sent(b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><feed>&b;</feed>'),
    "encoding": sent(b'<?xml version="1.0" encoding="klingon"?><feed/>'), "longtitle": sent(b"<feed><title>" + b"a" * 30_000_000),
    "half": lambda good, request: Answer(good[: len(good) // 2]), "badutf": lambda good, request: Answer(good.replace(b"Owls", b"\xff\xfe")),
    "utf16": lambda good, request: Answer(b"\x00".join(good[n : n + 1] for n in range(len(good)))),
    "longlength": lambda good, request: Answer(good, length=len(good) + 1000), "shortlength": lambda good, request: Answer(good, length=10),
    "falsegzip": lambda good, request: Answer(good, headers=GZIP), "halfgzip": lambda good, request: Answer(gzip.compress(good)[:-20], headers=GZIP),
    "brotli": lambda good, request: Answer(good, headers={"Content-Encoding": "br"}),
    "bomb": lambda good, request: Answer(packed(300_000_000, 1), headers=GZIP), "bombs": lambda good, request: Answer(packed(100_000_000, 2), headers={"Content-Encoding": "gzip, gzip"}),
    "endless": lambda good, request: Answer(endless(), length=None),
    "drip": lambda good, request: Answer((good[n : n + 1] for n in range(len(good))), length=len(good), pause=0.5),
    "manyheaders": lambda good, request: Answer(good, headers={f"X-{n}": "a" * 100 for n in range(2000)}),
}  # fmt: skip
"""After these nobody may say that there is nothing."""
ALIVE: dict[str, Behaviour] = {
    "good": lambda good, request: Answer(good),
    "bom": lambda good, request: Answer(b"\xef\xbb\xbf" + good),
    "packed": lambda good, request: Answer(gzip.compress(good), headers=GZIP),
    "trailing": lambda good, request: Answer(gzip.compress(good) + b"a" * 1_000_000, headers=GZIP),
    "nolength": lambda good, request: Answer(good, length=None),
    "moved": lambda good, request: Answer(b"", 301, {"Location": _elsewhere(request, "good")}),
    "movedhost": lambda good, request: Answer(
        b"", 302, {"Location": f"{ELSEWHERE}:{request.headers['host'].rpartition(':')[2]}{_elsewhere(request, 'good')}"}
    ),
}  # fmt: skip
"""After these all is found."""
VALUES: tuple[Any, ...] = (
    None, 5, -5, True, 1.5, "", "x", "\ud800", "\x1b[2J", [], [None], [[]], {}, {"a": 1}, 10**30, "a" * 300_000,
)  # fmt: skip
JUNK: tuple[Any, ...] = (
    None, 5, "x", [], {}, [[]], {"paperId": None}, {"title": "x"}, {"id": 5, "paperId": 5},
)  # fmt: skip
UNTITLED = (
    "junk-6", "without-title", *(f"{key}-{n}" for key in ("title", "paperId") for n in (0, 5, 9, 12, 14)), *(f"title-{n}" for n in (6, 7, 8, 15)),
)  # fmt: skip
"""What services give of works that are not papers, which nobody misses; and those of another title."""
FEEDS: dict[str, dict[str, tuple[str, str]]] = {
  "pubmed": {
    "no title": ("<ArticleTitle>Owls that plan</ArticleTitle>", ""), "no number": ('<PMID Version="1">1</PMID>', ""),
    "other number": ('<PMID Version="1">1</PMID>', "<PMID>javascript:alert(1)</PMID>"), "wrong date": ("<Day>04</Day>", "<Day>44</Day>"),
    "huge date": ("<Year>2011</Year><Month>03", "<Year>" + "9" * 6000 + "</Year><Month>03"), "no words": ("Owls that plan", " "),
    "nested": ("Owls that plan", "<i>" * 100 + "Owls that plan" + "</i>" * 100),
  },
  "arxiv": {
    "no title": ("<title>Owls that plan</title>", ""), "no number": ("<id>http://arxiv.org/abs/1103.00001v2</id>", ""),
    "other number": ("http://arxiv.org/abs/1103.00001v2", "javascript:alert(1)"), "no date": ("<published>2011-03-04T03:04:05Z</published>", ""),
    "wrong date": ("2011-03-04T03:04:05Z", "2011-13-04"), "huge date": ("2011-03-04T03:04:05Z", "9" * 6000), "no words": ("Owls that plan", " "),
  },
}  # fmt: skip


def _elsewhere(request: Incoming, behaviour: str) -> str:
    return f"/{behaviour}/{request.path.split('/', 2)[2]}?{request.query}"


def spoilt(service: str) -> dict[str, Behaviour]:
    """One record of the page, wrong in one way each."""

    def with_record(change: Callable[[dict[str, Any]], Any]) -> Behaviour:
        def behave(good: bytes, request: Incoming) -> Answer:
            page = json.loads(good)
            records = (
                page["message"]["items"]
                if service == "crossref"
                else page["results" if service == "openalex" else "data"]
            )
            records[:] = [
                change(one) if TITLES[0] in (one["title"], *one["title"]) else one for one in records
            ]
            return Answer(json.dumps(page).encode())

        return behave

    def with_text(old: str, new: str) -> Behaviour:
        return lambda good, request: Answer(good.replace(old.encode(), new.encode(), 1))

    if service in FEEDS:
        return {
            f"{service}:{name.replace(' ', '-')}": with_text(*change)
            for name, change in FEEDS[service].items()
        }
    keys = [key for key in SHAPES[service].papers[0] if key not in ("referenced_works", "related_works")]
    changes = {
        f"{service}:{key}-{n}": with_record(lambda one, key=key, value=value: {**one, key: value})
        for key in keys
        for n, value in enumerate(VALUES)
    }
    return {
        **changes,
        **{f"{service}:without-{key}": with_record(lambda one, key=key: {k: v for k, v in one.items() if k != key}) for key in keys},
        **{f"{service}:junk-{n}": with_record(lambda one, value=value: value) for n, value in enumerate(JUNK)},
    }  # fmt: skip


class Services(Server):
    """The services on one port: `/BEHAVIOUR/…`; `strangers` are requests with our key to another host."""

    def __init__(self) -> None:
        self.behaviours = {**DEAD, **ALIVE}
        for service in SHAPES:
            self.behaviours |= spoilt(service)
        self.strangers: list[str] = []

    async def handle(self, connection: Connection, incoming: Incoming) -> None:
        if "127.0.0.1" not in incoming.headers["host"] and SECRET in f"{incoming.headers} {incoming.query}":
            self.strangers.append(incoming.path)
        _, behaviour, path = incoming.path.split("/", 2)
        if behaviour == "drop":
            connection.drop()
        elif behaviour == "silent":
            await asyncio.sleep(60)
        else:
            await connection.send_raw(self.behaviours[behaviour](_good(f"/{path}", incoming), incoming))


def _good(path: str, request: Incoming) -> bytes:
    params = dict(parse_qsl(request.query, keep_blank_values=True))
    works = "crossref" if "rows" in params else "openalex"
    service = {"/api": "arxiv", "/wor": works, "/ent": "pubmed"}.get(path[:4], "semantic_scholar")
    headers = {} if "localhost" in request.headers["host"] else request.headers
    try:
        return SHAPES[service].body(Asked(unquote(path), path, params, headers, time.monotonic())).encode()
    except RefusedError as refused:
        return refused.body.encode()


def services(folder: Path) -> Figure:
    """Each service misbehaves in each way, and is searched by the command line."""
    figure = Figure("literature services that misbehave: search")
    env = {"OPENALEX_API_KEY": SECRET, "SEMANTIC_SCHOLAR_API_KEY": SECRET, "NCBI_API_KEY": SECRET, "MANYHEADS_CACHE": str(folder / "cache")}  # fmt: skip
    most = 0.0
    with Services() as servers, Driver(30, env) as command:
        for service in SHAPES:
            single = spoilt(service)
            for behaviour in ("good", *DEAD, "drop", "silent", *ALIVE, *single):
                settings = {
                    "cascade": f"[{service}]", "before": "any", "retries": 0, "patience": 3,
                    "endpoints": f"{{{service}: '{servers.url}/{behaviour}'}}",
                }  # fmt: skip
                given = sets({f"literature.{key}": value for key, value in settings.items()})
                end = command("search", "owls", "--limit", "4", *given, cwd=folder)
                found = sum(title in end.out for title in TITLES)
                faults = {
                    "nothing found": "No paper found" in end.out,
                    "fewer are found": found
                    < {**dict.fromkeys(ALIVE, 4), **dict.fromkeys(single, 3)}.get(behaviour, 0),
                    "a record is lost in silence": behaviour in single
                    and TITLES[0] not in end.out
                    and "cannot be read" not in end.err
                    and behaviour.partition(":")[2] not in UNTITLED,
                    "something is found": behaviour in DEAD and found > 0,
                    "a number of citations": "-5" in end.out,
                    f"memory, {end.grown:.0f} MB": end.grown > MOST and behaviour != "good",
                    "key to a stranger": bool(servers.strangers),
                }
                most = most if behaviour == "good" else max(most, end.grown)
                servers.strangers.clear()
                figure.add(f"{service} {behaviour}", end.faults, faults)
    figure.notes.append(f"most memory {most:.0f} MB")
    return figure
