"""What texts are compared with: a built corpus, or the literature services, as named or as in the runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.base.errors import ConfigError, CorpusError, EmbeddingError, MeasureError
from manyheads.base.papers import fold
from manyheads.config import LiteratureConfig
from manyheads.config.files import common
from manyheads.core.results import Part, read_result
from manyheads.corpus.corpora import SHIPPED, resolve_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.layers import parts_of
from manyheads.corpus.meta import Meta, read_meta
from manyheads.corpus.vectors import Embedder
from manyheads.measures.novelty import Normalise
from manyheads.measures.papers import Papers, load_papers, load_titled

if TYPE_CHECKING:
    from manyheads.corpus.building import Progress


@dataclass(frozen=True)
class MeasuringCorpus:
    """A built corpus to measure texts against. Its vectors are mapped from disk; nothing needs closing."""

    folder: Path
    meta: Meta
    model: Embedder
    past: Papers
    contemporary: Papers
    progress: "Progress | None" = None

    def titled_past(self) -> Papers:
        """B_past by title and abstract, see `load_titled`."""
        return load_titled(self.folder, self.meta, self.model, self.progress)

    @classmethod
    def open(
        cls, folder: Path, embedder: Embedder | None = None, progress: "Progress | None" = None
    ) -> "MeasuringCorpus":
        """Open a built corpus, by default with the model that it was built with.

        Raises:
            CorpusError: the folder has no built corpus, or one without contemporary papers, or another process is writing
            to it.
            EmbeddingError: `embedder` is not its model, or its model is not available.
        """
        folder, *_ = parts_of(folder)  # what was published, not what a society wrote
        meta = read_meta(folder)
        if not meta.counts.contemporary:
            raise CorpusError(
                f"{folder}: novelty needs contemporary papers, of {meta.options.bound} or later; it has none",
                hint="build a corpus of papers before and after a --bound, or compare with papers of the services: "
                "--against services",
            )
        model = embedder or load_embedder(meta.embedding.name)
        own = (meta.embedding.name, meta.embedding.dim)
        if (model.name, model.dim) != own:
            raise EmbeddingError(
                f"{folder} was built with {own[0]} ({own[1]} dimensions), not with {model.name} ({model.dim}): "
                "vectors of two models cannot be compared",
                hint=f"choose its model: --set embedding={own[0]}, or build the corpus again",
            )
        papers = load_papers(folder, meta, model, progress)
        return cls(folder, meta, model, papers["past"], papers["contemporary"], progress)

    def ids_by_title(self, titles: Iterable[str]) -> list[str]:
        """Ids of papers with one of these titles, ignoring case and punctuation."""
        keys = {key for title in titles if (key := fold(title))}
        periods = (self.past, self.contemporary)
        pairs = (pair for papers in periods for pair in zip(papers.ids, papers.titles, strict=True))
        return [one for one, title in pairs if fold(title) in keys]


NAME_ONE = "--corpus sample, or a folder made by: manyheads corpus build"


def measuring_corpus(
    paths: Sequence[Path], corpus: str | None, embedding: str | None, progress: "Progress | None" = None
) -> MeasuringCorpus:
    """The corpus `corpus`, else that of the run folders in `paths`, opened with its own model.

    Args:
        embedding: the corpus's model by another name, such as a folder; a shipped corpus is built with it.

    Raises:
        MeasureError: no corpus is named, and the runs have none or several.
        CorpusError: there is no such corpus.
        EmbeddingError: its model is not available, or is not `embedding`.
    """
    runs = [path for path in paths if path.is_dir()]
    named = {corpus} if corpus else {name for run in runs if (name := _corpus_of(run))}
    if not named:
        raise MeasureError("no corpus is named to measure against", hint=NAME_ONE)
    if len(named) > 1:
        raise MeasureError(f"the runs have different corpora: {', '.join(sorted(named))}", hint=NAME_ONE)
    [name] = named
    if name in SHIPPED:
        if not embedding:
            embedding = "auto" if corpus or not runs else common([str(runs[0] / "config.yaml")]).embedding
        built = resolve_corpus(name, embedding=embedding, progress=progress)
        return MeasuringCorpus.open(built, progress=progress)
    model = load_embedder(embedding) if embedding else None
    return MeasuringCorpus.open(resolve_corpus(name), model, progress)


def _corpus_of(run: Path) -> str:
    """The corpus of a run, where its config finds it now."""
    name = read_result(run, Part).corpus
    config = run / "config.yaml"
    return common([str(config)]).corpus if name and config.is_file() else str(name or "")


def normalisation(paths: Sequence[Path]) -> Normalise:
    """The normalisation of the run folders in `paths`; `year` without any.

    Raises:
        MeasureError: the runs have different ones.
        ConfigError: a run has no readable config.
    """
    configs = [path / "config.yaml" for path in paths]
    named: set[Normalise] = {common([str(config)]).normalise for config in configs if config.is_file()}
    if len(named) > 1:
        ways = f"the runs are normalised in different ways: {', '.join(sorted(named))}"
        raise MeasureError(ways, hint="--normalise names one")
    return named.pop() if named else "year"


def measuring_services(
    paths: Sequence[Path], embedding: str | None, sets: Sequence[str] = ()
) -> tuple[LiteratureConfig, Embedder]:
    """The literature config and the model, as in the run folders in `paths`, else the defaults of a run.

    Papers of any time are searched, as in VirSci 2025, App. C.3, unless `literature.before` is a date; the source `local` is
    left out, as it is the corpus.

    Args:
        embedding: the model, if it is not that of the runs.
        sets: `key=value` changes to the runs' configs.

    Raises:
        MeasureError: the runs have different services or models.
        ConfigError: a run has no readable config, or a setting is invalid.
        EmbeddingError: the model is not available.
    """
    names = [[str(path / "config.yaml")] for path in paths if path.is_dir()] or [[]]
    configs = [common(each, ("literature.before=any", *sets)) for each in names]
    if any(config.literature.before.strip() == "bound" for config in configs):
        hint = "--set literature.before=2015, or leave it out to search papers of any time"
        raise ConfigError("literature.before: without a corpus there is no bound", hint=hint)
    cascades = [tuple(name for name in config.literature.cascade if name != "local") for config in configs]
    asked = [config.literature.model_copy(update={"cascade": cascade})
             for config, cascade in zip(configs, cascades, strict=True)]  # fmt: skip
    if len({(one.cascade, tuple(one.endpoints.items())) for one in asked}) > 1:
        hint = "--set literature.cascade=[semantic_scholar]"
        raise MeasureError("the runs ask different services", hint=hint)
    models = {embedding or config.embedding for config in configs}
    if len(models) > 1:
        different = f"the runs have different models: {', '.join(sorted(models))}"
        raise MeasureError(different, hint="--embedding names one")
    return asked[0], load_embedder(models.pop())
