"""The tests that packages run on what they bring: a sound system and reader pass, and each broken clause is named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import manyheads
from manyheads import ext
from manyheads.ext import Division, Document, DocumentError, Draft, Limits
from manyheads.testing import reader_conformance
from support.command import manyheads_command
from support.packages import build, install, run_python

SOURCE = Path(manyheads.__file__).parents[1]
VARIANTS = """
import dataclasses, json, sys
from pathlib import Path
from pydantic import Field
from manyheads.ext import Part, Section, Slot, Inputs
from manyheads.systems import systems
from manyheads.testing.systems import SystemBench, broken
from idea_duel import system as own

class Bare(Section):
    rounds: int = Field(default=2, ge=1)

class Strict(Part):
    question: str
    rounds: list[own.Round] = Field(default_factory=list)

class Odd(own.IdeaDuelResult):
    abstract: str = "Owls."

numbers = iter(range(100))

async def drawn(run):
    await own.run_rounds(run)
    run.result.question += str(next(numbers))

async def spendthrift(run):
    try:
        await own.run_rounds(run)
    except Exception:
        pass

variants = {
    "sound": own.SYSTEM,
    "no help": dataclasses.replace(own.SYSTEM, config=Bare),
    "no default": dataclasses.replace(own.SYSTEM, result=Strict, essence=lambda result: ()),
    "no prompt": dataclasses.replace(own.SYSTEM, needs=lambda config: {("idea_duel_expert", "sing"): own.Answer}),
    "no essence": dataclasses.replace(own.SYSTEM, essence=lambda result: ()),
    "odd abstract": dataclasses.replace(own.SYSTEM, result=Odd),
    "drawn at random": dataclasses.replace(own.SYSTEM, run=drawn),
    "swallows the budget": dataclasses.replace(own.SYSTEM, run=spendthrift),
}
said = {}
for name, system in variants.items():
    systems()._systems["idea-duel"] = system
    folder = Path(sys.argv[1]) / name.replace(" ", "-")
    said[name] = [clause for clause, _ in broken(SystemBench(system, ("question=Why?",), folder))]
systems()._systems["idea-duel"] = own.SYSTEM
said["another"] = [clause for clause, _ in broken(SystemBench(variants["no help"], ("question=Why?",), folder))]
print(json.dumps(said))
"""


def new_package(folder: Path, *words: str) -> Path:
    done = manyheads_command("init", *words, cwd=folder)
    assert done.code == 0, done.err
    return folder


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_new_package_works_and_each_broken_clause_of_a_system_is_named(tmp_path: Path) -> None:
    package = new_package(tmp_path, "--system", "idea-duel") / "idea-duel"
    site = [install(build(package, tmp_path), tmp_path / "site"), SOURCE]
    run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", path=site, folder=package)
    said = json.loads(
        run_python("-c", VARIANTS, str(tmp_path / "runs"), path=site, folder=tmp_path).splitlines()[-1]
    )
    assert said.pop("sound") == []
    assert said.pop("another") == ["entry point"]
    assert {name: each[0] for name, each in said.items()} == {
        "no help": "help",
        "no default": "empty result",
        "no prompt": "roles and prompts",
        "no essence": "run and report",
        "odd abstract": "idea and abstract",
        "drawn at random": "same again",
        "swallows the budget": "resume",
    }


def test_a_new_package_has_its_name_everywhere(tmp_path: Path) -> None:
    new_package(tmp_path, "mine", "--system", "idea-duel")
    files = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    assert {"system.py", "idea-duel.yaml", "idea_duel_expert.yaml", "test_idea_duel.py"} <= {
        each.name for each in files
    }
    for path in files:
        assert not {"NAME", "PACKAGE", "CLASS", "TITLE"} & set(
            path.read_text("utf-8").replace("/", " ").split()
        ), path
        assert "PACKAGE" not in str(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Idea Duel", "not a name"),
        ("virsci", "of this name"),
        ("../up", "not a name"),
        ("class", "Python already uses"),
        ("json", "a module"),
        ("pydantic", "a module"),
    ],
)
def test_a_package_needs_a_name_of_its_own(tmp_path: Path, name: str, words: str) -> None:
    assert words in manyheads_command("init", "--system", name, cwd=tmp_path).message
    assert not [*tmp_path.iterdir()]


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "idea-duel").mkdir()
    (tmp_path / "idea-duel/notes.txt").write_text("Mine.")
    assert "not an empty folder" in manyheads_command("init", "--system", "idea-duel", cwd=tmp_path).message


class Minutes:
    """Reads files that end in `.minutes`, a line each of who says what."""

    def reads(self, path: Path, head: bytes) -> bool:
        return path.suffix == ".minutes"

    def read(self, path: Path, limits: Limits) -> Document:
        try:
            title, *lines = path.read_text(encoding="utf-8").splitlines()
        except ValueError as error:
            raise DocumentError(f"{path}: no minutes") from error
        parts = [Division(who, text=said) for who, _, said in (line.partition(": ") for line in lines)]
        return Draft(title=title, divisions=parts).document()


class Greedy(Minutes):
    def reads(self, path: Path, head: bytes) -> bool:
        return True


class Careless(Minutes):
    def read(self, path: Path, limits: Limits) -> Document:
        title, *_ = path.read_text(encoding="utf-8").splitlines()
        return Draft(title=title, divisions=[Division("All", text=title * 30)]).document()


class Littering(Minutes):
    def read(self, path: Path, limits: Limits) -> Document:
        path.with_suffix(".notes").write_text("")
        return super().read(path, limits)


class Fickle(Minutes):
    calls = 0

    def read(self, path: Path, limits: Limits) -> Document:
        Fickle.calls += 1
        return super().read(path, limits).model_copy(update={"title": str(Fickle.calls)})


@pytest.mark.parametrize(
    ("reader", "clause"),
    [
        (Greedy, "files of others"),
        (Careless, "damaged files"),
        (Littering, "file untouched"),
        (Fickle, "document"),
    ],
)
def test_each_broken_clause_of_a_reader_is_named(
    tmp_path: Path, reader: Callable[[], Minutes], clause: str
) -> None:
    (tmp_path / "owls.minutes").write_text(f"On Owls\nAnna: {'Owls hear. ' * 9}\nLi: {'They see. ' * 9}\n")
    reader_conformance(Minutes(), tmp_path / "owls.minutes")
    with pytest.raises(AssertionError, match=f"- {clause}: "):
        reader_conformance(reader(), tmp_path / "owls.minutes")


def test_what_is_public_is_in_the_module_for_packages() -> None:
    own = {name for name in manyheads.__all__ if hasattr(ext, name)}
    assert {"System", "Run", "Question", "Paper", "ReplyModel", "UserError"} <= own
    assert all(getattr(ext, name) is getattr(manyheads, name) for name in own)
