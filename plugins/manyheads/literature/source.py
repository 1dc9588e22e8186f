"""The interface of all literature sources, and the HTTP layer of services."""

import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args
from xml.etree.ElementTree import Element, ParseError

from pydantic import BaseModel, ValidationError

from manyheads import __version__
from manyheads.asking.json_text import printable
from manyheads.base.errors import LiteratureError, describe
from manyheads.base.http import (
    GarbledError,
    OverdueError,
    Pace,
    RefusedError,
    Retry,
    SlowError,
    in_short,
    is_failure,
    is_garbled,
    is_passing,
    limiter,
    seconds_of,
)
from manyheads.base.papers import ANY_TIME, Paper, Window
from manyheads.base.text import plain_text
from manyheads.config import SourceName
from manyheads.models.answers import MOST_BYTES, body_of, refusal_of, scrubbed

if TYPE_CHECKING:
    import ssl

    import httpx

Part = Literal[
    "abstract", "authors", "venue", "citations", "date", "doi", "url", "retracted", "open_text",
    "references",
]  # fmt: skip
"""Optional fields of a paper besides id, title and year; few sources know the last three."""
ALL: frozenset[Part] = frozenset(("abstract", "authors", "venue", "citations", "date", "doi", "url"))
"""Fields requested by default."""
WITH_REFERENCES: frozenset[Part] = frozenset((*ALL, "references"))
Operation = Literal["search", "paper", "papers", "references"]


@dataclass(frozen=True)
class Request:
    """A look-up.

    Args:
        query: words, or a paper: the part of `Paper.id` after the colon, or `DOI:…` or `ARXIV:…`. For `papers`, several of the
            latter separated by spaces.
        limit: maximum papers; may exceed a page of the service.
        until: deadline in seconds of `time.monotonic`, if before the end of the source's patience.
        faults: collects the faults of single records.
    """

    operation: Operation
    query: str
    limit: int = 10
    window: Window = ANY_TIME
    parts: frozenset[Part] = ALL
    until: float = math.inf
    faults: list[str] = field(default_factory=list[str], compare=False)

    def __str__(self) -> str:
        match self.operation:
            case "search":
                return "search"
            case "papers":
                return f"{len(self.query.split())} papers"
            case "references":
                return f"references of {self.query[:80]}"
            case _:
                return f"{self.operation} {self.query[:80]}"


class LackingError(LiteratureError):
    """A source does not support the look-up. It is skipped, which is not a failure."""


class WithheldError(LiteratureError):
    """A source has the paper but not what was asked of it, such as its references. That says nothing about other papers."""


class Source:
    """A source of papers: one method per supported operation, with a `Request`.

    Lists are sorted best first and contain nothing outside the window. `paper` gives one or none, of any date; `papers` those of
    several that the source has, in one request for many. What it has no method for, it is not asked.

    Another package names its class by an entry point of the group `manyheads.sources`. The name of the entry point is the
    source's in `literature.cascade`; it is made without arguments, or as an `HttpService`.
    """

    name: SourceName = ""
    lacking: ClassVar[Mapping[str, str]] = {}
    """Unsupported operations with reasons, known before any request."""
    tells_retractions: ClassVar[bool] = False
    gives: ClassVar[frozenset[Part]] = ALL
    """What it may know of a paper."""
    batch: ClassVar[int] = 1
    """Papers by DOI or arXiv number in one request."""

    def deadline(self) -> float:
        """The deadline of a look-up that begins now, in seconds of `time.monotonic`."""
        return math.inf

    def lacks(self, operation: Operation) -> str:
        """Why the source does not support an operation; empty if it does."""
        other = f"{self.name or type(self).__name__} does not support {operation}"
        return self.lacking.get(operation, "" if hasattr(self, operation) else other)

    def reach(self, window: Window) -> Window:
        """The dates that this source is asked for, where those of a config are others for it."""
        return window

    async def look_up(self, request: Request) -> list[Paper]:
        """The papers; an empty list means that the source answered and has none. Raises `LiteratureError` if it cannot be reached,
        refuses, gives an invalid answer, or does not support the look-up."""
        if why := self.lacks(request.operation):
            raise LackingError(why, source=self.name)
        if request.operation != "paper" and (request.limit < 1 or request.window.is_empty):
            return []
        operation: Callable[[Request], Awaitable[list[Paper]]] = getattr(self, request.operation)
        return await operation(replace(request, until=min(request.until, self.deadline())))


