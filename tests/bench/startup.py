"""What a user waits for before anything happens, and after the last answer."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.figures import Figure, Size, Watch
from bench.server import TESTS, model_server

COMMANDS = {
    "import manyheads": ("-c", "import manyheads"),
    "manyheads --help": ("-m", "manyheads", "--help"),
    "manyheads roles": ("-m", "manyheads", "roles"),
}
AIMS = {"manyheads --help": "≤ 300 ms"}
FRAMEWORKS = {
    "autogen": "import autogen_agentchat.agents, autogen_ext.models.openai",
    "agentscope": "import agentscope.agent, agentscope.model",
    "agent_framework": "import agent_framework, agent_framework_openai, openai",
}
"""What a program of the host's own would import to ask one agent."""
BARE = """
import asyncio, sys
from bench.plain import PLAIN
async def main():
    async with PLAIN[sys.argv[1]](sys.argv[2]) as ask:
        await ask("You are a scientist.", "Find a topic.")
        print('"kind": "said"', flush=True)
asyncio.run(main())
"""
"""The host's own agent asks the same server one question."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as compiled, model_server(0) as base_url:
        path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
        # as installed: modules are compiled once
        own = {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        environment = {**os.environ, **own}
        bare = min(_cpu(environment, "-c", "pass") for _ in range(3 * size.rounds))
        for name, command in COMMANDS.items():
            ours = min(_cpu(environment, *command) for _ in range(3 * size.rounds))
            what = ("ms", bare * 1000, "python -c pass", AIMS.get(name, ""))
            yield Figure(f"startup: CPU of {name}", ours * 1000, *what)
        for host in size.hosts:
            for figure in _waits(host, base_url, size, environment):
                yield figure


def _cpu(environment: dict[str, str], *arguments: str) -> float:
    """Seconds of processors that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _waits(host: str, base_url: str, size: Size, environment: dict[str, str]) -> tuple[Figure, Figure]:
    """Rounds of ours and of the host's bare agent take turns."""
    ours, bare = list[tuple[float, float]](), list[tuple[float, float]]()
    for _ in range(size.rounds + 1):  # the first compiles
        bare.append(_timed([sys.executable, "-c", BARE, host, base_url], environment))
        with tempfile.TemporaryDirectory() as base:
            ours.append(_timed(run_command(host, base_url, Path(base), size), environment))
    (first, last), (their_first, their_last) = (map(min, zip(*each, strict=True)) for each in (ours, bare))
    against = "the host's bare agent"
    aim = f"≤ {their_first + 0.5:.2f} s"
    begun = Figure(f"startup: run to first answer, {host}", first, "s", their_first, against, aim)
    return begun, Figure(
        f"  last answer to the end, {host}", last, "s", their_last, against, "≤ 0.3 s + exit"
    )


def _timed(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds until the first answer of a process, and from its last one to its end."""
    watch, said = Watch(), list[float]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        said += (watch.read().wall for line in process.stdout if '"kind": "said"' in line)
    if process.returncode or not said:
        raise RuntimeError(f"{command}: no answer, exit code {process.returncode}")
    return said[0], watch.read().wall - said[-1]


def run_command(host: str, base_url: str, base: Path, size: Size) -> list[str]:
    """A short run on the sample from the command line."""
    settings = ["models.default.base_url=" + base_url, f"team.size={size.members}", f"turns={size.turns}"]
    settings += [f"embedding={size.embeddings[-1]}"]
    sets = [part for setting in settings for part in ("--set", setting)]
    start = [sys.executable, "-m", "manyheads", "run", "virsci", "--json", "--host", host]
    return [*start, "--model", "openai/test", *sets, "--out", str(base / "run")]
