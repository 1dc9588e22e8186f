"""What a pack makes its reply types of, and all that are here; roles' cards name them."""

from manyheads.asking.replies import *  # noqa: F403
from manyheads.asking.replies import REPLIES, ReplyModel


def __getattr__(name: str) -> type[ReplyModel]:
    """A system's reply type."""
    if name not in REPLIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return REPLIES[name]
