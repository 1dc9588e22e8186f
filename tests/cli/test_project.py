"""The first folder of a user: what `init` writes works as it stands, `list` says what there is, `.env` gives keys alone."""

import ast
import asyncio
import json
import os
import shutil
from contextlib import chdir
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from golden.runs import FOLDERS
from manyheads.base.errors import ConfigError
from manyheads.config.keys import read_keys
from support.command import manyheads_command

KINDS = ("configs", "systems", "suites", "corpora", "runs", "roles")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    done = manyheads_command("init", "mine", cwd=home)
    assert done.code == 0, done.err
    assert "cd mine" in done.out
    assert "manyheads run my.yaml" in done.out
    return home / "mine"


def test_a_new_folder_has_all_to_begin_with(project: Path) -> None:
    files = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}
    named = {"my.yaml", "papers.bib", ".env.example", ".gitignore", "notebook.ipynb"}
    assert named <= files
    assert "prompts/scientist/idea.md.j2" in files
    assert ".env" in (project / ".gitignore").read_text().split()


def test_its_config_is_complete_and_reads_the_prompts_beside_it(project: Path, tmp_path: Path) -> None:
    checked = manyheads_command("check", "my.yaml", "--set", "embedding=lexical", cwd=project)
    assert checked.code == 0, checked.out
    assert "WRONG" not in checked.out
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    (copy / "prompts/scientist/idea.md.j2").write_text("{{ nonsense }}\n", encoding="utf-8")
    again = manyheads_command("check", "my.yaml", "--set", "embedding=lexical", cwd=copy)
    assert "idea.md.j2" in again.out


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("mine\n")
    assert "manyheads init ." in manyheads_command("init", cwd=tmp_path).message
    assert [each.name for each in tmp_path.iterdir()] == ["my.yaml"]
    done = manyheads_command("init", ".", cwd=tmp_path)
    assert done.code == 0
    assert "my.yaml" in done.out.split("Next:")[0]
    assert (tmp_path / "my.yaml").read_text() == "mine\n"
    assert (tmp_path / "papers.bib").exists()
    again = manyheads_command("init", ".", cwd=tmp_path)
    assert again.out.startswith(".: 0 files written")


@pytest.mark.slow
def test_a_run_of_its_config_and_one_on_its_papers(project: Path) -> None:
    small = ("--quiet", "--set", "embedding=lexical", "--set", "turns=1")
    assert manyheads_command("run", "my.yaml", *small, cwd=project).code == 0
    build = ("corpus", "build", "papers.bib", "--bound", "2021", "--name", "own", "--embedding", "lexical")
    assert manyheads_command(*build, cwd=project).code == 0
    on_own = manyheads_command(
        "run", "my.yaml", "--set", "corpus=own", "--set", "team.size=2", *small, cwd=project
    )
    assert on_own.code == 0, on_own.err
    assert "corpora/own" in manyheads_command("list", "corpora", cwd=project).out


def cells(notebook: dict[str, Any], kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(project: Path, tmp_path: Path) -> None:
    copy, names = tmp_path / "copy", dict[str, Any]()
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("runs"))
    notebook = json.loads((copy / "notebook.ipynb").read_text(encoding="utf-8"))
    config = (copy / "my.yaml").read_text(encoding="utf-8")
    (copy / "my.yaml").write_text(f"{config}\nembedding: lexical\n", encoding="utf-8")

    async def run(code: CodeType) -> None:
        if awaited := eval(code, names):
            await awaited

    with chdir(copy):
        for number, text in enumerate(cells(notebook, "code")):
            asyncio.run(run(compile(text, f"cell {number}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)))
    assert names["run"].finished
    assert len(list((copy / "runs").glob("*-my*"))) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_has_a_line_for_each(kind: str, tmp_path: Path) -> None:
    shutil.copytree(FOLDERS / "virsci-stopped", tmp_path / "runs/20260102-030405-virsci")
    done = manyheads_command("list", kind, cwd=tmp_path)
    assert done.code == 0, done.err
    known = {
        "configs": "virsci-2024", "systems": "rebuttal", "suites": "team-size", "corpora": "sample",
        "runs": "runs/20260102-030405-virsci", "roles": "scientist",
    }[kind]  # fmt: skip
    [line] = [line for line in done.out.splitlines() if line.split()[0] == known]
    assert len(line.split()) > 2


def test_a_list_of_everything_names_each_kind(tmp_path: Path) -> None:
    lines = manyheads_command("list", cwd=tmp_path).out.splitlines()
    assert set(KINDS) <= set(lines)
    assert "none" in lines[-1]  # no runs
    assert not any("project" in line for line in lines), "what init writes is no config of ours"


def test_a_list_has_what_the_users_folders_bring(tmp_path: Path) -> None:
    (tmp_path / "theirs/configs").mkdir(parents=True)
    (tmp_path / "theirs/configs/small.yaml").write_text("# A small one. It has few turns.\nsystem: virsci\n")
    listed = manyheads_command("list", "configs", "--path", "theirs", cwd=tmp_path).out
    [line] = [line for line in listed.splitlines() if line.startswith("small ")]
    assert line.split(maxsplit=1)[1] == "A small one"


# `.env`.


def test_keys_come_from_a_file_and_nothing_else_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "set already")
    monkeypatch.delenv("OPENALEX_MAILTO", raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EMPTY_KEY"):
        monkeypatch.setenv(name, "to be restored")
        monkeypatch.delenv(name)
    file = tmp_path / ".env"
    file.write_text(
        "OPENAI_API_KEY='from ${HOME}'\nANTHROPIC_API_KEY=other\nOPENAI_BASE_URL=http://elsewhere\nEMPTY_KEY=\nPATH=/tmp\n"
    )
    path = os.environ["PATH"]
    assert read_keys(file) == ["OPENAI_BASE_URL"]
    assert os.environ["OPENAI_API_KEY"] == "from ${HOME}"
    assert os.environ["ANTHROPIC_API_KEY"] == "set already"
    assert os.environ["PATH"] == path
    assert "OPENAI_BASE_URL" not in os.environ
    assert "EMPTY_KEY" not in os.environ


def test_a_command_has_the_keys_of_the_folder_it_is_run_in(tmp_path: Path) -> None:
    asked = ("check", "virsci", "--model", "openai/gpt-4o-mini", "--set", "embedding=lexical", "--no-probe")
    assert "no key for" in manyheads_command(*asked, cwd=tmp_path).out
    (tmp_path / ".env").write_text("OPENAI_API_KEY=abc\n")
    assert "no key for" not in manyheads_command(*asked, cwd=tmp_path).out
    assert "OPENAI_API_KEY" not in os.environ


def test_a_file_of_keys_that_cannot_be_read(tmp_path: Path) -> None:
    read_keys(tmp_path / "none")
    (tmp_path / ".env").write_bytes(b"OPENAI_API_KEY=\xff\xfe\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_keys(tmp_path / ".env")
