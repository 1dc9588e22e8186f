"""Hostile values for every option and argument that the command line's own parser knows."""

import itertools
import random
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from attack.drive import SECRET, Driver
from attack.figures import Figure, times
from manyheads.cli import app

SHORT = reprlib.Repr()
SHORT.maxlist, SHORT.maxstring = 20, 60
QUIET = ("search", "serve")
"""Commands that ask services beyond this machine, or go on until they are stopped."""
VALUES = (
    "", " ", "-", "--", "-1", "0", "1e999", "nan", "9" * 5000, "99999999999999999999", "-99999999999999999999", "1.5", "true", "null",
    "a" * 300, "a" * 5000, "/" + "a" * 5000, "a/" * 2000, "~nosuchuser/x", "~", ".", "..", "../../../x", "/dev/zero", "/dev/null/x",
    "/proc/self/mem", "nosuch", "\ud800", "\udcff", "\x1b[2J\x1b]0;OWNED\x07", "\u202eabc", "a\nb", "a\x00b", "=1+1", "@SUM(1)", "%s%n", "{{ x }}",
    "{% for a in range(99999999) %}{% endfor %}", "[" * 2000, "{a: " * 2000, "&a [*a]", "!!python/object:os.system", "2015-13-01", "0000-00-00",
    "٧", "é" * 100, "x=y", "=", "a=", "a.b.c.d=1", "__class__=1", "None", "NaN", "[]", "{}", "0x10", "1_000", "😀" * 50,
)  # fmt: skip
KEYS = (
    "seed", "host", "corpus", "embedding", "name", "topic", "team.size", "turns", "ideas.references", "literature.before",
    "literature.sources", "literature.endpoints", "models.default.name", "models.default.base_url", "models.default.api_key_env",
    "models.default.timeout", "models.default.retries", "models.default.price", "models.default.api_key", "budget.tokens", "budget.money",
    "budget.seconds", "roles.scientist.model", "paths", "inputs.topic", "inputs.background", "invitation", "no.such.key", "",
)  # fmt: skip
EXAMPLES = {"sources": "papers.bib", "texts": "idea.md", "configs": "single", "config": "single", "run": "run", "name": "."}  # fmt: skip
OVER = 10
"""MB that a file of a command may have: none of these writes more."""


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the parser, with the words that lead to it."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        elif name not in QUIET:
            yield (*path, name), command


def tries() -> Iterator[list[str]]:
    """Command lines without end: one hostile value in each. A new option changes only those in which it is drawn."""
    known = list(commands())
    for number in itertools.count():
        for words, command in known:
            arguments = [each for each in command.params if each.param_type_name == "argument"]
            options = [
                each for each in command.params if each.param_type_name == "option" and not each.is_flag
            ]
            if not (places := [*arguments, *options]):
                continue

            def drawn(place: Any, place_of: str = f"{words} {number}") -> random.Random:
                return random.Random(f"{place_of} {place.name}")

            hostile = max(places, key=lambda each: drawn(each).random())
            rng, given = drawn(hostile), [EXAMPLES.get(each.name, "idea.md") for each in arguments]
            value, key = rng.choice(VALUES), rng.choice(KEYS)
            if hostile in arguments:
                given[arguments.index(hostile)] = value
                yield [*words, "--", *given]
            else:
                sets = hostile.name in ("settings", "sets") or "--set" in hostile.opts
                value = SECRET if "api_key" in key and hostile.name != "out" else value
                yield [*words, *given, hostile.opts[0], f"{key}={value}" if sets else value]


def hostile_values(folder: Path) -> Figure:
    """Options, arguments and keys; each in a folder that holds a text, a bibliography and a finished run."""
    figure = Figure("command line: hostile values for every option, argument and key")
    here = folder / "a" / "b"
    here.mkdir(parents=True)
    (here / "idea.md").write_text("# Owls\n\nWe plan with owls, and compare them with crows.\n")
    (here / "papers.bib").write_text(
        "@article{a, title={Owls}, author={A, B}, year={2012}, abstract={We plan.}}"
    )
    env = {"ALL_PROXY": "http://127.0.0.1:9", "HOME": str(folder), "MANYHEADS_CACHE": str(folder / "cache")}
    with Driver(40, env) as command:
        made = command("run", "conference-review", "--subject", "idea.md", "--out", "run", cwd=here)
        assert made.code == 0, made
        command("check", "virsci", cwd=here)  # embeds the sample corpus, once
        for _, arguments in zip(range(times(400)), tries(), strict=False):
            try:
                end = command(*arguments, cwd=here)
            except UnicodeEncodeError:
                continue
            files = (path for path in here.rglob("*") if path.is_file())
            large = [f"wrote {path}" for path in files if path.stat().st_size > OVER * 1_000_000]
            figure.add(repr(arguments)[:300], [*end.faults, *large])
    return figure
