"""The measures of a society: of its abstracts, and of each epoch.

`HD`, `CD`, `CI` and `ON` are those of VirSci 2025, §4.1, against the corpus as it was published, whatever the society wrote. `own` is HD
against the corpus and the society's earlier papers together.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components

from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.vectors import Embedder
from manyheads.measures.novelty import NEIGHBOURS, Normalise, means_of, novelty, reference_groups
from manyheads.measures.papers import Floats, Papers, load_papers, nearest, vectors_of
from manyheads.systems.society.network import gini, network_figures
from manyheads.systems.society.result import MEASURES, EpochRecord, TeamRecord

REPEATED = 0.9
"""Cosine from which an abstract repeats an earlier paper. With all-MiniLM-L6-v2 a text with a few changed words has 0.96 or more, with
`lexical` 0.91; at 0.8 one in seven *different* papers of a corpus has another."""
SAME_TOPIC = 0.8
"""Cosine from which two topics are of one cluster; clusters are the components of the topics joined so (single linkage)."""
BLOCK = 1024
"""Topics that are compared with all others at once."""


@dataclass
class SocietyMeasures:
    """What measures a society's abstracts: made once, from the corpus as it was published."""

    model: Embedder
    past: Papers | None
    contemporary: Papers | None
    normalise: Normalise = "year"
    _vectors: dict[int, Floats] = field(default_factory=dict[int, Floats])

    @classmethod
    def open(cls, base: Ecosystem, normalise: Normalise = "year") -> "SocietyMeasures":
        """Of the corpus under a society's layers. Without contemporary papers, an abstract has no measures.

        Raises:
            CorpusError: its papers cannot be read.
        """
        if not base.meta.counts.contemporary:
            return cls(base.embedder, None, None, normalise)
        papers = load_papers(base.folder, base.meta, base.embedder)
        return cls(base.embedder, papers["past"], papers["contemporary"], normalise)

    def measure(self, teams: Sequence[TeamRecord], earlier: Sequence[EpochRecord]) -> Floats:
        """Fill in `measures` and `repeats` of the teams with an abstract.

        Args:
            earlier: the finished epochs before.

        Returns:
            The vectors (n, dim), of length one, of these teams' abstracts, in their order.

        Raises:
            MeasureError: the corpus has fewer than five papers of a period.
        """
        written = [team for team in teams if team.abstract]
        vectors = self._embed([team.abstract for team in written if team.abstract])
        papers = [team for epoch in earlier for team in _papers(epoch)]
        own = np.concatenate([self._embed([]), *map(self._of_papers, earlier)])
        if self.past is None or self.contemporary is None or not written:
            values: list[dict[str, float | None]] = [dict.fromkeys(MEASURES) for _ in written]
        else:
            found = novelty(vectors, self.past, self.contemporary, normalise=self.normalise)
            among = own_dissimilarity(vectors, self.past, own, self.normalise)
            values = [
                {"hd": one.hd, "cd": one.cd, "ci": one.ci, "on": one.on, "own": far}
                for one, far in zip(found, among, strict=True)
            ]
        for team, vector, measures in zip(written, vectors, values, strict=True):
            team.measures = measures
            if papers:
                likeness = own @ vector
                nearest = int(likeness.argmax())
                team.repeats = papers[nearest].paper if likeness[nearest] >= REPEATED else None
        return vectors

    def figures(self, epochs: Sequence[EpochRecord], scientists: int) -> dict[str, float | None]:
        """The figures at the end of the last of these epochs: of its teams, and of all who have taken part so far.

        Args:
            scientists: of the ecosystem, with those whom nobody asked.
        """
        last = epochs[-1]
        later = any(map(_papers, epochs[:-1]))
        entropy, distance = topic_diversity(self._embed([team.topic for team in last.teams if team.topic]))
        return {
            **team_figures(last.teams, later=later),
            "topic_entropy": entropy,
            "topic_distance": distance,
            **asking_figures(epochs, scientists),
            **network_figures(team.members for epoch in epochs for team in epoch.teams),
        }

    def _of_papers(self, epoch: EpochRecord) -> Floats:
        """The vectors of an epoch's papers, embedded once, and together: vectors vary slightly with the batch, and a run that
        goes on must have the same."""
        if epoch.number not in self._vectors:
            self._vectors[epoch.number] = self._embed([team.abstract or "" for team in _papers(epoch)])
        return self._vectors[epoch.number]

    def _embed(self, texts: Sequence[str]) -> Floats:
        return vectors_of(self.model, texts) if texts else np.empty((0, self.model.dim), np.float32)


