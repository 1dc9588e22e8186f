"""Plain English, measured.

- A **sentence** of README, `docs/`, a help text, a message, a page or a config's comment has at most 25 words.
- Its **words** are common, in the glossary, or in `words.yaml`. Common is: once in a million words of English or more often
  (a Zipf frequency of 3, by wordfreq), in this form or without its ending. Names and code are no words.
- **Turns** that a reader has to read twice appear in none of them; those that are odd anywhere, in no docstring and no prompt.

`docs/reference/python.md` and `files.md` come from docstrings, `docs/citing.md` lists authors: only their turns count.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from support import prose

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "plugins" / "manyheads"
LONGEST = 25
COMMON = 3.0
PHRASES = re.compile(
    r"\banew\b|\b(?:can|could|to) (?:be )?mend(?:ed)?\b|\btell[s]? of\b|\btold of\b|\b(?:hold|held)s? beside\b"
    r"|\b(?:of|after|with|in|about) so many\b|\bso often\b|\bto be had\b|\bgo(?:es)? on with\b|\bnothing came of\b"
    r"|\bgives? a word\b|\bas it stands\b|\b(?:has|have) come to (?:its|their) end\b",
    re.IGNORECASE,
)
TURNS = re.compile(
    rf"{PHRASES.pattern}|\b(?:comes?|came) to\b|\bgo(?:es)? on\b|\bwent on\b|\b(?:stands?|stood)\b(?! for)|\bbeside\b|\bseldom\b"
    r"|\bbut for\b|\b(?:holds?|held)\b|\btell\w* apart\b|\bfrom it on\b|\bwhat is asked\b",
    re.IGNORECASE,
)
"""In what a user reads; docstrings and comments may have them."""
OLD = re.compile(r"\banew\b|\bmend(?:s|ed|ing)?\b|\btold of\b|\bgo on with\b", re.IGNORECASE)
"""Fewer in prompts and role cards: recorded runs hold their text."""
UNMEASURED = ("docs/reference/python.md", "docs/reference/files.md", "docs/citing.md")
WORD = re.compile(r"(?<![\w·’'-])[A-Za-z][a-z]+(?:[’'][a-z]+)?(?![\w·])")
ENDINGS = ("", "s", "es", "d", "ed", "r", "er", "ing", "ly")


@cache
def sentences(kind: str) -> tuple[prose.Sentence, ...]:
    """All that a user reads, but for prompts and results: in `pages`, or in `code`."""
    if kind == "code":
        files = ((path, _name(path)) for path in sorted(PACKAGE.rglob("*.py")))
        own = PACKAGE / "cli"
        return tuple(
            each for path, name in files for each in prose.of_code(path, name, commands=own in path.parents)
        )
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    read = [(prose.of_markdown, path) for path in pages if _name(path) not in UNMEASURED]
    read += [(prose.of_template, path) for path in sorted(PACKAGE.rglob("*.j2"))]
    read += [(prose.of_comments, path) for path in sorted((ROOT / "configs").rglob("*.yaml"))]
    return tuple(each for reader, path in read for each in reader(path, _name(path)))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def allowed() -> frozenset[str]:
    """The words of the glossary's terms, and those of `words.yaml`."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = " ".join(re.findall(r"^\*\*(.+)\*\*$", glossary, re.MULTILINE))
    listed = yaml.safe_load((Path(__file__).parent / "words.yaml").read_text(encoding="utf-8"))
    return frozenset(re.findall(r"[a-z]+", terms.lower())) | {
        word for words in listed.values() for word in words.split()
    }


@cache
def known(word: str) -> bool:
    from wordfreq import zipf_frequency

    stems = [word.removesuffix(each) for each in ENDINGS if word.endswith(each)]
    stems += [stem + "e" for stem in stems] + [stem[:-1] for stem in stems if stem[-2:-1] == stem[-1:]]
    stems += [f"{word.removesuffix('ies')}y"] if word.endswith("ies") else []
    return any(stem in allowed() or zipf_frequency(stem, "en", "small") >= COMMON for stem in stems)


def _rare(sentence: str) -> Iterator[str]:
    for found in WORD.finditer(sentence):
        word = re.sub(r"[’']s?$", "", found[0])
        named = word[0].isupper() and found.start() > 0
        if not named and len(word) > 2 and not known(word.lower()):
            yield word


KINDS = pytest.mark.parametrize("kind", ["pages", pytest.param("code", marks=pytest.mark.slow)])


@KINDS
def test_sentences_are_short(kind: str) -> None:
    long = [
        f"{at}: {said.count(' ') + 1} words: {said}"
        for at, said in sentences(kind)
        if said.count(" ") >= LONGEST
    ]
    assert long == []


@KINDS
def test_words_are_common_or_of_the_field(kind: str) -> None:
    assert [f"{at}: {word}" for at, said in sentences(kind) for word in _rare(said)] == []


@KINDS
def test_turns_are_plain(kind: str) -> None:
    assert len(sentences(kind)) > 1000
    assert [f"{at}: {said}" for at, said in sentences(kind) if TURNS.search(said)] == []


def test_code_speaks_plain_english() -> None:
    lines = (
        f"{_name(file)}:{number}: {line.strip()}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if PHRASES.search(line)
    )
    assert [*lines] == []


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
