"""What a user waits for before anything happens."""

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.figures import Figure, Size, Watch, fastest
from bench.server import model_server

COMMANDS = {
    "import manyheads": ("-c", "import manyheads"),
    "manyheads --help": ("-m", "manyheads", "--help"),
    "manyheads roles": ("-m", "manyheads", "roles"),
}
AIMS = {"manyheads --help": "< 500 ms"}
FRAMEWORKS = {
    "autogen": "import autogen_agentchat.agents, autogen_ext.models.openai",
    "agentscope": "import agentscope.agent, agentscope.model",
}
"""What a program of the host's own would import to ask one agent."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    bare = fastest(lambda: _python("-c", "pass"), 3 * size.rounds)
    for name, command in COMMANDS.items():
        seconds = fastest(lambda command=command: _python(*command), 3 * size.rounds)
        yield Figure(
            f"startup: {name}", seconds * 1000, "ms", bare * 1000, "python -c pass", AIMS.get(name, "")
        )
    with model_server(0) as base_url:
        for host in size.hosts:
            yield _first_question(host, base_url, size)


def _first_question(host: str, base_url: str, size: Size) -> Figure:
    imports = fastest(lambda: _python("-c", FRAMEWORKS[host]), size.rounds)
    seconds = min(_until_asked(host, base_url, size) for _ in range(size.rounds))
    return Figure(f"startup: run to first question, {host}", seconds, "s", imports, "import of the framework")


def _until_asked(host: str, base_url: str, size: Size) -> float:
    with tempfile.TemporaryDirectory() as base:
        watch = Watch()
        with subprocess.Popen(
            run_command(host, base_url, Path(base), size), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            asked = (line for line in process.stdout if json.loads(line)["kind"] == "asked")
            if next(asked, None) is None:
                raise RuntimeError("the run ended before it asked anything")
            seconds = watch.read().wall
            process.kill()
        return seconds


def run_command(host: str, base_url: str, base: Path, size: Size) -> list[str]:
    """A short run on the sample from the command line."""
    settings = ["models.default.base_url=" + base_url, f"team.size={size.members}", f"turns={size.turns}"]
    settings += [f"embedding={size.embeddings[-1]}"]
    sets = [part for setting in settings for part in ("--set", setting)]
    start = [sys.executable, "-m", "manyheads", "run", "virsci", "--json", "--host", host]
    return [*start, "--model", "openai/test", *sets, "--out", str(base / "run")]


def _python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
