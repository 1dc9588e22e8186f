"""Packages of a third party, really installed: a pack adds roles and replies, and takes the place of single prompts."""

import json
from pathlib import Path
from typing import Any

import pytest

import manyheads
from support.command import SMALL, Done, manyheads_command, manyheads_process
from support.packages import build, install, run_python, write_pack

pytestmark = pytest.mark.slow
DEBATE = Path(__file__).parent / "plugin_package"
SOURCE = Path(manyheads.__file__).parents[1]
LOOK = """
import json, sys
from manyheads.base.resources import Resources
from manyheads.asking.roles import Roles
roles = Roles(Resources.of(sys.argv[1:]))
print(json.dumps({
    "roles": sorted(roles.cards),
    "problems": roles.problems(),
    "reply": roles.reply("advocate", "argue").__name__,
    "advocate": roles.system("advocate", {"side": "against"}),
    "reviewer": roles.system("reviewer", {}),
    "review": roles.prompt("reviewer", "review", {"idea": "An idea."}),
    "imported": "odd_pack" in sys.modules,
}))
"""
CARD = """
name: {role}
description: Reads.
tasks:
  read: {{description: Reads., reply: {reply}}}
"""
ODD = {
    "prompts/reviewer/system.md.j2": "You review as the pack wants it: {{ indicator }} in {{ area }}.",
    "roles/reader.yaml": CARD.format(role="reader", reply="Review"),
    "prompts/reader/system.md.j2": "You read.",
    "prompts/reader/read.md.j2": "# Read",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the debate and a pack without code."""
    folder = tmp_path_factory.mktemp("pack")
    return write_pack(install(build(DEBATE, folder), folder / "site"), "odd", ODD)


def look(installed: Path, folder: Path, *mine: Path) -> dict[str, Any]:
    return json.loads(run_python("-c", LOOK, *map(str, mine), path=[installed, SOURCE], folder=folder))


@pytest.fixture(scope="module")
def seen(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process sees in a folder without roles of its own."""
    return look(installed, tmp_path_factory.mktemp("bare"))


def test_packs_add_roles_with_replies_of_their_own(seen: dict[str, Any]) -> None:
    assert {"advocate", "arbiter", "reader", "leader", "scientist"} <= set(seen["roles"])
    assert seen["problems"] == []
    assert seen["reply"] == "Argument"
    assert seen["advocate"].startswith("You argue against the claim")
    assert "{%" not in seen["advocate"]


def test_a_pack_of_data_is_never_imported(seen: dict[str, Any]) -> None:
    assert not seen["imported"]


def test_a_pack_takes_the_place_of_one_prompt_and_leaves_the_others(seen: dict[str, Any]) -> None:
    assert seen["reviewer"] == "You review as the pack wants it: novelty in computer science.\n"
    assert "<idea>\nAn idea.\n</idea>" in seen["review"]


def test_a_pack_brings_a_reader_of_documents(installed: Path, folder: Path) -> None:
    (folder / "owls.minutes").write_text(f"On Owls\nAnna: {'Owls hear. ' * 9}\nLi: {'They see. ' * 9}\n")
    lines = (
        "import sys; from pathlib import Path; from manyheads.documents import read_apart",
        "one = read_apart(Path('owls.minutes'), reader=sys.argv[1]); print(one.title, *(each.title for each in one.sections))",
    )
    for name in ("auto", "minutes"):
        read = run_python("-c", "; ".join(lines), name, path=[installed, SOURCE], folder=folder)
        assert read.split() == ["On", "Owls", "Anna", "Li"]


def test_a_pack_brings_a_source_of_papers_and_a_measure(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "idea.md").write_text("Sleep may help. It could.")
    env = {"PYTHONPATH": str(installed)}
    found = manyheads_process(
        "search", "motor memory", "--source", "proceedings", "--json", cwd=tmp_path, env=env
    )
    assert (found.code, json.loads(found.out)["id"]) == (0, "proceedings:1")
    how = ("measure", "idea.md", "--corpus", "sample", "--measure", "hedging", "--json")
    measured = manyheads_process(*how, cwd=tmp_path, env=env)
    assert (measured.code, json.loads(measured.out)["extra"]) == (0, {"hedging": 0.4})


def test_the_users_folder_is_stronger_than_a_pack(installed: Path, folder: Path) -> None:
    (folder / "prompts/advocate").mkdir()
    (folder / "prompts/advocate/system.md.j2").write_text("My advocate {{ side }}.")
    seen = look(installed, folder, folder)
    assert seen["advocate"] == "My advocate against.\n"
    assert seen["reviewer"].startswith("You review as the pack wants it")


@pytest.mark.parametrize(
    ("reply", "replies", "words"),
    [
        ("own.Note", "", "tried: none"),
        ("own.Note", "from manyheads.asking.replies import ReplyModel\nclass Letter(ReplyModel): ...", "tried: own.Letter"),
        ("other.Note", "", "no pack 'other' is installed"),
        ("own.Note", "import no_such_module", "own_pack.replies cannot be imported: ModuleNotFoundError"),
    ],
)  # fmt: skip
def test_a_reply_that_no_pack_brings_is_one_clear_error(
    tmp_path: Path, reply: str, replies: str, words: str
) -> None:
    files = {"roles/reader.yaml": CARD.format(role="reader", reply=reply), "replies.py": replies}
    site = write_pack(tmp_path / "site", "own", files)
    told = run_python("-m", "manyheads", "roles", path=[site, SOURCE], folder=tmp_path, fails=True)
    assert words in told
    assert "roles/reader.yaml" in told
    assert "Traceback" not in told


def test_a_pack_of_one_module_brings_no_replies(tmp_path: Path) -> None:
    site = write_pack(tmp_path / "site", "own", {})
    (site / "own_pack/__init__.py").rename(site / "own_pack.py")
    (site / "own_pack").rmdir()
    (tmp_path / "roles").mkdir()
    card = CARD.format(role="reader", reply="own.Note")
    (tmp_path / "roles/reader.yaml").write_text(card, encoding="utf-8")
    words = "roles", "--path", str(tmp_path)
    told = run_python("-m", "manyheads", *words, path=[site, SOURCE], folder=tmp_path, fails=True)
    assert "no such reply type 'own.Note'" in told


def test_two_packs_of_a_name_are_one_clear_error(tmp_path: Path) -> None:
    sites = [write_pack(tmp_path / f"site{n}", "twin", {}) for n in (1, 2)]
    points = sites[1] / "twin_pack-1.0.dist-info"
    points.rename(sites[1] / "other_pack-1.0.dist-info")
    (sites[1] / "other_pack-1.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: other\nVersion: 1\n"
    )
    (sites[1] / "other_pack-1.0.dist-info/entry_points.txt").write_text(
        "[manyheads.packs]\ntwin = other_pack\n"
    )
    told = run_python("-m", "manyheads", "roles", path=[*sites, SOURCE], folder=tmp_path, fails=True)
    assert "twin-pack and other both have a pack" in told


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with a system that cannot be imported, and one that is named like one of ours."""
    systems = {"wreck": "bad_pack.gone:THING", "virsci": "bad_pack:OTHER"}
    return write_pack(tmp_path_factory.mktemp("broken"), "bad", {}, systems)


def words_of_warnings(done: Done) -> dict[str, int]:
    lines = done.err.splitlines()
    assert all(line.startswith("warning: ") and "pip uninstall bad-pack" in line for line in lines), done.err
    return {name: sum(f"{name!r}" in line for line in lines) for name in ("wreck", "virsci")}


@pytest.mark.parametrize(
    ("arguments", "warnings"),
    [
        (("run", "--help"), {"wreck": 1, "virsci": 1}),
        (("run", "virsci", *SMALL), {"wreck": 0, "virsci": 1}),
    ],
)
def test_a_broken_system_spoils_no_other(
    broken: Path, tmp_path: Path, arguments: tuple[str, ...], warnings: dict[str, int]
) -> None:
    done = manyheads_process(*arguments, cwd=tmp_path, env={"PYTHONPATH": str(broken)})
    assert (done.code, "wreck" in done.out, words_of_warnings(done)) == (0, False, warnings)


@pytest.mark.parametrize(
    "arguments",
    [("run", "wreck", "--topic", "Owls"), ("run", "wreck")],
)
def test_a_broken_system_says_what_is_wrong_where_it_is_asked_for(
    broken: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = manyheads_process(*arguments, cwd=tmp_path, env={"PYTHONPATH": str(broken)})
    assert done.code == 2
    assert all(
        word in done.err for word in ("manyheads: bad-pack", "bad_pack.gone", "pip uninstall bad-pack")
    )


def test_what_a_missing_package_ran_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.yaml").write_text("system: debate\ninputs: {}\n")
    for arguments in (("resume", "run"), ("report", "run"), ("check", "run/config.yaml")):
        done = manyheads_command(*arguments, cwd=tmp_path)
        assert done.code == 2
        assert all(word in done.message for word in ("'debate'", "manyheads.systems", "pip install"))
