"""The literature database of a corpus: stores records of its papers, finds inspiring ones (SciPIP, §3.1, §3.2).

with Ecosystem.open(Path("corpora/mine")) as ecosystem:
    database = LiteratureDatabase.of(ecosystem)
    database.put(extractions)
    found = await database.retrieve("Grasping of unknown objects is …", RetrievalConfig(papers=20))
    print([(one.paper.title, [channel.reason for channel in one.channels]) for one in found.papers])
"""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from manyheads.base.errors import CorpusError
from manyheads.base.papers import Hit, Paper, Period, fold
from manyheads.corpus.ecosystem import Ecosystem, Years
from manyheads.corpus.extracted import BACKGROUND, IDEAS, RECORDS, SUMMARY, RecordBook, Records
from manyheads.corpus.graph import Network
from manyheads.corpus.phrases import STOP_WORDS
from manyheads.corpus.retrieval import (
    Channel,
    Cluster,
    Inspiration,
    Inspirations,
    RetrievalConfig,
    WordIndex,
    clusters,
    fused,
    weighted,
)
from manyheads.corpus.vectors import Filter, unread

if TYPE_CHECKING:
    from manyheads.corpus.graph import Mask, Numbers
    from manyheads.corpus.retrieval import Rows

MOST_REASONS = 5
"""Maximum reasons shown per paper and channel, strongest first."""
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


class _View:
    """Snapshot of the graph for one look-up."""

    def __init__(self, network: Network, visible: "Mask", candidates: "Mask") -> None:
        self.network, self.visible, self.candidates = network, visible, candidates
        """`visible` are papers whose citations and entities count, `candidates` those that may be found."""

    @cached_property
    def recorded(self) -> "Mask":
        """The entities that are in the record of a visible paper."""
        return self.network.frequencies(self.visible) > 0

    @cached_property
    def unrecorded(self) -> int:
        """Candidates without a record."""
        return int((self.candidates & ~self.network.has_record).sum())

    def entities(self, numbers: Iterable[int]) -> "Numbers":
        """Papers in the network."""
        import numpy as np

        return np.fromiter((one for one in numbers if one < self.network.entities), dtype=np.int64)


