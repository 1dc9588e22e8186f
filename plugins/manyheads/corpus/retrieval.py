"""Retrieval: papers of a corpus that may help with a background, found by meaning, by entities and by co-citation, each with its
reasons; clusters of similar papers (SciPIP, §3.2).

with Ecosystem.open(Path("corpora/mine")) as ecosystem:
    database = LiteratureDatabase.of(ecosystem)
    database.store_records(extractions)
    found = await database.retrieve("Grasping of unknown objects is …", RetrievalConfig(papers=20))
    print([(one.paper.title, [channel.reason for channel in one.channels]) for one in found.papers])
"""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from manyheads.base.errors import CorpusError
from manyheads.base.papers import Hit, Paper, Period, fold
from manyheads.config import RetrievalConfig
from manyheads.corpus.database import BACKGROUND, IDEAS, RECORDS, SUMMARY, RecordBook, Records
from manyheads.corpus.digest import RECIPE
from manyheads.corpus.ecosystem import Ecosystem, Years
from manyheads.corpus.graph import Network
from manyheads.corpus.inspirations import Channel, Inspiration, Inspirations, fused
from manyheads.corpus.phrases import STOP_WORDS
from manyheads.corpus.stores import Filter
from manyheads.corpus.vectors import unit_rows, unread
from manyheads.corpus.words import WordIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from manyheads.corpus.graph import Mask, Numbers

    Rows = NDArray[np.floating[Any]]


MOST_REASONS = 5
"""Maximum reasons shown per paper and channel, strongest first."""
MOST_COMPARED = 4000
"""Maximum papers to cluster: 64 MB of similarities. Later papers form clusters of their own."""
_ROUNDING = 1e-6
_WORD = re.compile(r"[^\W_]+")
_PHRASE = 5
"""Maximum words of a background's phrase that is looked up as an entity."""
_FOREIGN = (20, 0.12)
"""Minimum words, and minimum share of English stop words, for a text to count as English: English texts have a third and
more."""


@dataclass(frozen=True)
class Scope:
    """Which papers may be found.

    Papers outside the period, from the second year on, or excluded are treated as absent: their citations and entities do not
    count either, so that no later paper influences which earlier ones are related.

    Args:
        years: from the first year to before the second.
        period: None for all papers.
        exclude: ids.
    """

    years: Years | None = None
    period: Period | None = "past"
    exclude: frozenset[str] = frozenset()


PAST = Scope()


class _View(NamedTuple):
    """The graph for one look-up: papers whose citations and entities count, and those that may be found."""

    network: Network
    visible: "Mask"
    candidates: "Mask"