def own_dissimilarity(vectors: Floats, past: Papers, own: Floats, normalise: Normalise) -> list[float | None]:
    """HD of texts (q, dim) against `past` and a society's papers (n, dim) together; HD itself if there are none of these.

    A society's year has too few papers for a mean: the distance to one of its papers is divided by the mean of the last
    year of `past`. None if a mean is 0.
    """
    groups = reference_groups(past, normalise)
    near = nearest(vectors, past.vectors, NEIGHBOURS, groups)
    distances, means = near.distances.astype(np.float64), np.ones(near.rows.shape)
    if groups:
        _, means = means_of(near, groups)
    if len(own):
        among = nearest(vectors, own, min(NEIGHBOURS, len(own)))
        distances = np.hstack([distances, among.distances])
        last = near.means[:, -1:] if groups else np.ones((len(vectors), 1))
        means = np.hstack([means, np.repeat(last, among.distances.shape[1], axis=1)])
        order = np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOURS]
        distances, means = (np.take_along_axis(each, order, axis=1) for each in (distances, means))
    return [float((far / by).mean()) if by.all() else None for far, by in zip(distances, means, strict=True)]


def topic_diversity(vectors: Floats) -> tuple[float | None, float | None]:
    """The entropy in bits over the clusters of topics (n, dim), and the mean cosine distance of two topics.

    None without topics; a single one has no distance. For clusters see `SAME_TOPIC`.
    """
    if not (n := len(vectors)):
        return None, None
    starts = range(0, n, BLOCK)
    alike = vstack([csr_array(vectors[at : at + BLOCK] @ vectors.T >= SAME_TOPIC) for at in starts])
    shares = np.bincount(connected_components(alike, directed=False)[1]) / n
    total = vectors.sum(axis=0, dtype=np.float64)
    own = np.einsum("ij,ij->", vectors, vectors, dtype=np.float64)
    distance = float(1 - (total @ total - own) / (n * (n - 1))) if n > 1 else None
    return float(-(shares * np.log2(shares)).sum()) + 0.0, distance


def team_figures(teams: Sequence[TeamRecord], *, later: bool) -> dict[str, float | None]:
    """Means over teams: each measure of accepted and of rejected abstracts with its number, shares, freshness and diversity.

    Args:
        later: whether the society had papers that these could repeat.
    """
    written = [team for team in teams if team.abstract]
    figures: dict[str, float | None] = {
        "accepted": _mean(float(team.accepted) for team in written),
        "repeated": _mean(float(team.repeats is not None) for team in written) if later else None,
        "freshness": _mean(team.freshness for team in teams),
        "diversity": _mean(team.diversity for team in teams),
    }
    groups = {
        "": written,
        "_accepted": [team for team in written if team.accepted],
        "_rejected": [team for team in written if not team.accepted],
    }
    for measure in MEASURES:
        for name, some in groups.items():
            known = [value for team in some if (value := team.measures.get(measure)) is not None]
            figures[f"{measure}{name}"] = _mean(known)
            figures[f"{measure}{name}_n"] = len(known)
    return figures


def asking_figures(epochs: Iterable[EpochRecord], scientists: int) -> dict[str, float | None]:
    """How unequally scientists are asked: Gini coefficients over all of the ecosystem of invitations to teams, of questions
    from teams as a guest, and of memberships; 0 if all are asked alike, 1 if one is always asked."""
    invited, guests, members = Counter[str](), Counter[str](), Counter[str]()
    for team in _teams(epochs):
        invited.update([*team.members[1:], *team.declined])
        guests.update(team.guests)
        members.update(team.members)
    counts = {"gini_invited": invited, "gini_guests": guests, "gini_members": members}
    return {name: gini(each.values(), scientists) for name, each in counts.items()}


def society_figures(epochs: Sequence[EpochRecord]) -> dict[str, float | None]:
    """The figures of a whole society: those of all its teams together, the means over its epochs of the topics' diversity,
    and what the last epoch ended with."""
    if not epochs:
        return {}
    means = {
        name: _mean(epoch.figures.get(name) for epoch in epochs)
        for name in ("topic_entropy", "topic_distance")
    }
    later = any(map(_papers, epochs[:-1]))
    return {**epochs[-1].figures, **team_figures([*_teams(epochs)], later=later), **means}


def _teams(epochs: Iterable[EpochRecord]) -> Iterator[TeamRecord]:
    return (team for epoch in epochs for team in epoch.teams)


def _papers(epoch: EpochRecord) -> list[TeamRecord]:
    """The teams whose abstract became a paper."""
    return [team for team in epoch.teams if team.paper]


def _mean(values: Iterable[float | None]) -> float | None:
    """Of the known values; None without any."""
    known = [value for value in values if value is not None and not math.isnan(value)]
    return fmean(known) if known else None
