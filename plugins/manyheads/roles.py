"""Role cards: who an agent is, what it can be asked, and with which prompts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import (
    BaseLoader,
    BytecodeCache,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
    meta,
)
from jinja2.bccache import Bucket
from jinja2.loaders import FunctionLoader
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from manyheads.errors import ConfigError, describe
from manyheads.replies import ReplyModel, reply_type
from manyheads.resources import Resources, parse_yaml

# Strict, sandboxed Jinja rendering of the prompt files.
#
# What is put into a prompt is data: it is never rendered again, and what comes from papers or models is fenced
# by the `quoted` filter so that it cannot pass for the prompt's own words.


def quoted(text: object, label: str) -> str:
    """Fence untrusted text between `<label>` lines; whatever begins like a closing fence in the text is defused."""
    body = re.sub(rf"</(?=\s*{re.escape(label)}\b)", "< /", str(text).strip(), flags=re.IGNORECASE)
    return f"<{label}>\n{body}\n</{label}>"


class Prompts:
    """The prompt files of a search path."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def render(self, name: str, variables: Mapping[str, object]) -> str:
        """Render `prompts/<name>` with exactly these variables.

        Raises:
            ConfigError: no such prompt, a syntax error, or a variable that the task does not give.
        """
        try:
            text = self._environment.get_template(name).render(variables)
        except UndefinedError as error:
            raise ConfigError(
                f"{self._where(name)}: {error.message}",
                tried=f"variables of this task: {', '.join(sorted(variables)) or 'none'}",
                hint="use one of these, or take the line out",
            ) from error
        except TemplateError as error:
            raise self._broken(name, error) from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ConfigError(f"{self._where(name)}: cannot be rendered: {error}") from error
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def needs(self, name: str) -> frozenset[str]:
        """The variables that `prompts/<name>` and everything that it includes or extends read."""
        return frozenset[str]().union(*(variables for variables, _ in self._parts(name).values()))

    def parts(self, name: str) -> frozenset[str]:
        """The files that `prompts/<name>` is made of: itself, and everything that it includes or extends."""
        return frozenset(self._parts(name))

    def _parts(self, name: str) -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
        found: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
        pending = [name]
        while pending:
            current = pending.pop()
            try:
                found[current] = _reads(self._source(current))
            except TemplateSyntaxError as error:
                raise self._broken(current, error) from error
            pending += [part for part in found[current][1] if part not in found]
        return found

    @cached_property
    def _environment(self) -> ImmutableSandboxedEnvironment:
        return _Sandbox(FunctionLoader(self._source))

    def _source(self, name: str) -> str:
        path = self._resources.need("prompts", name)
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: not UTF-8 text: {error}", hint="save it as UTF-8") from error

    def _where(self, name: str) -> str:
        return str(self._resources.find("prompts", name) or f"prompts/{name}")

    def _broken(self, name: str, error: TemplateError) -> ConfigError:
        where = self._where(name)
        if isinstance(error, TemplateNotFound):
            return ConfigError(f"{where}: includes {error.name}, which is not there")
        line = f":{error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
        return ConfigError(f"{where}{line}: {error.message}", hint="see the Jinja2 template syntax")


class _Compiled(BytecodeCache):
    """What was compiled in this process, so that a second run need not do it again; jinja checks the content."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if kept := self._kept.get(bucket.key):
            bucket.bytecode_from_string(kept)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


_compiled = _Compiled()


PLAIN = frozenset({str, int, float, bool, type(None)})


class _Sandbox(ImmutableSandboxedEnvironment):
    """Leaves out jinja's checks, half of the time of a rendering, where an attribute is plain data and nothing else."""

    def __init__(self, loader: BaseLoader | None = None) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            bytecode_cache=_compiled,
        )
        filters: dict[str, Any] = self.filters
        filters["quoted"] = quoted

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        plain = type(value) in PLAIN and not attr.startswith("_")
        return plain or super().is_safe_attribute(obj, attr, value)


