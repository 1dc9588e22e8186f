"""Role cards: who an agent is, its tasks, and its prompts."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, RootModel

from manyheads.asking import forms, prompts, sandbox
from manyheads.asking.forms import Forms, files_of_replies
from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import ReplyModel, from_schema, reply_type
from manyheads.base.compiled import own_file
from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.base.files import read_text, replace_text
from manyheads.base.resources import Resources, State, parse_json, read_model

CODE = (__file__, *(str(each.__file__) for each in (forms, prompts, sandbox)))
"""What tries out roles and prompts."""


class _Card(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(_Card):
    """One task of a role."""

    description: str
    """The purpose of the task, in one line."""
    reply: str | dict[str, Any]
    """The reply type: a name of `manyheads.replies.REPLIES`; `text` for plain text; `pack.Reply` for one of an installed
    pack; `package.module:Class` for a pydantic class, whose module is imported when the card is read; a JSON Schema, or
    the name of a `.json` file beside the card that contains one."""
    variables: tuple[str, ...] = ()
    """The prompt's variables; a prompt that uses any other is an error."""
    prompt: str | None = None
    """Prompt file under `prompts/`, if it is not `<role>/<task>.md.j2`."""


class RoleCard(_Card):
    """A role, as its YAML card describes it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """The role's name, a lower-case identifier equal to the card's file name."""
    description: str
    """The description for other agents (and for a host's speaker selection)."""
    variables: dict[str, Any] = Field(default_factory=dict)
    """Variables of the system prompt `prompts/<role>/system.md.j2`, and of `persona.md.j2`, with their defaults; null means
    required."""
    system: str | None = None
    """System prompt file under `prompts/`, if it is not `<role>/system.md.j2`."""
    model: str = "default"
    """Alias of the model in a config's `models`."""
    tools: tuple[str, ...] = ()
    """Tool functions that the role may call if its model supports tool calls."""
    tasks: dict[str, Task] = Field(default_factory=dict)
    """Tasks by name."""

    def system_prompt(self) -> str:
        return self.system or f"{self.name}/system.md.j2"

    def prompt_of(self, task: str) -> str:
        return self.tasks[task].prompt or f"{self.name}/{task}.md.j2"


@dataclass(frozen=True)
class Roles:
    """All role cards of a search path, with their prompts."""

    resources: Resources
    language: str = ""
    """The language of the answers, a code of `prompts/languages.yaml` or a name; empty if no prompt names one."""

    @cached_property
    def prompts(self) -> Prompts:
        return Prompts(self.resources)

    @cached_property
    def forms(self) -> Forms:
        return Forms(self.prompts)

    @cached_property
    def cards(self) -> dict[str, RoleCard]:
        return {name: self.card(name) for name in sorted(self._files)}

    @cached_property
    def _files(self) -> dict[str, State]:
        """By role its card, with all files that it may name."""
        files = self.resources.state("roles")
        schemas = [file for file in files if file[0].endswith(".json")]
        cards = (file for file in files if file[0].endswith(".yaml"))
        return {file[0].removesuffix(".yaml"): (file, *schemas) for file in cards}

    def card(self, role: str) -> RoleCard:
        """Raises `ConfigError` for an unknown role."""
        if role not in self._files:
            hint = did_you_mean(role, self._files, "manyheads roles lists them")
            raise ConfigError(
                f"no such role {role!r}", tried=f"roles: {', '.join(sorted(self._files))}", hint=hint
            )
        return _card(self._files[role])

    def task(self, role: str, task: str) -> Task:
        card = self.card(role)
        if task not in card.tasks:
            tried = f"tasks: {', '.join(card.tasks)}"
            hint = did_you_mean(task, card.tasks, f"manyheads roles {role} describes them")
            raise ConfigError(f"role {role!r} has no task {task!r}", tried=tried, hint=hint)
        return card.tasks[task]

    def system(self, role: str, variables: Mapping[str, object]) -> str:
        """The system prompt of a role that is alone, see `shared_and_own`."""
        shared, own = self.shared_and_own(role, variables)
        return f"{own}\n{shared}" if own else shared

    def shared_and_own(self, role: str, variables: Mapping[str, object]) -> tuple[str, str]:
        """The system prompt of a role, and its persona; empty if it has none.

        A persona, `<role>/persona.md.j2`, is what differs among speakers who else are told the same: in a run it stands
        behind the task, so that the requests of all begin with the same letters, which providers and servers cache. The
        language of the answers stands at the system prompt's end. The card's defaults fill in missing variables, others
        raise `ConfigError`.
        """
        card = self.card(role)
        values = {**card.variables, **variables}
        if missing := [name for name, value in values.items() if value is None]:
            raise ConfigError(f"role {role!r} needs {', '.join(missing)}")
        if foreign := set(variables) - set(card.variables):
            raise ConfigError(
                f"role {role!r} has no variable {', '.join(sorted(foreign))}",
                tried=f"variables: {', '.join(card.variables) or 'none'}",
                hint=did_you_mean(min(foreign), card.variables),
            )
        prompt, *personas = (self.prompts.render(each, values) for each in self.of_itself(role))
        own = "".join(personas)
        if not self.language:
            return prompt, own
        listed = self.prompts.words("languages.yaml", RootModel[dict[str, str]])
        name = listed.root.get(self.language, self.language) if listed else self.language
        return f"{prompt}\n{self.prompts.render('partials/language.md.j2', {'language': name})}", own

    def of_itself(self, role: str) -> tuple[str, ...]:
        """The prompt files that say who a role is: its system prompt, and its persona if there is one.

        A system prompt of a user's own says it all, unless the persona is of that folder, too.
        """
        files = self.card(role).system_prompt(), f"{role}/persona.md.j2"
        for root in self.resources.search_path:
            there = [(root / "prompts" / each).is_file() for each in files]
            if any(there):
                return files[:1] if there == [True, False] else files
        return files[:1]

    def prompt(self, role: str, task: str, variables: Mapping[str, object]) -> str:
        """The user prompt of a role's task, without the reply's form."""
        self.task(role, task)
        return self.prompts.render(self.card(role).prompt_of(task), variables)

    def reply(self, role: str, task: str) -> type[ReplyModel]:
        """The reply type of a role's task."""
        return _reply(self.task(role, task), role, task)

    def problems(self) -> list[str]:
        """All problems of the cards and their prompts, a line each; empty if there are none.

        Prompts are checked again after a file has changed.
        """
        return list(_problems(self.resources, self.resources.state("roles"), self.resources.state("prompts")))

    def _problems(self) -> list[str]:
        lines: list[str] = []
        for card in self.cards.values():
            pieces = [(each, tuple(card.variables)) for each in self.of_itself(card.name)]
            pieces += [(card.prompt_of(name), task.variables) for name, task in card.tasks.items()]
            for prompt, variables in pieces:
                where, gives = self.resources.find("prompts", prompt), ", ".join(variables) or "nothing"
                unknown = sorted(self.prompts.needs(prompt) - {*variables})
                lines += [
                    f"{where}: uses the variable {name!r}, but its task has {gives}" for name in unknown
                ]
                try:
                    if not unknown:
                        self.prompts.render(prompt, {each: sandbox.Sample(each) for each in variables})
                except ConfigError as error:
                    lines.append(error.message)
        try:
            lines += self.forms.problems()
        except ConfigError as error:
            lines.append(error.message)
        return lines


def current_roles(resources: Resources, language: str = "") -> Roles:
    """The roles of a search path, which runs share with all that is compiled for them until a file changes."""
    return _current(resources, language, resources.state("roles"), resources.state("prompts"))


@lru_cache(maxsize=8)
def _current(resources: Resources, language: str, roles: State, prompts: State) -> Roles:
    return Roles(resources, language)


@lru_cache(maxsize=1024)
def _card(files: State) -> RoleCard:
    return read_card(Path(files[0][1]))


@lru_cache
def _problems(resources: Resources, roles: State, prompts: State) -> Sequence[str]:
    """Files without problems are not tried out at the next start: until one of them, the code of a reply, or what tries them changes."""
    mark = own_file(CODE, roles, prompts, sys.path)
    if isinstance(mark, Path) and _unchanged(mark):
        return ()
    problems = tuple(Roles(resources)._problems())
    if isinstance(mark, Path) and not problems:
        with suppress(OSError):
            replace_text(mark, json.dumps({file: _state(file) for file in files_of_replies()}))
    return problems


def _unchanged(mark: Path) -> bool:
    """Whether all files of a mark are as they were."""
    with suppress(OSError, ValueError, AttributeError):
        return all(_state(file) == state for file, state in json.loads(read_text(mark)).items())
    return False


def _state(file: str) -> list[int]:
    return [(there := os.stat(file)).st_mtime_ns, there.st_size]


def read_card(path: Path) -> RoleCard:
    """Read and validate one card, also its reply types and that its name is the file's."""
    card = read_model(path, RoleCard, "see roles/role.schema.json")
    if card.name != path.stem:
        raise ConfigError(f"{path}: name is {card.name!r}, but the file is called {path.stem!r}")
    for name, task in card.tasks.items():
        try:
            if isinstance(task.reply, str) and task.reply.endswith(".json"):
                task = task.model_copy(update={"reply": _schema_beside(path, task.reply)})
                card.tasks[name] = task
            _reply(task, card.name, name)
        except ConfigError as error:
            where = f"{path}: task {name!r}: {error.message}"
            raise ConfigError(where, tried=error.tried, hint=error.hint) from error
    return card


def _reply(task: Task, role: str, name: str) -> type[ReplyModel]:
    reply = task.reply
    return reply_type(reply) if isinstance(reply, str) else from_schema(reply, f"{role} {name}")


def _schema_beside(card: Path, name: str) -> dict[str, Any]:
    """The JSON Schema in a file beside a card; raises `ConfigError` if it is missing."""
    path = card.parent / name
    if Path(name).name != name:
        raise ConfigError(f"reply {name!r}: the file must be in the card's folder")
    if not path.is_file():
        raise ConfigError(f"reply {name!r}: no such file: {path}")
    try:
        schema = parse_json(read_text(path))
    except ValueError as error:
        raise ConfigError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(schema, dict):
        raise ConfigError(f"{path}: not a JSON Schema: it must be an object")
    return cast(dict[str, Any], schema)
