"""Texts without hints at their makers.

What names a maker is replaced or cut: package, system, roles, hosts and models of a run, sentences in which a model names itself, sections
and marks that only one maker writes.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from re import Pattern
from textwrap import shorten

from pydantic import Field

from manyheads.base.text import first_few
from manyheads.config import RunConfig, Strict
from manyheads.config.environment import hosts
from manyheads.team.system import system_of

ITSELF = re.compile(
    r"\b(?:as an? (?:AI|artificial intelligence|(?:large )?language model)|I am an? (?:AI|(?:large )?language model)"
    r"|this review (?:was|is) (?:written|generated|produced) by)\b",
    re.IGNORECASE,
)
"""How a text names its author."""
EARLIER = "an earlier paper"
MARK = re.compile(r"[\s>]*(?:(#+)|[-*+•]|\d{1,3}[.)])\s+")
"""The mark of a heading or of a list item."""
LABEL = re.compile(r"(\*\*|__)[^*_]+\1:?\s*")
SENTENCE = re.compile(r".+?(?:[.!?](?=\s)\s*|$)")
SHOWN = 4
"""Number of lines of a maker that a warning names."""


class Blinding(Strict):
    """How to remove the makers' names from texts of runs."""

    names: tuple[str, ...] = ()
    """Words that reveal the author, such as a role's name; replaced by `writer`."""
    writer: str = Field(default="the reviewer", min_length=1, max_length=40)
    """What replaces a name."""
    cut: tuple[str, ...] = ()
    """Headings of sections to leave out, as they reveal how a text was made."""
    drop: tuple[str, ...] = ()
    """Headings, labels in bold and sentences to leave out, anywhere; the text below them is kept. Numbers may differ."""
    marks: tuple[Pattern[str], ...] = ()
    """Regular expressions of names that mean nothing to readers of the text alone, such as `N\\d+`; removed from brackets. Elsewhere,
    those that the run's result has are replaced by `an earlier paper`."""


class ArenaConfig(Blinding):
    """How to anonymise the texts of runs, and what raters of a suite's arena are asked."""

    form: str = "review"
    """The questions: review, idea, rating, ranking, or a YAML file; see `manyheads arena new`."""


def nameless(text: str, names: Iterable[str], spec: Blinding, record: str = "") -> tuple[str, int]:
    """A text without hints at its author, and their number.

    Args:
        record: the JSON of the run's result, if a run wrote it. Another text may have a mark of its own: “we set N10 = 5”.
    """
    text, sections = _without(text, spec.cut)
    text, lines = _without_phrases(text, spec.drop)
    text, sentences = _without_itself(text)
    only_heading = r"\A\s*#+ [^\n]+\n(?![\s\S]*^#)"
    text, alone = re.subn(only_heading, "", text, count=1, flags=re.MULTILINE)
    marks = 0
    for mark in spec.marks:
        named = rf"(?<![\w-])(?:{mark.pattern})(?![\w-])"
        own = {re.escape(found[0][1:-1]) for found in re.finditer(rf'"(?:{mark.pattern})"', record)}
        for pattern, instead in (
            (rf" ?[(\[]{named}[)\]]", ""),
            (rf"; {named}(?=[;)\]])|(?<=[(\[]){named}; ", ""),
            *([(rf"(?<![\w-])(?:{'|'.join(sorted(own))})(?![\w-])", EARLIER)] if own else ()),
        ):
            text, number = re.subn(pattern, instead, text)
            marks += number
    patterns = {re.escape(name).replace("_", "[ _-]").replace("\\ ", r"[ _-]") for name in names}
    words = sorted(patterns, key=len, reverse=True)
    replaced = 0
    if words:
        # Neither "the the reviewer" nor half of a longer word.
        named = rf"(?:\b(?:the|our|a)\s+)?(?<![\w-])(?:{'|'.join(words)})s?(?![\w-])"
        text, replaced = re.subn(named, lambda found: _neutral(found, spec.writer), text, flags=re.IGNORECASE)
    return re.sub(r"\n{3,}", "\n\n", text).strip(), sections + lines + sentences + alone + marks + replaced


