"""Building a corpus: read, select, mask, profile, embed; then the folder appears, whole."""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from manyheads.bank.corpus import JsonLines, RawPaper, Reader, Rejects
from manyheads.bank.knowledge import CHUNK, PAPERS, Collection, Item, KnowledgeBank, paper_text
from manyheads.bank.lexical import LEXICAL
from manyheads.bank.meta import (
    AUTHORS,
    META,
    NAMES,
    REJECTS,
    SCIENTISTS,
    BuildOptions,
    Counts,
    EmbeddingMeta,
    Meta,
)
from manyheads.bank.scientists import (
    Condense,
    Masker,
    assign_masks,
    display_name,
    profile,
    profile_text,
    spellings,
)
from manyheads.bank.selection import SPOOL, Selection, Spool, Spooled, select
from manyheads.bank.store import lock_folder
from manyheads.bank.vectors import CachedEmbedder, Embedder, unit_rows
from manyheads.errors import CorpusError, EmbeddingError, UserError
from manyheads.papers import Paper, Period, Scientist

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from manyheads.bank.vectors import Vectors


# Vectors made elsewhere: a NumPy matrix and the ids of its rows.


@dataclass(frozen=True, slots=True)
class ImportedVectors:
    """Row i of `vectors`, (n, dim) float32 of length one, belongs to `ids[i]`; `missing` have no vector."""

    ids: tuple[str, ...]
    vectors: "Vectors"
    missing: tuple[str, ...]


@dataclass(frozen=True)
class VectorFile:
    """A file of vectors and its ids, open: rows are read from the disk when they are asked for."""

    path: Path
    ids: Path
    _matrix: "NDArray[Any]"
    _rows: dict[str, int]

    @classmethod
    def open(cls, vectors: Path, ids: Path, *, dim: int) -> "VectorFile":
        """See `import_vectors`."""
        names, matrix = _read_ids(ids), _read_matrix(vectors)
        if matrix.shape != (len(names), dim):
            raise EmbeddingError(
                f"{vectors} has the shape {matrix.shape}, expected ({len(names)}, {dim})",
                tried=f"{len(names)} ids in {ids}, {dim} numbers a text by the embedding model",
            )
        return cls(vectors, ids, matrix, {name: row for row, name in enumerate(names)})

    def __contains__(self, one: object) -> bool:
        return one in self._rows

    def of(self, wanted: Iterable[str]) -> ImportedVectors:
        """The vectors of the wanted ids, in their order; raises EmbeddingError for a zero or not finite row."""
        present = tuple(one for one in wanted if one in self._rows)
        chosen = self._matrix[[self._rows[one] for one in present]]
        _check_rows(self.path, chosen, present)
        missing = tuple(one for one in wanted if one not in self._rows)
        return ImportedVectors(present, unit_rows(chosen), missing)


def import_vectors(vectors: Path, ids: Path, wanted: Iterable[str], *, dim: int) -> ImportedVectors:
    """Read the vectors of the wanted ids, in the order of `wanted`.

    Args:
        vectors: a `.npy` file of shape (n, dim), any float type; rows are brought to length one.
        ids: a text file, UTF-8, n lines, one id a line.
        dim: the size of the vectors of the model in use.

    Raises:
        EmbeddingError: a file cannot be read, shapes do not fit, an id stands twice, or a row is zero or not finite.
    """
    return VectorFile.open(vectors, ids, dim=dim).of(wanted)


def _read_ids(path: Path) -> list[str]:
    try:
        names = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EmbeddingError(f"{path} cannot be read: {error}") from error
    seen: dict[str, int] = {}
    for line, name in enumerate(names, start=1):
        if (before := seen.setdefault(name, line)) != line:
            raise EmbeddingError(f"{path}, line {line}: the id {name!r} stands in line {before} already")
    return names


