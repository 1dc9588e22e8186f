"""Help that a person reads: every command and option has a text, every example and every hint is one that the parser takes."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer.main
from pydantic import Field, model_validator
from typer.testing import CliRunner

import manyheads
from manyheads.base.errors import EXIT_CODES, ExitCode
from manyheads.cli import EXAMPLES, app
from manyheads.cli.evaluate import PLANTED
from manyheads.cli.options import Changes, Given, Options, with_models
from manyheads.config import documented
from manyheads.config.environment import BUILT_IN
from manyheads.judges.planted_error.planted import KINDS
from manyheads.systems import systems
from support.command import manyheads_command, parsed

WHOLE: Any = typer.main.get_command(app)


def commands(group: Any = WHOLE, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_text_and_a_word_for_its_value(name: str, tmp_path: Path) -> None:
    text = manyheads_command(*name.split(), "-h", cwd=tmp_path, env={"COLUMNS": "80"}).out
    for param in COMMANDS[name].params:
        assert param.help, param.name
        assert (
            param.is_flag or param.metavar or "[" in text
            if param.param_type_name == "option"
            else param.metavar
        )
    assert not re.search(r"\.\.\.|\{", text), text
    assert max(map(len, text.splitlines())) <= 80
    assert all(example in text for example in EXAMPLES[name].strip().splitlines())


def test_the_list_of_commands_imports_none_of_them() -> None:
    shown, heavy = imported_by("--help", "pydantic", "rich", "yaml", "manyheads.config")
    assert not heavy
    for name, command in WHOLE.commands.items():
        assert f"{name} {command.get_short_help_str()}" in " ".join(shown.split())


def test_the_list_of_roles_imports_no_system() -> None:
    _, heavy = imported_by("roles", "rich", "manyheads.team", "manyheads.report", "manyheads.literature")
    assert not heavy


def imported_by(command: str, *modules: str) -> tuple[str, list[str]]:
    """What a command prints, and which of the modules it imports, in a process of its own."""
    code = f"import sys; from manyheads.cli import app; app([{command!r}], standalone_mode=False); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    *lines, names = shown.splitlines()
    return "\n".join(lines), [each for each in modules if each in names.split()]


def test_short_options_mean_the_same_everywhere() -> None:
    meanings: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        for param in command.params:
            for short in (each for each in param.opts if re.fullmatch(r"-\w", each)):
                meanings.setdefault(short, set()).add(
                    next(each for each in param.opts if each.startswith("--"))
                )
    assert {short: len(long) for short, long in meanings.items()} == dict.fromkeys(meanings, 1)
    assert {"-m", "-o", "-q", "-s"} <= meanings.keys()


def test_the_list_of_commands_cuts_no_sentence_and_shows_exit_codes(tmp_path: Path) -> None:
    text = manyheads_command("--help", cwd=tmp_path, env={"COLUMNS": "80"}).out
    assert "..." not in text.partition("Commands:")[2]
    assert max(map(len, text.splitlines())) <= 80
    assert all(
        re.search(rf"^ +{code}  {re.escape(words)}$", text, re.M) for code, words in EXIT_CODES.items()
    )
    assert EXIT_CODES.keys() == {*ExitCode}


def test_without_a_command_it_says_how_to_start(tmp_path: Path) -> None:
    done = manyheads_command(cwd=tmp_path)
    assert done.code == 0
    starts = re.findall(r"^  manyheads (\S.*?)  ", done.out, re.M)
    assert starts[0] == "run virsci"
    for words in starts:
        if words != "--help":
            parsed(words.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_that_the_parser_takes(name: str) -> None:
    examples = EXAMPLES[name].strip().splitlines()
    for example in examples:
        program, *words = shlex.split(example)
        assert program == "manyheads"
        parsed(words)
    assert any(example.startswith(f"manyheads {name}") for example in examples)
    assert EXAMPLES.keys() <= COMMANDS.keys()


def test_choices_that_help_names_are_those_that_there_are() -> None:
    assert ", ".join(BUILT_IN) in documented(Changes)["host"]
    assert PLANTED == KINDS


# Hints: what they name is there.

KNOWN = {
    "--help",
    *("--no-deps", "--force-reinstall"),  # of pip
    *(option for command in COMMANDS.values() for param in command.params for option in param.opts),
    *(f"--{name.replace('_', '-')}" for system in systems().values() for name in system.slots),
}
COMMAND = re.compile(r"manyheads ((?:[a-z]+ ?)+)")
PACKAGE = Path(manyheads.__file__).parent


def hints() -> Iterator[tuple[str, str]]:
    """The fixed text of each hint in the package, with where it stands."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                texts = (each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant))
                text = "…".join(each for each in texts if isinstance(each, str))
                yield f"{file.relative_to(PACKAGE)}:{node.value.lineno}", text


@pytest.mark.slow
def test_hints_name_only_commands_and_options_that_there_are() -> None:
    strange: list[str] = []
    seen = 0
    for where, text in hints():
        seen += 1
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+(?=[\s=,;:.)]|$)", text):
            if option not in KNOWN:
                strange.append(f"{where}: {option}")
        for words in COMMAND.findall(text):
            first, *rest = words.split()
            group = WHOLE.commands.get(first)
            if group is None or (hasattr(group, "commands") and rest and rest[0] not in group.commands):
                strange.append(f"{where}: manyheads {words}")
    assert seen > 200
    assert strange == []


# Options from models.


class Sampling(Options):
    """Options of a test."""

    least: int = Field(default=2, ge=1)
    """Minimum
    number."""
    most: int | None = Field(default=None, le=9)
    """Maximum number."""
    names: Annotated[tuple[str, ...], typer.Option("--name", "-n", metavar="NAME")] = ()
    """A name."""
    quick: bool = False
    """Be quick."""

    @model_validator(mode="after")
    def _in_order(self) -> "Sampling":
        if self.most is not None and self.most < self.least:
            raise ValueError("least is more than most")
        return self


def sampled(*words: str) -> Any:
    """What a command gets, or its exit code."""
    seen: list[Any] = []

    def sample(sampling: Sampling, given: Annotated[dict[str, Any], Given(Other)]) -> None:
        seen.extend((sampling, given))

    app = typer.Typer()
    app.command()(with_models(sample))
    done = CliRunner().invoke(app, words)
    return seen or done.exit_code


class Other(Options):
    bound: int
    """Needed."""
    start: int = 3
    """Not given."""


def test_options_follow_from_models() -> None:
    assert sampled() == [Sampling(), {}]
    words = ("--least", "3", "--most", "5", "-n", "a", "--name", "b", "--quick", "--bound", "7")
    assert sampled(*words) == [Sampling(least=3, most=5, names=("a", "b"), quick=True), {"bound": 7}]
    assert [
        sampled("--least", "0"),
        sampled("--most", "10"),
        sampled("--no-quick"),
        sampled("--most", "1"),
    ] == [2] * 4
