"""CD and CI of texts against what the literature services know of their ideas (VirSci 2025, App. C.3; 2024, §4.2)."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manyheads.bank.vectors import Embedder
from manyheads.config import LiteratureConfig
from manyheads.errors import LiteratureError
from manyheads.literature.cascade import ignore
from manyheads.literature.gathered import Note
from manyheads.literature.libraries import open_library, window
from manyheads.literature.library import Library
from manyheads.measures.measure import unread
from manyheads.measures.novelty import NEIGHBOURS
from manyheads.measures.papers import Papers
from manyheads.measures.results import Retrieval, Score, alike, told
from manyheads.measures.retrieval import RETRIEVED, LeftOut, Retrieved, leaving_out, query_of, retrieve
from manyheads.measures.side import Normalise, look
from manyheads.subjects import Subject

Values = dict[str, Any]
"""Fields of a `Score`."""
TIMELESS = "what services find is not parted into past and contemporary papers, as a corpus is"


@dataclass(frozen=True)
class _How:
    neighbours: int
    normalise: Normalise
    wanted: int
    left_out: LeftOut


class MeasuringServices:
    """Literature services to measure texts against.

    Args:
        library: its own sources, dates and patience kept.
        config: what the library was opened by.
        model: embeds texts and abstracts.
    """

    def __init__(self, library: Library, config: LiteratureConfig, model: Embedder) -> None:
        self._library, self._config, self._model = library, config, model

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: LiteratureConfig, model: Embedder, *, note: Note = ignore, cache: Path | None = None
    ) -> "AsyncGenerator[MeasuringServices]":
        """Open the services of a config; see `open_library`. None is contacted before a text is measured."""
        library = open_library(config, note=note, cache=cache)
        try:
            yield cls(library, config, model)
        finally:
            await library.close()

    async def scores(
        self,
        subjects: Sequence[Subject],
        *,
        neighbours: int = NEIGHBOURS,
        normalise: Normalise = "database",
        wanted: int = RETRIEVED,
        exclude: Collection[str] = (),
        exclude_same_title: bool = False,
    ) -> list[Score]:
        """CD and CI of each text against the papers that its own idea, as a query, retrieves.

        CD is the mean Euclidean distance to the `neighbours` nearest of the papers retrieved, CI the mean citation
        count of these. HD and ON are not there: they need a past. Each neighbour's value is divided as in `novelty`
        by a mean of the same text's: over all papers retrieved for it (`database`), over those of the neighbour's
        year (`year`, which says little: of fifty papers few are of one year, and one alone in its year is divided by
        itself), or by nothing (`none`). The papers retrieved all lie near the text, so that its normalised CD is
        nearer to 1 than against a corpus: the two are not to be compared.

        A text for which too few papers were found, or no source could be asked, has no CD and CI, and says why.

        Args:
            wanted: how many papers with abstract and year to retrieve for each text.
            exclude: ids of papers that do not count.
            exclude_same_title: whether papers do not count that bear the title of one of the texts.

        Raises:
            LiteratureError: no source could be asked for any of the texts.
            EmbeddingError: the model cannot be loaded.
        """
        titles = [one.title for one in subjects] if exclude_same_title else []
        how = _How(neighbours, normalise, wanted, leaving_out(exclude, titles))
        found, failures = list[Score](), list[LiteratureError]()
        for subject in subjects:
            query = query_of(subject)
            try:
                retrieved = await retrieve(self._library, query, wanted, how.left_out)
                values = self._held_against(retrieved, subject, how)
            except LiteratureError as error:
                failures.append(error)
                retrieved, values = self._unanswered(error)
            found.append(self._score(subject, query, how, retrieved, values))
        if failures and len(failures) == len(subjects):
            raise failures[0]
        return found

    def _held_against(self, retrieved: Retrieved, subject: Subject, how: _How) -> Values:
        if (known := len(retrieved.papers)) < how.neighbours:
            return _nothing(
                f"{known} papers with abstract and year were found, {how.neighbours} neighbours are asked for"
            )
        vectors = self._model.embed([subject.text, *(paper.abstract for paper in retrieved.papers)])
        rows = [(one.id, one.title, one.year, one.citations) for one in retrieved.papers]
        ids, titles, years, citations = zip(*rows, strict=True)
        papers = Papers.of(ids, titles, years, citations, vectors[1:])
        side = look(vectors[:1], papers, how.neighbours, how.normalise, called="retrieved")
        found, near = {"cd": side.dissimilarity(0), "ci": side.impact(0)}, side.papers_near(0)
        return {
            **{name: None if isinstance(value, str) else value for name, value in found.items()},
            "missing": {name: why for name, why in found.items() if isinstance(why, str)},
            "contemporary": near,
            "itself": alike(subject, near),
        }

    def _unanswered(self, error: LiteratureError) -> tuple[Retrieved, Values]:
        silent = tuple(name for name in self._config.cascade if name in error.source.split(", "))
        return Retrieved((), (), 0, 0, (), silent), _nothing(error.message)

    def _score(self, subject: Subject, query: str, how: _How, retrieved: Retrieved, values: Values) -> Score:
        retrieval = Retrieval(
            query=query,
            queries=retrieved.queries,
            wanted=how.wanted,
            found=retrieved.found,
            incomplete=retrieved.incomplete,
            compared=len(retrieved.papers),
            sources=self._config.cascade,
            dates=str(window(self._config)) or "any",
            degraded=retrieved.degraded,
        )
        made: Values = {
            "missing": {"hd": TIMELESS, **values["missing"], "on": "no HD"},
            "unread": unread(self._model, [subject.text])[0],
            "neighbours": how.neighbours,
            "normalise": how.normalise,
            "against": "services",
            "retrieval": retrieval,
            "embedding": self._model.name,
            "excluded": retrieved.excluded,
        }
        return Score.model_validate({**told(subject), **values, **made})


def _nothing(why: str) -> Values:
    return {"cd": None, "ci": None, "missing": {"cd": why, "ci": why}}
