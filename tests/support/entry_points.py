"""What another package would bring, without installing it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from manyheads.base import entry_points


@contextmanager
def brought(group: str, homes: Mapping[str, str], *twice: str) -> Generator[None]:
    """Entry points of a group: where each is, by name, as `package.module:NAME`; the names in `twice` have a second one."""
    first = (EntryPoint(name, home, group) for name, home in homes.items())
    with installed(group, *first, *(EntryPoint(name, f"another.package:{name}", group) for name in twice)):
        yield


@contextmanager
def installed(group: str, *points: EntryPoint) -> Generator[None]:
    """Entry points of a group, with the packages that bring them; those of other groups stay."""
    others = entry_points.entry_points()
    kept = [each for of in others.groups - {group} for each in others.select(group=of)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_points, "entry_points", lambda: EntryPoints([*points, *kept]))
        _forget()
        yield
    _forget()


def _forget() -> None:
    entry_points._points.cache_clear()  # pyright: ignore[reportPrivateUsage]
    entry_points._of_all_groups.cache_clear()  # pyright: ignore[reportPrivateUsage]
