"""Corpora by name: the shipped sample, built on first use, and built folders; each opened once per process."""

import hashlib
import re
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from manyheads.base.errors import CorpusError, describe, did_you_mean
from manyheads.base.files import (
    CHECKSUMS,
    FileLock,
    Pool,
    cache_folder,
    damaged_files,
    expanded,
    has_checksums,
    make_folder,
    set_aside,
    unwritable,
)
from manyheads.base.papers import Paper, Scientist
from manyheads.base.resources import data_file
from manyheads.base.text import first_few
from manyheads.config import CORPORA
from manyheads.corpus.database import RECORDS, VECTORS
from manyheads.corpus.ecosystem import PAPERS, Ecosystem, Progress
from manyheads.corpus.embedding import load_available, load_embedder
from manyheads.corpus.graph import GRAPH, Graph, verified_counts
from manyheads.corpus.layers import CHANGES, COPIES, Layers, parts_of
from manyheads.corpus.meta import AUTHORS, BYLINES, META, NAMES, BuildOptions, read_meta
from manyheads.corpus.meta import damaged as damaged_file
from manyheads.corpus.qdrant import EdgeStore, loading, open_bank
from manyheads.corpus.records import JsonLines, Rejects, lines
from manyheads.corpus.vectors import Embedder

SHIPPED = {"sample": BuildOptions(bound=2021), "planted": BuildOptions(bound=2020)}
"""Shipped corpora, as `configs/corpora/<name>.jsonl`, and how to build them."""

NAMED = 20
"""Maximum damaged files in a message."""
UNIT = 1e-3
"""Tolerance for the length of a unit vector."""

_open: Pool[Ecosystem] = Pool(Ecosystem.close)


def open_corpus(name_or_path: str, embedding: str = "auto") -> AbstractAsyncContextManager[Ecosystem]:
    """An open corpus for a block; runs of this process that use the same one share it.

    See `resolve_corpus`, also for errors; the `embedding` `auto` is the model that built the corpus.
    """
    name = name_or_path if name_or_path in SHIPPED else str(folder_of(name_or_path).absolute())

    def opening(name_or_path: str) -> Ecosystem:
        model = load_available(embedding) if name_or_path in SHIPPED else None
        folder = resolve_corpus(name_or_path, embedding=model or embedding)
        if (base := parts_of(folder)[0]) != folder:
            return layered(folder, str(base))
        return Ecosystem.open(folder, model or (None if embedding == "auto" else load_embedder(embedding)))

    def layered(folder: Path, base: str) -> Ecosystem:
        """Over the base, which is open once for all layers of this process."""
        key = (base, embedding, cache_folder())
        with ExitStack() as held:
            under = _open.take(key, lambda: opening(base))
            held.callback(_open.give_back, key)
            ecosystem = under.with_layers(folder)
            ecosystem.held.push(held.pop_all())
        return ecosystem

    return _open.lent_in_thread((name, embedding, cache_folder()), lambda: opening(name_or_path))


def resolve_corpus(
    name_or_path: str,
    cache_dir: Path | None = None,
    *,
    embedding: str | Embedder = "auto",
    progress: Progress | None = None,
) -> Path:
    """The folder of a built corpus: a path, or a shipped corpus by name, built on first use.

    Args:
        cache_dir: folder for shipped corpora; the user's cache folder if omitted.
        embedding: embedder of a shipped corpus: an embedder, or a choice for `load_embedder`; if there is no model, `auto`
            falls back to word hashing, with a warning.

    Raises:
        CorpusError: there is no such corpus, or the path has papers that are not built yet.
        EmbeddingError: a shipped corpus must be built and there is no such embedding model.
    """
    if name_or_path in SHIPPED:
        return _shipped_corpus(name_or_path, cache_dir or cache_folder(), embedding, progress)
    path = folder_of(name_or_path)
    if (path / META).is_file():
        meta = read_meta(path)
        layer = meta.layer
        if layer and meta.name in SHIPPED and not Path(layer.base).is_dir():  # of another machine
            base = _shipped_corpus(meta.name, cache_dir or cache_folder(), meta.embedding.name, progress)
            COPIES.setdefault(layer.base_fingerprint, base)
        for part in parts_of(path):
            need_sound(part)
        return path
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        hint = f"manyheads corpus build {path} --bound YEAR, then use its folder"
        raise CorpusError(f"{path}: a file of papers, not a built corpus", hint=hint)
    raise CorpusError(
        f"corpus {name_or_path!r}: no such corpus",
        tried=", ".join(str(folder / META) for folder in _places(name_or_path)),
        hint=did_you_mean(
            name_or_path,
            [*SHIPPED, *(path.parent.name for path in CORPORA.glob(f"*/{META}"))],
            f"use one of {', '.join(SHIPPED)}, or build one: manyheads corpus build papers.jsonl.gz --bound YEAR",
        ),
    )


