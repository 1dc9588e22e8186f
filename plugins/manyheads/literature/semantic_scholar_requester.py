"""What the semanticscholar package sends with, in the place of its own requester.

That one opens a connection for every request, forgets Retry-After, sends no key for references and citations, and gives
`{}` for statuses that it does not know: a service that is down would read as one that knows nothing.
"""

from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import parse_qsl

from pydantic import BaseModel

from manyheads.errors import LiteratureError
from manyheads.literature.fetch import MISSING, Fetcher, parsed
from manyheads.literature.service import RefusedError

if TYPE_CHECKING:
    import httpx


_BAD_REQUEST = 400


class AbsentError(Exception):
    """Semantic Scholar was asked for a paper by id and has none."""


class CheckedRequester:
    """Of one look-up. An answer is what its shape says, or an error.

    Args:
        fetcher: sends.
        shape: the model of the answers.
        what: is looked up, for messages.
        until: the look-up's deadline, of `Service.deadline`.
    """

    def __init__(self, fetcher: Fetcher, shape: type[BaseModel], what: str, until: float) -> None:
        self._fetcher, self._shape, self._what, self._until = fetcher, shape, what, until

    async def get_data_async(
        self, url: str, parameters: str, headers: object, payload: object = None
    ) -> dict[str, Any]:
        """What the package calls, for each page.

        Raises:
            AbsentError: the service has no paper of that id.
            LiteratureError: the service refuses, cannot be reached, answers nonsense, or takes too long.
        """
        params = dict(parse_qsl(parameters.lstrip("&"), keep_blank_values=True))
        try:
            return await self._fetcher.get(url, params, self._read, self._what, until=self._until)
        except LiteratureError as error:
            if _is_absence(error.__cause__):
                raise AbsentError from error
            if params.get("offset", "0") != "0" and _is_end(error.__cause__):
                return {"data": []}
            raise

    def _read(self, response: "httpx.Response") -> dict[str, Any]:
        data = parsed(self._shape, response).model_dump(mode="json", by_alias=True)
        if "data" in data and data["data"] is None:
            self._withheld()
        return data

    def _withheld(self) -> NoReturn:
        source = self._fetcher.service.name
        raise LiteratureError(
            f"{source}: {self._what}: withheld by the publisher",
            source=source,
            hint="ask another source: literature.cascade",
        )


def _is_absence(cause: BaseException | None) -> bool:
    """Whether the service says that it has no such paper; a 404 of anybody else's tells of a wrong address."""
    return _told(cause, MISSING, " with id ", "not found")


def _is_end(cause: BaseException | None) -> bool:
    """Whether the service says that its pages end here: it counts matches that it does not give."""
    return _told(cause, _BAD_REQUEST, "Requested data", "is not available")


def _told(cause: BaseException | None, status: int, *words: str) -> bool:
    match cause:
        case RefusedError():
            return cause.status == status and all(word in cause.text for word in words)
        case _:
            return False