@lru_cache(maxsize=1024)
def _reads(source: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The variables that a template's text reads, and the templates that it names."""
    tree = _Sandbox().parse(source)
    referenced = tuple(part for part in meta.find_referenced_templates(tree) if part)
    return frozenset(meta.find_undeclared_variables(tree)), referenced


class _Card(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(_Card):
    """One thing that a role can be asked to do."""

    description: str
    """What the task is for, in a line."""
    reply: str
    """Name of the typed reply, one of `manyheads.replies.REPLIES`; `pack.Reply` for one that an installed pack brings."""
    variables: tuple[str, ...] = ()
    """What the prompt is given; a prompt that reads anything else is refused."""
    prompt: str | None = None
    """Prompt file under `prompts/`; `<role>/<task>.md.j2` unless it says otherwise."""


class RoleCard(_Card):
    """A role as its YAML card describes it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """The role's name, a lower-case identifier, equal to the card's file name."""
    description: str
    """What others (and a host's speaker selection) read about the role."""
    variables: dict[str, Any] = Field(default_factory=dict)
    """What the system prompt `prompts/<role>/system.md.j2` is given, each with its default; null must be given."""
    system: str | None = None
    """System prompt file under `prompts/`, if it is not `<role>/system.md.j2`."""
    model: str = "default"
    """Alias of the model in a config's `models`."""
    tools: tuple[str, ...] = ()
    """Names of the tool functions that the role may call where its model can call tools."""
    tasks: dict[str, Task] = Field(default_factory=dict)
    """Tasks by name."""

    def system_prompt(self) -> str:
        return self.system or f"{self.name}/system.md.j2"

    def prompt_of(self, task: str) -> str:
        return self.tasks[task].prompt or f"{self.name}/{task}.md.j2"


@dataclass(frozen=True)
class Roles:
    """All role cards of a search path, with the prompts they name."""

    resources: Resources

    @cached_property
    def prompts(self) -> Prompts:
        return Prompts(self.resources)

    @cached_property
    def cards(self) -> dict[str, RoleCard]:
        files = self.resources.names("roles", ".yaml")
        return {name.removesuffix(".yaml"): read_card(path) for name, path in sorted(files.items())}

    def card(self, role: str) -> RoleCard:
        """Raises `ConfigError` for a role that no folder holds."""
        if role not in self.cards:
            raise ConfigError(
                f"unknown role {role!r}", tried=f"roles: {', '.join(self.cards)}", hint="manyheads roles"
            )
        return self.cards[role]

    def task(self, role: str, task: str) -> Task:
        card = self.card(role)
        if task not in card.tasks:
            raise ConfigError(f"role {role!r} has no task {task!r}", tried=f"tasks: {', '.join(card.tasks)}")
        return card.tasks[task]

    def system(self, role: str, variables: Mapping[str, object]) -> str:
        """The system prompt of a role; the card's defaults stand in for variables not given.

        Raises:
            ConfigError: a variable without a default is missing, or one is not the role's.
        """
        card = self.card(role)
        given = {**card.variables, **variables}
        if missing := [name for name, value in given.items() if value is None]:
            raise ConfigError(f"role {role!r} needs {', '.join(missing)}")
        if foreign := set(variables) - set(card.variables):
            raise ConfigError(
                f"role {role!r} has no variable {', '.join(sorted(foreign))}",
                tried=f"variables: {', '.join(card.variables) or 'none'}",
            )
        return self.prompts.render(card.system_prompt(), given)

    def prompt(self, role: str, task: str, variables: Mapping[str, object]) -> str:
        """The user prompt of a role's task, without the reply's form."""
        self.task(role, task)
        return self.prompts.render(self.card(role).prompt_of(task), variables)

    def reply(self, role: str, task: str) -> type[ReplyModel]:
        """The reply type that a role's task asks for."""
        return reply_type(self.task(role, task).reply)

    def problems(self) -> list[str]:
        """Everything wrong with the cards and their prompts, a line each; empty when all is well."""
        lines: list[str] = []
        for card in self.cards.values():
            pieces = [(card.system_prompt(), tuple(card.variables))]
            pieces += [(card.prompt_of(name), task.variables) for name, task in card.tasks.items()]
            for prompt, variables in pieces:
                where, gives = self.resources.find("prompts", prompt), ", ".join(variables) or "nothing"
                unknown = sorted(self.prompts.needs(prompt) - {*variables})
                lines += [f"{where}: reads {name!r}, its task gives {gives}" for name in unknown]
        return lines


def read_card(path: Path) -> RoleCard:
    """Read and validate one card.

    Raises:
        ConfigError: not YAML, a key unknown or missing, a reply type that is not there, a name unlike the file's.
    """
    try:
        card = RoleCard.model_validate(parse_yaml(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from error
    except ValidationError as error:
        raise ConfigError(f"{path}: {describe(error)}", hint="see roles/role.schema.json") from error
    if card.name != path.stem:
        raise ConfigError(f"{path}: name is {card.name!r}, the file says {path.stem!r}")
    for task in card.tasks.values():
        try:
            reply_type(task.reply)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error.message}", tried=error.tried, hint=error.hint) from error
    return card