def _read_matrix(path: Path) -> "NDArray[Any]":
    import numpy as np

    try:
        matrix: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise EmbeddingError(f"{path} cannot be read: {error}", hint="save it with numpy.save") from error
    if not isinstance(matrix, np.ndarray):
        raise EmbeddingError(f"{path} holds several arrays, not one", hint="save it with numpy.save")
    if not np.issubdtype(matrix.dtype, np.floating):
        raise EmbeddingError(f"{path} holds {matrix.dtype}, not floating point numbers")
    return matrix


def _check_rows(path: Path, rows: "NDArray[Any]", ids: tuple[str, ...]) -> None:
    import numpy as np

    lengths = np.linalg.norm(rows.astype(np.float32), axis=1)
    bad = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if len(bad):
        raise EmbeddingError(
            f"{path}: the vector of {ids[int(bad[0])]!r} is zero or not finite ({len(bad)} such rows)"
        )


# Filling a corpus's two banks: papers with their vectors, imported or made, and the scientists' profiles.

_T = TypeVar("_T")


class Papers(Protocol):
    """Papers that can be gone through more than once."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Paper]: ...

    def ids(self) -> Iterator[str]: ...


Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Told the step, how much of it is done and, where known, of how many."""
PAPERS_STEP, SCIENTISTS_STEP = "storing papers", "storing scientists"
TOLD_EVERY = 1000
BATCH = 64
"""Texts embedded between two reports of progress; what a kill can cost."""
COMPARED, LEAST_ALIKE = 8, 0.5
"""Imported vectors that are held against the model's own, and the mean cosine below which they are another's: the
texts may have been cut or joined otherwise, two models' vectors are at right angles."""


def fill_papers(
    folder: Path,
    papers: Mapping[Period, Papers],
    model: Embedder,
    vectors: tuple[Path, Path] | None,
    tell: Progress,
) -> int:
    """Write the knowledge bank of papers, batch by batch; the number whose vectors were imported.

    Raises:
        EmbeddingError: the vectors do not fit, belong to none of the papers, are another model's, or texts cannot
            be embedded.
    """
    file = None if vectors is None else VectorFile.open(*vectors, dim=model.dim)
    if file is not None:
        _need_same_model(file, chain.from_iterable(papers.values()), model)
    count = _Counter(tell, PAPERS_STEP, sum(map(len, papers.values())))
    imported = 0
    with KnowledgeBank.create(folder, model) as bank:
        for period, group in papers.items():
            for with_vector, some in _batches(group, file):
                rows = file.of([one.id for one in some]).vectors if file and with_vector else None
                bank.add(some, rows, count, period=period)
                imported += len(some) * with_vector
    return imported


def _need_same_model(file: VectorFile, papers: Iterable[Paper], model: Embedder) -> None:
    """Refuse vectors unlike those of the model in use for the first few papers: nothing could be compared with them."""
    some = [*islice((one for one in papers if one.id in file), COMPARED)]
    if not some:
        raise EmbeddingError(
            f"{file.ids}: none of its ids is that of a paper",
            hint="name the ids of this corpus, or leave out --vectors",
        )
    given, own = file.of([one.id for one in some]).vectors, model.embed([*map(paper_text, some)])
    if (alike := float((given * own).sum(axis=1).mean())) < LEAST_ALIKE:
        raise EmbeddingError(
            f"{file.path}: not the vectors of {model.name}: the mean cosine of {len(some)} papers' with its own is {alike:.2f}",
            hint="name the model that made them: --set embedding=MODEL; or leave out --vectors",
        )


def _batches(papers: Iterable[Paper], file: VectorFile | None) -> Iterator[tuple[bool, list[Paper]]]:
    """Papers in batches, those with a vector in the file apart from the others."""
    waiting: dict[bool, list[Paper]] = {True: [], False: []}
    for paper in papers:
        with_vector = file is not None and paper.id in file
        some = waiting[with_vector]
        some.append(paper)
        if len(some) == (CHUNK if with_vector else BATCH):
            yield with_vector, some
            waiting[with_vector] = []
    yield from ((with_vector, some) for with_vector, some in waiting.items() if some)


