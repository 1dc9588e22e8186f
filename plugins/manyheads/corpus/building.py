"""Building a corpus: read, select, mask, profile, link, embed. The folder appears when it is complete."""

import hashlib
import json
import shutil
import time
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from manyheads.base.errors import CorpusError, EmbeddingError, UserError
from manyheads.base.files import CHECKSUMS, record_checksums
from manyheads.base.papers import Paper, Period, Scientist, profile_text
from manyheads.corpus.ecosystem import (
    CHUNK,
    PAPERS,
    Collection,
    Ecosystem,
    KnowledgeBank,
    Progress,
    counter,
    paper_text,
)
from manyheads.corpus.embedding import CachedEmbedder
from manyheads.corpus.graph import GRAPH, GRAPH_FILES, Citations, Graph, GraphCounts, Text
from manyheads.corpus.meta import (
    AUTHORS,
    BYLINES,
    META,
    NAMES,
    REJECTS,
    SCIENTISTS,
    BuildOptions,
    Counts,
    EmbeddingMeta,
    Meta,
)
from manyheads.corpus.phrases import LEXICAL
from manyheads.corpus.records import JsonLines, RawPaper, Reader, Rejects
from manyheads.corpus.references import SHARED, Index
from manyheads.corpus.scientists import (
    Condense,
    Masker,
    Profiles,
    assign_masks,
    display_name,
    profile,
    spellings,
)
from manyheads.corpus.selection import SPOOL, Selection, Spool, select
from manyheads.corpus.stores import lock_folder
from manyheads.corpus.vectors import Embedder, embedded, unit_rows

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors


