"""Corpora by name: the sample that ships, built on first use, and folders that were built; each opened once a process."""

import hashlib
import re
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

from manyheads.bank.building import Progress, build_corpus
from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.embedding import load_embedder
from manyheads.bank.meta import META, BuildOptions
from manyheads.bank.vectors import Embedder
from manyheads.disk import FileLock, cache_folder, expanded
from manyheads.errors import CorpusError
from manyheads.pool import Pool
from manyheads.resources import data_file

SHIPPED = {"sample": BuildOptions(bound=2021)}
"""Corpora that ship as `configs/corpora/<name>.jsonl`, and how they are built."""

_open: Pool[Ecosystem] = Pool(Ecosystem.close)


def open_corpus(name_or_path: str, embedding: str = "auto") -> AbstractAsyncContextManager[Ecosystem]:
    """A corpus, warm, for the length of a block; all runs of the process that name the same one share it.

    Args:
        name_or_path: see `resolve_corpus`, where errors are told of too.
        embedding: a choice for `load_embedder`; `auto` is the model that the corpus was built with.
    """
    name = name_or_path if name_or_path in SHIPPED else str(expanded(name_or_path).absolute())

    def opening() -> Ecosystem:
        folder = resolve_corpus(name_or_path, embedding=embedding)
        ecosystem = Ecosystem.open(folder, None if embedding == "auto" else load_embedder(embedding))
        try:
            ecosystem.warm_up()
        except BaseException:
            ecosystem.close()
            raise
        return ecosystem

    return _open.lent_in_thread((name, embedding, cache_folder()), opening)


def resolve_corpus(
    name_or_path: str,
    cache_dir: Path | None = None,
    *,
    embedding: str | Embedder = "auto",
    progress: Progress | None = None,
) -> Path:
    """The folder of a built corpus: a shipped one by name, built on first use, or a path.

    Args:
        cache_dir: where shipped corpora are built; the user's cache folder if not given.
        embedding: what a shipped corpus is embedded with: an embedder, or a choice for `load_embedder`.

    Raises:
        CorpusError: there is no such corpus, or the path is one of papers not yet built.
        EmbeddingError: a shipped corpus needs building and there is no embedding model.
    """
    if name_or_path in SHIPPED:
        embedder = load_embedder(embedding) if isinstance(embedding, str) else embedding
        source = data_file(f"configs/corpora/{name_or_path}.jsonl")
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
        model = re.sub(r"[^A-Za-z0-9.]+", "-", embedder.name)
        folder = (cache_dir or cache_folder()) / "corpora" / f"{name_or_path}-{digest}-{model}"
        if not (folder / META).is_file():
            with _only_one(folder):
                if not (folder / META).is_file():
                    options = SHIPPED[name_or_path]
                    build_corpus(
                        source, folder, options, embedder, name=name_or_path, progress=progress
                    ).close()
        return folder
    path = expanded(name_or_path)
    if (path / META).is_file():
        return path
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        raise CorpusError(
            f"{path}: papers, not a built corpus",
            hint=f"manyheads corpus build {path} --bound YEAR, then name its folder",
        )
    raise CorpusError(
        f"corpus {name_or_path!r}: no such corpus",
        tried=f"{path / META}",
        hint=f"one of {', '.join(SHIPPED)}, or a folder made by: manyheads corpus build papers.jsonl.gz --bound YEAR",
    )


@contextmanager
def _only_one(folder: Path) -> Generator[None]:
    """Processes that want the same corpus wait for the one that builds it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(folder.name + ".lock"), wait=True):
            yield
    except OSError as wrong:
        raise CorpusError(
            f"{folder.parent} cannot be written: {wrong.strerror or wrong}",
            hint="set MANYHEADS_CACHE to a folder that can be written",
        ) from wrong
