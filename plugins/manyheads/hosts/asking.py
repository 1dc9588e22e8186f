"""One task of a role, asked in code: `await ask("reviewer", "review", idea="…")` gives a `Review`."""

import asyncio
import logging
import threading
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from manyheads.asking.replies import PlainText, ReplyModel
from manyheads.asking.roles import Roles
from manyheads.base.errors import BudgetError, ConfigError, ReplyError, UserError, describe, did_you_mean
from manyheads.base.papers import Literature, Scientist
from manyheads.base.resources import Resources
from manyheads.config import BudgetConfig, ModelConfig
from manyheads.core import Host as Asked
from manyheads.core import Image, Message, Meter, Place, Reply, Speaker, Tool, Turn, recall_nothing, safe_name
from manyheads.engine.budget import Budget, Budgeted
from manyheads.engine.session import RESUME
from manyheads.engine.tracing import Traced
from manyheads.hosts import default_host, host_module, host_of
from manyheads.hosts.clients import Ledger, described
from manyheads.hosts.roles import RoleSpec
from manyheads.literature.library import Library
from manyheads.models.abilities import settled
from manyheads.models.offline import LABEL, OFFLINE
from manyheads.models.prices import with_prices

log = logging.getLogger("manyheads")
T = TypeVar("T")
MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


async def ask(
    who: Any,
    task: str,
    /,
    *,
    model: Any = None,
    host: str | None = None,
    name: str | None = None,
    tools: Sequence[Tool] = (),
    library: Library | None = None,
    corpus: Literature | str | None = None,
    images: Sequence[str | Path] = (),
    budget: BudgetConfig | Mapping[str, Any] | Meter | None = None,
    attempts: int = 3,
    paths: Sequence[str | Path] = (),
    full: bool = False,
    reply: type[ReplyModel] | None = None,
    **variables: Any,
) -> Any:
    """Ask a role for one of its tasks. The role's card names the type of the answer; `text` is a string.

        review = await ask("reviewer", "review", idea="…", model="openai/gpt-4o-mini")
        review = await ask(role_agent("reviewer", client), "review", idea="…")

    As in a run, an invalid answer is requested again with the reason. Notes go to the log `manyheads`, and so does a
    label if the offline model answered.

    Args:
        who: a role, or an agent: one that `role_agent` made, or any agent of a host's framework. An agent remembers
            earlier questions, and has its own model and tools.
        task: of the role; for an agent without a role, `reviewer.review` names the role whose prompt it gets.
        model: `provider/name`, a `ModelConfig`, or a client of the framework, which stays open; the offline model when None.
        host: such as `autogen`; when None, the host of the model's client, or the first installed one.
        tools: in addition to those of `library` and `corpus`, see `role_agent`; for models that can call tools.
        images: PNG or JPEG files sent with the prompt.
        budget: limits of this question, with further attempts: `{"calls": 3, "tokens": 20_000}`; or a meter that several share.
        full: return the whole `Reply`: `value`, `text`, `model`, `usage`, `attempts`, `tool_calls`, `warnings`.
        paths, reply: your own folders of roles and prompts, searched first; the answer's type, instead of the card's.
        variables: of the task's prompt and, for a role, of its system prompt.

    Raises:
        ConfigError: no such role, task or model, a variable is missing or unknown.
        UserError: as in a run: the budget is spent, the model cannot be reached or refuses, no answer was valid.
    """
    how = _How(tuple(map(_picture, images)), *_metered(budget), attempts, tuple(paths), reply)
    own = {"model": model, "host": host, "name": name, "tools": tools, "library": library, "corpus": corpus}
    with _without_run():
        if isinstance(who, str):
            spec = RoleSpec(who, name, tools, library, corpus, variables=variables)
            answer = await _ask_role(spec, task, how, model, host)
        else:
            answer = await _ask_agent(
                who, task, how, variables, [word for word, value in own.items() if value]
            )
    for note in notes_of(f"{f'{who}.' if isinstance(who, str) else ''}{task}", answer):
        log.warning("%s", note)
    if full:
        return answer
    return answer.value.text if isinstance(answer.value, PlainText) else answer.value