class VectorFile:
    """Precomputed vectors, read from disk on demand: a `.npy` file (n, dim) of any float type, and a text file with the n ids,
    one per line. Raises `EmbeddingError` if they cannot be read, do not fit, or an id is repeated.
    """

    def __init__(self, vectors: Path, ids: Path, *, dim: int) -> None:
        import numpy as np

        self.path, self.ids = vectors, ids
        try:
            names = ids.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise EmbeddingError(f"{ids} cannot be read: {error}") from error
        try:
            self._matrix: Any = np.load(vectors, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            hint = "save it with numpy.save"
            raise EmbeddingError(f"{vectors} cannot be read: {error}", hint=hint) from error
        self._rows = {name: row for row, name in enumerate(names)}
        if len(self._rows) < len(names):
            [(twice, _)] = Counter(names).most_common(1)
            raise EmbeddingError(f"{ids}: the id {twice!r} is in several lines")
        if not isinstance(self._matrix, np.ndarray) or not np.issubdtype(self._matrix.dtype, np.floating):
            kind = getattr(self._matrix, "dtype", "several arrays")
            raise EmbeddingError(f"{vectors} contains {kind}, not one array of floating point numbers")
        if self._matrix.shape != (len(names), dim):
            raise EmbeddingError(
                f"{vectors} has the shape {self._matrix.shape}, expected ({len(names)}, {dim})",
                tried=f"{len(names)} ids in {ids}, {dim} numbers per text by the embedding model",
            )

    def __contains__(self, one: object) -> bool:
        return one in self._rows

    def of(self, ids: Sequence[str]) -> "Vectors":
        """(n, dim) float32 of unit length for n ids, in order; raises EmbeddingError for a zero or non-finite row."""
        rows = unit_rows(self._matrix[[self._rows[one] for one in ids]])
        for one, length in zip(ids, (rows * rows).sum(axis=1), strict=True):
            if not length > 0:  # also not a number
                raise EmbeddingError(f"{self.path}: the vector of {one!r} is zero or not finite")
        return rows


# Filling a corpus's two banks: papers with imported or computed vectors, and scientists' profiles.

_T = TypeVar("_T")


TOLD_AFTER = 0.2
"""Seconds between reports of progress."""
BATCH = 64
"""Texts embedded between reports of progress; the most that a kill can lose."""
COMPARED, LEAST_ALIKE = 8, 0.5
"""Imported vectors to compare with the model's own, and the mean cosine below which they are another model's: texts may
be cut or joined differently, but vectors of two models are at right angles."""


def fill_papers(
    folder: Path, spool: Spool, model: Embedder, vectors: tuple[Path, Path] | None, tell: Progress
) -> int:
    """Write the knowledge bank of papers in batches; returns the number of imported vectors. Raises `EmbeddingError`."""
    file = None if vectors is None else VectorFile(*vectors, dim=model.dim)
    if file is not None:
        _need_same_model(file, chain.from_iterable(map(spool.masked, spool.years)), model)
    step = "embedding papers" if file is None else "storing papers"
    imported, total = 0, sum(years.total() for years in spool.years.values())
    count = counter(tell, step, total)

    def portions() -> Iterator[tuple[tuple[Period, list[Paper], list[Paper]], list[str]]]:
        for period in spool.years:
            for some in _portions(spool.masked(period), CHUNK if file else BATCH):
                given = [one for one in some if file and one.id in file]
                rest = [one for one in some if not (file and one.id in file)]
                yield (period, given, rest), [*map(paper_text, rest)]

    with KnowledgeBank.create(folder, model) as bank:
        for (period, given, rest), rows in embedded(model, portions()):
            if file and given:
                bank.add(given, file.of([one.id for one in given]), count, period=period)
                imported += len(given)
            bank.add(rest, rows, count, period=period)
    return imported


def _need_same_model(file: VectorFile, papers: Iterable[Paper], model: Embedder) -> None:
    """Reject vectors that differ from the model's for the first few papers: queries could not be compared with them."""
    some = [*islice((one for one in papers if one.id in file), COMPARED)]
    if not some:
        hint = "use the ids of this corpus, or remove --vectors"
        raise EmbeddingError(f"{file.ids}: none of its ids belongs to a paper", hint=hint)
    given, own = file.of([one.id for one in some]), model.embed([*map(paper_text, some)])
    if (alike := float((given * own).sum(axis=1).mean())) < LEAST_ALIKE:
        raise EmbeddingError(
            f"{file.path}: not the vectors of {model.name}: the mean cosine of {len(some)} papers' with its own is {alike:.2f}",
            hint="set the model that made them: --set embedding=MODEL; or remove --vectors",
        )


def fill_graph(path: Path, spool: Spool, masker: Masker, tell: Progress) -> tuple[GraphCounts, bytes]:
    """Write the graph: papers, full texts (masked) and citations; returns its size and a digest, empty if there are only
    papers.

    References to papers outside the corpus are dropped.
    """
    digest, index, ids, twice = hashlib.blake2b(digest_size=16), Index(), list[str](), spool.ambiguous()
    with Graph(path) as graph:
        for some in _portions(chain.from_iterable(map(spool.raw, spool.years)), CHUNK):
            graph.add_papers((paper.id, paper.year) for paper in some)
            for paper in some if spool.with_references else ():
                file, own = twice.get(paper.id, (SHARED, paper.id))
                if paper.id in twice and not file:  # no reference can mean it by its id
                    file, own = paper.id, paper.id
                index.add(file, paper, own)
                ids.append(paper.id)
        if spool.with_text:
            count = counter(tell, "storing full texts", spool.with_text)
            for some in _portions(spool.texts(), BATCH):
                texts = {paper: Text(masker.text(one), masker.text(other)) for paper, one, other in some}
                digest.update(repr(texts).encode("utf-8", "replace"))
                graph.add_texts(texts)
                count(len(some))
        if spool.with_references:
            count = counter(tell, "matching references", spool.with_references)
            for some in _portions(spool.bibliographies(), CHUNK):
                citations = {
                    paper: Citations(
                        *(
                            tuple(ids[number] for number in index.meant_by(file, one, year))
                            for one in references
                        )
                    )
                    for paper, file, year, *references in some
                }
                digest.update(repr(citations).encode("utf-8", "replace"))
                graph.add_citations(citations)
                count(len(some))
        anything = spool.with_text or spool.with_references
        return graph.counts(), digest.digest() if anything else b""


def fill_scientists(folder: Path, scientists: Sequence[Scientist], model: Embedder, tell: Progress) -> None:
    """Write the author knowledge bank."""
    count = counter(tell, "embedding scientists", len(scientists))
    items = [
        (one.name, profile_text(one), one.model_dump(mode="json", exclude={"collaborators"}))
        for one in scientists
    ]
    with Collection.create(folder, model, name=AUTHORS) as authors:
        portions = ((some, [text for _, text, _ in some]) for some in _portions(items, BATCH))
        for some, rows in embedded(model, portions):
            authors.add_items(some, rows, count)


def report_each(things: Iterable[_T], step: str, tell: Progress) -> Iterator[_T]:
    """Report the progress of items whose number is unknown, every `TOLD_AFTER` seconds, and at the end."""
    done, before = 0, time.monotonic()
    for done, one in enumerate(things, 1):
        if time.monotonic() - before > TOLD_AFTER:
            tell(step, done, None)
            before = time.monotonic()
        yield one
    tell(step, done, done)


def _portions(things: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """All items, in batches."""
    rest = iter(things)
    return iter(lambda: [*islice(rest, size)], [])


def build_corpus(
    source: Path | Reader,
    target: Path,
    options: BuildOptions,
    embedder: Embedder,
    *,
    name: str | None = None,
    vectors: tuple[Path, Path] | None = None,
    interests: Condense | None = None,
    progress: Progress | None = None,
) -> Ecosystem:
    """Build a corpus from a dataset's reader, or a file of JSON Lines, into the folder `target`, and open it.

    Writes to `<target>.partial` and renames it at the end. Embeddings are cached: a killed build continues when run again.

    Args:
        name: the corpus's name; the folder's if omitted.
        vectors: a `.npy` file (n, dim) and a file with its n ids, used instead of embedding those papers.
        interests: a model that summarises keywords as interests, for scientists without interests in the dataset.
        progress: receives the step, the number done and, if known, the total.

    Raises:
        CorpusError: the source is not a corpus, has no past papers, or none pass the filters, or `target` exists or is unwritable.
        EmbeddingError: texts cannot be embedded, or the vectors do not fit.
    """
    started = time.monotonic()
    tell: Progress = progress or (lambda step, done, total: None)
    reader = JsonLines(source) if isinstance(source, Path) else source
    _need_free(target)
    partial = target.with_name(target.name + ".partial")
    with _build_errors(partial), ExitStack() as held:
        held.enter_context(lock_folder(partial))
        _remove_remains(partial)
        rejects, spool = Rejects(), held.enter_context(Spool(partial / SPOOL))
        selection = _read(reader, partial, options, rejects, spool, tell)
        model = embedder
        if not (isinstance(model, CachedEmbedder) or model.name.startswith(LEXICAL)):  # hashing is faster
            model = held.enter_context(CachedEmbedder(model))
        profiles, names, masker = _mask_and_profile(selection, options, interests, tell)
        graph, digest = fill_graph(partial / GRAPH, spool, masker, tell)
        imported = fill_papers(partial, spool, model, vectors, tell)
        fill_scientists(partial, profiles.scientists, model, tell)
        lines = ",\n ".join(one.model_dump_json() for one in profiles.scientists)
        (partial / SCIENTISTS).write_text(f"[{lines}]\n", encoding="utf-8")
        _write_json(partial / NAMES, names)
        with (partial / BYLINES).open("w", encoding="utf-8") as bylines:
            for paper in chain.from_iterable(map(spool.raw, spool.years)):
                bylines.write(paper.as_published().model_dump_json(exclude_defaults=True) + "\n")
        meta = Meta(
            name=name or target.resolve().name,
            source=reader.name,
            completed={field: dict(counts) for field, counts in reader.completed.items()},
            options=options,
            past_years=(min(spool.years["past"]), max(spool.years["past"])),
            contemporary_years=(min(later), max(later)) if (later := spool.years["contemporary"]) else None,
            counts=_counts(selection, rejects, profiles, imported, graph),
            embedding=EmbeddingMeta(name=model.name, dim=model.dim),
            fingerprint=_fingerprint(spool, profiles, model.name, digest),
            rejects=tuple(map(str, rejects.first)),
            seconds=round(time.monotonic() - started, 1),
        )
        _write_json(partial / META, meta.model_dump(mode="json"))
        held.close()
        _move_into_place(partial, target, embedder)
    return Ecosystem.open(target, embedder)


def _need_free(target: Path) -> None:
    if (target / META).is_file():
        hint = "choose another --out, or remove it first"
        raise CorpusError(f"{target}: already contains a built corpus", hint=hint)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CorpusError(f"{target}: exists, but is not a corpus", hint="choose another --out")


def _remove_remains(partial: Path) -> None:
    """Remove what a killed build left; its embeddings are in the vector cache."""
    for folder in (PAPERS, AUTHORS):
        shutil.rmtree(partial / folder, ignore_errors=True)
    for file in (META, SCIENTISTS, NAMES, BYLINES, REJECTS, CHECKSUMS, *GRAPH_FILES):
        (partial / file).unlink(missing_ok=True)


def _move_into_place(partial: Path, target: Path, embedder: Embedder) -> None:
    Ecosystem.open(partial, embedder).close()  # the engine tidies up when it loads the new files
    record_checksums(partial, REJECTS, GRAPH)
    for lock in partial.glob("*.lock"):
        lock.unlink()
    if target.exists():
        target.rmdir()
    partial.rename(target)


@contextmanager
def _build_errors(partial: Path) -> Generator[None]:
    try:
        yield
    except OSError as wrong:
        raise CorpusError(
            f"{partial}: the build stopped: {wrong.strerror or wrong}",
            tried="finished embeddings are kept",
            hint="make room, or choose another --out, and run the same command again",
        ) from wrong


def _read(
    reader: Reader, partial: Path, options: BuildOptions, rejects: Rejects, spool: Spool, tell: Progress
) -> Selection:
    """Read and select; if the source is unusable, only the file of rejects remains."""
    try:
        with (partial / REJECTS).open("w", encoding="utf-8") as rejects.log:
            papers = report_each(reader.papers(rejects), reader.step, tell)
            return select(papers, options, rejects, spool, reader)
    except UserError as wrong:
        spool.close()
        if rejects.total or rejects.faulty:
            wrong.tried = wrong.tried or f"rejected and partial records are in {partial / REJECTS}"
        else:
            shutil.rmtree(partial, ignore_errors=True)
        raise


def _mask_and_profile(
    selection: Selection, options: BuildOptions, condense: Condense | None, tell: Progress
) -> tuple[Profiles, dict[str, str], Masker]:
    """The scientists, the real name behind each mask, and the masking function; the spool has the papers, masked."""
    tell("profiling scientists", 0, len(selection.authors))
    masks, spool = assign_masks(selection.authors, options.seed), selection.spool
    known = spellings(masks, chain.from_iterable(map(spool.raw, spool.years)), selection.known)
    masker = Masker(masks, known)
    profiles = profile(
        _masked("past", masker, spool),
        masks,
        again=spool.masked("past"),
        known={key: masker.author(author) for key, author in selection.known.items() if key in masks},
        condense=condense,
    )
    deque(_masked("contemporary", masker, spool), maxlen=0)
    tell("profiling scientists", len(profiles.scientists), len(profiles.scientists))
    names = {mask: display_name(key, known[key], selection.known) for key, mask in masks.items()}
    return profiles, names, masker


def _masked(period: Period, masker: Masker, spool: Spool) -> Iterator[RawPaper]:
    """The papers with masked text, each as stored in the corpus."""
    for paper in spool.raw(period):
        worded = masker.wording(paper)
        spool.keep(masker.paper(worded), period)
        yield worded


def _counts(
    selection: Selection, rejects: Rejects, profiles: Profiles, imported: int, graph: GraphCounts
) -> Counts:
    coauthors = [len(one.collaborators) for one in profiles.scientists]
    return Counts(
        read=selection.read,
        rejected=rejects.total,
        rejected_by_field=dict(rejects.by_field),
        faulty=rejects.faulty,
        removed=dict(selection.removed),
        past=selection.spool.years["past"].total(),
        contemporary=selection.spool.years["contemporary"].total(),
        scientists=len(profiles.scientists),
        mean_coauthors=round(sum(coauthors) / len(coauthors), 2) if coauthors else 0,
        without_citations=selection.spool.without_citations,
        missing=dict(selection.missing),
        interests_by=dict(profiles.interests_by),
        vectors_imported=imported,
        full_texts=graph.texts,
        with_references=graph.citing,
        citations_within=graph.citations,
    )


def _fingerprint(spool: Spool, profiles: Profiles, model: str, graph: bytes) -> str:
    digest = hashlib.blake2b(model.encode(), digest_size=16)
    past, contemporary = (spool.records("masked", period) for period in spool.years)
    scientists = (one.model_dump_json() for one in profiles.scientists)
    for record in chain(past, ["contemporary"], contemporary, ["scientists"], scientists):
        digest.update(record.encode() + b"\n")
    digest.update(graph)
    return digest.hexdigest()


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