class LiteratureDatabase(RecordBook):
    """The records of a corpus and their retrieval. Created by `of`; threads may share it."""

    def __init__(self, ecosystem: Ecosystem) -> None:
        super().__init__(ecosystem)
        self._words: tuple[WordIndex, Numbers] | None = None
        self._complete = False
        """Whether every paper has a record, see `ready`."""

    @classmethod
    def of(cls, ecosystem: Ecosystem) -> "LiteratureDatabase":
        """The database of a corpus, shared by all callers; closed with the corpus."""
        return ecosystem.parts.setdefault(RECORDS, cls(ecosystem))  # pyright: ignore[reportReturnType]

    @classmethod
    def ready(
        cls, ecosystem: Ecosystem, say: Callable[[str], None] = lambda line: None
    ) -> "LiteratureDatabase":
        """The database of a corpus; if no record is by a model, papers without a record first get a lexical one, of which `say`
        receives a line. Raises `CorpusError` if there are no records, and none can be written."""
        database = cls.of(ecosystem)

        def missing() -> list[str]:
            own = all(one.name == RECIPE for one in database.graph.recipes())
            return database.graph.missing() if own else []

        if not database._complete and missing():
            with database.extracting(wait=True):
                if papers := missing():  # unless another process was first
                    say(
                        f"corpus {ecosystem.meta.name}: {len(papers):,} papers have no records yet: they are extracted without a "
                        f"model; a model gives better ones: manyheads corpus extract {ecosystem.folder} --model PROVIDER/NAME"
                    )
                    database.extract(papers)
        database._complete = True
        return database

    def close(self) -> None:
        with self._lock:
            super().close()
            self._words = None

    async def retrieve(
        self,
        background: str,
        options: RetrievalConfig | None = None,
        entities: Sequence[str] | None = None,
        *,
        synonyms: Sequence[str] = (),
        scope: Scope = PAST,
    ) -> Inspirations:
        """Papers that may help with a background, each with its reasons; `Inspirations` describes the order.

        Args:
            background: of any length; beyond the model's limit it is embedded in parts.
            entities: those of the background. If omitted, the database's entities that occur in it.
            synonyms: more entities, such as synonyms.
        """
        if not background.strip():
            raise CorpusError("the background is empty", hint="describe the subject in a sentence or more")
        return await asyncio.to_thread(
            self._retrieve, background, options or RetrievalConfig(), entities, synonyms, scope
        )

    def _retrieve(
        self,
        background: str,
        options: RetrievalConfig,
        entities: Sequence[str] | None,
        synonyms: Sequence[str],
        scope: Scope,
    ) -> Inspirations:
        view = self._view(scope)
        notes = [*self._notes(background, options, view)]
        names: list[str] = []
        similar: dict[str, float] = {}
        rankings: list[dict[str, list[Channel]]] = []
        if "semantic" in options.how:
            [similar] = self._by_meaning([background], options.semantic, scope)
            rankings.append({one: [Channel("semantic", similarity=score)] for one, score in similar.items()})
        if "bm25" in options.how:
            index, rows = self._word_index(view)
            scores = index.nearest(background, options.bm25, view.candidates[rows])
            rankings.append({one: [Channel("bm25", score=score)] for one, score in scores.items()})
        if "entity" in options.how:
            given = _phrases(background) if entities is None else entities
            own = {*self.graph.entity_numbers(given).values()}
            every = own.union(self.graph.entity_numbers(synonyms).values())
            names, holders = self._by_entity(every, [*similar][: options.entity_hits], options, view)
            if not own:
                notes.append(
                    "the background contains no entity of the database: only entities of similar papers are used"
                )
            near = self._similarities(background, [*holders])
            order = sorted(holders, key=lambda one: -near.get(one, -2.0))
            rankings.append({one: holders[one] for one in order})
        if "cocitation" in options.how and view.network.citations:
            before = [*dict.fromkeys(one for ranking in rankings for one in ranking)]
            rankings.append(self._by_cocitation(before, options.cocited, view))
        channels = defaultdict[str, list[Channel]](list)
        for ranking in rankings:
            for one, reasons in ranking.items():
                channels[one] += reasons[:MOST_REASONS]
        scores = fused(rankings, options.fusion)
        order = sorted(channels, key=lambda one: (-scores[one], -similar.get(one, -2.0), one))
        best = order[: options.papers]
        # a paper cited with one of these was found too, but may come after the last of them
        beside = (each.cited_with for one in best for each in channels[one] if each.cited_with)
        papers = self.papers([*dict.fromkeys((*best, *beside))])
        return Inspirations(
            papers=tuple(
                Inspiration(papers[one], tuple(_titled(channels[one], papers)), scores[one])
                for one in best
                if one in papers
            ),
            entities=tuple(names),
            notes=tuple(notes),
            total=len(order),
        )

    # By meaning.

    async def semantic(
        self, queries: Sequence[str], k: int, scope: Scope = PAST, using: str = BACKGROUND
    ) -> list[list[Hit]]:
        """The k papers with the most similar backgrounds, or another text among the names of `Records`, for each query, best first
        (Eq. 2)."""

        def look_up() -> list[list[Hit]]:
            hits = self._by_meaning(queries, k, scope, using)
            papers = self.papers({one for some in hits for one in some})
            return [[Hit(papers[one], score) for one, score in some.items()] for some in hits]

        return await asyncio.to_thread(look_up)

    def _by_meaning(
        self, queries: Sequence[str], k: int, scope: Scope, using: str = BACKGROUND
    ) -> list[dict[str, float]]:
        vectors = self.ecosystem.papers.queries.embed(queries)
        period = {"period": scope.period} if scope.period else {}
        where = Filter(period, {} if scope.years is None else {"year": scope.years}, scope.exclude)
        with self._open_records() as bank:
            answers = bank.store.query(vectors, k, where, using=using)
        return [{one.id: one.score for one in records} for records in answers]

    def _similarities(self, background: str, papers: Sequence[str]) -> dict[str, float]:
        """The similarity of the backgrounds of these papers, where they have one."""
        [vector] = self.ecosystem.papers.queries.embed([background])
        with self._open_records() as bank:
            records = bank.store.get(papers, vectors=[BACKGROUND])
        return {one: float(row @ vector) for one, each in records.items() for row in each.vectors.values()}

    # By entities.

    def entities_in(self, text: str) -> dict[str, int]:
        """The database's entities that occur in a text, with their numbers of records; nested entities count both."""
        return self.graph.entity_counts(_phrases(text))

    def entities_near(
        self, entities: Iterable[str], options: RetrievalConfig, scope: Scope = PAST
    ) -> dict[str, list[str]]:
        """These entities and those that occur with one of them in at least `together` papers; the rarest of all, rarest first, each
        with the papers that have it in their record, title or abstract (Eq. 3)."""
        view = self._view(scope)
        numbers = _within(self.graph.entity_numbers(entities).values(), view.network)
        rarest = self._rarest(numbers, numbers, {}, options, view)
        ids, candidates = view.network.ids, view.candidates
        return {name: sorted(ids[one] for one in some[candidates[some]]) for name, some in rarest.items()}

    def _by_entity(
        self, entities: Collection[int], similar: Sequence[str], options: RetrievalConfig, view: _View
    ) -> tuple[list[str], dict[str, list[Channel]]]:
        """The entities used, and the papers that hold them, by the sum of 1 / papers over their entities."""
        import numpy as np

        network, own = view.network, _within(entities, view.network)
        beside, times = np.unique(network.entities_by_paper(network.numbers(similar)), return_counts=True)
        similars = dict(zip(beside.tolist(), times.tolist(), strict=True))
        rarest = self._rarest(np.union1d(own, beside), own, similars, options, view)
        holders, weights = defaultdict[str, list[Channel]](list), defaultdict[str, float](float)
        for name, papers in rarest.items():
            for paper in papers[view.candidates[papers]].tolist():
                holders[network.ids[paper]].append(Channel("entity", entity=name, papers=len(papers)))
                weights[network.ids[paper]] += 1 / len(papers)
        return [*rarest], {one: holders[one] for one in sorted(holders, key=lambda one: (-weights[one], one))}

    def _rarest(
        self,
        entities: "Numbers",
        own: "Numbers",
        beside: Mapping[int, int],
        options: RetrievalConfig,
        view: _View,
    ) -> "dict[str, Numbers]":
        """The entities and neighbours to keep with their visible papers, rarest first; ties: the background's own, then those of
        the most similar papers, then by name. The last one kept is the one whose papers reach the limit."""
        import numpy as np

        recorded = view.network.frequencies(view.visible) > 0
        others = recorded.copy()
        others[entities] = False
        near = view.network.near(entities, options.together, view.visible, others)
        # removed from the graph meanwhile: no name
        names = self.graph.entity_names([*entities[recorded[entities]].tolist(), *near.tolist()])
        index, rows = self._word_index(view)
        papers, mine = dict[int, "Numbers"](), {*own.tolist()}
        for one, name in names.items():  # linked to every paper in which it appears (SciPIP, §3.1)
            some = np.union1d(view.network.holding(one), rows[index.having(name)])
            papers[one] = some[view.visible[some]]
        # an entity of the background leads to its paper even if that is the only one with it
        ranking = sorted(
            (one for one in names if one in mine or len(papers[one]) >= options.held),
            key=lambda one: (len(papers[one]), one not in mine, -beside.get(one, 0), fold(names[one])),
        )
        rarest: dict[str, Numbers] = {}
        found = np.zeros_like(view.candidates)
        for one in ranking[: options.rarest]:
            if np.count_nonzero(found & view.candidates) >= options.entity_papers:
                break
            rarest[names[one]] = papers[one]
            found[papers[one]] = True
        return rarest

    # By co-citation.

    def _by_cocitation(self, found: Sequence[str], count: int, view: _View) -> dict[str, list[Channel]]:
        """The papers most often cited together with each of those found, by the sum of these times (Eq. 4)."""
        network = view.network
        together = network.cited_with(network.numbers(found), count, view.visible, view.candidates)
        numbers = (part.tolist() for part in together)
        rows = sorted(zip(*numbers, strict=True), key=lambda row: (-row[2], row[0]))
        reasons, sums = defaultdict[str, list[Channel]](list), Counter[str]()
        for paper, other, times in rows:
            sums[network.ids[other]] += times
            reason = Channel("cocitation", cited_with=network.ids[paper], times=times)
            reasons[network.ids[other]].append(reason)
        return {one: reasons[one] for one in sorted(reasons, key=lambda one: (-sums[one], one))}

    # Clusters.

    def clusters(
        self, papers: Sequence[str], weights: tuple[float, float], threshold: float
    ) -> list[tuple[str, ...]]:
        """Clusters of these papers, see `clusters`, by their summaries and main ideas (Eq. 5)."""
        return clusters(papers, self.contents(papers, weights), threshold)

    def contents(self, papers: Sequence[str], weights: tuple[float, float]) -> "Rows":
        """(n, dim): what each paper is about, of length one (Eq. 5). A paper without a vector of either text is compared by its
        background, one without a record is zero."""
        import numpy as np

        with self._open_records() as bank:
            records = bank.store.get(papers, vectors=[SUMMARY, IDEAS])
            bare = [one for one in papers if one in records and not records[one].vectors]
            records |= bank.store.get(bare, vectors=[BACKGROUND])
        rows = {name: np.zeros((len(papers), bank.embedder.dim), dtype=np.float32) for name in Records.names}
        for row, one in enumerate(papers):
            for name, vector in records[one].vectors.items() if one in records else ():
                rows[name][row] = vector
        return weighted([(weights[0], rows[SUMMARY]), (weights[1], rows[IDEAS]), (0.0, rows[BACKGROUND])])

    # Helpers.

    def papers(self, ids: Collection[str]) -> dict[str, Paper]:
        """Papers of the corpus by id."""
        return self.ecosystem.papers.get([*ids])

    def _word_index(self, view: _View) -> "tuple[WordIndex, Numbers]":
        """The index, and the number in the graph of each of its papers."""
        with self._lock:
            if self._words is None:
                papers = self.ecosystem.papers.papers()
                index = WordIndex.of(self.folder / "words", self.ecosystem.meta.fingerprint, papers)
                self._words = index, view.network.numbers(index.ids)
            return self._words

    def _view(self, scope: Scope) -> _View:
        network, bound = self.network, self.ecosystem.meta.options.bound
        visible = network.mask(
            before=bound if scope.period == "past" else None,
            since=bound if scope.period == "contemporary" else None,
        )
        visible[network.numbers(scope.exclude)] = False
        since, before = scope.years or (None, None)
        if before is not None:
            visible &= network.mask(before)
        candidates = visible if scope.years is None else visible & network.mask(since=since)
        return _View(network, visible, candidates)

    def _notes(self, background: str, options: RetrievalConfig, view: _View) -> Generator[str]:
        if unrecorded := int((view.candidates & ~view.network.has_record).sum()):
            yield (
                f"{unrecorded:,} of {int(view.candidates.sum()):,} papers have no record yet: only citations, BM25 and entities of others can find them; "
                f"manyheads corpus extract {self.ecosystem.folder} creates them"
            )
        if len(self.recipes) > 1:
            made = ", ".join(f"{one.records:,} by {one}" for one in self.recipes)
            yield f"records come from {len(self.recipes)} recipes, all are used: {made}"
        if "cocitation" in options.how and not view.network.citations:
            citing = self.graph.counts().citing
            yield (
                f"co-citation is off: {citing:,} papers have references, but none of them is in this corpus"
                if citing
                else "co-citation is off: the papers of this corpus have no references"
            )
        elif {*options.how} == {"cocitation"}:
            yield "co-citation needs papers from another strategy: add one, such as semantic"
        if rest := unread(self.ecosystem.embedder, [background])[0]:
            yield f"the background exceeds the embedding model's limit by {rest:,} tokens: it is embedded in parts"
        words = _WORD.findall(background.lower())
        least, share = _FOREIGN
        if len(words) >= least and sum(word in STOP_WORDS for word in words) < share * len(words):
            yield "the background does not look English; a model and records of English papers may find little for it"


