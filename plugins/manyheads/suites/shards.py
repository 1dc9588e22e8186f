"""Shards: a suite or many reviews split over machines that share nothing, such as the tasks of a Slurm array; and a suite put
together from its shards."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree, rmtree
from typing import Self, TypeVar

from manyheads.base.errors import ChangedError, ConfigError, JournalError
from manyheads.base.files import folder_beside, make_folder
from manyheads.base.folders import SUITE, writing
from manyheads.core import Meter
from manyheads.core.events import AnyEvent
from manyheads.engine.budget import Budget
from manyheads.engine.jobs import Failure, Job, ended_at
from manyheads.suites.cells import Cell, jobs_of

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of the work; each machine finds its own without asking.

    Args:
        number: from 1 to `of`.

    Example:
        >>> Shard.parse("2/8")
        Shard(number=2, of=8)
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ConfigError` if it is not NUMBER/COUNT."""
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            hint = "write NUMBER/COUNT, such as --shard 1/8 for the first of 8"
            raise ConfigError(f"--shard {text}: not a shard", hint=hint)
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part(self, items: Sequence[T]) -> list[T]:
        """Every N-th item: parts differ by at most one in size, and items that are added later move no other."""
        return [*items[self.number - 1 :: self.of]]

    def cells(self, cells: Sequence[Cell]) -> list[Cell]:
        """Its cells. Those that share a run, or begin with another's idea, stay together: what a job needs is in its shard."""
        # of each job, one that it is connected with; the last on that way names the group
        first = dict[str, str]()

        def group(key: str) -> str:
            while first.setdefault(key, key) != key:
                key = first[key]
            return key

        for cell in cells:
            groups = {group(key) for job in cell.jobs for key in (job.key, *job.after)}
            first |= dict.fromkeys(groups, min(groups))
        # in the order of `jobs_of`, where more repeats come last
        mine = {*self.part([*dict.fromkeys(map(group, jobs_of(cells)))])}
        return [cell for cell in cells if group(cell.jobs[0].key) in mine]

    def share(self, budget: Budget, mine: int, total: int) -> Budget:
        """Its share of a budget by its number of jobs, so that all shards together stay within it. Time is not divided.

        Raises:
            ConfigError: less than one call or token is left for it.
        """
        limits = budget.limits
        shares = {
            "calls": limits.calls and limits.calls * mine // total,
            "tokens": limits.tokens and limits.tokens * mine // total,
            "money": limits.money and limits.money * mine / total,
        }
        if mine and (none := [key for key, value in shares.items() if value == 0]):
            raise ConfigError(
                f"--budget {none[0]}: nothing is left for shard {self}, with {mine} of {total} runs",
                hint="give a larger budget, or use fewer shards",
            )
        return budget.limited_to(limits.model_copy(update=shares)) if mine else budget


async def not_there(job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure:
    """An executor that runs nothing: merging pays for nothing."""
    return Failure("not finished in any of the merged folders; run its shard again, then merge again")


def merge(
    jobs: Mapping[str, Job], folders: Collection[Path], check: Callable[[Path], Collection[str]]
) -> None:
    """Copy the finished runs and judgements of a suite's shards into its own folder; those that are there stay.

    Args:
        check: what a shard's folder was made from other than this suite.

    Raises:
        ChangedError: a shard was made with other settings.
        JournalError: a folder cannot be read or written.
    """
    for folder in folders:
        if changed := check(folder):
            hint = "merge with the same suite, --set, --model and --repeats as the shards were run with"
            raise ChangedError(f"{folder}: was made with different settings: {'; '.join(changed)}", hint=hint)
    for job in jobs.values():
        there = (folder / job.key for folder in folders if ended_at(replace(job, folder=folder / job.key)))
        if ended_at(job) or not (source := next(there, None)):
            continue
        with writing(job.folder):
            make_folder(job.folder.parent)
            rmtree(job.folder, ignore_errors=True)  # begun here by a merge or a run that was stopped
            with folder_beside(job.folder) as new:
                # with the times of its files: a judgement counts only if it is newer than what it judged
                copytree(source, new, dirs_exist_ok=True, symlinks=True)


def shards_in(folders: Sequence[Path]) -> list[Path]:
    """The folders of shards that are named; raises `JournalError` if one is none."""
    if not folders:
        hint = "manyheads eval SUITE --merge FOLDER FOLDER -o NEW"
        raise ConfigError("--merge: no folders named", hint=hint)
    for folder in folders:
        if not (folder / SUITE).is_file():
            hint = "name what --shard wrote to"
            raise JournalError(f"{folder}: not the folder of a suite's shard", hint=hint)
    return [folder.resolve() for folder in folders]