T = TypeVar("T")
Place = TypeVar("Place")
"""Where a page begins: a number, or a cursor."""
_Shape = TypeVar("_Shape", bound=BaseModel)

_NO_LETTERS = re.compile(
    rb"[\x01-\x08\x0b\x0c\x0e-\x1f]|&#x0*(?:d[89a-f]..|[0-8bcef]|1[0-9a-f]|fff[ef]);", re.IGNORECASE
)
"""Control characters and halves of surrogate pairs, which are not valid in XML: one would cost the whole page. Null bytes
stay: they mean another encoding."""
AGENT = f"manyheads/{__version__}"
_LONGEST_BACKOFF = 20.0
_SECONDS_A_TRY = 30.0
_MOST_OF_A_REFUSAL = 200
_MOST_REDIRECTS = 5
MOST_VALUES = 500_000
"""Maximum values in an answer: in memory, the smallest takes ten times its size as text."""


@dataclass(kw_only=True, eq=False)
class HttpService(Source):
    """A source behind HTTP; sources with the same name, address and pace share one limiter. Each request has its own connection.

    Args:
        pace: the rate limit.
        retries: maximum number of retries of a failed request.
        patience: maximum seconds of one look-up, with waits for the limiter and retries.
        address: of the service, or of a mirror.
        key_env: environment variable for the key, for services with keys.
        key: the value of that variable, if any.
        mailto: an e-mail address for the service to contact the user, for services that ask for one.
        backoff: maximum seconds of the first wait between two tries. It doubles with each try and is randomised.
        transport: replaces the client's own, such as one that asks no private address.
    """

    name: SourceName = field()
    pace: Pace
    retries: int
    patience: float
    address: str = ""
    key_env: str | None = None
    key: str | None = field(default=None, repr=False)
    mailto: str | None = None
    backoff: float = 1.0
    transport: "httpx.AsyncBaseTransport | None" = field(default=None, repr=False)
    paces: ClassVar[tuple[Pace, Pace]] = (Pace(), Pace())
    """The service's own rate limits: for all, and for users with a key or an e-mail address."""
    mailto_env: ClassVar[str | None] = None
    """Environment variable for the e-mail address."""
    always: ClassVar[Sequence[str]] = ()
    fields: ClassVar[Mapping[Part, str]] = {}
    """The service's names of the fields to request: of every paper, and by part."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Sent to the service with every request, but not to the target of a redirection."""
        return {}

    @property
    def secrets(self) -> Mapping[str, str]:
        """Parameters sent to the service alone, such as a key that it takes in no header."""
        return {}

    def deadline(self) -> float:
        return time.monotonic() + self.patience

    def selected(self, parts: Collection[Part]) -> list[str]:
        """The service's names of the fields to request, in a fixed order."""
        return [*self.always, *(name for part, name in self.fields.items() if part in parts)]

    def own_name(self, name: str) -> str | None:
        """The service's form of a DOI or an arXiv number; None if it cannot be asked for."""
        raise NotImplementedError

    async def batch_of(self, names: Sequence[str], request: Request) -> list[Paper]:
        """The papers with up to `batch` names of the service's form."""
        raise NotImplementedError

    async def papers(self, request: Request) -> list[Paper]:
        """Papers by DOI or arXiv number, several per request."""
        names, papers = [*filter(None, map(self.own_name, request.query.split()))], list[Paper]()
        for start in range(0, len(names), self.batch):
            papers += await self.batch_of(names[start : start + self.batch], request)
        return [*filter(request.window.holds, papers)]

    async def linked(
        self, ids: Sequence[str], some: Callable[[Sequence[str]], Awaitable[list[Paper]]], request: Request
    ) -> list[Paper]:
        """The papers with the service's own ids, in their order; `some` gives those of up to `batch`."""
        ids = [*dict.fromkeys(ids)]

        async def page(start: int) -> tuple[list[Paper], int]:
            part = ids[start : start + self.batch]
            return in_order(await some(part), part), len(ids)

        return await self.numbered(page, self.batch, request) if ids else []

    def withheld(self, request: Request, why: str = "withheld by the publisher") -> WithheldError:
        """The error for a paper whose references the service does not give."""
        hint = "add another source to literature.cascade"
        return WithheldError(f"{self.name}: {request}: {why}", source=self.name, hint=hint)

    async def ask(
        self,
        path: str,
        params: Mapping[str, str | int],
        read: Callable[[bytes], T],
        request: Request,
        body: object = None,
    ) -> T:
        """One request of a look-up to the service; see `get`."""
        url = f"{self.address.rstrip('/')}{path}"
        return await self.get(url, params, read, str(request), until=request.until, body=body)

    async def ask_one(
        self,
        path: str,
        params: Mapping[str, str | int],
        read: Callable[[bytes], T],
        request: Request,
        is_absent: Callable[[RefusedError], bool],
        body: object = None,
    ) -> T | None:
        """As `ask`; None if the service refuses as it has no such paper."""
        try:
            return await self.ask(path, params, read, request, body)
        except LiteratureError as error:
            if isinstance(error.__cause__, RefusedError) and is_absent(error.__cause__):
                return None
            raise

    async def get(
        self,
        url: str,
        params: Mapping[str, str | int],
        read: Callable[[bytes], T],
        what: str,
        *,
        until: float,
        body: object = None,
        most: int = MOST_BYTES,
    ) -> T:
        """One request; see `call`.

        Args:
            url: already escaped.
            params: added to its query, not yet escaped.
            read: parses the answer's body; raises `GarbledError` or `RefusedError` if it is invalid.
            body: posted as JSON, if any.
            most: maximum bytes of the answer.
        """
        import httpx

        method = "GET" if body is None else "POST"

        async def send() -> T:
            address = httpx.URL(url).copy_merge_params(params)
            async with self._client() as client:
                request, way, status = client.build_request(method, address, json=body), "", 0
                for _ in range(_MOST_REDIRECTS + 1):
                    response = await client.send(request, stream=True)
                    status = response.status_code
                    try:
                        if response.next_request is None and response.is_success:
                            return read(await body_of(response, most))
                        if response.next_request is None:
                            text = " ".join((await refusal_of(response)).split())
                            said = scrubbed(text, self.key or "")[:_MOST_OF_A_REFUSAL] + way
                            raise RefusedError(status, seconds_of(response.headers.get("retry-after")), said)
                    except GarbledError as error:
                        raise GarbledError(f"{error}{way}") from error
                    finally:
                        await response.aclose()
                    request = response.next_request
                    place = scrubbed(str(request.url), self.key or "")[:_MOST_OF_A_REFUSAL]
                    way = f", at {place}, after a redirection ({status})"
                raise RefusedError(status, text=f"too many redirections{way}")

        return await self.call(send, what, until=until)

    async def call(self, send: Callable[[], Awaitable[T]], what: str, *, until: float | None = None) -> T:
        """Send a request at the service's pace, with retries.

        Args:
            send: sends it; raises `RefusedError` and `GarbledError` for bad answers, and passes the client's exceptions on. It is
                cancelled at the deadline.
            what: the subject of the look-up, for messages.
            until: the `deadline` of a look-up with several requests; by default now plus the patience.

        Raises:
            LiteratureError: the service refuses, cannot be reached, gives an invalid answer, or takes too long.
        """
        until, began = self.deadline() if until is None else until, time.monotonic()
        retry = Retry(
            limiter((self.name, self.address), self.pace),
            self.retries,
            backoff=self.backoff,
            longest=_LONGEST_BACKOFF,
            until=until,
        )
        try:
            if began >= until:
                raise SlowError
            return await retry.send(send)
        except Exception as error:  # each client has its own exceptions; others are raised again
            if not is_failure(error):
                raise
            tried = {0: "not asked", 1: "once"}.get(retry.tries, f"{retry.tries} times")
            late = isinstance(error, SlowError) and until - began < self.patience / 2
            # If time ran out while waiting for another try, report the failure of the last try.
            cause = retry.failure if isinstance(error, OverdueError) and retry.failure else error
            problem, hint = self._explained(error, retry.failure)
            raise LiteratureError(
                f"{self.name}: {what}: {problem}", source=self.name, tried=tried, hint=hint
            ) from (TimeoutError() if late else cause)

    async def paged(
        self,
        page: Callable[[Place], Awaitable[tuple[list[Paper], Place | None]]],
        first: Place,
        request: Request,
    ) -> list[Paper]:
        """The first distinct papers inside the window, page after page.

        Args:
            page: the papers at a place in the list, and the next place, None after the last.
        """
        papers, seen, place = dict[str, Paper](), set[str](), first
        while len(papers) < request.limit:
            some, following = await page(place)
            before = len(seen)
            seen.update(paper.id for paper in some)
            if some and len(seen) == before:  # a service may ignore where a page begins
                break
            for paper in filter(request.window.holds, some):
                papers.setdefault(paper.id, paper)
            if following is None or following == place:
                break
            place = following
        return [*papers.values()][: request.limit]

    async def numbered(
        self, page: Callable[[int], Awaitable[tuple[list[Paper], int]]], size: int, request: Request
    ) -> list[Paper]:
        """As `paged`, of a list whose pages of one size begin at a number, and tell how many papers can be had in all."""

        async def at(start: int) -> tuple[list[Paper], int | None]:
            papers, total = await page(start)
            return papers, start + size if start + size < total else None

        return await self.paged(at, 0, request)

    def _client(self) -> "httpx.AsyncClient":
        import httpx

        return httpx.AsyncClient(
            headers={"User-Agent": AGENT, "Accept-Encoding": "gzip"},
            event_hooks={"request": [self._sign]},
            timeout=min(_SECONDS_A_TRY, self.patience),
            verify=_certificates(),
            transport=self.transport,
        )

    async def _sign(self, request: "httpx.Request") -> None:
        """Called for each request, including redirections, which copy the headers of the previous request."""
        import httpx

        home, to = httpx.URL(self.address), request.url
        if (to.host, to.port) == (home.host, home.port) and to.scheme in (home.scheme, "https"):
            request.headers.update(self.headers)
            request.url = to.copy_merge_params(self.secrets)
        else:
            for name in self.headers:
                request.headers.pop(name, None)
            for name in self.secrets:
                request.url = request.url.copy_remove_param(name)

    def _explained(self, error: Exception, before: Exception | None = None) -> tuple[str, str]:
        """What went wrong, and what to do; `before` is the failure of the last try, if time ran out for another."""
        address, later = f"literature.endpoints.{self.name}", "try again later, or raise literature.patience"
        get_key = f"get a key for the service and export {self.key_env}=…, or try again later"
        lacks_key = bool(self.key_env and not self.key)
        match error:
            case OverdueError() | SlowError() if before:
                problem, hint = self._explained(before)
                return f"{problem}; no time is left for another try (literature.patience)", hint
            case OverdueError(paused=True, seconds=wait):
                problem = f"rate limited by the service for another {wait:.0f} s"
                return problem, get_key if lacks_key else later
            case OverdueError(seconds=wait):
                problem = f"rate limit: too many requests are waiting, the next slot is in {wait:.0f} s"
                return problem, get_key if lacks_key else later
            case SlowError():
                return f"no answer within {self.patience:g} s (literature.patience)", later
            case RefusedError(status=status, text=said) if self.key and (
                status in (401, 403) or "api key" in said.casefold()
            ):
                problem = f"the key in {self.key_env} is refused: {in_short(error)}"
                return problem, f"fix the key in {self.key_env}, or unset it"
            case RefusedError(status=401 | 403 | 429) if lacks_key:
                return in_short(error), get_key
            case RefusedError(status=429):
                return in_short(error), later
            case RefusedError(status=status) if not is_passing(status):
                return in_short(error), f"fix the request, or {address} if it is set"
            case RefusedError():
                return in_short(error), "try again later, or remove the source from literature.cascade"
            case _:
                what = "the answer cannot be read" if is_garbled(error) else "cannot be reached"
                return f"{what}: {in_short(error)}", f"check the network, and {address} if it is set"


