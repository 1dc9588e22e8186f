"""The areas of the attack, by name: the module and the function of each, which are imported when it is made."""

from importlib import import_module

from attack.figures import Attack

AREAS: dict[str, str] = {
    "replies": "replies.misbehaviours",
    "wires": "replies.wires",
    "thirds": "replies.every_third",
    "budgets": "replies.budgets",
    "voices": "voices.voices",
    "folders": "files.run_folders",
    "corpora": "files.corpora",
    "bombs": "files.oversized",
    "caches": "caches.caches",
    "texts": "files.texts",
    "manuscripts": "files.manuscripts",
    "office": "papers.office",
    "addresses": "papers.addresses",
    "suites": "suites.suites",
    "kills": "storm.kills",
    "nodes": "nodes.nodes",
    "services": "services.services",
    "trust": "trust.strangers",
    "sources": "bugs.sources",
    "bugs": "bugs.bugs",
    "tools": "tool_turns.tool_turns",
    "commands": "commands.hostile_values",
    "links": "rooms.folders",
    "forms": "rooms.forms",
    "imports": "rooms.imports",
    "visitors": "rooms.visitors",
    "pdfs": "rooms.pdfs",
    "answers": "answers.made_replies",
}


def attack(area: str) -> Attack:
    """What tries an area."""
    module, _, function = AREAS[area].partition(".")
    return getattr(import_module(f"attack.{module}"), function)
