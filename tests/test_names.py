"""A class name stands for one thing: it is used in one room of the package, or the table below says why not."""

import re
from collections import defaultdict
from pathlib import Path

import manyheads

PACKAGE = Path(manyheads.__file__).parent
CLASS = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)
OWN = {"Config", "Inputs", "Result"}
"""What each system may call its own."""
OF_A_HOST = {"AgentHost", "RoleAgent", "NativeModel", "CoreTool", "GovernedClient", "Recollection"}
"""What each host calls by the same name: that is the contract."""
REASONS = {
    "Abstract": "a reply type, which role cards name, and its part of a result",
    "Draft": "a version of an abstract, and the parts of a document being read",
    "Figure": "a picture in a document, and a mean with its interval",
    "Idea": "a reply type, which role cards name, and its part of a result",
    "Note": "a footnote, and a reply type",
    "Rating": "the options of a command, and a review on the form for raters",
    "Remark": "a reply type, and a message for later speakers",
    "Section": "of a config, and of a document",
    "Topic": "a reply type, which role cards name, and its part of a result",
}
"""Names of several rooms, with the reason. A line leaves when its name is used in one room alone."""


def room(path: Path) -> str:
    """The folder below the package; of a system and of a host, its own."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "/".join(parts[:2]) if parts[0] in ("systems", "hosts") else parts[0]


def test_a_class_name_is_used_in_one_room() -> None:
    rooms = defaultdict[str, set[str]](set)
    for path in PACKAGE.rglob("*.py"):
        for name in CLASS.findall(path.read_text(encoding="utf-8")):
            rooms[name].add(room(path))
    assert len(rooms) > 300
    shared = {name for name, used in rooms.items() if len(used) > 1 and name not in OWN | OF_A_HOST}
    assert shared == REASONS.keys(), {name: rooms[name] for name in shared ^ REASONS.keys()}
