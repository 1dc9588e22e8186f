"""Papers that inputs name by an address or in an archive: downloaded and unpacked into the run's folder, once.

downloads.jsonl   for each what was named, its file in the folder, and its sha256
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from manyheads.base.files import inside, opened, read_text, sha256_of
from manyheads.base.folders import writing
from manyheads.base.papers import web_address
from manyheads.config import RunConfig
from manyheads.core.texts import is_there
from manyheads.documents.folders import ARCHIVES, unpacked
from manyheads.literature.downloads import fetch
from manyheads.team.system import system_of

DOWNLOADS = "downloads.jsonl"
"""In a run's folder: for each paper what was named, and its file."""


def downloads(folder: Path) -> Iterator[dict[str, str]]:
    """The papers that were downloaded or unpacked into a run's folder."""
    with suppress(OSError, ValueError):
        for line in read_text(folder / DOWNLOADS).splitlines():
            if isinstance(entry := json.loads(line), dict):
                yield {str(key): str(value) for key, value in cast(dict[str, Any], entry).items()}


def source_of(path: Path) -> str:
    """What a user named to get a file of a run's folder: an address, an archive; else the file."""
    for folder in path.parents[:6]:
        for entry in downloads(folder):
            if path.resolve() == (folder / entry.get("file", "")).resolve():
                return entry.get("named", str(path))
    return str(path)


def papers_elsewhere(config: RunConfig) -> dict[str, str]:
    """The inputs whose paper is not a file yet: at an address, or in an archive."""
    inputs = {
        name: getattr(config.inputs, name) for name, slot in system_of(config).slots.items() if slot.file
    }
    return {name: value for name, value in inputs.items() if isinstance(value, str) and _is_elsewhere(value)}


def _is_elsewhere(name: str) -> bool:
    return _archive(name) is not None or (web_address(name) is not None and not is_there(Path(name)))


def _archive(name: str) -> Path | None:
    path = Path(name)
    return path if name.lower().endswith(ARCHIVES) and "\n" not in name and is_there(path) else None


async def with_papers(config: RunConfig, folder: Path) -> RunConfig:
    """The config with the files of such papers in a folder, downloaded or unpacked unless they are there.

    Raises:
        LiteratureError, DocumentError: there is no paper.
    """
    files = dict[str, str]()
    for name, named in papers_elsewhere(config).items():
        path = _kept(named, folder)
        if path is None:
            archive = _archive(named)
            path = archive or await fetch(named, folder, config.literature)
            if path.name.lower().endswith(ARCHIVES):
                path = await asyncio.to_thread(unpacked, path, folder / path.name.partition(".")[0])
            entry = {"named": named, "file": path.relative_to(folder).as_posix(), "sha256": sha256_of(path)}
            with writing(folder), opened(folder / DOWNLOADS, "ab") as ledger:
                ledger.write(f"{json.dumps(entry, ensure_ascii=False)}\n".encode())
        files[name] = str(path.resolve())
    return config.model_copy(update={"inputs": config.inputs.model_copy(update=files)}) if files else config


def _kept(named: str, folder: Path) -> Path | None:
    """The file of a paper that is in the folder already."""
    return next(
        (
            path
            for entry in downloads(folder)
            if entry.get("named") == named and (path := inside(folder, str(entry.get("file"))))
        ),
        None,
    )
