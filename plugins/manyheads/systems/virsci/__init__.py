"""VirSci: a team of digital-twin scientists finds a topic, an idea and an abstract (2024 and 2025 papers)."""

from manyheads.systems.virsci.system import virsci

__all__ = ["virsci"]
