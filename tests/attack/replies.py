"""The command line against a model server that misbehaves, one way a run, on every host."""

import itertools
import json
import random
from pathlib import Path

from attack.drive import SECRET, Driver, End, leaks, sets
from attack.figures import Figure, times
from attack.server import BEHAVIOURS, Misbehaving
from support.arenas import arena
from support.command import finish, served_by, start
from support.hosts import HOSTS
from support.suites import write_suite

SECONDS = 3
"""What a request may take; a run of one that is never answered ends soon after."""
INVENTED = ("scale", "minus", "alternatives", "thinkonly", "bigscore")
"""Behaviours of which no run can come to a result."""


def settings(server: Misbehaving, model: str, host: str, out: Path, wire: str = "openai") -> list[str]:
    url = server.base_url if wire == "openai" else server.url
    limits = {"models.default.timeout": SECONDS, "models.default.retries": 1, "models.default.max_wait": 1}
    given = sets({"models.default.base_url": url, **limits, "embedding": "lexical"})
    return ["--model", f"{wire}/{model}", "--host", host, "--out", str(out), *given]


def review(command: Driver, folder: Path, options: list[str]) -> End:
    """One review of one text."""
    (folder / "idea.md").write_text("# Owls\n\nWe plan with owls, and compare them with crows.\n")
    return command("run", "conference-review", "--subject", "idea.md", *options, cwd=folder)


REVIEWERS = 3
"""Of a conference review, at once."""


def misbehaviours(folder: Path) -> Figure:
    """Each behaviour in a review of one text."""
    figure = Figure("misbehaving model server, one behaviour a run")
    with Misbehaving() as server, Driver(SECONDS * 6) as command:
        command("roles", cwd=folder)
        for name, host in itertools.product(BEHAVIOURS, HOSTS):
            out, before = folder / f"{name}-{host}", server.counts[name]
            end = review(command, folder, settings(server, name, host, out))
            wrong = {
                "the prompt at another host": server.strangers[name],
                "a redirection without end": name == "s307" and server.counts[name] > before + 8 * REVIEWERS,
                "a result of nothing": name in INVENTED and end.code == 0,
                "the key in a file": leaks(out, SECRET),
            }
            figure.add(f"{name}, {host}", end.faults, wrong)
    return figure


def wires(folder: Path) -> Figure:
    """Mutants of the answers of every provider, and all that is no answer on those that are not OpenAI's."""
    figure = Figure("misbehaving servers of three providers, one value of an answer changed")
    rng = random.Random(7)
    with Misbehaving() as server, Driver(SECONDS * 6, {"ANTHROPIC_API_KEY": SECRET}) as command:
        command("roles", cwd=folder)
        for wire, host in itertools.product(("openai", "ollama", "anthropic"), HOSTS):
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
                wrong = {
                    "the prompt elsewhere": server.strangers[name],
                    "the key in a file": leaks(out, SECRET),
                }
                figure.add(f"{wire}/{name}, {host}", end.faults, wrong)
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
            usage = json.loads((out / "result.json").read_text())["usage"] if end.code == 0 else {}
            wrong = {
                "never ended": end.code,
                "usage below nothing": min(usage.get("input_tokens", 0), usage.get("output_tokens", 0)) < 0,
                "the key in a file": leaks(out, SECRET),
            }
            figure.add(f"third:{name}, {host}", faults, wrong)
    return figure


LIMITS = {
    "tokens": ("--set", "budget.tokens=12000"),
    "money": ("--set", "models.default.price={input: 1, output: 1}", "--set", "budget.money=0.012"),
}
"""Two limits that come to the same, on servers that count well, not, and falsely."""


def budgets(folder: Path) -> Figure:
    """Limits that no server, no retry, no restart and no second process may pass."""
    figure = Figure("budgets: false counts, retries, processes, a judge")
    names = ("good", *(name for name in BEHAVIOURS if name.startswith("usage")))
    small = ("run", "virsci", "--set", "team.size=2", "--set", "turns=1")
    with Misbehaving() as server, Driver(60) as command:
        for name, host, key in itertools.product(names, HOSTS, LIMITS):
            before = len(server.requests)
            model = settings(server, name, host, folder / f"{name}-{host}-{key}")
            end = command(*small, *model, *LIMITS[key], cwd=folder)
            wrong = {"never stopped": end.code != 3 or "budget" not in end.err}
            figure.add(f"{name}, {host}, {key}", [*end.faults, *passed(server, before, 12_000)], wrong)
        for name, host in itertools.product(("silent", "s500"), HOSTS):
            before = server.calls
            model = settings(server, name, host, folder / f"retries-{name}-{host}")
            more = ("--set", "models.default.retries=9", "--set", "models.default.timeout=0.5")
            end = command(*small, *model, *more, "--budget", "calls=3", cwd=folder)
            sent = server.calls - before
            figure.add(f"{name}, {host}", end.faults, {f"{sent} of 3 requests sent": sent != 3})
        figure.add("three processes", processes(server, folder))
        figure.add("arena judge", judges(server, command, folder))
    return figure


def passed(server: Misbehaving, before: int, limit: int) -> list[str]:
    """What was served since, by a token for four letters of the requests alone, if it is nothing or passes the limit."""
    served = sum(len(request.text) // 4 for request in server.requests[before:])
    return [] if 0 < served <= limit else [f"{served} tokens served of {limit}"]


def processes(server: Misbehaving, folder: Path) -> list[str]:
    """One suite in three processes, with tokens for a part of it."""
    write_suite(folder, "shared", repeats=8, plot=None)
    before = len(server.requests)
    command = ("eval", "shared", "--out", "shared-out", "--budget", "tokens=30000", *served_by(server))
    ended = [finish(each) for each in [start(*command, cwd=folder) for _ in range(3)]]
    faults = [f"exit code {each.code}: {each.err[-200:]}" for each in ended if each.code != 3]
    return [*faults, *passed(server, before, 30_000)]


def judges(server: Misbehaving, command: Driver, folder: Path) -> list[str]:
    """A judge of one question at a time that is started over and over."""
    judge = ("arena", "judge", "arena", *served_by(server), "--jobs", "1")
    with arena(folder / "arena", ("a", "b", "c")):
        before = server.calls
        for _ in range(3):
            command(*judge, "--budget", "calls=3", cwd=folder)
        limited = server.calls - before
        for _ in range(3):
            command(*judge, "--pairs", "2", cwd=folder)
    sent = (limited, server.calls - before)
    return [] if sent == (3, 4) else [f"{sent} requests sent of (3, 4)"]
