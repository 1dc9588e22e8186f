"""Evaluation suites: a grid of configs over cases and seeds, run, measured and reported with intervals."""
