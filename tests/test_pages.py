"""The documentation, as readers use it: commands parse, blocks run, outputs are those shown, links lead somewhere."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright
from typer import Exit
from typer._click.exceptions import MissingParameter

from support.browser import CHROMIUM
from support.command import manyheads_command, parsed
from support.pages import INLINE, PAGES, ROOT, alike, blocks, environment, fake, follow, skipped

LANGUAGES = {"python", "bash", "text", "yaml", "json", "jinja", "markdown", "bibtex", "csv", "latex", "toml"}
BY_HAND = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_parse_and_blocks_are_files(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in INLINE.findall(page.read_text("utf-8")):
        with suppress(MissingParameter, Exit):  # a name of a command in a sentence
            parsed(shlex.split(command)[1:])
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.title).write_text(block.text, "utf-8")
        assert block.language in LANGUAGES, block
        if block.language == "python":
            compile(block.text, name_of(page), "exec")  # no `await` outside a function
        for line in block.lines if block.language == "bash" else ():
            words = shlex.split(line.replace("$", ""), comments=True)
            match words:
                case ["manyheads", "init", *_, folder]:
                    manyheads_command(*words[1:], cwd=Path())
                case ["cd", folder]:
                    monkeypatch.chdir(folder)
                case ["manyheads", *arguments]:
                    parsed(arguments)
                case ["make", target]:
                    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
                case ["pip", "install", *what]:
                    for extra in re.findall(r"\[(\w+)\]", " ".join(what)):
                        assert extra in project()["optional-dependencies"]
                case [first, *_]:
                    assert skipped(line) or first in ("export", "cp", "python"), line
                case _:
                    pass


@pytest.mark.parametrize("page", BY_HAND, ids=name_of)
def test_links_lead_to_files(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all pages and examples of a worker: each would fill it again."""
    return tmp_path_factory.getbasetemp() / "pages-cache"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_reader_can_follow_the_page(page: Path, tmp_path: Path, shared: Path) -> None:
    with fake() as llm:
        for block, wanted, output in follow(page, tmp_path / "page", llm.url, shared):
            again = f"make pages PAGES={name_of(page)}"
            assert alike(wanted, block.text), f"write it again: {again}\n\n{output}"


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=name_of)
def test_examples_run(example: Path, tmp_path: Path, shared: Path) -> None:
    (tmp_path / "here").mkdir()
    env = environment(tmp_path, "http://127.0.0.1:9", shared)
    done = subprocess.run(
        ["python", str(example)],
        cwd=tmp_path / "here",
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 2


def test_examples_are_listed() -> None:
    listed = (ROOT / "examples/README.md").read_text("utf-8")
    assert [each.name for each in (ROOT / "examples").glob("*.py") if f"({each.name})" not in listed] == []


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    start = tmp_path / "site/index.html"
    if CHROMIUM:
        with sync_playwright() as driver:
            page = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]).new_page()
            page.goto(f"{start.as_uri()}?q=Kendall")
            page.wait_for_selector(".md-search-result__item", timeout=60_000, state="attached")
    assert not re.search(r'<(?:link|script)[^>]+(?:href|src)="https?://', start.read_text("utf-8"))


def test_pictures_are_small_and_shown() -> None:
    pages = "".join(page.read_text("utf-8") for page in PAGES)
    for picture in (ROOT / "docs/images").iterdir():
        assert 0 < picture.stat().st_size < 150_000
        assert f"images/{picture.name})" in pages


ACTIVATE = "source .venv/bin/activate"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_run_ends_with_a_step_that_works_as_typed() -> None:
    planned = subprocess.run(
        ["make", "--no-print-directory", "-n", "run"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    echoes = "\n".join(planned.stdout.splitlines()[-2:])
    said = subprocess.run(echoes, shell=True, capture_output=True, text=True, check=True)
    step, activate = said.stdout.removeprefix("Next").splitlines()
    assert step.split()[:2] == [".venv/bin/manyheads", "run"]
    assert activate.split("#")[0].strip() == ACTIVATE
    assert ACTIVATE in (ROOT / "README.md").read_text("utf-8")
