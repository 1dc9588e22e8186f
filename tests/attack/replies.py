"""The command line against a model server that misbehaves, one way a run, on every host."""

import itertools
import json
import random
from pathlib import Path

from attack.drive import SECRET, Driver, End, leaks
from attack.figures import Figure, times
from attack.server import BEHAVIOURS, Misbehaving
from support.hosts import HOSTS
from support.native import can_ask

SECONDS = 3
"""What a request may take; a run of one that is never answered ends soon after."""
INVENTED = ("scale", "minus", "alternatives", "thinkonly", "bigscore")
"""Behaviours of which no run can come to a result."""


def settings(server: Misbehaving, model: str, host: str, out: Path, wire: str = "openai") -> list[str]:
    sets = {
        "models.default.base_url": server.base_url if wire == "openai" else server.url,
        "models.default.timeout": str(SECONDS),
        "models.default.retries": "1",
        "models.default.max_wait": "1",
        "embedding": "lexical",
    }
    given = [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]
    return ["--model", f"{wire}/{model}", "--host", host, "--out", str(out), *given]


def review(command: Driver, folder: Path, sets: list[str]) -> End:
    """One review of one text."""
    (folder / "idea.md").write_text("# Owls\n\nWe plan with owls, and compare them with crows.\n")
    return command("run", "conference-review", "--subject", "idea.md", *sets, cwd=folder)


def misbehaviours(folder: Path) -> Figure:
    """Each behaviour in a review of one text."""
    figure = Figure("misbehaving model server, one behaviour a run")
    with Misbehaving() as server, Driver(SECONDS * 6) as command:
        command("roles", cwd=folder)
        for name, host in itertools.product(BEHAVIOURS, HOSTS):
            out, before = folder / f"{name}-{host}", server.counts[name]
            end = review(command, folder, settings(server, name, host, out))
            away = ["the prompt at another host"] if server.strangers[name] else []
            again = (
                ["a redirection without end"] if name == "s307" and server.counts[name] > before + 4 else []
            )
            invented = ["a result of nothing"] if name in INVENTED and end.code == 0 else []
            kept = [f"key in {file}" for file in leaks(out, SECRET)]
            figure.add(f"{name}, {host}", [*end.faults, *invented, *kept, *away, *again])
    return figure


def wires(folder: Path) -> Figure:
    """Mutants of the answers of every provider, and all that is no answer on those that are not OpenAI's."""
    figure = Figure("misbehaving servers of three providers, one value of an answer changed")
    rng = random.Random(7)
    with Misbehaving() as server, Driver(SECONDS * 6, {"ANTHROPIC_API_KEY": SECRET}) as command:
        command("roles", cwd=folder)
        for wire, host in itertools.product(("openai", "ollama", "anthropic"), HOSTS):
            if not can_ask(host, wire):
                continue
            names = [f"mutant{rng.randrange(1000)}" for _ in range(times(16))]
            if wire != "openai":
                names += [
                    "badutf",
                    "deepbody",
                    "html",
                    "falsegzip",
                    "s301",
                    "s307away",
                    "s400echo",
                    "s429",
                    "s500utf",
                ]
            for name in names:
                out = folder / f"{wire}-{name}-{host}"
                end = review(command, folder, settings(server, name, host, out, wire))
                kept = [f"key in {file}" for file in leaks(out, SECRET)]
                away = ["the prompt at another host"] if server.strangers[name] else []
                figure.add(f"{wire}/{name}, {host}", [*end.faults, *kept, *away])
    return figure


def every_third(folder: Path) -> Figure:
    """A third of the answers bad, in runs of whole teams, resumed until they end."""
    figure = Figure("a third of all answers bad, runs of teams, resumed")
    bad = [name for name in BEHAVIOURS if name not in ("silent", "drip", "endless", "gzbomb", "hugetext")]
    chosen = bad[:: max(1, len(bad) // times(12))]
    small = ("--set", "team.size=2", "--set", "turns=1")
    with Misbehaving() as server, Driver(120) as command:
        for number, name in enumerate(chosen):
            host = HOSTS[number % len(HOSTS)]
            out = folder / f"third-{name}"
            model = settings(server, f"third:{name}", host, out)
            end = command("run", "virsci", *small, *model, cwd=folder)
            faults = end.faults
            for _ in range(8):
                if end.code == 0:
                    break
                end = command("resume", out, cwd=folder)
                faults += end.faults
            if end.code == 0:
                usage = json.loads((out / "result.json").read_text())["usage"]
                faults += (
                    ["usage below nothing"] if min(usage["input_tokens"], usage["output_tokens"]) < 0 else []
                )
            else:
                faults += ["never ended"]
            figure.add(f"third:{name}, {host}", [*faults, *(f"key in {file}" for file in leaks(out, SECRET))])
    return figure


def budgets(folder: Path) -> Figure:
    """A budget of tokens and of money, on servers that count well, not, and falsely."""
    figure = Figure("budgets on servers that count falsely")
    names = ("good", *(name for name in BEHAVIOURS if name.startswith("usage")))
    limits = (
        {"budget.tokens": "300"},
        {"models.default.price": '{"input":1,"output":1}', "budget.money": "0.001"},
    )
    with Misbehaving() as server, Driver(60) as command:
        for name, host, (number, limit) in itertools.product(names, HOSTS, enumerate(limits)):
            out = folder / f"{name}-{host}-{number}"
            model = settings(server, name, host, out)
            sets = [part for key, value in limit.items() for part in ("--set", f"{key}={value}")]
            end = command(
                "run", "virsci", "--set", "team.size=2", "--set", "turns=1", *model, *sets, cwd=folder
            )
            unspent = [] if end.code == 3 and "budget" in end.err else ["never stopped"]
            figure.add(f"{name}, {host}, {[*limit][-1]}", [*end.faults, *unspent])
    return figure
