"""The built package, alone and away from the checkout: its data is found and its command answers."""

import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from manyheads.base.resources import KINDS, shipped
from support.packages import build, install, run_python

CHECKOUT = Path(__file__).parents[1]
LOOK = """
import json
from pathlib import Path
import manyheads
from manyheads.systems.loading import load
from manyheads.base.resources import Resources, shipped
from manyheads.asking.roles import Roles
from schemas import stale
roles = Roles(Resources.of())
print(json.dumps({
    "package": str(Path(manyheads.__file__).parent), "data": str(shipped()), "config": load(["virsci"]).name,
    "roles": sorted(roles.cards), "problems": roles.problems(), "stale": [str(path) for path in stale()],
}))
"""
HINTS = """
import shlex, shutil, sys
from pathlib import Path
sys.modules["uvicorn"] = None
from golden.commands import command
from golden.test_mistakes import DATA, HERE, MISTAKES
home = shutil.copytree(HERE / "given", Path("home"))
for name, text in DATA["files"].items():
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text, encoding="utf-8")
for words in ["serve", *(mistake[0] for mistake in MISTAKES)]:
    print(words, command(*shlex.split(words), cwd=home).err)
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(CHECKOUT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel_from_sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(CHECKOUT, folder, "sdist")) as archive:
        archive.extractall(folder / "unpacked")  # our own, just made
    [unpacked] = (folder / "unpacked").iterdir()
    return build(unpacked, folder)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(wheel, tmp_path_factory.mktemp("site"))


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    held = names(wheel)
    tops = {name.split("/")[0] for name in held}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"manyheads"}
    for kind in KINDS:
        files = {
            path.relative_to(shipped()).as_posix() for path in (shipped() / kind).rglob("*") if path.is_file()
        }
        wanted = {f"manyheads/_data/{name}" for name in files if "__pycache__" not in name}
        assert wanted <= held, wanted - held
    assert not [
        name for name in held if name.startswith("manyheads/_data/") and name.endswith((".py", ".pyc"))
    ]
    web = {
        f"manyheads/web/{each}"
        for each in ("templates/layout.html.j2", "static/htmx.min.js", "static/htmx.LICENSE")
    }
    assert {"manyheads/py.typed", *web} <= held
    assert any(name.endswith("/licenses/LICENSE") for name in held)


def test_a_wheel_made_from_the_sdist_is_the_same(wheel: Path, wheel_from_sdist: Path) -> None:
    assert names(wheel_from_sdist) == names(wheel)


def test_the_installed_package_finds_its_data(installed: Path, tmp_path: Path) -> None:
    seen = json.loads(run_python("-c", LOOK, path=[installed, CHECKOUT / "tools"], folder=tmp_path))
    assert seen["package"] == str(installed / "manyheads")
    assert seen["data"] == str(installed / "manyheads/_data")
    assert seen["config"] == "virsci"
    assert {"scientist", "leader", "reviewer"} <= set(seen["roles"])
    assert (seen["problems"], seen["stale"]) == ([], [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["roles"], "scientist"),
        (["prompts", "export", "mine", "scientist"], "--path mine"),
        (["init", "mine"], "manyheads run my.yaml"),
    ],
)
def test_the_installed_command_answers(
    installed: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    assert words in run_python("-m", "manyheads", *arguments, path=[installed], folder=tmp_path)


def test_no_hint_names_the_place_of_the_package_or_a_checkout(installed: Path, tmp_path: Path) -> None:
    said = run_python("-c", HINTS, path=[installed, CHECKOUT / "tests"], folder=tmp_path)
    assert "next: pip install 'manyheads[web]'" in said
    places = (str(installed), str(CHECKOUT), "_data", "--editable")
    assert [line for line in said.splitlines() if any(place in line for place in places)] == []


def test_the_installed_package_has_its_command(installed: Path) -> None:
    script = installed / "bin" / "manyheads"
    assert "manyheads.__main__" in script.read_text()
