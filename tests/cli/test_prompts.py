"""`manyheads prompts export` and `diff`: copies to edit, and what has changed in the originals since."""

import json
from pathlib import Path

import pytest

from support.command import Done, manyheads_command


def prompts(*words: str, folder: Path) -> Done:
    return manyheads_command("prompts", *words, cwd=folder)


def copied(folder: Path) -> set[str]:
    return {
        path.relative_to(folder / "mine").as_posix()
        for path in (folder / "mine").rglob("*.[yj]*")
        if path.name[0] != "."
    }


@pytest.mark.parametrize(
    ("what", "some", "others"),
    [
        ("scientist/idea", {"prompts/scientist/idea.md.j2"}, 0),
        ("scientist", {"roles/scientist.yaml", "prompts/scientist/system.md.j2"}, 5),
        ("*/system", {"prompts/scientist/system.md.j2", "prompts/reviewer/system.md.j2"}, 5),
        ("partials/ground_rules", {"prompts/partials/ground_rules.md.j2"}, 0),
        ("*", {"roles/scientist.yaml", "roles/reviewer.yaml"}, 90),
    ],
)
def test_what_is_named_is_copied(tmp_path: Path, what: str, some: set[str], others: int) -> None:
    done = prompts("export", "mine", what, folder=tmp_path)
    assert done.code == 0, done.err
    files = copied(tmp_path)
    assert some <= files
    assert (len(files) > others + len(some)) if others else files == some


def test_existing_files_are_kept(tmp_path: Path) -> None:
    prompts("export", "mine", "scientist/idea", folder=tmp_path)
    prompt = tmp_path / "mine/prompts/scientist/idea.md.j2"
    prompt.write_text("Mine: {{ topic }}")
    again = prompts("export", "mine", "scientist", folder=tmp_path)
    assert "1 that are there were kept" in again.out
    assert prompt.read_text() == "Mine: {{ topic }}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mine",), "roles: "),
        (("mine", "scientits"), "did you mean scientist"),
        (("mine", "scientist/ideas"), "scientist/idea"),
        (("file", "scientist"), "file"),
    ],
)
def test_what_cannot_be_copied_is_one_clear_error(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "file").write_text("")
    assert said in prompts("export", *words, folder=tmp_path).message
    assert not (tmp_path / "mine").exists()


def test_what_has_changed_in_ours_is_shown(tmp_path: Path) -> None:
    prompts("export", "mine", "scientist", folder=tmp_path)
    record = tmp_path / "mine/.originals.json"
    texts = json.loads(record.read_text())
    texts["prompts/scientist/idea.md.j2"] = "# As it was\n\n" + texts["prompts/scientist/idea.md.j2"]
    record.write_text(json.dumps(texts))  # as an older version had it
    (tmp_path / "mine/prompts/scientist/vote.md.j2").write_text("Mine.")
    (tmp_path / "mine/prompts/mine").mkdir()
    (tmp_path / "mine/prompts/mine/song.md.j2").write_text("La.")
    (tmp_path / "mine/roles/reviewer.yaml").write_text("name: reviewer")
    said = prompts("diff", "mine", folder=tmp_path).out
    states = dict(line.split(": ", 1) for line in said.splitlines() if line.startswith(("prompts", "roles")))
    assert "has changed, you have edited" in states["prompts/scientist/idea.md.j2"]
    assert "has not changed, you have edited" in states["prompts/scientist/vote.md.j2"]
    assert states["prompts/scientist/system.md.j2"] == "ours has not changed"
    assert states["prompts/mine/song.md.j2"] == "your own"
    assert "takes the place of ours" in states["roles/reviewer.yaml"]
    assert "    -# As it was" in said
    assert said.rstrip().endswith("1 with changes in ours")


def test_a_folder_without_copies(tmp_path: Path) -> None:
    assert "no roles/" in prompts("diff", "mine", folder=tmp_path).message