def _phrases(text: str) -> list[str]:
    """Possible entities in a text."""
    words = _WORD.findall(text)
    starts, lengths = range(len(words)), range(1, _PHRASE + 1)
    return sorted({" ".join(words[start : start + length]) for start in starts for length in lengths})


def _within(entities: Iterable[int], network: Network) -> "Numbers":
    """The entities that the network knows: some may have come to the graph after it."""
    import numpy as np

    return np.fromiter((one for one in entities if one < network.entities), dtype=np.int64)


def _titled(channels: Iterable[Channel], papers: Mapping[str, Paper]) -> Generator[Channel]:
    """Reasons with the titles of their papers."""
    for one in channels:
        paper = papers.get(one.cited_with) if one.cited_with else None
        yield one._replace(title=paper.title) if paper else one


# Clusters of similar papers, each with a representative (SciPIP, §3.2.2, Eq. 5).


def weighted(parts: "Sequence[tuple[float, Rows]]") -> "Rows":
    """Σ weight · (n, dim) rows of unit length, normalised (SciPIP, Eq. 5). If one part has a row of zeros, only the others
    count; if all remaining weights are zero, all parts count equally."""
    import numpy as np

    even = not any(weight for weight, _ in parts)
    rows = np.sum([(1.0 if even else weight) * part for weight, part in parts], axis=0)
    bare = ~rows.any(axis=1)  # without any weighted part: use the others
    rows[bare] = np.sum([part[bare] for _, part in parts], axis=0)
    return unit_rows(rows)