@cache
def _certificates() -> "ssl.SSLContext":
    """The trusted certificates; loading them takes longer than many a request."""
    import httpx

    return httpx.create_ssl_context()


def few_values(body: bytes, marks: bytes) -> bytes:
    """The body; raises `GarbledError` if its number of values, counted by punctuation, would fill the memory."""
    if sum(body.count(mark) for mark in marks) > MOST_VALUES:
        raise GarbledError(f"more than {MOST_VALUES:,} values")
    return body


def read_xml(body: bytes, root: str) -> Element:
    """The XML of an answer, whose first element is named; raises `GarbledError`."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        element: Element = fromstring(_NO_LETTERS.sub(b"", few_values(body, b"<=")))
    except (ParseError, DefusedXmlException, LookupError, ValueError) as error:
        raise GarbledError(f"not XML: {error}") from error
    if element.tag != root:
        raise GarbledError(f"not <{root}>, but <{element.tag[:80]}>")
    return element


def text_at(element: Element, path: str) -> str:
    """The text of the first element at a path, on one line; empty if there is none."""
    return " ".join((element.findtext(path) or "").split())


def read_json(body: bytes) -> Any:
    """The JSON of an answer; invalid numbers (NaN, one of a hundred digits) are null. Raises `GarbledError`."""
    try:
        text = few_values(body, b",:[{").decode("utf-8-sig")
        value = json.loads(text, parse_constant=lambda _: None, parse_int=_number)
        if "\\ud" in text or "\\uD" in text:  # possibly a lone surrogate
            value = json.loads(printable(json.dumps(value, ensure_ascii=False)))
        return value
    except RecursionError as error:
        raise GarbledError("its JSON is nested too deep") from error
    except ValueError as error:
        raise GarbledError(f"not JSON; it begins {body[:60].decode(errors='replace')!r}") from error


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) < 20 else None


def parse(shape: type[_Shape], body: bytes) -> _Shape:
    """The validated answer; raises `GarbledError` with the invalid parts."""
    try:
        return shape.model_validate(read_json(body))
    except ValidationError as error:
        raise GarbledError(describe(error)) from error


def in_order(papers: Sequence[Paper], ids: Sequence[str]) -> list[Paper]:
    """The papers in the order of their ids in the service."""
    place = {one: number for number, one in enumerate(ids)}
    return sorted(papers, key=lambda paper: place.get(paper.id.partition(":")[2], len(place)))


def requested(
    fields: Callable[[T], Mapping[str, Any] | None], request: Request
) -> Callable[[T], Mapping[str, Any] | None]:
    """`fields` without the parts that were not requested, for a service that gives all it knows; a date and a DOI stay."""
    left_out = {*get_args(Part)} - {"date", "doi", *request.parts}
    return lambda one: {name: value for name, value in (fields(one) or {}).items() if name not in left_out}


def papers_of(
    records: Sequence[T],
    fields: Callable[[T], Mapping[str, Any] | None],
    request: Request,
    total: int | None = None,
    said: object = None,
) -> list[Paper]:
    """The papers of a service's records, without markup; unreadable ones are added to the request's `faults`.

    Args:
        fields: a record as the fields of a paper, or None for no paper; its exceptions are faults of the record.
        total: the service's count of matches, if they should begin on this page; it may count more than it returns.
        said: the service's message about an error, if any.

    Raises:
        GarbledError: none of the records can be read or has a title, or there are none although there should be.
    """
    if not records and (total or said):
        why = f"with the message {scrubbed(str(said))[:100]!r}" if said else f"though {total} papers match"
        raise GarbledError(f"an empty page, {why}")
    papers, faulty, fault = list[Paper](), 0, ""
    for number, record in enumerate(records, 1):
        try:
            if values := fields(record):
                title, abstract = (plain_text(values.get(name) or "") for name in ("title", "abstract"))
                title = " ".join(title.split())
                paper = Paper.model_validate({**values, "title": title, "abstract": abstract})
                papers += [paper] if title else []
            continue
        except ValidationError as error:
            why = describe(error)
        except (AttributeError, LookupError, TypeError):
            why = "not a record of a paper"
        except ValueError as error:
            why = in_short(error, 100)
        faulty, fault = faulty + 1, fault or f"record {number}: {why}"
    told = f"{faulty} of {len(records)} records cannot be read ({fault})"
    if faulty and faulty == len(records):
        raise GarbledError(told)
    if records and not papers and total and request.operation == "search":
        raise GarbledError(f"none of {len(records)} records has an id and a title")
    request.faults.extend([told] if faulty else [])
    return papers
