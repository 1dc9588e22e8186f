"""Crops of figures and tables: whether they hold all of a picture, and nothing beside."""

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image as Pixels

from manyheads.documents import Figure, Table, render


def crop(path: Path, one: Figure | Table) -> np.ndarray:
    """Grey levels of the crop, without its margin."""
    png = render(path, one.page, one.box, turn=one.turn, width=600, margin=0)
    return np.asarray(Pixels.open(BytesIO(png)).convert("L"))


def is_whole(path: Path, one: Figure | Table) -> bool:
    """Whether nothing is drawn just outside of the box, and something at each of its edges."""
    assert one.box
    levels = np.asarray(
        Pixels.open(BytesIO(render(path, one.page, one.box, turn=one.turn, width=600, margin=3))).convert("L")
    )
    clear = all(edge.min() > 200 for edge in (levels[0], levels[-1], levels[:, 0], levels[:, -1]))
    inner = crop(path, one)
    tight = all(edge.min() < 250 for edge in (inner[:8], inner[-8:], inner[:, :8], inner[:, -8:]))
    return clear and tight
