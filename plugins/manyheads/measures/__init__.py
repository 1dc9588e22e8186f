"""What texts and teams are measured by (VirSci 2024 and 2025, §4.1)."""

BY_FIELD = (
    "ON mostly follows CI, the citations of the nearest contemporary papers, which differ between fields: compare ON "
    "within a field, and look at HD, CD and CI beside it"
)
"""What a reader of ON must know. Among 500 papers of 2018, ON tells the most cited apart as well as CI alone does."""
