"""Templates of Jinja compiled once for a user, not at each start; and what else need not be done twice with the same files.

Compiled code is not checked again: who can write it runs code as this user, past the sandbox of prompts. So it is kept in a
folder of the user's cache that belongs to this user and is closed to all others (mode 0700). Another folder in its place is not
used, nor one that others could replace, and none is where a system has no such rights.
"""

import hashlib
import marshal
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType

import jinja2
from jinja2.bccache import Bucket

from manyheads import __version__
from manyheads.base.errors import CacheError
from manyheads.base.files import cache_folder, replace_bytes

DIGEST = hashlib.sha256().digest_size


class Compiled(jinja2.BytecodeCache):
    """Compiled templates by name and content, in memory and on disk.

    Args:
        code: the Python files that compile them: what another version of these has compiled is not used.
    """

    def __init__(self, *code: str) -> None:
        self._code, self._known = code, dict[Path | str, CodeType | None]()

    def load_bytecode(self, bucket: Bucket) -> None:
        place = own_file(self._code, bucket.key, bucket.checksum)
        if place not in self._known and isinstance(place, Path):
            self._known[place] = _read(place)
        bucket.code = self._known.get(place)

    def dump_bytecode(self, bucket: Bucket) -> None:
        place = own_file(self._code, bucket.key, bucket.checksum)
        self._known[place] = bucket.code
        body = marshal.dumps(bucket.code)
        if isinstance(place, Path):
            with suppress(OSError):
                replace_bytes(place, hashlib.sha256(body).digest() + body)


def _read(place: Path) -> CodeType | None:
    """The code in a file; None if there is none, or if it is damaged."""
    with suppress(OSError):
        data = place.read_bytes()
        if hashlib.sha256(data[DIGEST:]).digest() == data[:DIGEST]:
            return marshal.loads(data[DIGEST:])
    return None


def own_file(code: Sequence[str], *about: object) -> Path | str:
    """A file in the folder for what this code has made of something; its name alone where this user has no folder of their own."""
    name = hashlib.sha256(repr((_version(*code), about)).encode("utf-8", "replace")).hexdigest()
    with suppress(CacheError, OSError):
        folder = cache_folder() / "compiled"
        folder.mkdir(mode=0o700, exist_ok=True)
        state, parent = folder.lstat(), folder.parent.stat().st_mode
        replaceable = parent & 0o022 and not parent & stat.S_ISVTX  # by others who may write beside it
        if (
            stat.S_ISDIR(state.st_mode)
            and not (state.st_mode & 0o077 or replaceable)
            and hasattr(os, "getuid")  # Windows has other rights than modes
            and state.st_uid == os.getuid()
        ):
            return folder / name
    return name


@cache
def _version(*code: str) -> bytes:
    versions = (jinja2.__version__, __version__)
    texts = [*map(str.encode, versions), MAGIC_NUMBER, *(Path(file).read_bytes() for file in code)]
    return hashlib.sha256(b"\0".join(texts)).digest()