def fill_scientists(folder: Path, scientists: Sequence[Scientist], model: Embedder, tell: Progress) -> None:
    """Write the author knowledge bank."""
    count = _Counter(tell, SCIENTISTS_STEP, len(scientists))
    items = [
        Item(one.name, profile_text(one), one.model_dump(mode="json", exclude={"collaborators"}))
        for one in scientists
    ]
    with Collection.create(folder, model, name=AUTHORS) as authors:
        for start in range(0, len(items), BATCH):
            authors.add(items[start : start + BATCH], progress=count)


def report_each(things: Iterable[_T], step: str, tell: Progress) -> Iterator[_T]:
    """Things of which nobody knows how many there are, told every `TOLD_EVERY` and when they end."""
    done = 0
    for done, one in enumerate(things, 1):
        if done % TOLD_EVERY == 0:
            tell(step, done, None)
        yield one
    tell(step, done, done)


class _Counter:
    """Adds up what each batch reports."""

    def __init__(self, tell: Progress, step: str, total: int) -> None:
        self._tell, self._step, self._total, self._done = tell, step, total, 0
        tell(step, 0, total)

    def __call__(self, more: int) -> None:
        self._done += more
        self._tell(self._step, self._done, self._total)


READING, PROFILING = "reading papers", "profiling scientists"


@dataclass(frozen=True)
class _Content:
    """All that a corpus holds, masked."""

    past: Spooled[Paper]
    contemporary: Spooled[Paper]
    scientists: list[Scientist]
    names: dict[str, str]
    interests_by: Counter[str]


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
) -> None:
    """See `Ecosystem.build`. Everything is written to `<target>.partial`, which is renamed at the end."""
    started = time.monotonic()
    tell: Progress = progress or (lambda step, done, total: None)
    reader = JsonLines(source) if isinstance(source, Path) else source
    _need_free(target)
    partial = target.with_name(target.name + ".partial")
    with _disk_trouble_said(partial), ExitStack() as held:
        lock = lock_folder(partial)
        held.callback(lock.release)
        _clear(partial)
        rejects, spool = Rejects(), Spool(partial / SPOOL)
        held.callback(spool.close)
        selection = _read(reader, partial, options, rejects, spool, tell)
        content = _mask_and_profile(selection, options, interests, tell)
        model = held.enter_context(_remembering(embedder))
        papers: dict[Period, Spooled[Paper]] = {"past": content.past, "contemporary": content.contemporary}
        imported = fill_papers(partial, papers, model, vectors, tell)
        fill_scientists(partial, content.scientists, model, tell)
        _write_lines(partial / SCIENTISTS, content.scientists)
        _write_json(partial / NAMES, content.names)
        meta = Meta(
            name=name or target.name,
            source=reader.name,
            options=options,
            past_years=spool.years("past"),
            contemporary_years=spool.years("contemporary"),
            counts=_counts(selection, rejects, content, imported),
            embedding=EmbeddingMeta(name=model.name, dim=model.dim),
            fingerprint=_fingerprint(content, model.name),
            rejects=tuple(map(str, rejects.first)),
            seconds=round(time.monotonic() - started, 1),
        )
        _write_json(partial / META, meta.model_dump(mode="json"))
        held.close()
        _publish(partial, target)


