"""`manyheads roles`."""

from manyheads.cli.options import Paths


def roles(path: Paths = None) -> None:
    """List the roles, their tasks and where their prompts are."""
    from rich.console import Console
    from rich.table import Table

    from manyheads.resources import Resources
    from manyheads.roles import Roles

    known = Roles(Resources.of(path or ()))
    table = Table("role", "what it does", "tasks", "needs")
    for card in known.cards.values():
        needs = ", ".join(name for name, value in card.variables.items() if value is None)
        table.add_row(card.name, card.description, ", ".join(card.tasks), needs)
    Console().print(table)
