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

TOOLS = frozenset({FIND, INVITE, SEARCH, PAPER, REFERENCES})
"""What a role card may list."""

__all__ = [
    "FIND",
    "INVITE",
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
