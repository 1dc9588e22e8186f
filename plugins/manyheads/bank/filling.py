"""Filling a corpus's two banks: papers with their vectors, imported or made, and the scientists' profiles."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

from manyheads.bank.collection import CHUNK, Collection, Item
from manyheads.bank.knowledge import KnowledgeBank, paper_text
from manyheads.bank.meta import AUTHORS
from manyheads.bank.profiles import profile_text
from manyheads.bank.records import Paper, Period, Scientist
from manyheads.bank.vector_files import VectorFile
from manyheads.bank.vectors import Embedder
from manyheads.errors import EmbeddingError

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


def counted(things: Iterable[_T], step: str, tell: Progress) -> Iterator[_T]:
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
