"""Optional extras: what is small without them, and what says their name where they are missing."""

import importlib.util
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, packages_distributions
from pathlib import Path
from typing import Any

import pytest

from manyheads.base import errors
from manyheads.base.errors import EXTRAS, ConfigError, install_command, missing_extra, need_extra
from manyheads.engine.readiness import findings
from manyheads.hosts.runs import run
from manyheads.systems.loading import load

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def distributions() -> tuple[dict[str, list[str]], list[str]]:
    """What pyproject.toml installs: by extra, and always."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    return project["optional-dependencies"], project["dependencies"]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No extra is installed."""
    modules = {module for each in EXTRAS.values() for module in each}

    def find(name: str) -> object:
        return None if name in modules else importlib.util.find_spec(name)

    monkeypatch.setattr(errors, "find_spec", find)
    errors._missing.cache_clear()
    yield
    errors._missing.cache_clear()


def test_each_module_is_installed_by_its_extra_and_by_no_install_without() -> None:
    extras, always = distributions()
    names = packages_distributions()
    for extra, modules in EXTRAS.items():
        parts = [extra, *(each.split("[")[1][:-1] for each in extras[extra] if each.startswith("manyheads["))]
        installed = " ".join(line.lower() for part in parts for line in extras[part])
        for module in modules:
            assert any(dist.lower().replace("_", "-") in installed for dist in names[module]), (extra, module)
            assert not any(line.lower().startswith(names[module][0].lower()) for line in always)
    assert all(extra in " ".join(extras["all"]) for extra in ("corpus", "papers", "plots", "parquet"))


def test_no_host_brings_or_shuts_out_a_version_of_mcp() -> None:
    extras, always = distributions()
    assert not any(line.startswith("mcp") for line in [*extras["autogen"], *extras["agentscope"], *always])


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("system", "extra"), [("virsci", "corpus"), ("ranking", "statistics"), ("mamorx", "papers")]
)
async def test_a_run_without_its_extra_is_not_begun(system: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text("# Owls\n\nWe plan with owls.")
    given = {
        "virsci": [],
        "ranking": ["inputs.target=paper.md", "inputs.ideas=[paper.md]"],
        "mamorx": ["inputs.paper=paper.md"],
    }
    config = load([system], [each.replace("paper.md", str(tmp_path / "paper.md")) for each in given[system]])
    with pytest.raises(ConfigError, match=f"{system} needs the extra '{extra}'") as error:
        await run(config, out=tmp_path / "runs")
    assert error.value.hint == install_command(extra)
    assert any(each.subject == "extras" for each in findings(config, ask_models=False, connect=False))


@pytest.mark.usefixtures("bare")
def test_a_door_names_its_extra() -> None:
    with pytest.raises(ConfigError, match="a knowledge bank needs the extra 'corpus'") as error:
        need_extra("corpus", "a knowledge bank")
    assert "qdrant_edge" in (error.value.tried or "")
    told = missing_extra(ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats"))
    assert told
    assert told.hint == install_command("statistics")
    assert missing_extra(ModuleNotFoundError("No module named 'other'", name="other")) is None


BLOCKED = """
import sys
from importlib.abc import MetaPathFinder
from manyheads.base.errors import EXTRAS
BROUGHT = {"PIL", "numpy", *EXTRAS["web"], *EXTRAS["mcp"]}  # by the hosts
HEAVY = {module for extra in EXTRAS.values() for module in extra} - BROUGHT
class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from manyheads import ask_sync
for host in ("autogen", "agentscope", "agent_framework"):
    print(type(ask_sync("reviewer", "review", idea="We plan with owls.", host=host)).__name__)
import asyncio, tempfile
from manyheads.hosts.autogen import RebuttalTeam
print(asyncio.run(RebuttalTeam(out=tempfile.mkdtemp()).run(task="An abstract.")).stop_reason)
"""


@pytest.mark.slow
def test_a_role_and_a_team_without_a_corpus_need_no_extra() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["Review", "Review"]
    assert "rebuttal finished" in done.stdout


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'manyheads[corpus]'"),
        ({"url": "file:///a%20copy", "dir_info": {}}, "pip install '/a copy[corpus]'"),
        ({"url": "HERE", "dir_info": {}}, "pip install '.[corpus]'"),
        ({"url": "HERE", "dir_info": {"editable": True}}, "pip install --editable '.[corpus]'"),
        (
            {"url": "file:///w/manyheads-1-py3-none-any.whl", "archive_info": {}},
            "pip install '/w/manyheads-1-py3-none-any.whl[corpus]'",
        ),
        (
            {"url": "https://host/repo.git", "vcs_info": {"vcs": "git"}},
            "pip install 'manyheads[corpus] @ git+https://host/repo.git'",
        ),
        ("not JSON", "pip install 'manyheads[corpus]'"),
    ],
)
def test_the_command_fits_how_manyheads_is_installed(
    origin: Any, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read from pip's record beside the package, see PyPA's specification of `direct_url.json`."""
    monkeypatch.chdir(tmp_path)
    record = json.dumps(origin).replace("HERE", tmp_path.as_uri()) if isinstance(origin, dict) else origin

    class Installed(Distribution):
        def read_text(self, filename: str) -> str | None:
            return record if filename == "direct_url.json" else None

        def locate_file(self, path: Any) -> Any:
            raise NotImplementedError

    def by_name(name: str) -> Distribution:
        assert name == "manyheads"
        return Installed()

    monkeypatch.setattr("importlib.metadata.distribution", by_name)
    assert install_command("corpus") == command
