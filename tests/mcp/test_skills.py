"""`manyheads skills export`: what is written, and what is kept; tests/test_pages.py runs what they say."""

import re
from pathlib import Path

import yaml

from manyheads.asking.roles import Roles
from manyheads.base.resources import Resources
from manyheads.mcp.skills import skills
from support.command import manyheads_command

NAMES = {"check-novelty", "ideas-from-background", "measure-novelty", "review-paper"}


def test_each_skill_has_a_front_matter_and_names_its_roles() -> None:
    texts, roles = skills(Resources()), Roles(Resources())
    assert texts.keys() == NAMES
    for name, text in texts.items():
        _, head, body = text.split("---\n", 2)
        front = yaml.safe_load(head)
        assert front.keys() == {"name", "description"}
        assert front["name"] == name
        assert "Use it" in front["description"]
        named = re.findall(r"^- `(\w+)`: (.+)$", body, re.MULTILINE)
        assert named
        assert all(roles.card(role).description == description for role, description in named)


def test_a_changed_file_is_kept_without_force(tmp_path: Path) -> None:
    done = manyheads_command("skills", "export", "mine", cwd=tmp_path)
    assert (done.code, {each.name for each in (tmp_path / "mine").iterdir()}) == (0, NAMES)
    mine = tmp_path / "mine" / "review-paper" / "SKILL.md"
    mine.write_bytes(b"\xff mine")
    (tmp_path / "mine" / "check-novelty" / "SKILL.md").unlink()
    assert "review-paper/SKILL.md" in manyheads_command("skills", "export", "mine", cwd=tmp_path).message
    assert mine.read_bytes() == b"\xff mine"
    assert not (tmp_path / "mine" / "check-novelty" / "SKILL.md").exists()  # all or nothing
    one = manyheads_command("skills", "export", "mine", "--name", "check-novelty", cwd=tmp_path)
    assert (one.code, mine.read_bytes()) == (0, b"\xff mine")
    assert manyheads_command("skills", "export", "mine", "--force", cwd=tmp_path).code == 0
    assert mine.read_text("utf-8").startswith("---\nname: review-paper")


def test_wrong_names_and_files_are_refused(tmp_path: Path) -> None:
    wrong = manyheads_command("skills", "export", "mine", "--name", "reviews", cwd=tmp_path)
    assert "review-paper" in wrong.message
    (tmp_path / "own" / "configs" / "skills").mkdir(parents=True)
    (tmp_path / "own" / "configs" / "skills" / "mine.md").write_text("no front matter", encoding="utf-8")
    assert "mine.md" in manyheads_command("skills", "export", "mine", "--path", "own", cwd=tmp_path).message
