"""Which run a host's team goes on with: the same rule on every host."""

from pathlib import Path

from pydantic import BaseModel

from manyheads.config import RunConfig
from manyheads.session import Session, new_folder, reopen


class RunState(BaseModel):
    """What a team remembers of its last run; the run itself is kept in its folder."""

    folder: str | None = None
    """Folder of the last run."""
    topic: str = ""
    """The topic that it was given, empty for none."""
    finished: bool = False
    """Whether it has come to its end."""

    def session(self, topic: str, config: RunConfig, out: Path) -> Session:
        """The run that is asked for by a topic, empty for none; this is its state from now on.

        An unfinished run goes on, under the config in its folder, when nothing is asked or the same again.
        Anything else begins a run of `config` in a folder of its own under `out`.

        Raises:
            UserError: the folder's config is not valid any more, or no folder can be made.
        """
        if self.folder is None or self.finished or topic not in ("", self.topic):
            self.folder, self.topic, self.finished = str(new_folder(config, out)), topic, False
        folder = Path(self.folder)
        if (folder / "config.yaml").is_file():
            return Session(reopen(folder), folder)
        return Session(config.model_copy(update={"topic": self.topic or config.topic}), folder)
