"""Runs that go on from a finished one: from its ideas, with its models and its corpus."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import get_origin

from manyheads.base.errors import SubjectError
from manyheads.base.folders import CONFIG
from manyheads.base.resources import Resources
from manyheads.config.files import layers, with_files_in_full
from manyheads.systems import system_of
from manyheads.systems.ideas import idea_of, ideas_by_number
from manyheads.systems.results import load
from manyheads.team.system import COMMON

TEAM, INTERVIEW, SOCIETY = "virsci", "interview", "society"
"""The systems that find more ideas like some, that ask about one, and that go on from a year of their own."""
OWN = {"system", "name", "inputs", "steer"}
"""Keys of a run that those which go on from it do not share."""


def follow_up(run: Path, name: str, numbers: Sequence[int] = ()) -> list[str]:
    """`key=JSON` settings of a run of a system that begins with ideas of a finished run; without numbers with its own idea.

    Raises:
        SubjectError: the run is not finished or has no such idea, or the system begins with none, or with one alone.
    """
    result, inputs = load(run, unfinished=False).result, system_of(name).inputs
    takers = [each for each, slot in inputs.slots().items() if "RUN" in slot.metavar]
    taker = min(takers, key=lambda each: not each.startswith("idea"), default=None)
    if taker is None or not ideas_by_number(result):
        raise SubjectError(f"{run}: has no idea for {name}", hint="name the folder of a run with an idea")
    for number in numbers:
        idea_of(result, number, run)
    named = [f"{run.resolve()}#{number}" for number in numbers] or [str(run.resolve())]
    many = get_origin(inputs.model_fields[taker].annotation) is tuple
    if len(named) > 1 and not many:
        raise SubjectError(f"{name}: begins with one idea, not with {len(named)}", hint="choose one")
    return [*settings_of(run, name), _setting(f"inputs.{taker}", named if many else named[0])]


def branch(run: Path, after: int | None) -> list[str]:
    """`key=JSON` settings of a society that shares the first epochs of another one; of all that are finished if `after` is None.

    Raises:
        SubjectError: the folder is not a run's.
    """
    load(run)
    given = {"branch": str(run.resolve()), **({} if after is None else {"after": after})}
    return [*settings_of(run, SOCIETY), *(_setting(f"inputs.{key}", value) for key, value in given.items())]


def settings_of(run: Path, name: str) -> list[str]:
    """`key=JSON` settings that a run of a system shares with another run."""
    [config] = layers([str(run / CONFIG)], (), Resources.of())
    config = with_files_in_full(config, system_of(config["system"]).model, run)
    shared = COMMON - OWN | {name} & {config.get("system")}
    return [_setting(key, value) for key, value in config.items() if key in shared]


def _setting(key: str, value: object) -> str:
    return f"{key}={json.dumps(value, ensure_ascii=False)}"
