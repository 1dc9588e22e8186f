"""Evaluation suites: a grid of configs over cases and seeds, run, measured and told with how sure that is."""
