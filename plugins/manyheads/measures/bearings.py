"""Directions of a text's nearest papers on a map: with their distances they are polar coordinates around the text."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from manyheads.measures.novelty import Neighbour, Novelty
from manyheads.measures.papers import Floats, Papers


def bearings(text: Floats, papers: Floats) -> list[float]:
    """The direction of each of n papers, (n, dim), from a text, (dim), in degrees from 0 to 360.

    The unit vectors from the text to the papers are projected on their first two principal components, so that papers in
    similar directions have similar bearings. No plane can hold all distances: on the map, those to the text are exact, those
    between papers are not.
    """
    away = papers.astype(np.float64) - text
    lengths = np.linalg.norm(away, axis=1, keepdims=True)
    units = away / np.where(lengths == 0, 1, lengths)
    left, sizes, _ = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    places = np.zeros((len(papers), 2))
    for axis, size in enumerate(sizes[:2]):
        column = left[:, axis] * size
        # A principal component has no sign: its largest value is positive here.
        places[:, axis] = column if column[np.abs(column).round(9).argmax()] >= 0 else -column
    return [round(float(angle), 1) % 360 for angle in np.degrees(np.arctan2(places[:, 1], places[:, 0]))]


def with_bearings(found: Novelty, text: Floats, past: Papers | None, contemporary: Papers) -> Novelty:
    """The measures of a text, its neighbours with their bearings."""
    groups = [
        (near, papers)
        for near, papers in ((found.past, past), (found.contemporary, contemporary))
        if papers is not None and near
    ]
    if not groups:
        return found
    vectors = [papers.vectors[[papers.row_of[one.id] for one in near]] for near, papers in groups]
    angles = iter(bearings(text, np.concatenate(vectors)))

    def turned(near: Sequence[Neighbour]) -> tuple[Neighbour, ...]:
        return tuple(replace(one, bearing=next(angles)) for one in near)

    return replace(found, past=turned(found.past), contemporary=turned(found.contemporary))
