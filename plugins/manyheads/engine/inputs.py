"""Papers that inputs name by an address or in an archive: downloaded and unpacked into the run's folder, once.

downloads.jsonl   for each what was named, its file in the folder, and its sha256
"""

import asyncio
import json
from pathlib import Path

from manyheads.base.files import inside, opened, sha256_of
from manyheads.base.folders import DOWNLOADS, downloads, writing
from manyheads.config import RunConfig
from manyheads.core.texts import is_there
from manyheads.team.system import system_of


async def with_papers(config: RunConfig, folder: Path) -> RunConfig:
    """The config with the files of such papers in a folder, downloaded or unpacked unless they are there.

    Raises:
        LiteratureError, DocumentError: there is no paper.
    """
    files = dict[str, str]()
    if not (elsewhere := system_of(config).papers_elsewhere(config)):
        return config
    from manyheads.documents.folders import ARCHIVES, unpacked
    from manyheads.literature.fulltext import fetch

    for name, named in elsewhere.items():
        kept = (
            inside(folder, str(one.get("file"))) for one in downloads(folder) if one.get("named") == named
        )
        if (path := next(filter(None, kept), None)) is None:
            path = Path(named)
            if not is_there(path):
                path = await fetch(named, folder, config.literature)
            if path.name.lower().endswith(ARCHIVES):
                path = await asyncio.to_thread(unpacked, path, folder / path.name.partition(".")[0])
            entry = {"named": named, "file": path.relative_to(folder).as_posix(), "sha256": sha256_of(path)}
            with writing(folder), opened(folder / DOWNLOADS, "ab") as ledger:
                ledger.write(f"{json.dumps(entry, ensure_ascii=False)}\n".encode())
        files[name] = str(path.resolve())
    return config.model_copy(update={"inputs": config.inputs.model_copy(update=files)})
