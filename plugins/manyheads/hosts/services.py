"""Part of a system as one tool of an app, see `Service`."""

import logging
from collections.abc import Mapping
from typing import Any

from manyheads.base.errors import ConfigError
from manyheads.config import ModelConfig
from manyheads.core import ManagedHost, Recall, Tool
from manyheads.core.events import AnyEvent, Warned
from manyheads.engine.readiness import roles_of
from manyheads.engine.session import offhand
from manyheads.hosts.clients import ClientHost, model_of
from manyheads.models.abilities import settled
from manyheads.models.offline import OFFLINE, with_label
from manyheads.systems import systems
from manyheads.systems.loading import AnyConfig, load_for
from manyheads.team.system import Service, System
from manyheads.team.tools import tool

log = logging.getLogger("manyheads")


def service_tool(name: str, host: type[ClientHost[Any]], model: Any, config: AnyConfig) -> Tool:
    """Part of a system as one tool, see `Service`; each host wraps it as its own kind of tool.

    Each call is a separate run without a folder, with the config's look-ups and budget.

    Args:
        name: of the tool: `critique_figure`, `assess_novelty`, or one of another package's system.
        host: the class of host for the run's turns.
        model: a client of the framework, a config of a model, or `provider/name`, in place of the config's default
            model; the config's own when None.
        config: of the system: a config, its data, its file, or the name of a shipped one; the system's own when None.

    Raises:
        ConfigError: no such tool, or the config is not valid.
    """
    system, service = _service_named(name)
    chosen = load_for(f"{name} is done by {system.name}", system.name, config)
    settings, client = model_of(name, host, model)
    models = {**chosen.models, "default": settings or chosen.models["default"]}
    if client is not None:
        models["default"] = host.serves.describe(client, models["default"])
    ready = None if client is None else {"default": client}
    models = {alias: settled(each) for alias, each in models.items()}
    chosen = chosen.model_copy(update={"host": host.framework, "models": models})

    def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> ManagedHost:
        return host(models, recall, attempts, ready)

    def tell(event: AnyEvent) -> None:
        if isinstance(event, Warned):
            log.warning("%s: %s", name, event.message)

    async def answer(arguments: Any) -> str:
        async with offhand(chosen, make_host, tell) as run:
            text = await service.run(run, arguments)
            return with_label(text, OFFLINE if OFFLINE in run.writers else "")

    return tool(name, roles_of(chosen).prompts, answer, service.arguments)


def _service_named(name: str) -> tuple[System, Service]:
    services = {
        service.name: (system, service) for system in systems().values() for service in system.services
    }
    if name not in services:
        raise ConfigError(
            f"no system brings a tool {name!r}", tried=f"tools: {', '.join(services) or 'none'}"
        )
    return services[name]
