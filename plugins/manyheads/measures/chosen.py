"""What texts are measured against: what is named, or the corpus or services of the runs that wrote them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.bank.embedding import load_embedder
from manyheads.bank.named import SHIPPED, resolve_corpus
from manyheads.bank.vectors import Embedder
from manyheads.config import LiteratureConfig
from manyheads.errors import ConfigError, MeasureError
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


def chosen_services(
    paths: Sequence[Path], embedding: str | None, sets: Sequence[str] = ()
) -> tuple[LiteratureConfig, Embedder]:
    """How the services are asked, and the model: as the run folders among `paths` did, else as a run does by default.

    Papers of any time are looked for, as in VirSci 2025, App. C.3, unless `literature.before` is set to a date; the
    source `local` is left out, it is the corpus.

    Args:
        embedding: the model, if it is not that of the runs.
        sets: `key=value` changes to the runs' configs.

    Raises:
        MeasureError: the runs ask in different ways, or have different models.
        ConfigError: a run has no readable config, or a setting is wrong.
        EmbeddingError: the model is not to be had.
    """
    from manyheads.config import load

    names = [str(path / "config.yaml") for path in paths if path.is_dir()] or ["virsci"]
    configs = [load([name], ("literature.before=any", *sets)) for name in names]
    asked = [_beyond_the_corpus(config.literature) for config in configs]
    if len({(one.cascade, tuple(one.endpoints.items())) for one in asked}) > 1:
        raise MeasureError(
            "the runs ask different services", hint="--set literature.cascade=[semantic_scholar]"
        )
    models = {embedding or config.embedding for config in configs}
    if len(models) > 1:
        raise MeasureError(
            f"the runs have different models: {', '.join(sorted(models))}", hint="--embedding names one"
        )
    return asked[0], load_embedder(models.pop())


def _beyond_the_corpus(config: LiteratureConfig) -> LiteratureConfig:
    if config.before.strip() == "bound":
        raise ConfigError(
            "literature.before: there is no corpus whose year could be the bound",
            hint="--set literature.before=2015, or leave it out for papers of any time",
        )
    cascade = tuple(name for name in config.cascade if name != "local")
    return config.model_copy(update={"cascade": cascade})
