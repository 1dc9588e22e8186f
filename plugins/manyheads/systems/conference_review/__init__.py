"""LLM review: independent reviews of one text, on the form of a conference or on the one that people fill in."""

from manyheads.systems.conference_review.system import NEEDS, conference_review

__all__ = ["NEEDS", "conference_review"]
