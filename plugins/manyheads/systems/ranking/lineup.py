"""The ideas of a ranking as their judge sees them: anonymous, and in one form as far as they have it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from manyheads.errors import ConfigError
from manyheads.replies import Proposal, label
from manyheads.replies.refinement import as_ranked
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

    def named(self) -> Iterator[tuple[str, Entry]]:
        """Each with what a user calls it; no judge is told."""
        for number, entry in enumerate(self.entries):
            yield f"idea {number}" if number else "the target", entry

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are shown, in the order of the form."""
        told = [set(entry.fields) for entry in self.entries]
        kept = set[str].intersection(*told) if self._aligned else set[str].union(*told)
        return tuple(name for name in Proposal.model_fields if name in kept)

    @property
    def texts(self) -> tuple[str, ...]:
        """Each of them as it is shown."""
        return tuple(as_ranked(each.title, each.text, each.fields, self.fields) for each in self.entries)

    @property
    def _aligned(self) -> bool:
        """Where one has no fields, there is nothing to align by."""
        return self.align and self._formed

    @property
    def _formed(self) -> bool:
        return all(entry.fields for entry in self.entries)

    def need_content(self) -> None:
        """Raises `ConfigError` where the ideas share no field but their titles, so that there is nothing to judge."""
        if self._aligned and set(self.fields) <= {"title"}:
            raise ConfigError(
                "ranking.align: no field of a proposal is told by every idea and by the target",
                tried="; ".join(self._told()),
                hint="show what each tells: manyheads resume RUN --set ranking.align=false --accept-changes",
            )

    def _told(self) -> Iterator[str]:
        for name, entry in self.named():
            yield f"{name} tells {', '.join(entry.fields)}"

    def doubts(self) -> Iterator[str]:
        """What a reader of the ranking should know of how the ideas were shown, a line each."""
        yield from self._alike()
        yield from self._long_or_short()
        yield from self._lacking()
        yield from self._unformed()

    def _alike(self) -> Iterator[str]:
        names = [name for name, _ in self.named()]
        written = _groups([entry.text for entry in self.entries])
        for same in dict.fromkeys((*_groups(self.texts), *written)):
            yield f"{_listed([names[place] for place in same])} are the same text: which of them ranks above the other is chance"

    def _long_or_short(self) -> Iterator[str]:
        """A target that stands out among its like: judges know long from short, and many favour the long."""
        if not self._formed:
            return
        target, *ideas = (len(text.split()) for text in self.texts)
        if target * APART < min(ideas) or target > max(ideas) * APART:
            others = f"{min(ideas)} to {max(ideas)}" if min(ideas) < max(ideas) else f"{ideas[0]}"
            yield f"the target is shown in {target} words, the ideas in {others}: a judge can tell it by that"

    def _lacking(self) -> Iterator[str]:
        """Fields that some have and others lack: shown of none, or, where they are, by which a judge can go."""
        for field in Proposal.model_fields if self._formed else ():
            without = [name for name, entry in self.named() if field not in entry.fields]
            if 0 < len(without) < len(self.entries):
                tell, what = "tell" if without[1:] else "tells", label(field).lower()
                lacking = f"{_listed(without)} {tell} none"
                yield (
                    f"{what} is shown of no idea, as {lacking}"
                    if self.align
                    else f"{what} is shown, though {lacking}: a judge can tell ideas apart by that"
                )

    def _unformed(self) -> Iterator[str]:
        if plain := [name for name, entry in self.named() if not entry.fields]:
            yield (
                f"not in the form of a proposal, as the others are: {_listed(plain)}; a judge can tell them apart by "
                "that, and --set ranking.condense=all brings all into it"
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
