"""Plain English: phrases that a reader has to read twice appear in no string, docstring or comment."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHRASES = re.compile(
    r"\banew\b|\b(?:can|could|to) (?:be )?mend(?:ed)?\b|\btell[s]? of\b|\btold of\b|\b(?:hold|held)s? beside\b"
    r"|\b(?:of|after|with|in|about) so many\b|\bso often\b|\bto be had\b|\bgo(?:es)? on with\b|\bnothing came of\b"
    r"|\bgives? a word\b|\bas it stands\b|\b(?:has|have) come to (?:its|their) end\b",
    re.IGNORECASE,
)
OLD = re.compile(r"\banew\b|\bmend(?:s|ed|ing)?\b|\btold of\b|\bgo on with\b", re.IGNORECASE)
"""Fewer in prompts and role cards: recorded runs hold their text."""
READ = (
    "arena", "asking", "base", "cli", "config", "core", "corpus", "datasets", "documents", "engine", "hosts", "judges",
    "literature", "measures", "models", "report", "suites", "systems", "team", "testing", "ext.py",
)  # fmt: skip
"""The rooms of the package that are held to it."""


def _lines(room: str) -> tuple[tuple[str, str], ...]:
    path = ROOT / "plugins" / "manyheads" / room
    files = [path] if path.suffix else sorted(path.rglob("*.py"))
    return tuple(
        (f"{file.relative_to(ROOT)}:{number}", line)
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    )


@pytest.mark.parametrize("room", READ)
def test_a_room_speaks_plain_english(room: str) -> None:
    assert [f"{place}: {line.strip()}" for place, line in _lines(room) if PHRASES.search(line)] == []


def test_configs_speak_plain_english() -> None:
    comments = (
        f"{file.name}: {line}"
        for file in sorted((ROOT / "configs").rglob("*.yaml"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith("#") and PHRASES.search(line)
    )
    assert [*comments] == []


@pytest.mark.parametrize("folder", ["prompts", "roles"])
def test_prompts_speak_plain_english(folder: str) -> None:
    lines = (
        f"{file.relative_to(ROOT)}: {line}"
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in (".j2", ".yaml")
        for line in file.read_text(encoding="utf-8").splitlines()
        if OLD.search(line)
    )
    assert [*lines] == []
