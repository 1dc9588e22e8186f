"""Opens the library that a config describes. Nothing is read, written or contacted before it is used."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.config import LiteratureConfig, SourceName
from manyheads.errors import ConfigError
from manyheads.literature.cached import CachedSource, Shelf
from manyheads.literature.cascade import Cascade, ignore
from manyheads.literature.connect import connect
from manyheads.literature.gathered import Note
from manyheads.literature.library import Library
from manyheads.literature.limits import Pace
from manyheads.literature.local import LocalSource
from manyheads.literature.publication import Window
from manyheads.literature.watched import Watched

if TYPE_CHECKING:
    from manyheads.bank.knowledge import KnowledgeBank

CACHE = "literature.sqlite"
"""The name of the cache in the user's cache folder."""
KEPT = "searches.sqlite"
"""The name of a run's own record in its folder."""


def open_library(
    config: LiteratureConfig,
    *,
    bank: "KnowledgeBank | None" = None,
    bound: int | None = None,
    note: Note = ignore,
    cache: Path | None = None,
    kept: Path | None = None,
    paces: Mapping[SourceName, Pace] | None = None,
) -> Library:
    """The sources of a config's cascade as one library.

    Args:
        bank: for the source `local`, which is left out where there is none; it stays its owner's to close.
        bound: the corpus's first contemporary year, what `before: bound` means: nothing from its 1 January on. No corpus, no bound.
        note: told of every look-up in every source, such as a `SearchLedger`'s.
        cache: an SQLite file for the services' answers, as old as `max_age` at most; None to keep none.
        kept: an SQLite file for what this run has found, whatever its age: a resumed run sees what it saw.
        paces: other paces than the services ask for, of mirrors that allow it.

    Raises:
        ConfigError: `before` is no date, or no source is left.
    """
    shelf = Shelf(cache, dt.timedelta(days=config.max_age)) if cache else None
    sources: list[Watched] = []
    for name in config.cascade:
        if name != "local":
            found = CachedSource(connect(name, config, paces), shelf, config.endpoints.get(name, ""))
        elif bank is not None:
            found = CachedSource(LocalSource(bank))
        else:
            continue
        sources.append(Watched(found, config.patience))
    if not sources:
        raise ConfigError(
            "literature.cascade: there is no corpus to look papers up in",
            hint="add semantic_scholar, openalex or arxiv to it",
        )
    closing = [shelf] if shelf else []
    return Cascade(
        sources, window(config, bound), note=note, kept=Shelf(kept) if kept else None, closing=closing
    )


def window(config: LiteratureConfig, bound: int | None = None) -> Window:
    """What `before` means: `bound`, `any`, a year, or a date; raises `ConfigError` for anything else.

    A year stands for its 1 January.
    """
    before = config.before.strip()
    if before == "bound":
        return Window(before=None if bound is None else dt.date(bound, 1, 1))
    if before == "any":
        return Window()
    try:
        return Window(
            before=dt.date(int(before), 1, 1) if len(before) == 4 else dt.date.fromisoformat(before)
        )
    except ValueError as error:
        raise ConfigError(
            f"literature.before: {config.before!r} is no date",
            tried="bound, any, a year, a date",
            hint="write it as 2015 or 2015-06-30",
        ) from error
