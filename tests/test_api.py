"""What is public, and that it works from there alone."""

import ast
import asyncio
import doctest
import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import manyheads

PUBLIC = {
    "ConfigError", "Event", "Evidence", "FileOrText", "Inputs", "Judge", "KnowledgeBank", "Library", "LiteratureConfig", "Paper", "Part",
    "Person", "Question", "ReplyModel", "Run",
    "RunConfig", "RunResult", "Section", "Service", "Slot", "Stage", "System", "UserError",
    "Waiting", "ask", "ask_sync", "load", "load_config", "load_embedder",
    "parse_reply", "reply_form", "reply_type", "role_agent", "run", "run_sync", "subject_of",
}  # fmt: skip
NAMES: dict[str, Any] = {name: getattr(manyheads, name) for name in manyheads.__all__}
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):\n(.+\n?)+", re.MULTILINE)
BLOCK = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)


def documentation(name: str) -> str:
    """The docstring of a public name; of a type, the text below it."""
    value = NAMES[name]
    if not hasattr(value, "__metadata__"):
        return inspect.cleandoc(value.__doc__)
    source = Path(manyheads.__file__).parent / f"{manyheads._HOMES[name].replace('.', '/')}.py"
    text = source.read_text(encoding="utf-8").partition(f"\n{name} = ")[2]
    return inspect.cleandoc(text.split('"""')[1])


def test_the_public_names_are_these() -> None:
    assert set(manyheads.__all__) == PUBLIC
    assert all(value is not None for value in NAMES.values())
    with pytest.raises(AttributeError, match="'gone'"):
        _ = manyheads.gone


@pytest.mark.parametrize("name", manyheads.__all__)
def test_each_public_name_shows_an_example_that_holds(name: str) -> None:
    text = SECTION.sub("", documentation(name)) + "\n"
    examples = doctest.DocTestParser().get_doctest(
        text, {**NAMES, "TypeAdapter": TypeAdapter}, name, None, None
    )
    if examples.examples:
        assert doctest.DocTestRunner(verbose=False).run(examples).failed == 0
    else:
        code = textwrap.dedent("".join(BLOCK.findall(text)))
        assert code.strip()
        compile(code, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, manyheads; print([name for name in sys.modules if name.startswith('manyheads.')])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_a_run_in_code_ends_with_its_typed_result(tmp_path: Path) -> None:
    events: list[manyheads.Event] = []
    small = (
        "team.size=2",
        "turns=1",
        "invitation.enabled=false",
        "embedding=lexical",
        "topic=Owls that plan",
    )
    run = asyncio.run(manyheads.run("virsci", *small, out=tmp_path, listener=events.append))
    [folder] = tmp_path.iterdir()
    assert run == manyheads.load(folder)
    assert (run.system, run.finished, run.result.topic.topic) == ("virsci", True, "Owls that plan")
    assert {event.stage for event in events} >= {"idea", "abstract"}
    assert asyncio.run(manyheads.run(folder)) == run
