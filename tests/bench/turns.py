"""Turn-taking: the wall time of a run against its longest chain of dependent calls."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

from bench.figures import Figure, Size
from bench.overhead import plain_cost, questions_of
from bench.runs import Timed, config_for, critical_path, timed
from bench.server import model_server, server_alone


async def bench(size: Size) -> AsyncIterator[Figure]:
    with model_server(size.delay) as base_url, tempfile.TemporaryDirectory() as base:
        yield await server_alone(base_url, size)
        for embedding in size.embeddings:
            for host in size.hosts:
                async for figure in _of(base_url, host, embedding, size, Path(base)):
                    yield figure


async def _of(base_url: str, host: str, embedding: str, size: Size, base: Path) -> AsyncIterator[Figure]:
    """Rounds of ours and of the host's plain agents take turns, so that what else the machine does hits both. Each round has
    another team: the embedder remembers the last queries."""
    rounds, plain = list[Timed](), list[float]()
    for seed in range(size.rounds):
        rounds.append(await timed(config_for(base_url, host, size, embedding, seed=seed), base))
        plain.append((await plain_cost(host, base_url, questions_of(rounds[-1].folder))).wall)
    chain, calls = critical_path(rounds[0].said), sum(each.usage.calls for each in rounds[0].said)
    walls = [one.talk.wall for one in rounds]
    name, path = f"{host}, {embedding} embedding", chain * size.delay
    against = f"critical path: {chain} of {calls} calls x {size.delay * 1000:.0f} ms"
    spread = f"fastest of {size.rounds}, median {median(walls):.2f} s"
    cpu = f"CPU {median(one.talk.cpu for one in rounds):.2f} s"
    yield Figure(f"turns: {name}", min(walls), "s", path, against, "ratio ≤ 1.15", f"{spread}; {cpu}")
    for what, count, aim in (("the chain", chain, "ratio ≤ 1.15"), ("all calls", calls, "ratio < 1")):
        pairs = [(wall, count * cost) for wall, cost in zip(walls, plain, strict=True)]
        mine, theirs = min(pairs, key=lambda pair: pair[0] / pair[1])
        ratios = median(wall / other for wall, other in pairs)
        against = f"{what} by the host's plain agent, {count} in a row" + (
            ", as in the authors' code" if count == calls else ""
        )
        yield Figure(
            f"  {what}: {name}",
            mine,
            "s",
            theirs,
            against,
            aim,
            f"best of {size.rounds}, median ratio {ratios:.2f}",
        )
    for part, took in (
        ("set-up", [one.set_up.wall for one in rounds]),
        ("report", [one.closing.wall for one in rounds]),
    ):
        yield Figure(
            f"  {part}: {name}", median(took), "s", path, "critical path", note=f"first {took[0]:.2f} s"
        )
