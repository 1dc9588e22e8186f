"""Building a corpus: read, select, mask, profile, embed; then the folder appears, whole."""

import hashlib
import json
import shutil
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from manyheads.bank.corpus import RawPaper, Reader, Rejects
from manyheads.bank.filling import Progress, fill_papers, fill_scientists
from manyheads.bank.jsonlines import JsonLines
from manyheads.bank.knowledge import PAPERS
from manyheads.bank.locks import FolderLock
from manyheads.bank.masking import Masker, assign_masks
from manyheads.bank.meta import AUTHORS, META, NAMES, REJECTS, SCIENTISTS, Counts, EmbeddingMeta, Meta
from manyheads.bank.options import BuildOptions
from manyheads.bank.profiles import profile
from manyheads.bank.records import Paper, Period, Scientist
from manyheads.bank.selection import Selection, select
from manyheads.bank.vector_cache import CachedEmbedder
from manyheads.bank.vectors import LEXICAL, Embedder
from manyheads.errors import CorpusError

READING, PROFILING = "reading papers", "profiling scientists"
TOLD_EVERY = 1000


@dataclass(frozen=True)
class _Content:
    """All that a corpus holds, masked."""

    past: list[Paper]
    contemporary: list[Paper]
    scientists: list[Scientist]
    names: dict[str, str]
    from_keywords: int


def build_corpus(
    source: Path | Reader,
    target: Path,
    options: BuildOptions,
    embedder: Embedder,
    *,
    name: str | None = None,
    vectors: tuple[Path, Path] | None = None,
    progress: Progress | None = None,
) -> None:
    """See `Ecosystem.build`. Everything is written to `<target>.partial`, which is renamed at the end."""
    started, tell = time.monotonic(), progress or _quiet
    reader = JsonLines(source) if isinstance(source, Path) else source
    _need_free(target)
    partial = target.with_name(target.name + ".partial")
    with _disk_trouble_said(partial), ExitStack() as held:
        lock = FolderLock.writer(partial)
        held.callback(lock.release)
        _clear(partial)
        rejects = Rejects()
        selection = _read(reader, partial, options, rejects, tell)
        content = _mask_and_profile(selection, options, tell)
        model = held.enter_context(_remembering(embedder))
        papers: dict[Period, list[Paper]] = {"past": content.past, "contemporary": content.contemporary}
        imported = fill_papers(partial, papers, model, vectors, tell)
        fill_scientists(partial, content.scientists, model, tell)
        _write_json(partial / SCIENTISTS, [one.model_dump(mode="json") for one in content.scientists])
        _write_json(partial / NAMES, content.names)
        meta = Meta(
            name=name or target.name,
            source=reader.name,
            options=options,
            past_years=_years(content.past),
            contemporary_years=_years(content.contemporary),
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
    reader: Reader, partial: Path, options: BuildOptions, rejects: Rejects, tell: Progress
) -> Selection:
    """Read and select; a source that cannot be used leaves nothing behind."""
    try:
        with (partial / REJECTS).open("w", encoding="utf-8") as rejects.log:
            return select(_told(reader.papers(rejects), tell), options, rejects)
    except CorpusError:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _told(papers: Iterable[tuple[int, RawPaper]], tell: Progress) -> Iterator[tuple[int, RawPaper]]:
    done = 0
    for done, paper in enumerate(papers, 1):
        if done % TOLD_EVERY == 0:
            tell(READING, done, None)
        yield paper
    tell(READING, done, done)


def _mask_and_profile(selection: Selection, options: BuildOptions, tell: Progress) -> _Content:
    tell(PROFILING, 0, len(selection.authors))
    masks = assign_masks(selection.authors, options.seed)
    masker = Masker(masks)
    past = [masker.wording(paper) for paper in selection.past]
    scientists, from_keywords = profile(past, masks)
    tell(PROFILING, len(scientists), len(scientists))
    return _Content(
        past=[masker.paper(paper) for paper in past],
        contemporary=[masker.paper(masker.wording(paper)) for paper in selection.contemporary],
        scientists=scientists,
        names={mask: real for real, mask in masks.items()},
        from_keywords=from_keywords,
    )


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
        interests_from_keywords=content.from_keywords,
        vectors_imported=imported,
    )


def _years(papers: Sequence[Paper]) -> tuple[int, int]:
    years = [paper.year for paper in papers]
    return min(years), max(years)


def _fingerprint(content: _Content, model: str) -> str:
    digest = hashlib.blake2b(model.encode(), digest_size=16)
    for record in chain(
        content.past, ["contemporary"], content.contemporary, ["scientists"], content.scientists
    ):
        digest.update((record if isinstance(record, str) else record.model_dump_json()).encode() + b"\n")
    return digest.hexdigest()


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _quiet(step: str, done: int, total: int | None) -> None:
    """No one listens."""
