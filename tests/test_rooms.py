"""The package's rooms stand one above the other: each imports only what stands before it in the table."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGINS = ROOT / "plugins"
DOORS = ("replies", "ext", "testing")
"""What other packages import; no room does."""
ROOMS = (
    *re.findall(r"^\| `(\w+)` \|", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE),
    *DOORS,
    "__main__",
)
"""From the ground up, as the page on the architecture lists them."""
FRAMEWORKS = ("autogen", "agentscope", "agent_framework")
MOST_IN_A_CHAIN = 22
"""Files of the longest chain of imports, those within functions counted."""
TESTS = ("tests", "support", "bench", "conftest")


@dataclass(frozen=True)
class Import:
    """One name that a file imports, with the place where it does."""

    where: str
    importer: str
    name: str

    @property
    def rooms(self) -> tuple[str, str]:
        """Who imports, and what; empty for what belongs to no room."""
        return _room(self.importer), _room(self.name)

    def __str__(self) -> str:
        return f"{self.where}: {self.importer} imports {self.name}"


def _room(module: str) -> str:
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "manyheads" else ""


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found: dict[str, Path] = {}
    for path in (PLUGINS / "manyheads").rglob("*.py"):
        parts = path.relative_to(PLUGINS).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


@cache
def imports() -> tuple[Import, ...]:
    """What the package imports when it runs; those for the type checker alone are left out."""
    return tuple(found for module, path in modules().items() for found in _imports(module, path))


def _imports(module: str, path: Path) -> Iterator[Import]:
    for node in _running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            where = f"{path.relative_to(PLUGINS.parent)}:{node.lineno}"
            for name in _names(node):
                yield Import(where, module, name)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """A tree's statements but for what stands under `if TYPE_CHECKING`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            continue
        if not (isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"):
            yield from _running(child)


def _names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules that a statement names; relative ones begin with a dot."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        inner = f"{module}.{alias.name}"
        yield inner if inner in modules() else module


def offending(*found: Import) -> str:
    return "\n".join(map(str, found))


def test_every_room_has_its_place() -> None:
    assert len(modules()) > 50
    assert len(imports()) > 500
    assert sorted(ROOMS) == sorted({_room(module) for module in modules()} - {""})


def test_rooms_import_only_what_stands_before_them() -> None:
    level = {room: number for number, room in enumerate(("", *ROOMS))}
    upward = [each for each in imports() if level[each.rooms[1]] > level[each.rooms[0]]]
    assert not upward, offending(*upward)


def test_no_files_import_each_other_in_a_circle_or_in_a_long_chain() -> None:
    graph: dict[str, set[str]] = {}
    for each in imports():
        if each.name in modules() and each.name not in (each.importer, "manyheads"):
            graph.setdefault(each.importer, set()).add(each.name)
    chains = dict[str, list[str]]()
    try:
        for module in TopologicalSorter(graph).static_order():
            below = [chains[each] for each in graph.get(module, ())]
            chains[module] = [module, *max(below, key=len, default=[])]
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))
    longest = max(chains.values(), key=len)
    assert len(longest) <= MOST_IN_A_CHAIN, " <- ".join(longest)


def test_imports_name_their_module_in_full() -> None:
    relative = [each for each in imports() if each.name.startswith(".")]
    assert not relative, offending(*relative)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_only_hosts_know_the_frameworks(framework: str) -> None:
    known = [each for each in imports() if each.name.startswith(framework)]
    outside = [each for each in known if not each.importer.startswith(f"manyheads.hosts.{framework}")]
    assert known
    assert not outside, offending(*outside)


def test_the_package_does_not_need_its_tests() -> None:
    needed = [each for each in imports() if each.name.partition(".")[0] in TESTS]
    assert not needed, offending(*needed)
