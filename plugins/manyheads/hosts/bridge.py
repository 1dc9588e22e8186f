"""What the hosts' teams share: their classes, their runs, and which run goes on."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel

from manyheads.config import ModelConfig, RunConfig, settled
from manyheads.core.events import AnyEvent, Judged, Recruited, Retrieved, Said, Stage, Voted, words
from manyheads.engine.folder import IDEA, SUBJECT, TARGET, writing
from manyheads.engine.replay import ReplayModel
from manyheads.engine.replying import StructuredHost
from manyheads.engine.session import Session, new_folder, reopen
from manyheads.errors import ConfigError
from manyheads.models.offline import LocalModel, OfflineModel, labelled
from manyheads.replies import label
from manyheads.report.review import SYSTEM, Review, Reviewed
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


# A system's class on a host: a team or a pipeline, made from the registry.

NATIVE = {
    "virsci": ("VirSci", "Scientists who discuss a research topic, vote on ideas and write the abstract of the best one."),
    "self-reflection": ("SelfReflection", "A researcher who reflects on one idea about a topic for many rounds and writes its abstract."),
    "discussion": ("Discussion", "A few fixed roles who discuss an idea about a research topic and write its abstract."),
    "single": ("Single", "A researcher who drafts ideas about a topic, picks the most novel one and writes its abstract."),
    "conference-review": ("ConferenceReview", "Reviewers who each review the text that they are given, alone, and score it from 1 to 10."),
    "rebuttal": ("Rebuttal", "A proposer, a reviewer and an area chair who improve a research idea on the abstracts they are given."),
    "ranking": ("Ranking", "A judge who ranks research ideas beside a target idea, blind and in several orders."),
}  # fmt: skip
N = TypeVar("N")


def class_name(system: str, ending: str) -> str:
    """What a system's class is called on a host, where classes end with `ending`: `VirSciTeam`."""
    return NATIVE[system][0] + ending


def system_called(name: str, ending: str) -> str:
    """The system whose class has this name.

    Raises:
        AttributeError: there is none.
    """
    found = next((system for system in SYSTEMS if class_name(system, ending) == name), None)
    if found is None:
        raise AttributeError(f"no system has a class {name!r}")
    return found


def native_class(base: type[N], system: str, ending: str) -> type[N]:
    """A subclass of a host's base that runs a system; it stands in the module of its base.

    Raises:
        ConfigError: there is no such system.
    """
    if system not in SYSTEMS:
        raise ConfigError(f"there is no system {system!r}", tried=f"systems: {', '.join(SYSTEMS)}")
    _, about = NATIVE[system]
    body = {"system": system, "about": about, "__doc__": about, "__module__": base.__module__}
    return cast(type[N], type(class_name(system, ending), (base,), body))


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


S = TypeVar("S", bound=RunState)
H = TypeVar("H", bound=StructuredHost)


class Runs(Generic[S]):
    """The runs of one team or pipeline: each in a folder of its own, all paused and resumed as one.

    Args:
        config: of each run.
        out: where run folders are made.
        state: of the last run.
    """

    def __init__(self, config: RunConfig, out: str | Path, state: S) -> None:
        self.config, self.out, self.state = config, Path(out), state
        self._host: StructuredHost | None = None
        self._paused = False

    @property
    def folder(self) -> Path | None:
        """Folder of the last run."""
        return Path(self.state.folder) if self.state.folder else None

    def session(self, asked: tuple[str, ...], default: ModelConfig | None = None) -> Session:
        """The run that is asked for, see `RunState.session`; `default` takes the place of the config's model."""
        models = {**self.config.models, "default": default} if default else self.config.models
        return self.state.session(asked, self.config.model_copy(update={"models": models}), self.out)

    def hold(self, host: H) -> H:
        """Take the host of the run that begins; it waits where the team is paused."""
        self._host = host
        if self._paused:
            host.pause()
        return host

    def pause(self) -> None:
        """Let turns under way finish and begin no other, until `resume`."""
        self._paused = True
        if self._host:
            self._host.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._paused = False
        if self._host:
            self._host.resume()


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


# What happens in a run, in words: consoles of both hosts show the same.


def sentence(event: AnyEvent) -> str:
    """An event in a sentence, empty for those that only show that something is under way.

    Why somebody joins or votes is left out: that was said before.
    """
    match event, words(event):
        case _, None:
            return ""
        case Said(), _:
            return labelled(event.text, event.model)
        case Stage() | Recruited() | Voted(), told:
            return f"{told.who} {told.does}".strip()
        case Retrieved(), told:
            query = " ".join(told.text.split())
            papers = "".join(f"\n- {hit['title']} ({hit['year']})" for hit in event.hits)
            return f"{told.does}: {query[:100]}{' …' * (len(query) > 100)}{papers}"
        case Judged(), told:
            return f"{told.who}: {told.does}" + (f" ({told.text})" if told.text else "")
        case _, told:
            return f"{told.who} {told.does}: {told.text}".strip()


# Reviews in full, as a host's team ends with them: while it runs, a reviewer says only score and summary.


def reviews_in_full(result: Mapping[str, Any]) -> list[str]:
    """Each review of a result as Markdown, with all that its form asks for; nothing where nobody has reviewed."""
    if result.get("system") != SYSTEM:
        return []
    return ["\n\n".join(_review_words(review)) for review in Reviewed.model_validate(result).reviews]


def _review_words(review: Review) -> Iterator[str]:
    yield f"## {review.reviewer}"
    for name, points in review.points.items():
        yield f"**{label(name)}.**{_listed(points)}"


def _listed(points: Sequence[str]) -> str:
    return f" {points[0]}" if len(points) == 1 else "".join(f"\n- {point}" for point in points)


# Models that need no server.


def local_model(config: ModelConfig) -> LocalModel:
    """The local model of a config whose provider is `offline` or `replay`."""
    if config.provider == "offline":
        return OfflineModel(config)
    if config.provider == "replay":
        return ReplayModel.from_run(config.name)
    raise ConfigError(f"provider {config.provider!r} is not local")
