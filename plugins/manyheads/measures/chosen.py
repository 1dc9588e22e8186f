"""Which corpus texts are measured against: the one that is named, or that of the runs that wrote them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.bank.embedding import load_embedder
from manyheads.bank.named import SHIPPED, resolve_corpus
from manyheads.errors import MeasureError
from manyheads.measures.measure import MeasuringCorpus
from manyheads.subjects import read_result

if TYPE_CHECKING:
    from manyheads.bank.filling import Progress

NAME_ONE = "--corpus sample, or a folder made by: manyheads corpus build"


def chosen_corpus(
    paths: Sequence[Path], corpus: str | None, embedding: str | None, progress: "Progress | None" = None
) -> MeasuringCorpus:
    """The corpus `corpus`, else that of the run folders among `paths`, opened with its own model.

    Args:
        embedding: another way to find the corpus's model, such as a folder; a shipped corpus is built with it.

    Raises:
        MeasureError: no corpus is named, and the runs have none or several.
        CorpusError: there is no such corpus.
        EmbeddingError: its model is not to be had, or not the one of `embedding`.
    """
    runs = [path for path in paths if path.is_dir()]
    name = corpus or _of_runs(runs)
    if name in SHIPPED:
        choice = embedding or (_embedding_of(runs[0]) if runs and corpus is None else "auto")
        return MeasuringCorpus.open(
            resolve_corpus(name, embedding=choice, progress=progress), progress=progress
        )
    model = load_embedder(embedding) if embedding else None
    return MeasuringCorpus.open(resolve_corpus(name), model, progress)


def _of_runs(runs: Sequence[Path]) -> str:
    named = {str(name) for run in runs if (name := read_result(run).get("corpus"))}
    if not named:
        raise MeasureError("no corpus is named to measure against", hint=NAME_ONE)
    if len(named) > 1:
        raise MeasureError(f"the runs have different corpora: {', '.join(sorted(named))}", hint=NAME_ONE)
    return named.pop()


def _embedding_of(run: Path) -> str:
    from manyheads.config import load

    return load([str(run / "config.yaml")]).embedding
