"""Which run a host's team goes on with: the same rule on every host."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from manyheads.config import ModelConfig, RunConfig, settled
from manyheads.engine.folder import IDEA, SUBJECT, TARGET, writing
from manyheads.engine.replay import ReplayModel
from manyheads.engine.session import Session, new_folder, reopen
from manyheads.errors import ConfigError
from manyheads.models.offline import LocalModel, OfflineModel
from manyheads.systems import SYSTEMS

Takes = Literal["each", "last", "all"]
"""Which messages a system is asked by: each is a text of its own, the last alone counts, or all make one text."""
BESIDE = (
    "give the target's abstract as the first message and each idea as a further one, "
    "or name both in the config's ranking"
)


def takes(system: str) -> Takes:
    """Which of several messages a system takes, on hosts where all of them are said to it."""
    kind = SYSTEMS[system]
    return "each" if kind.background or kind.contest else "last" if kind.subject else "all"


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

        The text is the topic, or what is reviewed; of a background each is an abstract; of a ranking the first is the
        target, and any others are the ideas in place of the config's. None is ever the name of a file. An unfinished
        run goes on, under the config in its folder, when nothing is asked or the same again. Anything else begins a
        run of `config` in a folder of its own under `out`.

        Raises:
            UserError: the run lacks what it is about, its folder's config is not valid any more, or no folder can
                be made.
        """
        if self.folder is None or self.finished or asked not in ((), self.asked):
            _need(config, asked)
            self.folder, self.asked, self.finished = str(new_folder(config, out)), asked, False
        folder = Path(self.folder)
        if (folder / "config.yaml").is_file():
            return Session(reopen(folder), folder)
        return Session(_about(config, self.asked, folder), folder)


def _need(config: RunConfig, asked: Sequence[str]) -> None:
    """Raises `ConfigError` where a run would lack what it is about, before it has a folder."""
    system = SYSTEMS[config.system]
    if system.subject and not (asked or config.subject):
        raise ConfigError(
            f"{config.system}: no text to review",
            hint="give the text itself as the task or message, or its file as the config's subject",
        )
    try:
        system.ready(settled(_told(config, asked)))
    except ConfigError as error:
        if system.contest:
            error.hint = BESIDE
        raise


def _about(config: RunConfig, asked: Sequence[str], folder: Path) -> RunConfig:
    """The config with what was asked in it; what is read as a file elsewhere is kept as one in the run's folder."""
    system = SYSTEMS[config.system]
    if system.subject:
        asked = [_kept(text, folder / SUBJECT) for text in asked]
    elif system.contest:
        files = [TARGET, *(IDEA.format(number) for number in range(1, len(asked)))]
        asked = [_kept(text, folder / name) for text, name in zip(asked, files, strict=False)]
    return _told(config, asked)


def _kept(text: str, path: Path) -> str:
    path = path.resolve()
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        # What no file of text can hold is refused where it is read, with every other text that is none.
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return str(path)


def _told(config: RunConfig, asked: Sequence[str]) -> RunConfig:
    """The config with what was asked: its subject, its background, its target and ideas, or its topic."""
    if not asked:
        return config
    system = SYSTEMS[config.system]
    if system.contest:
        ideas = {"ideas": tuple(asked[1:])} if asked[1:] else {}
        ranking = config.ranking.model_copy(update={"target": asked[0], **ideas})
        return config.model_copy(update={"ranking": ranking})
    if system.background:
        return config.model_copy(update={"background": tuple(asked)})
    return config.model_copy(update={"subject" if system.subject else "topic": asked[-1]})


# Reviews in full, as a host's team ends with them: while it runs, a reviewer says only score and summary.


# Models that need no server.


def local_model(config: ModelConfig) -> LocalModel:
    """The local model of a config whose provider is `offline` or `replay`."""
    if config.provider == "offline":
        return OfflineModel(config)
    if config.provider == "replay":
        return ReplayModel.from_run(config.name)
    raise ConfigError(f"provider {config.provider!r} is not local")
