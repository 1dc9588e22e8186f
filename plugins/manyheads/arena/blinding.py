"""Texts without hints at their makers.

What names a maker is replaced or cut: package, system, roles, hosts and models of a run, sentences in which a model names itself, sections
and marks that only one maker writes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from re import Pattern

from manyheads.config import RunConfig, Strict
from manyheads.config.hosts import hosts
from manyheads.engine.system import system_of

ITSELF = re.compile(
    r"\b(?:as an? (?:AI|artificial intelligence|(?:large )?language model)|I am an? (?:AI|(?:large )?language model)"
    r"|this review (?:was|is) (?:written|generated|produced) by)\b",
    re.IGNORECASE,
)
"""How a text names its author."""
NEUTRAL, EARLIER = "the reviewer", "an earlier paper"


class ArenaConfig(Strict):
    """How to anonymise the texts of runs."""

    names: tuple[str, ...] = ()
    """Words that reveal the author, such as a role's name; replaced by `the reviewer`."""
    cut: tuple[str, ...] = ()
    """Headings of sections to leave out, as they reveal how a text was made."""
    marks: tuple[Pattern[str], ...] = ()
    """Regular expressions of names that mean nothing to readers of the text alone, such as `N\\d+`; removed from brackets, elsewhere
    replaced by `an earlier paper`."""


def nameless(text: str, names: Iterable[str], spec: ArenaConfig) -> tuple[str, int]:
    """A text without hints at its author, and their number."""
    text, sections = _without(text, spec.cut)
    text, sentences = _without_itself(text)
    text, alone = re.subn(
        r"\A\s*#+ [^\n]+\n(?![\s\S]*^#)", "", text, count=1, flags=re.MULTILINE
    )  # its only heading
    marks = 0
    for mark in spec.marks:
        named = rf"(?<![\w-])(?:{mark.pattern})(?![\w-])"
        for pattern, instead in (
            (rf" ?[(\[]{named}[)\]]", ""),
            (rf"; {named}(?=[;)\]])|(?<=[(\[]){named}; ", ""),
            (named, EARLIER),
        ):
            text, number = re.subn(pattern, instead, text)
            marks += number
    words = sorted(
        {re.escape(name).replace("_", "[ _-]").replace("\\ ", r"[ _-]") for name in names},
        key=len,
        reverse=True,
    )
    replaced = 0
    if words:
        # Neither "the the reviewer" nor half of a longer word.
        known = re.compile(
            rf"(?:\b(?:the|our|a)\s+)?(?<![\w-])(?:{'|'.join(words)})s?(?![\w-])", re.IGNORECASE
        )
        text, replaced = known.subn(_neutral, text)
    return re.sub(r"\n{3,}", "\n\n", text).strip(), sections + sentences + alone + marks + replaced


def _without_itself(text: str) -> tuple[str, int]:
    """A text without sentences in which it names its author."""
    kept, cut = list[str](), 0
    for line in text.splitlines():
        parts = re.split(r"(?<=[.!?])(?=\s)", line)
        left = [part for part in parts if not ITSELF.search(part)]
        cut += len(parts) - len(left)
        kept.append(line if len(left) == len(parts) else "".join(left).lstrip())
    return "\n".join(kept), cut


def _neutral(found: re.Match[str]) -> str:
    """The replacement of a name, capitalised at the start of a sentence."""
    begins = re.search(r"(?:^|\n|[.!?])[\s>#*+•\d.)-]*$", found.string[: found.start()])
    return NEUTRAL.capitalize() if begins else NEUTRAL


def _without(text: str, headings: Sequence[str]) -> tuple[str, int]:
    """A Markdown text without the sections under these headings."""
    kept, level, cut = list[str](), 0, 0
    for line in text.splitlines():
        if heading := re.match(r"(#+)\s+(.+?)\s*#*\s*$", line):
            depth = len(heading[1])
            if level and depth <= level:
                level = 0
            if not level and heading[2].casefold() in map(str.casefold, headings):
                level, cut = depth, cut + 1
        if not level:
            kept.append(line)
    return "\n".join(kept), cut


def names_of(config: RunConfig, others: Iterable[str]) -> Iterator[str]:
    """Names that would reveal the author of a run's text: package, system, roles, hosts and models."""
    system = system_of(config)
    yield from ("manyheads", *hosts(), *others)
    yield from (name for name in (system.name, system.title) if len(name) > 3)
    yield from (role for role, _ in system.needs(config) if "_" in role)
    for model in config.models.values():
        yield from (
            name for name in (model.name, f"{model.provider}/{model.name}") if re.search(r"[\d/:-]", name)
        )
