"""The knowledge bank of papers: what a team retrieves from (VirSci 2025, §3.1, B_past and B_con)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as Ids
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from manyheads.bank.closing import Closing
from manyheads.bank.collection import Collection, Item
from manyheads.bank.records import Hit, Paper, Period
from manyheads.bank.store import Filter, Found, Payload
from manyheads.bank.vectors import Embedder

if TYPE_CHECKING:
    from manyheads.bank.vectors import Vectors

Years: TypeAlias = tuple[int | None, int | None]
Where: TypeAlias = Mapping[str, str | int]

PAPERS = "papers"
_FIELDS = set(Paper.model_fields)


class KnowledgeBank(Closing):
    """Papers found by meaning, year and any other of their fields.

        from manyheads.bank.embedding import load_embedder
        with KnowledgeBank.create("my-bank", load_embedder()) as bank:
            bank.add([Paper(id="p1", title="Robust retrieval", abstract="We …", year=2014)], period="past")
            [hits] = await bank.search(["retrieval for robots"], k=5, years=(2010, 2015))
            print([(hit.paper.title, hit.score) for hit in hits])

    `years` is half open: `(2010, 2015)` means 2010 to 2014; None leaves an end open. What is embedded of a
    paper is its abstract, or its title where the abstract is empty.
    """

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    @classmethod
    def create(cls, place: str | Path, embedder: Embedder, *, name: str = PAPERS) -> Self:
        """A new bank in a folder, on a Qdrant server (URL) or in `:memory:`.

        Raises:
            CorpusError: there is one already, or the place cannot be written or reached.
        """
        keywords = ("period", "venue", "authors")
        return cls(Collection.create(place, embedder, name=name, integers=("year",), keywords=keywords))

    @classmethod
    def open(
        cls, place: str | Path, embedder: Embedder, *, name: str = PAPERS, read_only: bool = False
    ) -> Self:
        """An existing bank; `read_only` lets several processes read one folder at the same time.

        Raises:
            CorpusError: there is none, or another process has it.
            EmbeddingError: the bank was built with another model.
        """
        return cls(Collection.open(place, embedder, name=name, read_only=read_only))

    def add(
        self,
        papers: Iterable[Paper],
        vectors: "Vectors | None" = None,
        progress: Callable[[int], None] | None = None,
        *,
        period: Period | None = None,
    ) -> int:
        """Embed and store papers, replacing those of the same id; the number of papers.

        Args:
            vectors: (n, dim) of the n papers in their order, to embed nothing.
            progress: told how many more are safely stored.
            period: kept beside the papers, for `where={"period": "past"}`.
        """
        return self.collection.add((_item(paper, period) for paper in papers), vectors, progress)

    async def search(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        years: Years | None = None,
        where: Where | None = None,
        exclude: Ids[str] = (),
    ) -> list[list[Hit]]:
        """The k papers nearest to each query, best first; one embedding and one look-up for all queries."""
        found = await self.collection.search(queries, k, _filter(years, where, exclude))
        return [_hits(one) for one in found]

    def search_vectors(
        self,
        vectors: "Vectors",
        k: int = 5,
        *,
        years: Years | None = None,
        where: Where | None = None,
        exclude: Ids[str] = (),
    ) -> list[list[Hit]]:
        """The same for vectors, (q, dim); blocks."""
        return [
            _hits(one) for one in self.collection.search_vectors(vectors, k, _filter(years, where, exclude))
        ]

    def get(self, ids: Sequence[str]) -> dict[str, Paper]:
        """Papers by id; unknown ids are not in the result."""
        return {one: _paper(record.payload) for one, record in self.collection.get(ids).items()}

    def papers(self, *, years: Years | None = None, where: Where | None = None) -> Iterator[Paper]:
        """All papers, or those of the years and fields given."""
        for record in self.collection.scroll(_filter(years, where, ())):
            yield _paper(record.payload)

    def count(self, *, years: Years | None = None, where: Where | None = None) -> int:
        """How many papers there are, of the years and fields given."""
        return self.collection.count(_filter(years, where, ()))

    def close(self) -> None:
        """Free the place for others."""
        self.collection.close()


def paper_text(paper: Paper) -> str:
    """What stands for a paper when it is embedded."""
    return paper.abstract.strip() or paper.title


def _item(paper: Paper, period: Period | None) -> Item:
    payload: Payload = paper.model_dump(mode="json")
    return Item(paper.id, paper_text(paper), payload if period is None else {**payload, "period": period})


def _paper(payload: Payload) -> Paper:
    return Paper.model_validate({key: value for key, value in payload.items() if key in _FIELDS})


def _hits(found: list[Found]) -> list[Hit]:
    return [Hit(_paper(one.payload), one.score) for one in found]


def _filter(years: Years | None, where: Where | None, exclude: Ids[str]) -> Filter:
    return Filter(
        equals=dict(where or {}),
        ranges={} if years is None else {"year": years},
        exclude=frozenset(exclude),
    )
