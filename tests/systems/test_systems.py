"""A system is one object in one folder: its name stands nowhere else, and its keys find their way to its section."""

import ast
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any

import pytest

from manyheads import systems as registry
from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources, shipped
from manyheads.config import Inputs, RunConfig, Section, Slot
from manyheads.report.page import View
from manyheads.systems import BUILT_IN, system_of, systems
from manyheads.systems.loading import load, validate
from manyheads.systems.virsci.system import VIRSCI
from manyheads.team.system import Needs, System
from support.entry_points import installed

NAME = "|".join(name.replace("-", "[-_]") for name in systems().own if name not in ("single", "discussion"))
NAMED = re.compile(rf"^({NAME})$|(?<![\w-])({NAME})[.=]\w|\b(systems\.|run |runs/\S*)({NAME})\b")
"""A name by itself, the beginning of a key, a module, a command or a folder; not a word in a sentence."""
ALLOWED = {
    "arena/entries.py": "a ranking's result becomes a rater's",
    "arena/items.py": "a kind of arena",
    "arena/pairing.py": "a kind of arena",
    "arena/report.py": "a kind of arena",
    "arena/sheets.py": "a kind of arena",
    "arena/store.py": "a kind of arena",
    "corpus/inspirations.py": "papers in order",
    "corpus/retrieval.py": "papers in order",
    "cli/__init__.py": "the command `ranking`, and examples of commands",
    "cli/corpus.py": "a config by default",
    "cli/evaluate.py": "the command that plants errors",
    "cli/arena.py": "a kind of arena",
    "cli/inspect.py": "a config by default, and an example",
    "cli/mcp.py": "a config by default",
    "cli/prompts.py": "an example",
    "cli/live.py": "the field of a reply",
    "cli/review.py": "the command `ranking judge`",
    "team/team.py": "the system that needs no authors",
    "datasets/targets.py": "targets are written for rankings",
    "mcp/tools.py": "a tool each for what a system does",
    "measures/ranking.py": "how people's rankings are counted",
    "web/vote.py": "a kind of arena",
}
"""Files outside `systems/` and `judges/` that name systems, and why."""


