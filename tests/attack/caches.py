"""Built corpora and caches on disk, one file of them damaged: the same answer as before, or a message; never another answer."""

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from attack.drive import WITH_MODEL, Driver, End
from attack.figures import Figure, times
from attack.files import flipped, papers
from attack.storm import result
from golden.runs import differences
from support.scholar import Scholar, record

DAMAGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "flipped": lambda data, rng: flipped(data, rng, 1), "many flipped": lambda data, rng: flipped(data, rng, 200),
    "start flipped": lambda data, rng: flipped(data[:4096], rng, 20) + data[4096:], "half": lambda data, rng: data[: len(data) // 2],
    "empty": lambda data, rng: b"", "zeroed": lambda data, rng: bytes(len(data)), "gone": lambda data, rng: None, "a folder": lambda data, rng: None,
}  # fmt: skip
SMALL = ("--set", "team.size=2", "--set", "turns=1", "--quiet")
LEXICAL = ("--set", "embedding=lexical")


def damage(path: Path, how: str, rng: random.Random) -> None:
    data = DAMAGES[how](path.read_bytes(), rng)
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif data is not None:
        path.write_bytes(data)


def copy(source: Path, target: Path) -> None:
    """A folder, by the system's own command: the files of a bank are nearly all holes, which it leaves out."""
    target.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-r", source, target], check=True)


def tries(base: Path, below: str, count: int, rng: random.Random) -> list[tuple[Path, str]]:
    """Files below a folder and how each is damaged: each file once, then each again in another way, until it is enough."""
    files = sorted(path.relative_to(base) for path in base.rglob("*") if path.is_file())
    files = [path for path in files if path.as_posix().startswith(below) and ".broken" not in path.as_posix()]
    ways = {path: rng.sample(list(DAMAGES), len(DAMAGES)) for path in files}
    rng.shuffle(files)
    return [(path, ways[path][turn]) for turn in range(len(DAMAGES)) for path in files][:count]


def caches(folder: Path) -> Figure:
    """A corpus of one's own, the shipped one, and the caches of vectors, models and look-ups."""
    figure = Figure("damaged corpora and caches: info, run, measure, build, search")
    rng = random.Random(13)
    cache, base = folder / "cache", folder / "base"
    (folder / "idea.md").write_text("# Owls\n\nWe plan with owls, and compare them with crows.\n")
    (folder / "papers.jsonl").write_text("\n".join(map(json.dumps, papers())))
    found = (record("a" * 40, "Owls at night", year=2012), record("b" * 40, "Owls by day", year=2013))
    with Scholar(found) as scholar, Driver(120, {"MANYHEADS_CACHE": str(cache)}, WITH_MODEL) as command:
        build = ("corpus", "build", "papers.jsonl", "--bound", "2014")
        endpoint = f"literature.endpoints.semantic_scholar={scholar.url}"
        groups: dict[str, tuple[str, int, Iterable[tuple[str, ...]]]] = {
            "mine": ("mine/", 20, (
                ("corpus", "info", "mine"),
                ("run", "virsci", "--set", "corpus=mine", *SMALL, *LEXICAL, "--out", "run"),
                ("measure", "idea.md", "--corpus", "mine"),
            )),
            "the sample": ("cache/corpora/", 20, (
                ("corpus", "info", "--embedding", "lexical"),
                ("run", "virsci", *SMALL, *LEXICAL, "--out", "run"),
                ("measure", "idea.md", "--corpus", "sample", "--embedding", "lexical"),
            )),
            "look-ups": ("cache/literature", 6, (
                ("search", "owls", "--source", "semantic_scholar", "--json", *LEXICAL, "--set", endpoint),
            )),
            "vectors": ("cache/vectors", 6, ((*build, "--out", "made"), ("measure", "idea.md", "--corpus", "made"))),
            "the model": ("cache/all-", 4, (("measure", "idea.md", "--corpus", "embedded"),)),
        }  # fmt: skip
        for made in ((*build, "--embedding", "lexical", "--out", "mine"), (*build, "--out", "embedded")):
            assert command(*made, cwd=folder).code == 0
        sound = {name: answers(command, lines, folder) for name, (_, _, lines) in groups.items()}
        for name, ends in sound.items():
            assert all(end.code == 0 for end, _ in ends), (name, ends)
        for part in ("cache", "mine"):
            copy(folder / part, base / part)
        for name, (below, count, lines) in groups.items():
            for path, how in tries(base, below, times(count), rng):
                for part in ("cache", "mine"):
                    shutil.rmtree(folder / part)
                    copy(base / part, folder / part)
                damage(folder / path, how, rng)
                ends = answers(command, lines, folder)
                for (end, answer), (_, right) in zip(ends, sound[name], strict=True):
                    other = differences(answer, right) if end.code == 0 else []
                    what = f"{name}, {path} {how}: {' '.join(end.arguments[:3])}"
                    figure.add(what, end.faults, {f"another answer: {'; '.join(other[:3])}": other})
    return figure


def answers(command: Driver, lines: Iterable[tuple[str, ...]], folder: Path) -> list[tuple[End, object]]:
    """How each command ends, with what it answers: the result of a run, else what it prints."""
    ends = list[tuple[End, object]]()
    for made in ("run", "made"):
        shutil.rmtree(folder / made, ignore_errors=True)
    for line in lines:
        end = command(*line, cwd=folder)
        if end.code == 0 and line[0] == "run":
            answer: object = result(folder / "run")
        else:  # how long a build took, and what differs with it
            answer = [row for row in end.out.splitlines() if "time" not in row]
        ends.append((end, answer))
    return ends
