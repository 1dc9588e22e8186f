"""Axioms of novelty measures: how a text's value must change with the papers that it is compared with.

From arXiv 2604.15145 (Liu and Zhai), whose version 1 numbers them. Its axioms 5 and 6 are missing: no text states them that we could read.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from random import Random
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from manyheads.base.errors import MeasureError
from manyheads.base.papers import Paper
from manyheads.base.text import count
from manyheads.core.texts import Subject
from manyheads.corpus.digest import sentences
from manyheads.corpus.phrases import stems
from manyheads.measures.corpus import MeasuringCorpus
from manyheads.measures.novelty import NEIGHBOURS, Normalise, need_field, novelty, relative_neighbour_density
from manyheads.measures.papers import Floats, Papers, titled, vectors_of
from manyheads.measures.statistics import Mean, enough, mean_of

Change: TypeAlias = Literal["falls", "rises"]
Verdict: TypeAlias = Literal["kept", "broken", "unknown"]
Values: TypeAlias = dict[str, float | bool | None]
Comparison: TypeAlias = Callable[[Subject, Sequence[Paper]], float | bool | None]
KEPT = 0.9
"""An axiom is kept if it holds in more of the cases than this, by the whole interval. The source only compares shares."""
CASES = 100
"""Of each task in the source."""
PARTS = 4
LARGEST = 4000
"""Maximum papers of a period; of more, a sample is used."""
TOLERANCE = 1e-6
"""A smaller share of the value is no change: distances are in float32."""
SYNONYMS = dict(
    re.findall(
        r"(\w+):(\S+)",
        """
    we:the_authors our:the_authors' show:demonstrate shows:demonstrates propose:suggest proposes:suggests present:describe
    presents:describes use:employ uses:employs used:employed using:employing method:approach methods:approaches paper:article
    results:findings result:finding problem:challenge problems:challenges new:novel large:big small:little many:numerous
    most:the_majority_of improve:enhance improves:enhances find:observe found:observed because:since but:however
    also:moreover only:solely often:frequently before:prior_to after:following than:compared_to
        """,
    )
)
"""Common words of abstracts, and their replacements in a paraphrase."""


@dataclass(frozen=True, slots=True)
class Axiom:
    """A change of the papers, and the change of a novelty measure that must follow; `number` is that of version 1."""

    name: str
    number: int
    change: Change
    papers: str

    def holds(self, before: float | None, after: float | None) -> Iterator[float]:
        """1 or 0; nothing without both values."""
        if before is not None and after is not None:
            rise = (after - before) / (max(abs(before), abs(after)) or 1)
            yield float((rise if self.change == "rises" else -rise) > TOLERANCE)


AXIOMS = (
    Axiom("copy", 1, "falls", "with a copy of the text"),
    Axiom("paraphrase", 2, "falls", "with a paraphrase of the text"),
    Axiom("parts", 3, "falls", f"with {PARTS} papers of its sentences"),
    Axiom("unrelated", 4, "rises", "among papers in other words"),
    Axiom("older", 7, "rises", "among the oldest papers"),
    Axiom("newer", 8, "falls", "among the newest papers"),
)


class AxiomShare(BaseModel):
    """The share of cases in which a measure keeps an axiom, with Wilson's interval at 95 %."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    measure: str
    axiom: str
    number: int
    change: Change
    verdict: Verdict
    share: float | None
    low: float | None
    high: float | None
    cases: int
    """Those in which the measure had both values."""
    drawn: int


@dataclass(frozen=True)
class PaperPool:
    """Papers that a text is compared with, by period."""

    past: Papers
    contemporary: Papers

    def at(self, rows: Callable[[Papers], Sequence[int]]) -> "PaperPool":
        """Some papers of each period."""
        return PaperPool(*(papers.at(sorted(rows(papers))) for papers in (self.past, self.contemporary)))

    def plus(self, papers: Sequence[Paper], vectors: Mapping[str, Floats]) -> "PaperPool":
        """With more papers in both periods, as of the last year of each."""

        def more(among: Papers) -> Papers:
            import numpy as np

            rows = zip(among.ids, among.titles, among.years, among.citations, strict=True)
            added = ((one.id, one.title, among.years[-1], one.citations) for one in papers)
            points = np.stack([vectors[one.id] for one in papers])
            ids, titles, years, citations = zip(*rows, *added, strict=True)
            return Papers.of(ids, titles, years, citations, np.concatenate([among.vectors, points]))

        return PaperPool(more(self.past), more(self.contemporary))


