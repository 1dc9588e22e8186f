"""The tool functions, host-neutral. Their descriptions are written for the model that reads them."""

from manyheads.tools.papers import PAPER, REFERENCES, SEARCH, literature_tools
from manyheads.tools.refusal import ToolRefusedError
from manyheads.tools.scientists import (
    FIND,
    INVITE,
    FindArguments,
    find_scientists_tool,
    invite_scientist_tool,
)

LOOK_UPS = frozenset({SEARCH, PAPER, REFERENCES})
"""Those over the literature."""
TOOLS = LOOK_UPS | {FIND, INVITE}
"""What a role card may list."""

__all__ = [
    "FIND",
    "INVITE",
    "LOOK_UPS",
    "PAPER",
    "REFERENCES",
    "SEARCH",
    "TOOLS",
    "FindArguments",
    "ToolRefusedError",
    "find_scientists_tool",
    "invite_scientist_tool",
    "literature_tools",
]
