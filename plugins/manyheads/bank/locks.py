"""A folder that one process writes to, or several read from; the system frees the lock of a dead process."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import portalocker

from manyheads.errors import CorpusError

_USE, _LOADING = "use.lock", "loading.lock"


class FolderLock:
    """Held from `writer` or `reader` until `release`."""

    def __init__(self, folder: Path, *, shared: bool) -> None:
        self.shared = shared
        self._folder = folder
        self._held = ExitStack()
        kind = portalocker.LockFlags.SHARED if shared else portalocker.LockFlags.EXCLUSIVE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = self._held.enter_context((folder / _USE).open("a+"))
            portalocker.lock(file, kind | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException as error:
            self._held.close()
            raise CorpusError(
                f"the bank {folder} is in use by another process"
                + ("" if shared else ", or open here already"),
                hint="wait for it or end it; finished banks can be read by many when opened read_only",
            ) from error
        except OSError as error:
            self._held.close()
            raise _unusable(folder, error, shared) from error

    @classmethod
    def writer(cls, folder: Path) -> "FolderLock":
        """Nobody else may have it; raises CorpusError when somebody does."""
        return cls(folder, shared=False)

    @classmethod
    def reader(cls, folder: Path) -> "FolderLock":
        """Any number of readers and no writer; raises CorpusError when there is a writer."""
        return cls(folder, shared=True)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Readers one at a time: the engine rewrites small files when it loads and closes a shard."""
        with (self._folder / _LOADING).open("a+") as file:
            portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)
            yield

    @contextmanager
    def released_on_error(self) -> Generator[None]:
        """Let go of the lock when what follows fails."""
        with ExitStack() as undo:
            undo.callback(self.release)
            yield
            undo.pop_all()

    def release(self) -> None:
        """Let go; twice is allowed."""
        self._held.close()


def _unusable(folder: Path, error: OSError, shared: bool) -> CorpusError:
    if shared:
        hint = "the engine writes to it even when it only reads: copy it to where you may write"
        return CorpusError(f"the bank {folder} cannot be opened: {error.strerror}", hint=hint)
    hint = "choose a place that you may write to: --out FOLDER"
    return CorpusError(f"{folder} cannot be written: {error.strerror}", hint=hint)
