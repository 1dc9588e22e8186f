"""A society: over years, many teams of scientists write papers that the later ones read, cite and build on (VirSci 2025, §6)."""
