"""`manyheads check --ping`: one short request to each model and each literature source, with seconds, tokens and cost."""

import asyncio
import time
from collections.abc import Awaitable, Collection

from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import ReplyModel
from manyheads.asking.roles import Roles
from manyheads.base.errors import ModelError, UserError
from manyheads.base.resources import Resources
from manyheads.config import RunConfig, SourceName
from manyheads.core import Message, Place, Speaker, Turn, money, recall_nothing
from manyheads.core.texts import count
from manyheads.engine.readiness import Finding
from manyheads.engine.replying import StructuredHost
from manyheads.engine.session import RESUME, HostFactory
from manyheads.literature.library import connect
from manyheads.literature.source import Request
from manyheads.models.prices import FREE
from manyheads.models.probe import TOKENS
from manyheads.team.system import system_of

PATIENCE = 30.0
"""Timeout of one request, in seconds."""
QUERY = "machine learning"


async def pings(config: RunConfig, make_host: HostFactory, without: Collection[str] = ()) -> list[Finding]:
    """The answers to one request, of each model on a server and each literature service of a run.

    Args:
        without: findings to leave out, such as a model whose key is missing.
    """
    calls = [
        _finding(f"models.{alias}", _ask(config, alias, make_host))
        for alias, model in config.models.items()
        if model.provider not in FREE and f"models.{alias}" not in without
    ]
    known = not {"roles", "literature"} & set(without)
    if known and system_of(config).searches(config, Roles(Resources.of(config.paths))):
        calls += [
            _finding(f"literature.{name}", _search(config, name))
            for name in config.literature.cascade
            if name != "local"
        ]
    return await asyncio.gather(*calls)


async def _finding(subject: str, call: Awaitable[str]) -> Finding:
    try:
        return Finding(subject, await call)
    except UserError as error:
        error.hint = error.hint and error.hint.replace(f"then: {RESUME}", "then run check again")
        return Finding(subject, str(error).removeprefix(f"{subject} "), error)


async def _ask(config: RunConfig, alias: str, make_host: HostFactory) -> str:
    """One request through the host's own client; raises `UserError` where it fails."""
    model = config.models[alias]
    changes = {"retries": 0, "response_format": "none", "max_tokens": min(model.max_tokens or TOKENS, TOKENS)}
    brief = model.model_copy(update={**changes, "timeout": min(model.timeout, PATIENCE)})
    prompt = Prompts(Resources.of()).render("probe/ready.md.j2", {}).strip()
    place, speaker = Place("check", 1, "Ping", "ready"), Speaker("Ping", "probe", "", alias)
    host, began = make_host({alias: brief}, recall_nothing, 1), time.monotonic()
    assert isinstance(host, StructuredHost)
    try:
        message = Message(prompt)
        async with asyncio.timeout(PATIENCE):
            raw = await host.native(Turn(place, speaker, (message,), ReplyModel), (message,), [])
    except TimeoutError as error:
        raise ModelError(
            f"models.{alias}: no answer within {PATIENCE:g} s", hint="check whether the server is busy"
        ) from error
    finally:
        await host.close()
    usage, price = raw.usage, model.price
    cost = "no price known" if usage.cost is None else f"cost {_small(usage.cost, price and price.currency)}"
    return (
        f"{model.provider}/{model.name} answered in {time.monotonic() - began:.1f} s: "
        f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}"
    )


def _small(cost: float, currency: str | None) -> str:
    """An amount too small for four decimals."""
    return f"less than {money(0.0001, currency)}" if 0 < cost < 0.0001 else money(cost, currency)


async def _search(config: RunConfig, name: SourceName) -> str:
    """One search in a source; raises `UserError` where it fails."""
    changes = {"retries": 0, "patience": min(config.literature.patience, PATIENCE)}
    source, began = connect(name, config.literature.model_copy(update=changes)), time.monotonic()
    try:
        papers = await source.look_up(Request("search", QUERY, 1))
    finally:
        await source.close()
    return (
        f"answered in {time.monotonic() - began:.1f} s: {count(len(papers), 'paper')} for {QUERY!r}, no cost"
    )
