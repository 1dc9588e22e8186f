"""The user's cache folder, and the fingerprints of the files kept in it."""

import hashlib
import os
from pathlib import Path

from manyheads.errors import EmbeddingError


def cache_folder() -> Path:
    """The user's cache folder, made if it is not there: `MANYHEADS_CACHE`, else the system's place for caches.

    Raises:
        EmbeddingError: the folder cannot be made.
    """
    import platformdirs

    named = os.environ.get("MANYHEADS_CACHE")
    folder = Path(named).expanduser() if named else platformdirs.user_cache_path("manyheads")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder


def unwritable(path: Path, error: OSError) -> EmbeddingError:
    """The message for a cache that cannot be written: full disk, read-only disk, no permission."""
    return EmbeddingError(
        f"the cache {path} cannot be written: {error.strerror or error}",
        hint="set MANYHEADS_CACHE to a folder that can be written and has 200 MB free",
    )


def sha256_of(path: Path) -> str:
    """Hexadecimal sha256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