def clusters(ids: Sequence[str], vectors: "Rows", threshold: float) -> list[tuple[str, ...]]:
    """Clusters of papers with all cosine similarities within at least the threshold (complete linkage).

    The clusters do not depend on the papers' order; the order determines the representatives, each first in its cluster, and the
    order of clusters.

    Args:
        ids: n distinct ids, best paper first.
        vectors: (n, dim) of unit length; a paper with a row of zeros gets its own cluster.
        threshold: cosine similarity, -1…1.
    """
    import numpy as np
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    compared = np.flatnonzero(np.any(vectors, axis=1))[:MOST_COMPARED]
    # of equal distances the first two are joined: sort, so that the papers' order does not matter
    compared = compared[np.argsort([ids[row] for row in compared], kind="stable")]
    labels = -1 - np.arange(len(ids))  # each by itself
    if len(compared) > 1:
        rows = np.asarray(vectors)[compared]
        distances = np.clip(1.0 - rows @ rows.T, 0.0, 2.0)
        np.fill_diagonal(distances, 0.0)
        tree = linkage(squareform(distances, checks=False), "complete")
        labels[compared] = fcluster(tree, 1.0 - threshold + _ROUNDING, "distance")
    members = defaultdict[int, list[str]](list)
    for one, label in zip(ids, labels.tolist(), strict=True):
        members[label].append(one)
    return [tuple(some) for some in members.values()]
