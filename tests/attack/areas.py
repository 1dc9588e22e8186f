"""The areas of the attack, by name: the module and the function of each, which are imported when it is made."""

from importlib import import_module

from attack.figures import Attack

AREAS: dict[str, str] = {
    "replies": "replies.misbehaviours",
    "wires": "replies.wires",
    "thirds": "replies.every_third",
    "budgets": "replies.budgets",
    "folders": "files.run_folders",
    "corpora": "files.corpora",
    "bombs": "files.oversized",
    "caches": "caches.caches",
    "texts": "files.texts",
    "suites": "suites.suites",
    "kills": "storm.kills",
    "services": "services.services",
    "tools": "tool_turns.tool_turns",
    "commands": "commands.hostile_values",
}


def attack(area: str) -> Attack:
    """What tries an area."""
    module, _, function = AREAS[area].partition(".")
    return getattr(import_module(f"attack.{module}"), function)