def _shipped_corpus(name: str, cache_dir: Path, embedding: str | Embedder, progress: Progress | None) -> Path:
    """The folder of a shipped corpus, built by one process while others wait."""
    if isinstance(embedding, str):
        embedding = load_available(embedding)
    source = data_file(f"configs/corpora/{name}.jsonl")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    model = re.sub(r"[^A-Za-z0-9.]+", "-", embedding.name)
    folder = cache_dir / "corpora" / f"{name}-{digest}-{model}"
    if not is_sound(folder):
        from manyheads.corpus.building import build_corpus  # slow, and needed once

        try:
            make_folder(folder.parent)
            one_builder = FileLock(folder.with_name(folder.name + ".lock"), wait=True)
            if folder.exists() and not is_sound(folder):
                set_aside(folder, "its files have changed since the build")
        except OSError as wrong:
            raise unwritable(folder.parent, wrong) from wrong
        with one_builder:
            if not is_sound(folder):
                build_corpus(source, folder, SHIPPED[name], embedding, name=name, progress=progress).close()
    return folder


def bylines(name_or_path: str, ids: Collection[str]) -> dict[str, Paper] | None:
    """Papers as published, with their real authors, by id; for exports, never for agents.

    None if the corpus is not here, was built by an earlier version, or was shared without the names.
    """
    if name_or_path in SHIPPED:
        source = data_file(f"configs/corpora/{name_or_path}.jsonl")
        papers = (raw.as_published() for _, raw in JsonLines(source).papers(Rejects()))
    elif (folder_of(name_or_path) / CHANGES).is_file():
        base, *layers = parts_of(folder_of(name_or_path))
        written = (paper for paper, _ in Layers(layers).papers.values() if paper.id in ids)
        below = bylines(str(base), ids)
        return None if below is None else below | {paper.id: paper for paper in written}
    elif (path := folder_of(name_or_path) / BYLINES).is_file():
        papers = (Paper.model_validate_json(line) for _, line in lines(path))
    else:
        return None
    return {one.id: one for one in islice((one for one in papers if one.id in ids), len(ids))}


def folder_of(name_or_path: str) -> Path:
    """The folder of a built corpus: a path, or a name in `corpora`."""
    if copy := COPIES.get(name_or_path):
        return copy
    places = _places(name_or_path)
    return next((folder for folder in places if (folder / META).is_file()), places[0])


def _places(name_or_path: str) -> list[Path]:
    among = [] if "/" in name_or_path or not name_or_path else [CORPORA / name_or_path]
    return [expanded(name_or_path), *among]


def need_sound(folder: Path, *, whole: bool = False) -> None:
    """Raises CorpusError for files changed since the build; with `whole`, every file is read, however large."""
    if damaged := _damaged(folder, whole):
        hint = "build the corpus again, or restore the files"
        raise CorpusError(f"{folder}: damaged since the build: {first_few(damaged, NAMED)}", hint=hint)


def is_sound(folder: Path) -> bool:
    """Whether a folder is a built corpus whose files are those of the build; not every large file is read."""
    return (folder / META).is_file() and not _damaged(folder)


