"""The ideas of a ranking as the judge sees them: anonymous, and in the same form where possible."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from manyheads.asking.forms import as_ranked
from manyheads.asking.replies import Proposal, label
from manyheads.base.errors import ConfigError
from manyheads.systems.ideas import Entry

NAMED = 4
"""Maximum ideas that a line lists by name."""
APART = 1.5
"""A text this many times longer or shorter than the others stands out by its length."""


@dataclass(frozen=True)
class Lineup:
    """A target and the ideas beside it.

    Attributes:
        entries: the target first, then the ideas as the config names them.
        align: whether only the fields are shown that all of them have.
    """

    entries: tuple[Entry, ...]
    align: bool

    @property
    def names(self) -> list[str]:
        """Their names for users; judges do not see them."""
        return ["the target", *(f"idea {number}" for number in range(1, len(self.entries)))]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are shown, in the order of the form."""
        fields = [set(entry.fields) for entry in self.entries]
        shown = set[str].intersection(*fields) if self.align and self._formed else set[str].union(*fields)
        return tuple(name for name in Proposal.model_fields if name in shown)

    @property
    def proposals(self) -> tuple[Entry, ...]:
        """The entries, each with only the shown fields."""
        fields = self.fields
        return tuple(
            replace(each, fields={name: each.fields[name] for name in fields if name in each.fields})
            for each in self.entries
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The text shown for each entry."""
        return tuple(as_ranked(each.title, each.text, each.fields, self.fields) for each in self.entries)

    @property
    def _formed(self) -> bool:
        """Whether all entries have fields; otherwise they cannot be aligned."""
        return all(entry.fields for entry in self.entries)

    def need_content(self) -> None:
        """Raises `ConfigError` if the ideas share no field except their titles: there is nothing to judge."""
        if self.align and self._formed and set(self.fields) <= {"title"}:
            entries = zip(self.names, self.entries, strict=True)
            raise ConfigError(
                "ranking.align: the ideas and the target have no field of a proposal in common",
                tried="; ".join(f"{name} has {', '.join(entry.fields)}" for name, entry in entries),
                hint="show all fields: manyheads resume RUN --set ranking.align=false --accept-changes",
            )

    def doubts(self) -> Iterator[str]:
        """Warnings about how the ideas were shown, a line each."""
        for same in dict.fromkeys((*_groups(self.texts), *_groups([entry.text for entry in self.entries]))):
            names = _listed([self.names[place] for place in same])
            yield f"{names} are the same text: their order in the ranking is chance"
        if not self._formed:
            plain = [name for name, entry in zip(self.names, self.entries, strict=True) if not entry.fields]
            yield (
                f"not in the form of a proposal, unlike the others: {_listed(plain)}; a judge can recognise them by "
                "that; --set ranking.condense=all brings all texts into this form"
            )
            return
        # Judges notice length, and many prefer longer texts.
        target, *ideas = (len(text.split()) for text in self.texts)
        if target * APART < min(ideas) or target > max(ideas) * APART:
            others = f"{min(ideas)} to {max(ideas)}" if min(ideas) < max(ideas) else f"{ideas[0]}"
            yield f"the target is shown in {target} words, the ideas in {others}: a judge can recognise it by its length"
        # Fields that only some have: hidden, or shown and then a clue to the judge.
        for field in Proposal.model_fields:
            lacking = [
                n for n, entry in zip(self.names, self.entries, strict=True) if field not in entry.fields
            ]
            if 0 < len(lacking) < len(self.entries):
                who, what = (
                    f"{_listed(lacking)} {'have' if lacking[1:] else 'has'} none",
                    label(field).lower(),
                )
                yield (
                    f"{what} is hidden from the judge because {who}"
                    if self.align
                    else f"{what} is shown although {who}: a judge can tell ideas apart by that"
                )


def _groups(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The places of each text that occurs more than once."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text, []).append(place)
    return [tuple(same) for same in places.values() if len(same) > 1]


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED + 1:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
