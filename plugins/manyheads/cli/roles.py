"""`manyheads roles`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.cli.options import Paths

if TYPE_CHECKING:
    from manyheads.roles import RoleCard, Roles

Prompts = Annotated[bool, typer.Option("--prompts", help="List the prompt file of each task instead.")]


def roles(path: Paths = None, prompts: Prompts = False) -> None:
    """List the roles with their tasks and variables, or with --prompts the files that their prompts come from."""
    from manyheads.resources import Resources
    from manyheads.roles import Roles

    known = Roles(Resources.of(path or ()))
    if prompts:
        typer.echo("\n\n".join("\n".join(_files(card, known)) for card in known.cards.values()))
    else:
        _table(known)


def _table(known: "Roles") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("role", "what it does", "tasks", "variables")
    for card in known.cards.values():
        table.add_row(card.name, card.description, ", ".join(card.tasks), "\n".join(_variables(card)))
    Console().print(table, markup=False)


def _variables(card: "RoleCard") -> Iterator[str]:
    """Each variable of a role with its default, or that it must be given."""
    for name, value in card.variables.items():
        yield f"{name} (needed)" if value is None else f"{name}: {value}"


def _files(card: "RoleCard", known: "Roles") -> Iterator[str]:
    """The file that wins for each of a role's prompts."""
    yield card.name
    named = {"(system)": card.system_prompt(), **{task: card.prompt_of(task) for task in card.tasks}}
    width = max(map(len, named))
    for task, prompt in named.items():
        yield f"  {task:<{width}}  {known.resources.find('prompts', prompt) or f'prompts/{prompt}: not found'}"