def notes_of(task: str, answer: Reply[Any]) -> list[str]:
    """What a user should know of an answer to a task."""
    return [*answer.warnings, *([f"{task}: {LABEL}"] if answer.model == OFFLINE else ())]


@dataclass(frozen=True)
class _How:
    """How a question is asked; see `ask`. `priced`: whether the model must have a price."""

    images: tuple[Image, ...]
    meter: Meter
    priced: bool
    attempts: int
    paths: tuple[str | Path, ...]
    reply: type[ReplyModel] | None

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ConfigError(f"attempts: {self.attempts} is less than 1")

    def host(self, made: Any, config: ModelConfig) -> Asked:
        """The host within the budget and the app's trace."""
        if self.priced and config.price is None:
            raise ConfigError(
                f"budget: money is limited, and {config.provider}/{config.name} has no price",
                hint="limit calls or tokens, or give a ModelConfig with a price per million tokens",
            )
        return Budgeted(Traced(made, {"default": config}), self.meter)

    async def put(
        self,
        asked: Asked,
        roles: Roles,
        speaker: Speaker,
        task: str,
        variables: Mapping[str, Any],
        *tools: Tool,
    ) -> Reply[Any]:
        """Put a task of the speaker's role."""
        try:
            prompt = Message(roles.prompt(speaker.role, task, variables), images=self.images)
        except ConfigError as error:
            # No variable is missing, but one may be a text where the prompt expects a record.
            error.hint = "give each variable in the form in which the prompt reads it"
            raise
        place, kind = Place("", 0, speaker.name, task), self.reply or roles.reply(speaker.role, task)
        named = f"{speaker.role}.{task}"
        return await asked.ask(Turn(place, speaker, (prompt,), kind, tools, forms=roles.forms, task=named))


def ask_sync(who: Any, task: str, /, **settings: Any) -> Any:
    """`ask` without `await`, for scripts and notebooks, where a loop is already running.

    All calls share one loop in a separate thread, so a client may be used in several calls. For a client or agent that is
    also used in another loop, call `await ask(…)` there.

    Example:
        review = ask_sync("reviewer", "review", area="robotics", indicator="novelty", idea="…")
        print(review.weaknesses[0])
    """
    return in_thread(ask(who, task, **settings))


