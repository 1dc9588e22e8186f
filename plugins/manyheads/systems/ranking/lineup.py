"""The ideas of a ranking as their judge sees them: anonymous, and in one form as far as they have it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from manyheads.errors import ConfigError
from manyheads.forms import as_ranked
from manyheads.replies import Proposal, label
from manyheads.systems.ideas import Entry

NAMED = 4
"""Ideas that a line names one by one."""
APART = 1.5
"""How many times as long as all others a text is that stands out by its length."""


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
        """What a user calls each; no judge is told."""
        return ["the target", *(f"idea {number}" for number in range(1, len(self.entries)))]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are shown, in the order of the form."""
        fields = [set(entry.fields) for entry in self.entries]
        shown = set[str].intersection(*fields) if self.align and self._formed else set[str].union(*fields)
        return tuple(name for name in Proposal.model_fields if name in shown)

    @property
    def proposals(self) -> tuple[Entry, ...]:
        """Each of them with those of its fields that are shown."""
        fields = self.fields
        return tuple(
            replace(each, fields={name: each.fields[name] for name in fields if name in each.fields})
            for each in self.entries
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """Each of them as it is shown."""
        return tuple(as_ranked(each.title, each.text, each.fields, self.fields) for each in self.entries)

    @property
    def _formed(self) -> bool:
        """Whether all have fields: where one has none, there is nothing to align by."""
        return all(entry.fields for entry in self.entries)

    def need_content(self) -> None:
        """Raises `ConfigError` where the ideas share no field but their titles, so that there is nothing to judge."""
        if self.align and self._formed and set(self.fields) <= {"title"}:
            entries = zip(self.names, self.entries, strict=True)
            raise ConfigError(
                "ranking.align: no field of a proposal is told by every idea and by the target",
                tried="; ".join(f"{name} tells {', '.join(entry.fields)}" for name, entry in entries),
                hint="show what each tells: manyheads resume RUN --set ranking.align=false --accept-changes",
            )

    def doubts(self) -> Iterator[str]:
        """What a reader of the ranking should know of how the ideas were shown, a line each."""
        for same in dict.fromkeys((*_groups(self.texts), *_groups([entry.text for entry in self.entries]))):
            names = _listed([self.names[place] for place in same])
            yield f"{names} are the same text: which of them ranks above the other is chance"
        if not self._formed:
            plain = [name for name, entry in zip(self.names, self.entries, strict=True) if not entry.fields]
            yield (
                f"not in the form of a proposal, as the others are: {_listed(plain)}; a judge can tell them apart by "
                "that, and --set ranking.condense=all brings all into it"
            )
            return
        # Judges know long from short, and many favour the long.
        target, *ideas = (len(text.split()) for text in self.texts)
        if target * APART < min(ideas) or target > max(ideas) * APART:
            others = f"{min(ideas)} to {max(ideas)}" if min(ideas) < max(ideas) else f"{ideas[0]}"
            yield f"the target is shown in {target} words, the ideas in {others}: a judge can tell it by that"
        # Fields that some have and others lack: shown of none, or, where they are, by which a judge can go.
        for field in Proposal.model_fields:
            lacking = [
                n for n, entry in zip(self.names, self.entries, strict=True) if field not in entry.fields
            ]
            if 0 < len(lacking) < len(self.entries):
                who, what = (
                    f"{_listed(lacking)} {'tell' if lacking[1:] else 'tells'} none",
                    label(field).lower(),
                )
                yield (
                    f"{what} is shown of no idea, as {who}"
                    if self.align
                    else f"{what} is shown, though {who}: a judge can tell ideas apart by that"
                )


def _groups(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """The places of each text that stands in several."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text, []).append(place)
    return [tuple(same) for same in places.values() if len(same) > 1]


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED + 1:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
