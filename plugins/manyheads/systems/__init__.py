"""The systems by name, and what each needs of the role cards."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from manyheads.config import TALKS, RunConfig
from manyheads.discussion import Run
from manyheads.replies import ReplyModel
from manyheads.roles import Roles
from manyheads.systems import baselines, ranking, rebuttal
from manyheads.systems.baselines import ready
from manyheads.systems.conference_review import NEEDS as REVIEW_NEEDS
from manyheads.systems.conference_review import conference_review
from manyheads.systems.virsci import stages, virsci
from manyheads.tools import LOOK_UPS, TOOLS

Needs = Mapping[tuple[str, str], type[ReplyModel]]
"""By role and task, the reply that is needed, or a narrower one."""


def always(needs: Needs) -> Callable[[RunConfig], Needs]:
    """The needs of a system whose config asks for no more and no fewer."""
    return lambda config: needs


def team_caps(config: RunConfig) -> Mapping[str, int]:
    """The turns of a team's stages."""
    return {stage: config.turns.of(stage) for stage in TALKS}


@dataclass(frozen=True)
class System:
    """A system: what runs it, and the replies that it needs of which role's tasks."""

    run: Callable[[Run], Awaitable[Mapping[str, Any]]]
    needs: Callable[[RunConfig], Needs]
    ecosystem: bool = True
    """Whether it forms a team of a corpus's scientists; one that does not needs no corpus."""
    subject: bool = False
    """Whether it is about a text that the config's `subject` names."""
    references: bool = False
    """Whether it shows papers with ideas as a team is shown them, without a team."""
    background: bool = False
    """Whether it starts from the config's `background`, or an idea."""
    contest: bool = False
    """Whether it ranks the config's `ranking.ideas` beside a target."""
    fits: Callable[[RunConfig, Roles], Iterable[str]] = lambda config, roles: ()
    """What else is missing among the user's files, a line each."""
    ready: Callable[[RunConfig], object] = lambda config: None
    """Raises `ConfigError` where the config lacks what it needs."""
    caps: Callable[[RunConfig], Mapping[str, int]] = team_caps
    """The most turns of each stage that is held in turns."""

    @property
    def topic(self) -> bool:
        """Whether it works on a topic, found or given."""
        return self.ecosystem or self.references


SYSTEMS = {
    "virsci": System(virsci, stages.needs),
    "conference-review": System(conference_review, always(REVIEW_NEEDS), ecosystem=False, subject=True),
    "self-reflection": System(
        baselines.self_reflection,
        always(baselines.REFLECTION_NEEDS),
        ecosystem=False,
        references=True,
        ready=ready.need_topic,
        caps=lambda config: {"idea": config.baseline.rounds + 1},
    ),
    "discussion": System(
        baselines.discussion,
        always(baselines.DISCUSSION_NEEDS),
        ecosystem=False,
        references=True,
        ready=ready.need_topic,
        caps=lambda config: {"idea": config.baseline.turns},
    ),
    "single": System(
        baselines.single,
        always(baselines.SINGLE_NEEDS),
        ecosystem=False,
        references=True,
        ready=ready.need_topic_and_tokens,
        caps=lambda config: {},
    ),
    "rebuttal": System(
        rebuttal.rebuttal,
        rebuttal.needs,
        ecosystem=False,
        background=True,
        fits=rebuttal.fits,
        ready=rebuttal.need_beginning,
        caps=rebuttal.caps,
    ),
    "ranking": System(
        ranking.ranking,
        ranking.needs,
        ecosystem=False,
        contest=True,
        fits=ranking.fits,
        ready=ranking.need_ideas,
        caps=lambda config: {},
    ),
}


def needs_corpus(config: RunConfig) -> bool:
    """Whether a run opens a corpus: for the scientists of its team, or for what it shows of the literature.

    A baseline looks papers up just as the team does that it is compared with: in B_past, or in services, among which
    the corpus may be one, and whose year they may be held to.
    """
    system, literature = SYSTEMS[config.system], config.literature
    if system.ecosystem or not system.references:
        return system.ecosystem
    if literature.references == "corpus":
        return config.ideas.references + config.novelty.references > 0
    return "local" in literature.cascade or literature.before == "bound"


def looks_up(config: RunConfig, roles: Roles) -> bool:
    """Whether a run may ask its library: for the references of ideas, or by a tool of the scientists' cards.

    Raises:
        ConfigError: a card cannot be read.
    """
    system = SYSTEMS[config.system]
    if config.literature.references == "services":
        return system.ecosystem or system.references
    asked = {role for role, _ in system.needs(config)} if system.ecosystem else ()
    return any(LOOK_UPS & set(roles.card(role).tools) for role in asked)


def misfits(config: RunConfig, roles: Roles) -> list[str]:
    """What stands between a config and its run in the role cards and prompts, a line each.

    Raises:
        ConfigError: a card cannot be read, or the config names a role that is not there.
    """
    needed = {role for role, _ in SYSTEMS[config.system].needs(config)} | set(config.roles)
    return [
        *roles.problems(),
        *(line for role in sorted(needed) for line in _of_card(config, roles, role)),
        *_of_tasks(config, roles),
        *SYSTEMS[config.system].fits(config, roles),
    ]


def _of_card(config: RunConfig, roles: Roles, role: str) -> Iterator[str]:
    card = roles.card(role)
    changes = config.roles.get(role)
    alias = changes.model if changes else card.model
    if alias not in config.models:
        yield f"role {role}: its model is {alias!r}, but the config has models {', '.join(config.models)}"
    for tool in sorted(set(card.tools) - TOOLS):
        yield f"role {role}: there is no tool {tool!r}, only {', '.join(sorted(TOOLS))}"


def _of_tasks(config: RunConfig, roles: Roles) -> Iterator[str]:
    for (role, task), kind in SYSTEMS[config.system].needs(config).items():
        tasks = roles.card(role).tasks
        if task not in tasks:
            yield f"role {role}: {config.system} needs its task {task!r}, which the card does not have"
        elif not issubclass(roles.reply(role, task), kind):
            yield f"role {role}: task {task!r} must reply with {kind.__name__}, not {tasks[task].reply}"
