"""A corpus at the time one of its papers was written: the papers that could be found then, and the paper's references."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from manyheads.base.errors import MeasureError
from manyheads.base.papers import Paper, fold
from manyheads.corpus.database import LiteratureDatabase, Scope
from manyheads.corpus.graph import Citations
from manyheads.corpus.vectors import whole_vector
from manyheads.judges.retrieval_recall.config import RecallConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Case:
    """A paper under test.

    Attributes:
        text: the query.
        query: the kind of query, such as the background.
        vector: (dim,) of the text, normalised.
        scope: the papers that the database may find and count; the same as `open`.
        open: by place on the shelf, whether a paper could be found.
        truth: its references among them.
        core: whether these are the references of its introduction and method.
    """

    paper: Paper
    text: str
    query: Literal["background", "abstract", "title"]
    vector: "Vectors"
    scope: Scope
    open: "Mask"
    truth: tuple[str, ...]
    core: bool


@dataclass
class Shelf:
    """The n papers of a database in memory, in a fixed order, with vectors, years and citations."""

    database: LiteratureDatabase
    papers: list[Paper] = field(default_factory=list[Paper])
    places: dict[str, int] = field(default_factory=dict[str, int])
    contemporary: set[str] = field(default_factory=set[str])
    citations: dict[str, Citations] = field(default_factory=dict[str, Citations])
    cited_by: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    twins: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Papers by the letters of their titles."""

    @classmethod
    def of(cls, database: LiteratureDatabase) -> "Shelf":
        """Read a whole corpus; 200,000 papers have 300 MB of vectors."""
        import numpy as np

        shelf, vectors = cls(database), list[Any]()
        for record in database.ecosystem.papers.store.scroll(vectors=True):
            payload = record.payload
            paper = Paper.model_validate({key: payload.get(key) or "" for key in ("id", "title", "abstract")})
            shelf.places[paper.id] = len(shelf.papers)
            shelf.papers.append(paper.model_copy(update={"year": payload.get("year")}))
            vectors.append(record.vector)
            shelf.twins.setdefault(fold(paper.title), []).append(paper.id)
            if payload.get("period") == "contemporary":
                shelf.contemporary.add(paper.id)
        shelf.vectors = np.array(vectors, dtype=np.float32).reshape(-1, database.ecosystem.embedder.dim)
        shelf.years = np.array([-1 if one.year is None else one.year for one in shelf.papers], dtype=np.int32)
        shelf.citations = database.graph.citations([*shelf.places])
        for paper, cited in shelf.citations.items():
            for other in cited.all:
                shelf.cited_by.setdefault(other, set()).add(paper)
        return shelf

    def __post_init__(self) -> None:
        self.vectors: Any = None
        """(n, dim), normalised."""
        self.years: Any = None
        """(n,), -1 if unknown."""

    def barred(self, paper: Paper) -> frozenset[str]:
        """Papers hidden while a paper is under test, whatever their year: the paper itself, since its references and entities
        would give the answer away; its twins, which may be versions of it with the same references; and papers that cite
        it, which are later, unless it cites them too."""
        later = self.cited_by.get(paper.id, set()) - {*self._cited(paper.id).all}
        return frozenset({paper.id, *self.twins[fold(paper.title)], *later})

    def open(self, paper: Paper) -> "Mask":
        """(n,): whether each paper could be found when a paper was written: of its year or before, and not barred."""
        import numpy as np

        mask = np.ones(len(self.papers), dtype=bool) if paper.year is None else self.years <= paper.year
        mask[[self.places[one] for one in self.barred(paper) if one in self.places]] = False
        return mask

    def truth(self, paper: Paper, mask: "Mask") -> tuple[tuple[str, ...], bool]:
        """The references of a paper that could be found: those of introduction and method if known, else all; and whether
        they are known (§4.4)."""
        cited = self._cited(paper.id)
        found = tuple(one for one in (cited.core or cited.all) if mask[self.places[one]])
        return found, bool(cited.core)

    def _cited(self, paper: str) -> Citations:
        return self.citations.get(paper, Citations(()))

    def eligible(self, config: RecallConfig) -> list[Paper]:
        """Papers that can be tested, by id: those with enough references that could be found.

        Raises:
            MeasureError: there is none.
        """
        drawn = [
            one
            for one in sorted(self.papers, key=lambda one: one.id)
            if (config.period == "any" or one.id in self.contemporary)
            and len(self._cited(one.id).all) >= config.least
            and len(self.truth(one, self.open(one))[0]) >= config.least
        ]
        if not drawn:
            folder, known = self.database.ecosystem.folder, sum(map(bool, self.citations.values()))
            raise MeasureError(
                f"{folder}: no paper cites {config.least} earlier papers of this corpus",
                tried=f"{len(self.papers):,} papers, {known:,} of them with known citations",
                hint="build a corpus from a dataset with references, such as JSON Lines with `references`, unarXive or "
                "full texts; or require fewer: --set retrieval-recall.least=1",
            )
        return drawn

    def cases(self, config: RecallConfig, rng: random.Random) -> tuple[list[Case], int]:
        """The papers under test, by id, and how many could have been drawn. Raises `MeasureError` if there are none."""
        every = self.eligible(config)
        drawn = rng.sample(every, min(config.sample, len(every)))
        return [self._case(one, config) for one in sorted(drawn, key=lambda one: one.id)], len(every)

    def _case(self, paper: Paper, config: RecallConfig) -> Case:
        record = self.database.records([paper.id]).get(paper.id)
        text, query = paper.title, "title"
        if config.query == "background" and record and record.background.strip():
            text, query = record.background, "background"
        elif paper.abstract.strip():
            text, query = paper.abstract, "abstract"
        mask = self.open(paper)
        truth, core = self.truth(paper, mask)
        years = None if paper.year is None else (None, paper.year + 1)
        scope = Scope(years, None, self.barred(paper))
        vector = whole_vector(self.database.ecosystem.embedder, text)
        return Case(paper, text, query, vector, scope, mask, truth, core)  # pyright: ignore[reportArgumentType]

    def near(self, vector: "Vectors", mask: "Mask", most: int | None = None) -> list[str]:
        """The papers of a mask with the abstracts nearest to a vector, best first, by exact search."""
        import numpy as np

        scores = np.where(mask, self.vectors @ vector, -2.0)
        order: list[int] = np.argsort(-scores, kind="stable")[:most].tolist()
        return [self.papers[place].id for place in order if mask[place]]

    def mask_of(self, papers: Sequence[str], within: "Mask") -> "Mask":
        """(n,): the given papers that are within a mask."""
        import numpy as np

        mask = np.zeros(len(self.papers), dtype=bool)
        mask[[self.places[one] for one in papers]] = True
        return mask & within
