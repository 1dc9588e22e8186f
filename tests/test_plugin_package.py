"""A third party's pack, really installed, adds a role and takes the place of single prompts."""

import json
from pathlib import Path
from typing import Any

import pytest

import manyheads
from support.packages import build, install, run_python

PACK = Path(__file__).parent / "plugin_package"
SOURCE = Path(manyheads.__file__).parents[1]
LOOK = """
import json, sys
from manyheads.resources import Resources
from manyheads.roles import Roles
roles = Roles(Resources.of(sys.argv[1:]))
print(json.dumps({
    "roles": sorted(roles.cards),
    "problems": roles.problems(),
    "historian": roles.system("historian", {}),
    "reviewer": roles.system("reviewer", {}),
    "review": roles.prompt("reviewer", "review", {"idea": "An idea."}),
    "imported": "manyheads_demo_pack" in sys.modules,
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pack")
    return install(build(PACK, folder), folder / "site")


def look(installed: Path, folder: Path, *mine: Path) -> dict[str, Any]:
    return json.loads(run_python("-c", LOOK, *map(str, mine), path=[installed, SOURCE], folder=folder))


def test_a_pack_adds_roles_without_being_imported(installed: Path, tmp_path: Path) -> None:
    seen = look(installed, tmp_path)
    assert {"historian", "leader", "scientist"} <= set(seen["roles"])
    assert seen["problems"] == []
    assert seen["historian"].startswith("You are a historian of physics.\n")
    assert "{%" not in seen["historian"]
    assert not seen["imported"]


def test_a_pack_takes_the_place_of_one_prompt_and_leaves_the_others(installed: Path, tmp_path: Path) -> None:
    seen = look(installed, tmp_path)
    assert seen["reviewer"] == "You review as the demo pack wants it: novelty in computer science.\n"
    assert "<idea>\nAn idea.\n</idea>" in seen["review"]


def test_the_users_folder_is_stronger_than_a_pack(installed: Path, folder: Path) -> None:
    (folder / "prompts/historian").mkdir()
    (folder / "prompts/historian/system.md.j2").write_text("My historian of {{ field }}.")
    seen = look(installed, folder, folder)
    assert seen["historian"] == "My historian of physics.\n"
    assert seen["reviewer"].startswith("You review as the demo pack wants it")


def test_the_command_lists_a_packs_roles(installed: Path, tmp_path: Path) -> None:
    listed = run_python("-m", "manyheads", "roles", path=[installed, SOURCE], folder=tmp_path)
    assert "historian" in listed


def test_a_packs_suite_runs_with_the_files_that_its_cases_name(installed: Path, tmp_path: Path) -> None:
    told = run_python("-m", "manyheads", "eval", "history", path=[installed, SOURCE], folder=tmp_path)
    assert "history: mean ± standard error over n cells" in told
    [run] = tmp_path.glob("runs/eval-history/cells/*")
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    assert [work["title"] for work in result["evidence"]] == ["On the ether"]
    assert (
        Path(result["result"]["background"]["source"])
        == installed / "manyheads_demo_pack/evals/history/ether.md"
    )
