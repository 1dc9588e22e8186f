"""Measures of texts and teams (VirSci 2024 and 2025, §4.1)."""

BY_FIELD = (
    "ON mostly follows CI, the citations of the nearest contemporary papers, which differ between fields: compare ON "
    "within a field, and report HD, CD and CI with it"
)
"""A note on ON. Among 500 papers of 2018, ON finds the most cited ones as well as CI alone."""
