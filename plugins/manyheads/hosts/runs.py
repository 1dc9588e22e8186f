"""Which run a host's team goes on with: the same rule on every host."""

from pathlib import Path

from pydantic import BaseModel

from manyheads.config import RunConfig, settled
from manyheads.errors import ConfigError
from manyheads.folder import SUBJECT, writing
from manyheads.session import Session, new_folder, reopen
from manyheads.systems import SYSTEMS


class RunState(BaseModel):
    """What a team remembers of its last run; the run itself is kept in its folder."""

    folder: str | None = None
    """Folder of the last run."""
    asked: str = ""
    """What it was given, a topic, a background or a text to review; empty for nothing."""
    finished: bool = False
    """Whether it has come to its end."""

    def session(self, asked: str, config: RunConfig, out: Path) -> Session:
        """The run that is asked for by a text, empty for none; this is its state from now on.

        The text is the topic, the background, or what is reviewed, and never the name of a file. An unfinished run goes on, under the
        config in its folder, when nothing is asked or the same again. Anything else begins a run of `config` in a
        folder of its own under `out`.

        Raises:
            UserError: the run lacks what it is about, its folder's config is not valid any more, or no folder can
                be made.
        """
        if self.folder is None or self.finished or asked not in ("", self.asked):
            _need(config, asked)
            self.folder, self.asked, self.finished = str(new_folder(config, out)), asked, False
        folder = Path(self.folder)
        if (folder / "config.yaml").is_file():
            return Session(reopen(folder), folder)
        return Session(_about(config, self.asked, folder), folder)


def _need(config: RunConfig, asked: str) -> None:
    """Raises `ConfigError` where a run would lack what it is about, before it has a folder."""
    system = SYSTEMS[config.system]
    if system.subject and not (asked or config.subject):
        raise ConfigError(
            f"{config.system}: no text to review",
            hint="give the text itself as the task or message, or its file as the config's subject",
        )
    system.ready(settled(_told(config, asked)))


def _about(config: RunConfig, asked: str, folder: Path) -> RunConfig:
    """The config with what was asked in it; a text to review is kept in the run's folder."""
    if not asked or not SYSTEMS[config.system].subject:
        return _told(config, asked)
    subject = (folder / SUBJECT).resolve()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # What no file of text can hold is refused where it is read, with every other text that is none.
        subject.write_bytes(asked.encode("utf-8", "surrogatepass"))
    return config.model_copy(update={"subject": str(subject)})


def _told(config: RunConfig, asked: str) -> RunConfig:
    """The config with what was asked as its background, or as its topic."""
    if not asked:
        return config
    told = {"background": (asked,)} if SYSTEMS[config.system].background else {"topic": asked}
    return config.model_copy(update=told)
