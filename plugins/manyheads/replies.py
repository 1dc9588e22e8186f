"""What a pack makes its reply types of, and all that are here; roles' cards name them."""

from manyheads.asking.replies import *  # noqa: F403
