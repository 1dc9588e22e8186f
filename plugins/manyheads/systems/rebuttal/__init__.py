"""Review and rebuttal: an idea is reviewed, revised and compared with itself until it gets no better (Algorithm 1)."""

from manyheads.systems.rebuttal.ready import caps, fits, need_beginning, needs
from manyheads.systems.rebuttal.system import rebuttal

__all__ = ["caps", "fits", "need_beginning", "needs", "rebuttal"]
