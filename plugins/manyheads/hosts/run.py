"""A run in code, on the host that its config names: `await run("virsci", "topic=Robots that feel")`."""

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from manyheads.config import RunConfig
from manyheads.core.events import AnyEvent, Person
from manyheads.core.results import RunResult
from manyheads.engine.session import Session, new_folder
from manyheads.hosts import host_factory
from manyheads.systems import results
from manyheads.systems.loading import load, reopen


async def run(
    config: RunConfig | str | Path,
    *sets: str,
    out: str | Path = "runs",
    listener: Callable[[AnyEvent], object] | None = None,
    person: Person | None = None,
) -> RunResult[Any]:
    """Run a config to its end: `await run("virsci", "topic=Robots that feel", "team.size=3")`.

    Args:
        config: the name of a system or a shipped config, a config file, a config, or the folder of a run to resume.
        sets: settings that override it, each `a.b=c` as on the command line.
        out: parent of the run's folder.
        listener: receives each event as it happens.
        person: plays the roles of models with the provider `human`, and steers after the stages of `steer`.

    Returns:
        The result, as `load` returns it from the run's folder.

    Raises:
        UserError: a mistake that the user can correct; finished turns stay in the folder.
    """
    folder = Path(config) if not isinstance(config, RunConfig) else None
    if folder and (folder / "config.yaml").is_file():
        session = Session(reopen(folder, sets), folder, person=person)
    else:
        chosen = config if isinstance(config, RunConfig) else load([str(config)], sets)
        session = Session(chosen, new_folder(chosen, Path(out)), person=person)
    async with aclosing(session.events(host_factory(session.config.host))) as events:
        async for event in events:
            if listener:
                listener(event)
    return results.load(session.folder)
