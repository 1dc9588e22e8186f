"""The arenas of a folder, opened once, and the raters that their invitations let in."""

import logging
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from starlette.exceptions import HTTPException

from manyheads.arena.items import Rater
from manyheads.arena.store import FILE, Arena
from manyheads.errors import ArenaError

LOGGER = logging.getLogger(__name__)
UNREADABLE = (
    "The arena cannot be read or written at the moment. Go back, wait a moment, and send the page again."
)


@dataclass(frozen=True)
class Voter:
    """A rater, in the arena that invited them."""

    arena: Arena
    rater: Rater


class Arenas:
    """The arenas of a folder: those in it, and itself if it is one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._lock, self._open = Lock(), dict[Path, tuple[tuple[int, int], Arena]]()
        self._home = dict[str, Path]()

    def folders(self) -> Iterator[Path]:
        """The folders of arenas, by name."""
        inside = sorted(path for path in self.folder.iterdir() if not path.name.startswith("."))
        for path in (self.folder, *inside):
            if (path == self.folder or not path.is_symlink()) and (path / FILE).is_file():
                yield path

    def arena(self, name: str) -> Arena:
        """An arena by its folder's name. Raises `HTTPException` if there is none, `ArenaError` if it cannot be read."""
        for folder in self.folders():
            if folder.name == name:
                return self._opened(folder)
        raise HTTPException(404)

    def rater(self, token: str) -> Voter | None:
        """Who has the invitation with this token; None if it is wrong, revoked or expired."""
        home = self._home.get(token)
        if home and (home / FILE).is_file():
            with unharmed():
                arena = self._opened(home)
                return Voter(arena, rater) if (rater := arena.rater(token)) else None
        for folder in self.folders():
            with suppress(ArenaError):  # a broken arena does not close the others
                arena = self._opened(folder)
                if rater := arena.rater(token):
                    self._home[token] = folder
                    return Voter(arena, rater)
        return None

    def close(self) -> None:
        """Close all arenas."""
        with self._lock:
            for _, arena in self._open.values():
                arena.close()
            self._open.clear()

    def _opened(self, folder: Path) -> Arena:
        with self._lock:
            try:
                status = os.stat(folder / FILE)
            except OSError as error:
                raise HTTPException(404) from error
            known = self._open.get(folder)
            if known and known[0] == (status.st_dev, status.st_ino):
                return known[1]
            if known:  # the folder was replaced
                known[1].close()
            arena = Arena.open(folder)
            self._open[folder] = (status.st_dev, status.st_ino), arena
            return arena


@contextmanager
def unharmed() -> Generator[None]:
    """A store that fails becomes an error page without paths of this machine, which raters must not see."""
    try:
        yield
    except ArenaError as error:
        if error.__cause__ is None:  # a mistake of the rater
            raise
        LOGGER.error("%s", error.message)
        raise HTTPException(503, UNREADABLE) from error