@dataclass(frozen=True)
class Measures:
    """HD, CD, ON and others: for all, larger is newer.

    Attributes:
        rnd: P and Q of RND, if it is tested; by abstracts.
        extra: measures of other packages, with the papers as second argument.
    """

    neighbours: int = NEIGHBOURS
    normalise: Normalise = "year"
    rnd: tuple[int, int] | None = None
    extra: Mapping[str, Comparison] = field(default_factory=dict[str, Comparison])

    def values(self, paper: Paper, vector: Floats, pool: PaperPool, texts: Mapping[str, Paper]) -> Values:
        """A paper's values against a pool, which has these texts."""
        [found] = novelty(
            vector[None], pool.past, pool.contemporary, neighbours=self.neighbours, normalise=self.normalise
        )
        values: Values = {"hd": found.hd, "cd": found.cd, "on": found.on}
        if self.rnd:
            around, own = self.rnd
            [values["rnd"]] = relative_neighbour_density(
                vector[None], pool.past, around=around, own=own, density="abstract"
            )
        text = Subject(paper.id, paper.title, paper.abstract)
        papers = [texts[one] for one in dict.fromkeys((*pool.past.ids, *pool.contemporary.ids))]
        return values | {name: measure(text, papers) for name, measure in self.extra.items()}


def axiom_shares(
    corpus: MeasuringCorpus, measures: Measures | None = None, *, cases: int = CASES, seed: int = 0
) -> list[AxiomShare]:
    """The share of cases in which each measure keeps each axiom.

    A case is a contemporary paper and a pool: a random quarter of the other papers of each period. Axioms 1 to 3 add papers
    to both periods of the pool. The others take another quarter in its place: the papers with the smallest share of words in
    common with the text, the oldest, or the newest. So measures of the past, of contemporary papers and of both are tested alike.

    Args:
        cases: at most; a paper with fewer than two sentences is none.

    Raises:
        MeasureError: the corpus has too few papers or no abstracts of two sentences, or another package's measure failed.
        EmbeddingError: the corpus's model cannot be loaded.
    """
    random, measures = Random(seed), measures or Measures()
    whole, texts = _whole(corpus, measures, random)
    usable = [one for one in whole.contemporary.ids if len(sentences(texts[one].abstract)) > 1]
    if not usable:
        raise MeasureError(f"{corpus.meta.name}: no contemporary paper has an abstract of two sentences")
    drawn = [texts[one] for one in random.sample(usable, min(cases, len(usable)))]
    added = {one.id: _added(one, random.sample([*texts.values()], PARTS + 1)) for one in drawn}
    more = [*drawn, *(one for each in added.values() for one in chain(*each.values()))]
    points = vectors_of(corpus.model, [one.abstract for one in more])
    vectors = dict(zip((one.id for one in more), points, strict=True))
    texts |= {one.id: one for one in more}
    words = {one.id: {*stems(titled(one.title, one.abstract))} for one in texts.values()}
    kept = dict[tuple[str, Axiom], list[float]]()
    for paper in drawn:
        base, pools = _pools(paper, whole, words, random)
        pools |= {name: base.plus(papers, vectors) for name, papers in added[paper.id].items()}
        before = measures.values(paper, vectors[paper.id], base, texts)
        for axiom in AXIOMS:
            after = measures.values(paper, vectors[paper.id], pools[axiom.name], texts)
            for name, value in after.items():
                kept.setdefault((name, axiom), []).extend(axiom.holds(before[name], value))
    names = dict.fromkeys(name for name, _ in kept)
    return [_share(name, axiom, kept[name, axiom], len(drawn)) for name in names for axiom in AXIOMS]


def _share(measure: str, axiom: Axiom, known: Sequence[float], drawn: int) -> AxiomShare:
    mean = mean_of(known, share=True) if enough(len(known), drawn) else None
    share, low, high = (mean.mean, mean.low, mean.high) if mean else (None, None, None)
    return AxiomShare(
        measure=measure, axiom=axiom.name, number=axiom.number, change=axiom.change, verdict=verdict(mean),
        share=share, low=low, high=high, cases=len(known), drawn=drawn,
    )  # fmt: skip


