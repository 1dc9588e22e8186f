"""Measures of texts and teams (VirSci 2024 and 2025, §4.1)."""

BY_FIELD = (
    "HD and CD are distances to the nearest past and contemporary papers, CI is the citations of the latter, ON is HD × CI / CD. "
    "ON mostly follows CI, which differs between fields: compare ON within a field, and report HD, CD and CI with it"
)
"""A note on ON, from 500 papers of 2017: see `tests/bench/citations.py`."""