def _damaged(folder: Path, whole: bool = False) -> list[str]:
    damaged = damaged_files(folder, whole=whole)
    if damaged:  # check again while no bank is open: the engine writes small files on opening
        with suppress(OSError), ExitStack() as held:
            for bank in (PAPERS, AUTHORS):
                held.enter_context(loading(folder / bank))
            damaged = damaged_files(folder, whole=whole)
    # the files of names may be removed before sharing a corpus
    damaged = [file for file in damaged if file not in (NAMES, BYLINES) or (folder / file).exists()]
    # the graph has no checksum, as records are added to it; a layer has none
    if not damaged and not any((folder / name).exists() for name in (GRAPH, CHANGES)):
        counts = read_meta(folder).counts
        return [GRAPH] if counts.full_texts or counts.with_references else []
    return damaged


def verify_corpus(folder: Path) -> list[str]:
    """Read every file of a built corpus and every record of its banks; returns a report, a line each. Raises `CorpusError`
    if the folder is not a built corpus, or anything is damaged."""
    import numpy as np

    meta = read_meta(folder)
    need_sound(folder, whole=True)
    if meta.layer:
        base, *layers = parts_of(folder)
        lines = verify_corpus(base)
        for layer in layers:
            need_sound(layer, whole=True)
        return [*lines, f"layers       {len(layers):,} with {len(Layers(layers).papers):,} papers"]
    for copy in folder.glob(f"*/{CHECKSUMS}"):
        if damaged := damaged_files(copy.parent, whole=True):
            hint = "remove the folder: it is rebuilt when needed"
            raise CorpusError(f"{copy.parent}: damaged: {', '.join(damaged)}", hint=hint)
    unchecked = "built without checksums: no file was checked"
    lines = [f"files        {'all unchanged since the build' if has_checksums(folder) else unchecked}"]
    counts, shapes = meta.counts, (Paper, Scientist)
    totals = (counts.past + counts.contemporary, counts.scientists)
    if (folder / GRAPH).exists():
        graph = verified_counts(folder / GRAPH)
        built = (totals[0], counts.full_texts, counts.with_references, counts.citations_within)
        if any(now < then for now, then in zip(graph, built, strict=False)):
            raise damaged_file(
                folder / GRAPH, f"{graph[:4]} papers, texts, bibliographies and citations, expected {built}"
            )
        lines.append(f"graph        {graph.citations:,} citations, {graph.extractions:,} records")
        if graph.extractions:
            with Graph(folder / GRAPH) as database:
                ids = {one.paper for one in database.extractions()}
            there, vectors = set[str](), folder / RECORDS / VECTORS
            if vectors.is_dir():
                with EdgeStore.open(vectors, read_only=True) as store:
                    there = {record.id for record in store.scroll()}
            if lost := ids - there:
                raise CorpusError(
                    f"{folder}: the vectors of its records are missing: {len(lost):,}, such as {min(lost)}",
                    hint=f"manyheads corpus extract {folder}",
                )
    for bank, shape, total in zip((PAPERS, AUTHORS), shapes, totals, strict=True):
        with open_bank(folder, meta, bank) as store:
            if (store.model, store.dim) != (meta.embedding.name, meta.embedding.dim):
                raise damaged_file(folder / bank, f"vectors of {store.model}, expected {meta.embedding.name}")
            found = 0
            for record in store.scroll(vectors=True):
                found += 1
                if record.vector is None or not abs(float(np.linalg.norm(record.vector)) - 1) < UNIT:
                    raise damaged_file(folder / bank, f"the vector of {record.id} does not have length one")
                try:
                    shape.model_validate({k: v for k, v in record.payload.items() if k in shape.model_fields})
                except ValidationError as wrong:
                    raise damaged_file(folder / bank, f"{record.id}: {describe(wrong)}") from wrong
        if found != total:
            raise damaged_file(folder / bank, f"{found:,} records, expected {total:,}")
        lines.append(f"{bank:<13}{found:,} records with a vector of {meta.embedding.name} each")
    return lines
