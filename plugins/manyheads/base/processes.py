"""Programs that are started: ended with all that they have started themselves."""

import os
import signal
from contextlib import suppress


def end_group(pid: int) -> None:
    """Kill a process that was started with `start_new_session=True`, and its children; nothing if all have ended.

    On Windows, which has no such groups, the process alone.
    """
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)
