"""The names that people are known under, where a dataset knows them by more than their names."""

from collections import Counter
from collections.abc import Iterable, Mapping

from manyheads.bank.corpus import RawAuthor
from manyheads.bank.spool import Team

Spellings = Mapping[str, Counter[str]]
"""Key to each name that stands for it, with the number of papers where it does."""


def spellings(authors: Iterable[str], teams: Iterable[Team], known: Mapping[str, RawAuthor]) -> Spellings:
    """Every name under which these authors (by key) stand in papers and in the dataset's own records."""
    found = {key: Counter[str]() for key in authors}
    for team in teams:
        for key, name in zip(team.keys, team.names, strict=True):
            if key in found:
                found[key][name] += 1
    for key, author in known.items():
        if key in found:
            found[key][author.name] += 1
    return found


def shown(key: str, names: Counter[str], known: Mapping[str, RawAuthor]) -> str:
    """A person's name: the dataset's, or the most usual one; with the key where that is another."""
    usual = min(names, key=lambda name: (-names[name], name), default=key)
    name = known[key].name if key in known else usual
    return name if name == key else f"{name} ({key})"
