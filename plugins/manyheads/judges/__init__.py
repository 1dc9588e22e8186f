"""Judges of the ideas of runs (SciPIP, §4.2, §4.3, App. A.1): comparison, match with published ideas, novelty.

Each is a system in its own file; blind questions in balanced orders come from `ranking`.
"""
