"""Judges of the ideas of runs (SciPIP, §4.2, §4.3, App. A.1): compared with each other, matched with published ones, searched for.

Each is a system in a file of its own; how a judge is asked, blind and in balanced orders, is the ranking's.
"""
