"""A corpus on a Qdrant server: its papers and vectors there, all else in a small folder that names the server.

Many machines share it so: none needs a copy of the vectors. `open_bank` opens either kind.
"""

import itertools
import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from manyheads.base.errors import CorpusError
from manyheads.base.files import CHECKSUMS, make_folder, record_checksums, replace_text, unwritable
from manyheads.corpus.database import RECORDS, VECTORS, gate
from manyheads.corpus.ecosystem import CHUNK, PAPERS, Collection, KnowledgeBank, Progress, counter
from manyheads.corpus.graph import GRAPH, GRAPH_FILES, copy_graph
from manyheads.corpus.meta import AUTHORS, META, REJECTS, ServerMeta, read_meta
from manyheads.corpus.qdrant import ClientStore, EdgeStore, loading
from manyheads.corpus.stores import Schema


def upload_corpus(folder: Path, address: str, target: Path, progress: Progress) -> None:
    """Put a built corpus on a Qdrant server, and what does not go there into `target`, which any command can name.

    An interrupted upload is done again, onto the same collections. Raises `CorpusError`.

    Args:
        folder: stays as it is.
        address: of the server, such as `http://HOST:6333`; its key is read from `QDRANT_API_KEY`.
    """
    meta = read_meta(folder)
    _check_address(address)
    if meta.layer or meta.server:
        what = f"is on {meta.server.address}" if meta.server else "is a layer of a society"
        raise CorpusError(f"{folder} {what}", hint="upload a corpus that has its vectors in its folder")
    if target.exists():
        raise CorpusError(f"{target}: exists", hint="choose another --out, or remove it first")
    server = ServerMeta(address=address.rstrip("/"), collections=f"manyheads-{meta.fingerprint[:16]}")
    for bank, kind in ((PAPERS, KnowledgeBank), (AUTHORS, Collection)):
        with EdgeStore.open(folder / bank, read_only=True) as here:
            schema = Schema(here.model, here.dim, kind.integers, kind.keywords)
            name = f"{server.collections}-{bank}"
            with ClientStore.create(server.address, name, schema, again=True) as there:
                _copy(here, there, counter(progress, f"uploading {bank}", here.count()))
    partial = target.with_name(f"{target.name}.part")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        make_folder(partial.parent)
        _copy_the_rest(folder, partial)
        served = meta.model_copy(update={"server": server})
        replace_text(partial / META, json.dumps(served.model_dump(mode="json"), indent=1) + "\n")
        record_checksums(partial, REJECTS, GRAPH, RECORDS)
        partial.rename(target)
    except OSError as error:
        raise unwritable(target, error) from error


def _copy_the_rest(folder: Path, target: Path) -> None:
    """What commands write to meanwhile is copied as it is between two writes: the graph, and the vectors of records."""
    # novelty copies the vectors again at its first use
    passing = shutil.ignore_patterns(PAPERS, AUTHORS, CHECKSUMS, *GRAPH_FILES, "*.lock", "measures*")
    with ExitStack() as locks:
        if (vectors := folder / RECORDS / VECTORS).is_dir():
            locks.enter_context(gate(folder / RECORDS, shared=True))
            locks.enter_context(loading(vectors))
        shutil.copytree(folder, target, ignore=passing)
        if (folder / GRAPH).is_file():
            copy_graph(folder / GRAPH, target / GRAPH)


def _check_address(address: str) -> None:
    """It is stored in the new folder, so it must hold no password, and be of a server that others reach too."""
    try:
        url = urlsplit(address)
        sound = url.scheme in ("http", "https") and url.hostname and "@" not in url.netloc and not url.query
    except ValueError:  # such as an open bracket
        sound = False
    if not sound:
        hint = "an address such as http://HOST:6333, without a password: a key is read from QDRANT_API_KEY"
        raise CorpusError("this is not the address of a Qdrant server", hint=hint)


def _copy(here: EdgeStore, there: ClientStore, count: Callable[[int], None]) -> None:
    import numpy as np

    records = here.scroll(vectors=True)
    while chunk := [*itertools.islice(records, CHUNK)]:
        vectors = np.stack([one.vector for one in chunk if one.vector is not None])
        there.upsert([one.id for one in chunk], vectors, [one.payload for one in chunk])
        count(len(chunk))
