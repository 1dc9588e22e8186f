"""A paper's sections by their headings: text and citations of introduction and method (SciPIP, §3.1)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal[
    "introduction", "related", "method", "experiments", "results", "conclusion", "appendix", "other"
]
"""Subjects of sections, in the usual order."""
_HEADINGS: dict[Kind, str] = {
    "introduction": r"^(?:general )?introduction|^intro$|^motivation|^(?:our |main |key )?contributions?$",
    "related": r"related|(?:prior|previous|existing|earlier) |literature|background|state of the art|state-of-the-art",
    "method": r"method|approach|algorithm|framework|architecture|proposed|technique|^(?:the |our )?models?$|our model"
    r"|model (?:architecture|description|design|overview)|problem (?:definition|formulation|set|statement)|formulation|materials"
    r"|preliminar|notation|system (?:architecture|design|model|overview)|theoretical",
    "experiments": r"experiment|evaluat|set-?up|simulation|benchmark|baseline|data ?sets?|implementation|ablation|case stud"
    r"|empirical|comparison|metrics",
    "results": r"result|findings|^analysis|error analysis|qualitative|quantitative",
    "conclusion": r"conclu|discussion|summary|future|limitation|outlook|broader impact|ethic",
    "appendix": r"appendi|acknowledg|supplement|^references|bibliograph|author contribution|contribution of authors|conflict|funding"
    r"|availability|declaration|competing|about the author|^abstract",
}
_NUMBER = re.compile(
    r"(?:(?i:section) )?(?:(\d{1,2}(?:\.\d{1,2})*)\.?|([IVX]{1,4})[.:]?|([A-Z])[.)])[\s\u2003]+(?=\S)"
)


class Section(NamedTuple):
    """A section of a paper.

    Attributes:
        title: its heading, with or without number; empty for text before the first heading.
        text: without its subsections, which follow it as sections of their own.
        cites: references cited in it, in the notation of the paper's references.
        level: 1 for a section, 2 for a subsection, and so on; 0 to infer it from the heading.
        number: such as `3.1`, if known apart from the heading.
    """

    title: str
    text: str
    cites: Sequence[str] = ()
    level: int = 0
    number: str = ""


class Core(NamedTuple):
    """Text of introduction and method, and their distinct citations: the paper's core references."""

    introduction: str = ""
    method: str = ""
    cites: tuple[str, ...] = ()


@dataclass
class _Group:
    """A section with its subsections; without a title if there are only subsections."""

    title: str
    number: str
    sections: list[Section] = field(default_factory=list[Section])

    @property
    def kind(self) -> Kind:
        """The subject by its own heading, else by its first subsection with one."""
        titles = (self.title,) if self.title else (_plain(one.title) for one in self.sections)
        for kind in map(kind_of, titles):
            if kind != "other":
                return kind
        return "other"


def kind_of(title: str) -> Kind:
    """The subject of a heading (without its number), by the first known word."""
    title = " ".join(title.casefold().split())
    places: dict[Kind, int] = {
        kind: match.start() for kind, words in _HEADINGS.items() if (match := re.search(words, title))
    }
    return min(places, key=places.__getitem__) if places else "other"


def core_of(sections: Sequence[Section]) -> Core:
    """Introduction, method and core references of a paper.

    Subsections belong to their section. If no heading names a method, it is everything between introduction and experiments; a
    section without a known subject continues a preceding method. Text before the first heading is the introduction if no
    heading names one.
    """
    groups = [*_groups(sections)]
    kinds = [group.kind for group in groups]
    if "introduction" not in kinds and groups and not groups[0].title and groups[0].number == "":
        kinds[0] = "introduction"
    if "method" in kinds:
        for place in range(1, len(kinds)):
            if kinds[place] == "other" and kinds[place - 1] == "method" and groups[place].title:
                kinds[place] = "method"
    elif set(kinds) != {"other"}:
        ends = (place for place, kind in enumerate(kinds) if kind not in ("introduction", "related", "other"))
        start, end = kinds.index("introduction") if "introduction" in kinds else 0, next(ends, len(kinds))
        kinds = [
            "method" if kind == "other" and start <= place < end else kind for place, kind in enumerate(kinds)
        ]

    def of(kind: Kind) -> list[Section]:
        return [
            one for group, own in zip(groups, kinds, strict=True) if own == kind for one in group.sections
        ]

    introduction, method = of("introduction"), of("method")
    cites = dict.fromkeys(cited for one in (*introduction, *method) for cited in one.cites)
    return Core(_text(introduction), _text(method), tuple(cites))


def _text(sections: Sequence[Section]) -> str:
    return "\n\n".join(filter(None, (one.text.strip() for one in sections)))


def _plain(title: str) -> str:
    """A heading without its number."""
    return _NUMBER.sub("", title.strip(), count=1) if _NUMBER.match(title.strip()) else title.strip()


def _groups(sections: Sequence[Section]) -> Iterator[_Group]:
    roman = any((number := _NUMBER.match(one.title.strip())) and number[2] for one in sections)
    numbered = [_numbered(one, roman) for one in sections]
    group: _Group | None = None
    for place, (level, number) in enumerate(numbered):
        one, title = sections[place], _plain(sections[place].title)
        top, _, rest = number.partition(".")
        inside = level > 1 and group is not None
        if inside and group is not None and ((rest and top != group.number) or _restarts(numbered, place)):
            yield group
            group = _Group("", top if rest else "?")
        elif not inside or group is None:
            if group is not None:
                yield group
            group = _Group(title if level < 2 else "", top if level < 2 or rest else "?")
        group.sections.append(one)
    if group is not None:
        yield group


def _numbered(section: Section, roman: bool) -> tuple[int, str]:
    """Level and number, inferred from the heading if unknown."""
    if section.level:
        return section.level, section.number
    if match := _NUMBER.match(section.title.strip()):
        arabic, _, letter = match.groups()
        if arabic:
            return arabic.count(".") + 1, arabic
        return (2, "") if letter and roman else (1, "")
    return 1, ""


def _restarts(numbered: Sequence[tuple[int, str]], place: int) -> bool:
    """Whether a subsection is the first of a section whose heading is missing: the numbers of the surrounding sections skip one,
    and this is the last subsection with the number 1 between them."""

    def first(one: tuple[int, str]) -> bool:
        return one == (2, "1")

    if not first(numbered[place]):
        return False
    before = next((number for level, number in reversed(numbered[:place]) if level == 1), "")
    after = next(((at, one[1]) for at, one in enumerate(numbered) if at > place and one[0] == 1), None)
    if after is None or not (before.isdecimal() and after[1].isdecimal()):
        return False
    last = not any(map(first, numbered[place + 1 : after[0]]))
    return last and int(after[1]) - int(before) > 1
