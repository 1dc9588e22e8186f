"""Which run a host's team goes on with: the same rule on every host."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, SerializeAsAny

from manyheads.config import ModelConfig, RunConfig
from manyheads.engine.replay import ReplayModel
from manyheads.engine.session import Session, new_folder
from manyheads.engine.system import System, system_of
from manyheads.errors import ConfigError
from manyheads.models.offline import LocalModel, OfflineModel
from manyheads.systems.loading import reopen, validate

Takes = Literal["each", "last", "all"]
"""Which messages a system is asked by: each is a text of its own, the last alone counts, or all make one text."""
PLACES = {
    "all": "the task or message", "last": "the task or last message", "each": "a message each",
    "first": "the first message", "rest": "each further message",
}  # fmt: skip


def takes(system: System) -> Takes:
    """Which of several messages a system takes, on hosts where all of them are said to it."""
    fills = {slot.filled_by for slot in system.slots.values()}
    return "each" if fills & {"each", "first", "rest"} else "last" if "last" in fills else "all"


class RunState(BaseModel):
    """What a team remembers of its last run; the run itself is kept in its folder."""

    folder: str | None = None
    """Folder of the last run."""
    asked: tuple[str, ...] = ()
    """What it was given: a topic, a text to review, abstracts of a background, or a target and ideas."""
    finished: bool = False
    """Whether it has come to its end."""

    def session(self, asked: tuple[str, ...], config: RunConfig, out: Path) -> Session:
        """The run that is asked for by texts, or by none; this is its state from now on.

        Which text is which input, the system says; none is ever the name of a file. An unfinished run goes on, under the config in its folder, when nothing is asked or the same again. Anything else begins a
        run of `config` in a folder of its own under `out`.

        Raises:
            UserError: the run lacks what it is about, its folder's config is not valid any more, or no folder can
                be made.
        """
        system = system_of(config)
        if self.folder is None or self.finished or asked not in ((), self.asked):
            _need(system, config, asked)
            self.folder, self.asked, self.finished = str(new_folder(config, out)), asked, False
        folder = Path(self.folder)
        if (folder / "config.yaml").is_file():
            return Session(reopen(folder), folder)
        return Session(system.given(config, self.asked, folder), folder)


def _need(system: System, config: RunConfig, asked: Sequence[str]) -> None:
    """Raises `ConfigError` where a run would lack what it is about, before it has a folder."""
    try:
        system.ready(system.settle(system.given(config, asked)))
    except ConfigError as error:
        filled = {name: slot for name, slot in system.slots.items() if slot.filled_by}
        if any(slot.file for slot in filled.values()):
            places = "; ".join(f"{name}: {PLACES[slot.filled_by or 'all']}" for name, slot in filled.items())
            error.hint = f"give it as text ({places}), or as a file in the config's inputs"
        raise


def _read(value: Any) -> Any:
    return value if isinstance(value, RunConfig) else validate(value)


AnyRunConfig = Annotated[SerializeAsAny[RunConfig], BeforeValidator(_read)]
"""A config of any system, in a model of a host's."""


# Reviews in full, as a host's team ends with them: while it runs, a reviewer says only score and summary.


# Models that need no server.


def local_model(config: ModelConfig) -> LocalModel:
    """The local model of a config whose provider is `offline` or `replay`."""
    if config.provider == "offline":
        return OfflineModel(config)
    if config.provider == "replay":
        return ReplayModel.from_run(config.name)
    raise ConfigError(f"provider {config.provider!r} is not local")
