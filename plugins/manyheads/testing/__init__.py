"""Tests for what other packages bring: each says which clauses of its contract a host, a system or a reader breaks."""

from manyheads.testing.hosts import CLAUSES, broken_clauses, host_conformance
from manyheads.testing.readers import reader_conformance
from manyheads.testing.systems import system_conformance

__all__ = ["CLAUSES", "broken_clauses", "host_conformance", "reader_conformance", "system_conformance"]