def _need_free(target: Path) -> None:
    if (target / META).is_file():
        raise CorpusError(
            f"{target}: holds a built corpus already", hint="choose another --out, or remove it first"
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CorpusError(f"{target}: in the way, and no corpus", hint="choose another --out")


def _clear(partial: Path) -> None:
    """Remove what a killed build left; what it embedded is in the vector cache."""
    for name in (PAPERS, AUTHORS):
        shutil.rmtree(partial / name, ignore_errors=True)
    for name in (META, SCIENTISTS, NAMES, REJECTS):
        (partial / name).unlink(missing_ok=True)


def _publish(partial: Path, target: Path) -> None:
    for left in partial.glob("*.lock"):
        left.unlink()
    if target.exists():
        target.rmdir()
    partial.rename(target)


@contextmanager
def _disk_trouble_said(partial: Path) -> Generator[None]:
    try:
        yield
    except OSError as wrong:
        raise CorpusError(
            f"{partial}: the build stopped: {wrong.strerror or wrong}",
            tried="what was embedded so far is kept",
            hint="make room, or choose another --out, and run the same command again",
        ) from wrong


def _read(
    reader: Reader, partial: Path, options: BuildOptions, rejects: Rejects, spool: Spool, tell: Progress
) -> Selection:
    """Read and select; a source that cannot be used leaves nothing behind but what was rejected in it."""
    try:
        with (partial / REJECTS).open("w", encoding="utf-8") as rejects.log:
            papers = report_each(reader.papers(rejects), READING, tell)
            return select(papers, options, rejects, spool, reader)
    except UserError as wrong:
        spool.close()
        if rejects.total:
            wrong.tried = wrong.tried or f"what was rejected is in {partial / REJECTS}"
        else:
            shutil.rmtree(partial, ignore_errors=True)
        raise


def _mask_and_profile(
    selection: Selection, options: BuildOptions, condense: Condense | None, tell: Progress
) -> _Content:
    tell(PROFILING, 0, len(selection.authors))
    masks, spool = assign_masks(selection.authors, options.seed), selection.spool
    known = spellings(masks, spool.teams("past", "contemporary"), selection.known)
    masker = Masker(masks, known)
    profiles = profile(
        _masked(selection.past, "past", masker, spool),
        masks,
        again=spool.masked("past"),
        known={key: masker.author(author) for key, author in selection.known.items() if key in masks},
        condense=condense,
    )
    for _ in _masked(selection.contemporary, "contemporary", masker, spool):
        pass
    tell(PROFILING, len(profiles.scientists), len(profiles.scientists))
    return _Content(
        past=spool.masked("past"),
        contemporary=spool.masked("contemporary"),
        scientists=profiles.scientists,
        names={mask: display_name(key, known[key], selection.known) for key, mask in masks.items()},
        interests_by=profiles.interests_by,
    )


def _masked(papers: Iterable[RawPaper], period: Period, masker: Masker, spool: Spool) -> Iterator[RawPaper]:
    """The papers with their wording masked, each kept as the corpus will hold it."""
    for paper in papers:
        worded = masker.wording(paper)
        spool.keep(masker.paper(worded), period)
        yield worded


@contextmanager
def _remembering(embedder: Embedder) -> Generator[Embedder]:
    """The embedder with its vectors kept in the user's cache; word hashing is quicker than looking up."""
    if isinstance(embedder, CachedEmbedder) or embedder.name.startswith(LEXICAL):
        yield embedder
        return
    cached = CachedEmbedder(embedder)
    try:
        yield cached
    finally:
        cached.close()


def _counts(selection: Selection, rejects: Rejects, content: _Content, imported: int) -> Counts:
    coauthors = [len(one.collaborators) for one in content.scientists]
    return Counts(
        read=selection.read,
        rejected=rejects.total,
        rejected_by_field=dict(rejects.by_field),
        removed=dict(selection.removed),
        past=len(content.past),
        contemporary=len(content.contemporary),
        scientists=len(content.scientists),
        mean_coauthors=round(sum(coauthors) / len(coauthors), 2),
        without_citations=selection.spool.without_citations(),
        interests_by=dict(content.interests_by),
        vectors_imported=imported,
    )


def _fingerprint(content: _Content, model: str) -> str:
    digest = hashlib.blake2b(model.encode(), digest_size=16)
    scientists = (one.model_dump_json() for one in content.scientists)
    for record in chain(
        content.past.records(), ["contemporary"], content.contemporary.records(), ["scientists"], scientists
    ):
        digest.update(record.encode() + b"\n")
    return digest.hexdigest()


def _write_lines(path: Path, records: Iterable[BaseModel]) -> None:
    """A JSON array with a record a line, one at a time."""
    with path.open("w", encoding="utf-8") as file:
        for number, record in enumerate(records):
            file.write(("[" if number == 0 else ",") + "\n " + record.model_dump_json())
        file.write("\n]\n")


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
