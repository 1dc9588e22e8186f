"""Measures of texts and teams (VirSci 2024 and 2025, §4.1)."""
