"""What clients read beside tools: runs, results, reports and corpora as resources, and the tasks of roles as prompts."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError
from manyheads.base.files import read_text
from manyheads.base.folders import REPORT
from manyheads.base.resources import Resources
from manyheads.corpus.meta import all_corpora
from manyheads.mcp.runs import ServedRuns
from manyheads.mcp.sdk import MCPServer, Prompt, PromptArgument, ResourceError, prompt_error, told_as
from manyheads.systems.exports import exported
from manyheads.systems.results import write_report

MOST = 200
"""Runs of the list."""


def add_resources(server: MCPServer[Any], served: ServedRuns) -> None:
    """Add the lists of runs and corpora, and the result, text and report of each run."""

    @server.resource("manyheads://runs", mime_type="application/json")
    def runs() -> str:
        """The runs in the server's folder, newest first."""
        return _json([each.model_dump(exclude_defaults=True) for each in served.listed(MOST)])

    @server.resource("manyheads://corpora", mime_type="application/json")
    def corpora() -> str:
        """The corpora that a config can name."""
        return _json(
            [
                {"corpus": name, "about": about} | ({"counts": counts.model_dump()} if counts else {})
                for name, about, counts in all_corpora()
            ]
        )

    @server.resource("manyheads://runs/{run}/result", mime_type="application/json")
    def result(run: str) -> str:
        """The whole result of a run."""
        with told_as(ResourceError):
            return str(exported(served.runs.path(run), "json"))

    @server.resource("manyheads://runs/{run}/text", mime_type="text/markdown")
    def text(run: str) -> str:
        """What a run has written, with its references."""
        with told_as(ResourceError):
            return str(exported(served.runs.path(run), "md"))

    @server.resource("manyheads://runs/{run}/report", mime_type="text/html")
    def report(run: str) -> str:
        """The report of a run, as a page."""
        with told_as(ResourceError):
            folder = served.runs.path(run)
            if not (folder / REPORT).is_file():
                write_report(folder)
            return read_text(served.runs.file(run, REPORT))


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, indent=2)


def add_prompts(server: MCPServer[Any], resources: Resources) -> None:
    """Add the tasks of roles whose prompts take texts alone; others need papers, teams or figures of a run."""
    roles = Roles(resources)
    for card in roles.cards.values():
        own = [name for name, value in card.variables.items() if value is None or isinstance(value, str)]
        for name, task in card.tasks.items():
            fill = partial(_prompt, roles, card.name, name)
            prompt = card.prompt_of(name)
            needs = {each for each in own if card.variables[each] is None}
            needs |= roles.prompts.needs(prompt) - roles.prompts.defaults(prompt)
            texts = _texts(fill, [each for each in (*task.variables, *own) if each in needs or each in own])
            if not texts or not needs <= {*texts}:
                continue
            asked = [PromptArgument(name=each, description=None, required=each in needs) for each in texts]
            about, key = f"{card.description} {task.description}", f"{card.name}-{name}"
            server.add_prompt(
                Prompt(name=key, title=None, description=about, arguments=asked, fn=_told(fill), context_kwarg=None)
            )  # fmt: skip


def _told(fill: Callable[..., str]) -> Callable[..., str]:
    def told(**values: str) -> str:
        with told_as(prompt_error):
            return fill(**values)

    return told


def _prompt(roles: Roles, role: str, task: str, **values: Any) -> str:
    """What a role's agent is told in a run: who it is, its task, the form of its answer."""
    own = {name: value for name, value in values.items() if name in roles.card(role).variables and value}
    given = {name: value for name, value in values.items() if name in roles.task(role, task).variables}
    form = roles.forms.form(roles.reply(role, task))
    return "\n\n".join(filter(None, (roles.system(role, own), roles.prompt(role, task, given), form)))


def _texts(fill: Callable[..., str], names: list[str]) -> list[str]:
    """Which variables of a prompt are texts: a prompt that takes one for a list of papers does not show it whole."""
    samples: dict[str, Any] = {name: f"a text for {name}" for name in names}
    try:
        shown = fill(**samples)
        return [name for name, sample in samples.items() if sample in shown]
    except ConfigError:  # it needs a paper, a scientist, a number
        return []
