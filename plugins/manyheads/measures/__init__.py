"""Measures of texts and teams (VirSci 2024 and 2025, §4.1)."""

BY_FIELD = (
    "ON mostly follows CI, the citations of the nearest contemporary papers, which differ between fields (AUROC for the "
    "most cited papers: ON 0.68, CI alone 0.67): compare ON within a field, and report HD, CD and CI with it"
)
"""A note on ON. The figures are of 500 papers of 2017, see `tests/bench/citations.py`."""
