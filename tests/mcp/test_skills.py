"""`manyheads skills export`: what is written, what is kept, and whether each command in it works."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from manyheads.asking.roles import Roles
from manyheads.base.resources import Resources
from manyheads.mcp.skills import skills
from support.command import manyheads_command

NAMES = {"check-novelty", "ideas-from-background", "measure-novelty", "review-paper"}
PAPER = "# Owls\n\nWe plan with owls.\n\n## Method\n\n" + "Owls find cells at night, and plan. " * 30
CSV = "title,year,abstract,authors\n" + "".join(
    f"Owl paper {n},{2010 + n},Owls of kind {n} find cells at night and plan ahead.,Ada {n}; Bo {n}\n"
    for n in range(14)
)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_command_of_a_skill_works(name: str, tmp_path: Path) -> None:
    for file in ("paper.md", "idea.md", "background.md", "abstract.md"):
        (tmp_path / file).write_text(PAPER, encoding="utf-8")
    (tmp_path / "papers.csv").write_text(CSV, encoding="utf-8")
    text = skills(Resources())[name]
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines() if line.strip()]
    lines += re.findall(r"`(manyheads [^`]+)`", text)
    assert len(lines) > 3
    for line in lines:
        command, *arguments = shlex.split(line)
        assert command == "manyheads"
        done = manyheads_command(*arguments, cwd=tmp_path)
        assert done.code == 0, (line, done.out, done.err)