def names_in(path: Path) -> Iterator[str]:
    """Every identifier, module and string that is code; docstrings and the texts below fields are none."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield node.value
        identifiers = (getattr(node, name, None) for name in ("id", "attr", "arg", "name", "module"))
        yield from (each for each in identifiers if isinstance(each, str))


def test_systems_are_named_in_their_own_room_alone() -> None:
    package = shipped() / "plugins" / "manyheads"
    naming = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(NAME, path.read_text(encoding="utf-8"))
        and any(NAMED.search(name) for name in names_in(path))
    }
    assert {name for name in naming if not name.startswith(("systems/", "judges/"))} == set(ALLOWED)


class Plain(Section):
    in_full = frozenset({"gone"})

    gone: int = 0
    size: int = 3


class Given(Inputs):
    text: Annotated[str | None, Slot("last")] = None


async def nothing(run: Any) -> None:
    return


def no_needs(config: RunConfig) -> Needs:
    return {}


def no_lines(result: Any) -> list[tuple[str, str]]:
    return []


def no_view(record: Any) -> View:
    raise AssertionError("no report is written here")


def system(
    name: str = "plain", config: type[Section] = Plain, aliases: dict[str, str] | None = None
) -> System:
    return System(
        name,
        "Plain",
        "Plain.",
        config,
        Given,
        Plain,
        nothing,
        no_needs,
        no_lines,
        no_view,
        aliases=aliases or {},
    )


@pytest.mark.parametrize(
    ("data", "lifted", "rest"),
    [
        ({"size": 4, "seed": 1}, {"plain": {"size": 4}, "seed": 1}, {}),
        ({"plain": {"size": 4, "text": "x"}}, {"plain": {"size": 4}, "inputs": {"text": "x"}}, {}),
        ({"text": "x", "old": {"size": 2}}, {"inputs": {"text": "x"}, "plain": {"size": 2}}, {}),
        ({"other": 1, "gone": 2}, {}, {"other": 1, "gone": 2}),
        ({"theirs": {"height": 2, "name": "y"}}, {"plain": {"size": 2}}, {"theirs": {"name": "y"}}),
    ],
)
def test_each_key_goes_where_it_belongs(
    data: dict[str, Any], lifted: dict[str, Any], rest: dict[str, Any]
) -> None:
    aliases = {"old": "plain", "theirs.height": "plain.size"}
    assert system(aliases=aliases).lift(data) == (lifted, rest)


def test_keys_that_every_run_has_are_refused() -> None:
    class Clash(Section):
        corpus: str = ""

    with pytest.raises(ConfigError, match="corpus"):
        system(config=Clash)
    with pytest.raises(ConfigError, match="models"):
        system(name="models")


def test_what_another_system_takes_is_refused_with_what_this_one_takes() -> None:
    with pytest.raises(ConfigError) as refused:
        load(["virsci"], ["rebuttal.area=law"])
    assert all(word in str(refused.value) for word in ("rebuttal", "virsci", "team", "topic"))
    assert load(["virsci"], ["rebuttal.area=law"], strict=False) == load(["virsci"])


def test_former_names_are_read() -> None:
    data = {"system": "single", "baseline": {"tokens": 7}, "topic": "T", "ideas": {"keep": 2}}
    new = {"system": "single", "single": {"tokens": 7, "ideas": {"keep": 2}}, "inputs": {"topic": "T"}}
    assert validate(data) == validate(new)
    ranked = validate(
        {"system": "ranking", "ranking": {"target": "A b."}, "rebuttal": {"indicator": "beauty"}}
    )
    assert (ranked.inputs.target, ranked.settings.improved.indicator) == ("A b.", "beauty")


@contextmanager
def brought(*entries: EntryPoint) -> Generator[None]:
    """A new registry of these entry points of systems."""
    with installed(registry.GROUP, *entries):
        systems.cache_clear()
        yield
    systems.cache_clear()


def test_a_system_of_another_package(caplog: pytest.LogCaptureFixture) -> None:
    strangers = {"gone": "no.such:THING", "wrong": "manyheads.systems.virsci.system:VIRSCI", "virsci": "one:THING",
                 "idea-novelty": "one:THING"}  # fmt: skip
    twins = {"twin": "one:THING"}, {"twin": "two:THING"}
    others = [EntryPoint(*each, registry.GROUP) for some in (strangers, *twins) for each in some.items()]
    with brought(*others, *entry_points(group=registry.GROUP)):
        assert [*systems()] == [*systems().own], "what cannot be used is left out"
        assert system_of("virsci") is VIRSCI
        assert system_of("idea-novelty").judge
        for name in ("gone", "wrong", "twin"):
            with pytest.raises(ConfigError, match=rf"{name}'"):
                system_of(name)
        assert systems().get("nobody") is None
    assert all(f"{name!r}" in caplog.text for name in strangers)
    assert caplog.text.count("a name of manyheads itself") == 2


def test_the_judges_of_this_wheel_come_by_its_entry_points(caplog: pytest.LogCaptureFixture) -> None:
    judges = [entry for entry in entry_points(group=registry.GROUP) if "manyheads.judges." in entry.value]
    assert len(judges) == 6
    with brought(*judges):
        assert systems().own == (*BUILT_IN, *sorted(judge.name for judge in judges))
        assert not caplog.text
    with brought(), pytest.raises(ConfigError, match="idea-novelty"):
        system_of("idea-novelty")
    assert "install" in caplog.text, "the installed package is older than its code"


def test_messages_fill_inputs() -> None:
    ranking, config = systems()["ranking"], load(["ranking"])
    found = ranking.with_inputs(config, ["a", "b", "c"])
    assert (found.inputs.target, found.inputs.ideas) == ("a", ("b", "c"))
    assert systems()["rebuttal"].with_inputs(load(["rebuttal"]), ["a", "b"]).inputs.background == ("a", "b")


def test_a_system_without_a_config_file_runs_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def no_file(self: Resources, *parts: str) -> Path | None:
        return None

    monkeypatch.setattr(Resources, "find", no_file)
    config = load(["single"], ["topic=Owls"])
    assert (config.system, config.name, config.inputs.topic) == ("single", "single", "Owls")