def verdict(mean: Mean | None) -> Verdict:
    """Whether an axiom is kept, by the interval of the share of cases in which it holds."""
    if mean is None or mean.low is None or mean.high is None or mean.low <= KEPT <= mean.high:
        return "unknown"
    return "kept" if mean.low > KEPT else "broken"


def _whole(corpus: MeasuringCorpus, measures: Measures, random: Random) -> tuple[PaperPool, dict[str, Paper]]:
    """The papers that are used, and their texts by id. Raises `MeasureError` if a quarter of them is too few."""
    from manyheads.corpus.ecosystem import PAPERS, KnowledgeBank
    from manyheads.corpus.qdrant import open_bank

    whole = PaperPool(corpus.past, corpus.contemporary).at(
        lambda papers: random.sample(range(len(papers)), min(len(papers), LARGEST))
    )
    for period, papers in (("past", whole.past), ("contemporary", whole.contemporary)):
        if (quarter := len(papers) // 4) < measures.neighbours:
            fewer = f"--neighbours {quarter} fits this corpus; or " if quarter else ""
            raise MeasureError(
                f"{corpus.meta.name}: a case needs {measures.neighbours} neighbours in each period; "
                f"a quarter of the corpus has {count(quarter, f'{period} paper')}",
                hint=f"{fewer}test the axioms on a larger corpus",
            )
    if measures.rnd:
        need_field(whole.past.at(range(len(whole.past) // 4)), *measures.rnd, whose="a quarter of the corpus")
    with KnowledgeBank(open_bank(corpus.folder, corpus.meta, PAPERS), corpus.model) as bank:
        return whole, bank.get([*whole.past.ids, *whole.contemporary.ids])


def _pools(
    paper: Paper, whole: PaperPool, words: Mapping[str, set[str]], random: Random
) -> tuple[PaperPool, dict[str, PaperPool]]:
    """A random quarter of the papers, and those of axioms 4, 7 and 8, all without the text itself."""

    def others(papers: Papers) -> list[int]:
        return [row for row, one in enumerate(papers.ids) if one != paper.id]

    def shuffled(papers: Papers) -> list[int]:
        return random.sample(rows := others(papers), len(rows))

    def common(one: str) -> float:
        return len(words[paper.id] & words[one]) / max(1, len(words[one]))

    return whole.at(lambda papers: shuffled(papers)[: len(papers) // 4]), {
        "unrelated": whole.at(
            lambda papers: sorted(shuffled(papers), key=lambda row: common(papers.ids[row]))[
                : len(papers) // 4
            ]
        ),
        "older": whole.at(lambda papers: others(papers)[: len(papers) // 4]),
        "newer": whole.at(lambda papers: others(papers)[-(len(papers) // 4) :]),
    }


def _added(paper: Paper, hosts: Sequence[Paper]) -> dict[str, list[Paper]]:
    """The papers that axioms 1 to 3 add. A host's first sentences are followed by as many of the text."""

    def made(name: str, of: Paper, text: str) -> Paper:
        return of.model_copy(update={"id": f"{paper.id} {name}", "abstract": text})

    hosts = [host for host in hosts if host is not paper]
    own, number = sentences(paper.abstract), min(PARTS, len(sentences(paper.abstract)))
    parts = [own[len(own) * at // number : len(own) * (at + 1) // number] for at in range(number)]
    return {
        "copy": [made("copy", paper, paper.abstract)],
        "paraphrase": [made("paraphrase", paper, paraphrase(paper.abstract))],
        "parts": [
            made(f"part {at}", host, " ".join([*sentences(host.abstract)[: len(part)], *part]))
            for at, (host, part) in enumerate(zip(hosts, parts, strict=False))
        ],
    }


def paraphrase(text: str) -> str:
    """A text with its sentences in the opposite order and `SYNONYMS` for common words; a person's paraphrase differs more."""
    text = " ".join(reversed(sentences(text)))
    return re.sub(r"\w+", lambda word: SYNONYMS.get(word[0].lower(), word[0]).replace("_", " "), text)