def in_thread(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives, from the loop that all such calls share; Ctrl-C cancels it."""
    call = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return call.result()
    except BaseException:
        call.cancel()  # Ctrl-C: nothing continues in the background
        raise


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="manyheads.sync", daemon=True).start()
    return loop


async def need_model(model: Any = None, host: str | None = None) -> None:
    """Check that `ask` can ask a model; sends no request.

    Raises:
        UserError: no such host or model, the framework is not installed, or a key or the journal to replay is missing.
    """
    made, _ = _host(model, host, 1, Resources.of())
    try:
        made.open("default")
    finally:
        await made.close()


def _host(model: Any, host: str | None, attempts: int, resources: Resources) -> tuple[Any, ModelConfig]:
    """A host with one model, `default`, and the model's settings."""
    kind = host_module(host or host_of(model) or default_host()).make_host
    config, ready = described("ask", kind, model, ModelConfig())
    config = with_prices({"default": config if ready else settled(config)}, resources.folders)["default"]
    return kind({"default": config}, recall_nothing, attempts, ready), config


def _variables(
    roles: Roles, role: str, task: str, given: Mapping[str, Any], *, system: bool = True
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The variables of the system prompt, and those of the task.

    Raises:
        ConfigError: some are missing or unknown.
    """
    card, asked = roles.card(role), roles.task(role, task).variables
    own = card.variables if system else {}
    prompt = card.prompt_of(task)
    needed = [name for name in asked if name in roles.prompts.needs(prompt) - roles.prompts.defaults(prompt)]
    missing = [name for name in needed if name not in given]
    missing += [name for name, default in own.items() if default is None and given.get(name) is None]
    unknown = [name for name in given if name not in asked and name not in own]
    if missing or unknown:
        kinds = {"missing": missing, "no such variable": unknown}
        problems = [f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names]
        takes = [name if name in needed else f"{name} (optional)" for name in asked]
        takes += [name if default is None else f"{name} ({default!r})" for name, default in own.items()]
        named = did_you_mean(unknown[0], [*asked, *own]) if unknown and not missing else None
        example = "".join(f", {name}=…" for name in [*needed, *(n for n in missing if n not in needed)])
        raise ConfigError(
            f"role {role!r}, task {task!r}: {'; '.join(problems)}",
            tried=f"it takes {', '.join(takes) or 'nothing'}",
            hint=named or f"ask({role!r}, {task!r}{example})",
        )
    theirs = {name: value for name, value in given.items() if name in asked}
    return {name: value for name, value in given.items() if name in own}, theirs


async def _ask_role(spec: RoleSpec, task: str, how: _How, model: Any, host: str | None) -> Reply[Any]:
    roles = Roles(Resources.of(how.paths))
    own, theirs = _variables(roles, spec.role, task, spec.variables)
    made, config = _host(model, host, how.attempts, roles.resources)
    asked = how.host(made, config)

    async def guest(scientist: Scientist, question: str) -> str:
        system = roles.system("scientist", {"scientist": scientist})
        speaker = Speaker(safe_name(scientist.name), "scientist", system)
        place = Place("", 0, speaker.name, "advise")
        turn = Turn(place, speaker, (Message(question),), PlainText, forms=roles.forms, nested=True)
        return (await asked.ask(turn)).value.text

    try:
        part = replace(spec, variables=own).cast(guest, Ledger(), roles)
        speaker = Speaker(spec.agent_name, spec.role, part.system)
        return await how.put(asked, roles, speaker, task, theirs, *spec.tools, *part.tools)
    finally:
        await made.close()


async def _ask_agent(
    agent: Any, task: str, how: _How, variables: Mapping[str, Any], useless: Sequence[str]
) -> Reply[Any]:
    if useless:
        raise ConfigError(f"{', '.join(useless)}: an agent has its own", hint="give them to role_agent")
    if not (host := host_of(agent)):
        raise ConfigError(
            f"ask: a {type(agent).__module__}.{type(agent).__name__} cannot be asked",
            hint="give the name of a role, or an agent of AutoGen, AgentScope or Agent Framework",
        )
    role, _, task = task.rpartition(".")
    roles = None if how.paths else getattr(agent, "roles", None)
    roles = roles or Roles(Resources.of(how.paths))
    if not (role := role or getattr(agent, "role", "")):
        raise ConfigError(
            f"agent {agent.name!r} plays no role, so {task!r} could be any role's task",
            hint=f"name the role whose prompt it gets: ask(agent, 'reviewer.{task}', …)",
        )
    _, theirs = _variables(roles, role, task, variables, system=False)
    made = host_module(host).AgentHost(agent, how.attempts)
    return await how.put(how.host(made, made.config), roles, Speaker(agent.name, role, ""), task, theirs)


def _picture(path: str | Path) -> Image:
    path = Path(path)
    if path.suffix.lower() not in MEDIA:
        raise ConfigError(f"{path}: not a PNG or JPEG file", hint=f"endings: {', '.join(MEDIA)}")
    try:
        return Image(path.read_bytes(), MEDIA[path.suffix.lower()])
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _metered(budget: BudgetConfig | Mapping[str, Any] | Meter | None) -> tuple[Meter, bool]:
    """The meter, and whether money is limited by it."""
    if callable(budget):
        return budget, False
    try:
        limits = BudgetConfig.model_validate(budget or {})
        return Budget(limits).asking, limits.money is not None
    except ValidationError as error:
        limits = ", ".join(BudgetConfig.model_fields)
        raise ConfigError(f"budget: {describe(error)}", tried=f"limits: {limits}") from error


@contextmanager
def _without_run() -> Generator[None]:
    """Changes the hint of an error to one for code: there is no run to resume."""
    try:
        yield
    except UserError as error:
        match error:
            case BudgetError() if error.hint and RESUME in error.hint:
                error.hint = "give a larger budget"
            case ReplyError():
                error.hint = "ask again, or ask another model"
            case _:
                error.hint = error.hint and error.hint.replace(RESUME, "ask again")
        raise
