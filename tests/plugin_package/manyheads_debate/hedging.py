"""A measure: how cautious a text is."""

from manyheads.ext import Subject

HEDGES = {"may", "might", "could", "perhaps", "possibly"}


def hedging(text: Subject) -> float | None:
    """The share of words that hedge; None without words."""
    words = text.text.lower().split()
    return sum(word.strip(".,;") in HEDGES for word in words) / len(words) if words else None