class LiteratureDatabase(RecordBook):
    """Records, graph and vectors of a corpus, and retrieval. Created by `of`; threads may share it."""

    def __init__(self, ecosystem: Ecosystem) -> None:
        super().__init__(ecosystem)
        self._words: tuple[WordIndex, Numbers] | None = None
        self._last_view: tuple[Scope, _View] | None = None

    @classmethod
    def of(cls, ecosystem: Ecosystem) -> "LiteratureDatabase":
        """The database of a corpus, shared by all callers; closed with the corpus."""
        return ecosystem.parts.setdefault(RECORDS, cls(ecosystem))  # pyright: ignore[reportReturnType]

    def close(self) -> None:
        with self._lock:
            super().close()
            self._words = self._last_view = None

    # The three retrieval strategies (SciPIP, §3.2.1).

    async def semantic(
        self, queries: Sequence[str], k: int, scope: Scope = PAST, using: str = BACKGROUND
    ) -> list[list[Hit]]:
        """The k papers with the most similar backgrounds, or another text among the names of `Records`, for each query, best first
        (Eq. 2)."""

        def look_up() -> list[list[Hit]]:
            hits = self._semantic(queries, k, scope, using)
            papers = self.papers({one for some in hits for one in some})
            return [[Hit(papers[one], score) for one, score in some.items()] for some in hits]

        return await asyncio.to_thread(look_up)

    def entities_near(
        self, entities: Iterable[str], options: RetrievalConfig, scope: Scope = PAST
    ) -> dict[str, list[str]]:
        """These entities and those that occur with one of them in at least `together` papers; the rarest of all, rarest first, each
        with the papers that have it in their record, title or abstract (Eq. 3)."""
        view = self._view(scope)
        numbers = view.entities(self.graph.entity_numbers(entities).values())
        rarest = self._rarest(numbers, numbers, {}, options, view)
        ids, candidates = view.network.ids, view.candidates
        return {name: sorted(ids[one] for one in some[candidates[some]]) for name, some in rarest.items()}

    def clusters(
        self, papers: Sequence[str], weights: tuple[float, float], threshold: float
    ) -> list[Cluster]:
        """Clusters of these papers, with similarities of at least the threshold (Eq. 5). The first paper in `papers` represents
        its cluster."""
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

    # All strategies together.

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
        if not background.strip():
            raise CorpusError("the background is empty", hint="describe the subject in a sentence or more")
        view = self._view(scope)
        notes = [*self._notes(background, options, view)]
        channels: dict[str, list[Channel]] = {}
        rankings: list[list[str]] = []

        def add(ranking: dict[str, list[Channel]]) -> None:
            rankings.append([*ranking])
            for one, reasons in ranking.items():
                channels.setdefault(one, []).extend(reasons[:MOST_REASONS])

        similar: dict[str, float] = {}
        if "semantic" in options.how:
            [similar] = self._semantic([background], options.semantic, scope)
            add({one: [Channel("semantic", similarity=score)] for one, score in similar.items()})
        if "bm25" in options.how:
            scores = self._by_words(background, options.bm25, view)
            add({one: [Channel("bm25", score=score)] for one, score in scores.items()})
        names: list[str] = []
        if "entity" in options.how:
            own = {
                *self.graph.entity_numbers(_phrases(background) if entities is None else entities).values()
            }
            names, holders = self._by_entity(
                {*own, *self.graph.entity_numbers(synonyms).values()},
                [*similar][: options.entity_hits],
                options,
                view,
            )
            if not own:
                notes.append(
                    "the background contains no entity of the database: only entities of similar papers are used"
                )
            near = self._similarities(background, [*holders])
            add({one: holders[one] for one in sorted(holders, key=lambda one: -near.get(one, -2.0))})
        if "cocitation" in options.how and view.network.citations:
            add(self._by_cocitation([*channels], options.cocited, view))
        scores = fused(rankings, options.fusion)
        order = sorted(channels, key=lambda one: (-scores[one], -similar.get(one, -2.0), one))
        best = order[: options.papers]
        # co-cited papers were found too, but may come after the last of these
        beside = {each.cited_with: None for one in best for each in channels[one] if each.cited_with}
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

    def entities_in(self, text: str) -> dict[str, int]:
        """The database's entities that occur in a text, with their numbers of records; nested entities count both."""
        return self.graph.entity_counts(_phrases(text))

    def papers(self, ids: Collection[str]) -> dict[str, Paper]:
        """Papers of the corpus by id."""
        return self.ecosystem.papers.get([*ids])

    # The strategies, by number.

    def _semantic(
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

    def _by_words(self, query: str, k: int, view: _View) -> dict[str, float]:
        index, rows = self._word_index(view)
        return index.nearest(query, k, view.candidates[rows])

    def _word_index(self, view: _View) -> "tuple[WordIndex, Numbers]":
        with self._lock:
            if self._words is None:
                papers = self.ecosystem.papers.papers()
                index = WordIndex.of(self.folder / "words", self.ecosystem.meta.fingerprint, papers)
                self._words = index, view.network.numbers(index.ids)
            return self._words

    def _by_entity(
        self, entities: Collection[int], similar: Sequence[str], options: RetrievalConfig, view: _View
    ) -> tuple[list[str], dict[str, list[Channel]]]:
        import numpy as np

        network, own = view.network, view.entities(entities)
        beside, times = np.unique(network.entities_by_paper(network.numbers(similar)), return_counts=True)
        similars = dict(zip(beside.tolist(), times.tolist(), strict=True))
        rarest = self._rarest(np.union1d(own, beside), own, similars, options, view)
        holders: dict[str, list[Channel]] = {}
        for name, papers in rarest.items():
            reason = Channel("entity", entity=name, papers=len(papers))
            for paper in papers[view.candidates[papers]].tolist():
                holders.setdefault(network.ids[paper], []).append(reason)
        weights = {one: sum(1 / (each.papers or 1) for each in some) for one, some in holders.items()}
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

        others = view.recorded.copy()
        others[entities] = False
        near = view.network.near(entities, options.together, view.visible, others)
        # removed from the graph meanwhile: no name
        names = self.graph.entity_names([*entities[view.recorded[entities]].tolist(), *near.tolist()])
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

    def _by_cocitation(self, found: Sequence[str], count: int, view: _View) -> dict[str, list[Channel]]:
        network = view.network
        together = network.cited_with(network.numbers(found), count, view.visible, view.candidates)
        rows = sorted(
            zip(*(part.tolist() for part in together), strict=True), key=lambda row: (-row[2], row[0])
        )
        reasons: dict[str, list[Channel]] = {}
        sums: Counter[str] = Counter()
        for paper, other, times in rows:
            one = network.ids[other]
            sums[one] += times
            some = reasons.setdefault(one, [])
            if len(some) < MOST_REASONS:
                some.append(Channel("cocitation", cited_with=network.ids[paper], times=times))
        return {one: reasons[one] for one in sorted(reasons, key=lambda one: (-sums[one], one))}

    def _notes(self, background: str, options: RetrievalConfig, view: _View) -> Generator[str]:
        if view.unrecorded:
            yield (
                f"{view.unrecorded:,} of {int(view.candidates.sum()):,} papers have no record yet: only citations, BM25 and entities of others can find them; "
                f"manyheads corpus extract {self.ecosystem.folder} creates them"
            )
        if len(self._recipes) > 1:
            made = ", ".join(f"{count:,} by {one}" for one, count in self._recipes.items())
            yield f"records come from {len(self._recipes)} recipes, all are used: {made}"
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

    # Helpers.

    def _view(self, scope: Scope) -> _View:
        network, last = self.network, self._last_view
        if last and last[0] == scope and last[1].network is network:
            return last[1]
        bound = self.ecosystem.meta.options.bound
        visible = network.mask(
            before=bound if scope.period == "past" else None,
            since=bound if scope.period == "contemporary" else None,
        )
        visible[network.numbers(scope.exclude)] = False
        candidates = visible
        if scope.years is not None:
            since, before = scope.years
            if before is not None:
                visible &= network.mask(before)
            candidates = visible & network.mask(since=since)
        view = _View(network, visible, candidates)
        self._last_view = scope, view
        return view


def _phrases(text: str) -> list[str]:
    """Possible entities in a text."""
    words = _WORD.findall(text)
    every = {
        " ".join(words[start : start + length])
        for length in range(1, _PHRASE + 1)
        for start in range(len(words) - length + 1)
    }
    return sorted(every)


def _titled(channels: Iterable[Channel], papers: Mapping[str, Paper]) -> Generator[Channel]:
    """Reasons with the titles of their papers."""
    for one in channels:
        paper = papers.get(one.cited_with) if one.cited_with else None
        yield one._replace(title=paper.title) if paper else one