def _without_itself(text: str) -> tuple[str, int]:
    """A text without sentences in which it names its author."""
    kept, cut = list[str](), 0
    for line in text.splitlines():
        parts = re.split(r"(?<=[.!?])(?=\s)", line)
        left = [part for part in parts if not ITSELF.search(part)]
        cut += len(parts) - len(left)
        kept.append(line if len(left) == len(parts) else "".join(left).lstrip())
    return "\n".join(kept), cut


def _neutral(found: re.Match[str], writer: str) -> str:
    """The replacement of a name, capitalised at the start of a sentence."""
    begins = re.search(r"(?:^|\n|[.!?])[\s>#*+•\d.)-]*$", found.string[: found.start()])
    return writer[:1].upper() + writer[1:] if begins else writer


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


def _parts(line: str) -> tuple[str, list[str]]:
    """The mark of a line, and its heading, or its label and sentences; together they are the line."""
    mark = MARK.match(line)
    start = mark.end() if mark else 0
    if mark and mark[1]:
        return line[:start], [line[start:]]
    label = LABEL.match(line, start)
    end = label.end() if label else start
    return line[:start], [*([label[0]] if label else []), *SENTENCE.findall(line, end)]


def _key(phrase: str) -> str:
    """A phrase without numbers, case, emphasis and closing signs."""
    return re.sub(r"\d+(?:[.,]\d+)*", "0", " ".join(phrase.split()).casefold()).strip("*_#:.!? ")


def _without_phrases(text: str, phrases: Sequence[str]) -> tuple[str, int]:
    """A text without these headings, labels and sentences."""
    unwanted, kept, cut = {_key(each) for each in phrases} - {""}, list[str](), 0
    if not unwanted:
        return text, 0
    for line in text.splitlines():
        mark, parts = _parts(line)
        left = [each for each in parts if _key(each) not in unwanted]
        cut += len(parts) - len(left)
        if left or not parts:
            kept.append(f"{mark}{''.join(left)}")
    return "\n".join(kept), cut


def _forms(text: str) -> dict[tuple[int, str], str]:
    """Headings (0), labels (1) and sentences (2) of a text as they stand, by what is compared."""
    forms = dict[tuple[int, str], str]()
    for line in text.splitlines():
        mark, parts = _parts(line)
        for part in parts:
            if key := _key(part):
                kind = 0 if "#" in mark else 1 if LABEL.fullmatch(part) else 2
                forms.setdefault((kind, key), f"{mark}{part}".strip() if kind == 0 else part.strip())
    return forms


def giveaways(texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Headings, labels and sentences by which raters could recognise a maker: all its texts have them, and no other's has.

    Args:
        texts: each with its maker first.
    """
    texts_of = defaultdict[str, list[dict[tuple[int, str], str]]](list)
    makers = defaultdict[tuple[int, str], set[str]](set)
    for maker, text in texts:
        texts_of[maker].append(_forms(text))
        for form in texts_of[maker][-1]:
            makers[form].add(maker)
    for maker, (first, *others) in texts_of.items():
        own_forms = (form for form in first if len(makers[form]) == 1)
        alone = sorted(form for form in own_forms if all(form in own for own in others))
        if others and len(texts_of) > 1 and alone:
            lines = first_few([f"“{shorten(first[form], 100, placeholder='…')}”" for form in alone], SHOWN)
            yield (
                f"all texts of {maker!r}, and no others, have {lines}: raters may recognise them; "
                "add the texts to a new arena with --drop LINE, or --cut HEADING for whole sections"
            )


def names_of(config: RunConfig, others: Iterable[str]) -> Iterator[str]:
    """Names that would reveal the author of a run's text: package, system, roles, hosts and models."""
    system = system_of(config)
    yield from ("manyheads", *hosts(), *others)
    yield from (name for name in (system.name, system.title) if len(name) > 3)
    yield from (role for role, _ in system.needs(config) if "_" in role)
    for model in config.models.values():
        names = (model.name, f"{model.provider}/{model.name}")
        yield from (name for name in names if re.search(r"[\d/:-]", name))
