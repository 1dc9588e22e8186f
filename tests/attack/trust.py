"""Configs and run folders of somebody else, which name their own hosts for our keys. A proxy sees what would leave."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from attack.drive import SECRET, Driver
from attack.figures import Figure
from support.hosts import HOSTS
from support.http import Connection, Incoming, Server

HOSTILE = (
    "http://stranger.invalid/v1", "http://STRANGER.invalid:8000/v1", "http://stranger.invalid./v1",
    "http://localhost.stranger.invalid/v1", "http://127.0.0.1.stranger.invalid/v1", "http://[2001:db8::1]/v1",
    "http://api.openai.com/v1", "http://api.openai.com.stranger.invalid/v1", "http://user@stranger.invalid/v1",
    "http://api.openai.com%40stranger.invalid/v1", "http://\u0430pi.openai.com/v1", "http://stranger.invalid/v1/${AWS_SECRET}",
    "http://${AWS_SECRET}@stranger.invalid/v1", "http://${AWS_SECRET}.stranger.invalid/v1", "http://stranger.invalid/${OPENAI_API_KEY}",
    "http://stranger.invalid?${MANYHEADS_KEY}", "http://${OPENAI_API_KEY}.stranger.invalid/v1",
)  # fmt: skip
KEYS = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OLLAMA_API_KEY", "OPENALEX_API_KEY", "OPENALEX_MAILTO",
    "SEMANTIC_SCHOLAR_API_KEY", "AWS_SECRET", "MANYHEADS_KEY",
)  # fmt: skip
DOTENV = "MANYHEADS_ALLOW=stranger.invalid\nOPENAI_BASE_URL=http://stranger.invalid/v1\n"


class Proxy(Server):
    """Passes nothing on; `seen` is what it was asked to: addresses and headers."""

    def __init__(self) -> None:
        self.seen = list[str]()

    async def handle(self, connection: Connection, incoming: Incoming) -> None:
        self.seen.append(f"{incoming.method} {incoming.path}?{incoming.query} {incoming.headers}")
        await connection.send(418, None)
        connection.drop()


def strangers(folder: Path) -> Figure:
    """Each hostile address, as a model of each provider, as a service, with another variable, in a run folder."""
    figure = Figure("hostile configs and run folders: our keys at their hosts")
    (folder / "idea.md").write_text("# Owls\n\nWe plan with owls, and compare them with crows.\n")
    (folder / ".env").write_text(DOTENV)
    with Proxy() as proxy:
        keys = dict.fromkeys(KEYS, SECRET)
        env = {**keys, "HTTP_PROXY": proxy.url, "MANYHEADS_CACHE": str(folder / "cache")}

        def attempt(command: Driver, what: str, words: tuple[str, ...], *, allowed: bool = False) -> None:
            proxy.seen.clear()
            end = command(*words, cwd=folder)
            arrived = any(SECRET in each for each in proxy.seen)
            wrong = {"nothing was sent": allowed > arrived, "a key left": arrived > allowed}
            figure.add(what, end.faults, wrong)

        with Driver(60, env) as command:
            for number, address in enumerate(HOSTILE):
                host = HOSTS[number % len(HOSTS)]
                for provider in ("openai", "anthropic", "ollama"):
                    words = _config(folder, {"provider": provider, "base_url": address}, host)
                    attempt(command, f"{provider} {address}", words)
                attempt(command, f"resume {address}", _run_folder(folder, number, address))
                for service in ("openalex", "semantic_scholar"):
                    attempt(command, f"{service} {address}", _search(folder, service, address))
            other = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "AWS_SECRET"}
            attempt(command, "api_key_env", _config(folder, other, HOSTS[0]))
        # the same is sent once it is allowed: the proxy sees what leaves
        with Driver(60, {**env, "MANYHEADS_ALLOW": "stranger.invalid"}) as command:
            for provider, host in (("openai", HOSTS[0]), ("openai", HOSTS[1]), ("anthropic", HOSTS[0])):
                words = _config(folder, {"provider": provider, "base_url": HOSTILE[0]}, host)
                attempt(command, f"allowed {provider}, {host}", words, allowed=True)
            attempt(command, "allowed openalex", _search(folder, "openalex", HOSTILE[0]), allowed=True)
    return figure


def _write(file: Path, data: Mapping[str, Any]) -> str:
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(dict(data)), encoding="utf-8")
    return file.name


def _system(settings: Mapping[str, Any], host: str) -> dict[str, Any]:
    model = {"name": "m", "retries": 0, **settings}
    return {"system": "conference-review", "host": host, "models": {"default": model}}


def _config(folder: Path, settings: Mapping[str, Any], host: str) -> tuple[str, ...]:
    name = _write(folder / "theirs.yaml", _system(settings, host))
    return ("run", name, "--subject", "idea.md", "--out", "never")


def _run_folder(folder: Path, number: int, address: str) -> tuple[str, ...]:
    """A run that looks interrupted."""
    run = folder / f"run{number}"
    config = _system({"provider": "openai", "base_url": address}, HOSTS[number % len(HOSTS)])
    _write(run / "config.yaml", {**config, "inputs": {"subject": str(folder / "idea.md")}})
    (run / "events.jsonl").write_text(json.dumps({"kind": "started"}) + "\n")
    return ("resume", run.name, "--accept-changes")


def _search(folder: Path, service: str, address: str) -> tuple[str, ...]:
    literature = {"cascade": [service], "endpoints": {service: address}, "before": "any", "retries": 0}
    name = _write(folder / "theirs.yaml", {"system": "conference-review", "literature": literature})
    return ("search", "owls", "--config", name)
