"""What another package would bring, without installing it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint

import pytest

from manyheads.base import entry_points


@contextmanager
def brought(group: str, homes: Mapping[str, str], *twice: str) -> Generator[None]:
    """Entry points of a group: where each is, by name, as `package.module:NAME`; the names in `twice` have a second one."""
    points, caches = (
        [EntryPoint(name, homes[name], group) for name in (*homes, *twice)],
        (entry_points.brought, entry_points.load),
    )

    def installed(*, group: str) -> list[EntryPoint]:
        return [point for point in points if point.group == group]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_points, "entry_points", installed)
        for each in caches:
            each.cache_clear()
        yield
    for each in caches:
        each.cache_clear()
