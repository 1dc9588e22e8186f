"""Building a corpus: read, select, mask, profile, embed; then the folder appears, whole."""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pydantic import BaseModel

from manyheads.bank.corpus import RawPaper, Reader, Rejects
from manyheads.bank.filling import Progress, counted, fill_papers, fill_scientists
from manyheads.bank.jsonlines import JsonLines
from manyheads.bank.knowledge import PAPERS
from manyheads.bank.locks import FolderLock
from manyheads.bank.masking import Masker, assign_masks
from manyheads.bank.meta import AUTHORS, META, NAMES, REJECTS, SCIENTISTS, Counts, EmbeddingMeta, Meta
from manyheads.bank.names import shown, spellings
from manyheads.bank.options import BuildOptions
from manyheads.bank.profiles import Condense, profile
from manyheads.bank.records import Paper, Period, Scientist
from manyheads.bank.selection import Selection, select
from manyheads.bank.spool import SPOOL, Spool, Spooled
from manyheads.bank.vector_cache import CachedEmbedder
from manyheads.bank.vectors import LEXICAL, Embedder
from manyheads.errors import CorpusError, UserError

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
    started, tell = time.monotonic(), progress or _quiet
    reader = JsonLines(source) if isinstance(source, Path) else source
    _need_free(target)
    partial = target.with_name(target.name + ".partial")
    with _disk_trouble_said(partial), ExitStack() as held:
        lock = FolderLock.writer(partial)
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
            papers = counted(reader.papers(rejects), READING, tell)
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
        names={mask: shown(key, known[key], selection.known) for key, mask in masks.items()},
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


def _quiet(step: str, done: int, total: int | None) -> None:
    """No one listens."""
