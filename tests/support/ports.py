"""Ports for test servers, each used once per session: caches keep what they know of a server by its address.

The system's own choice repeats within some thousand servers; a test would then meet what another one's server did.
"""

import itertools
import os
import random
import socket
from collections.abc import Iterator

RANGE = range(10_000, 32_000)
"""Below those that the system chooses from."""


def _own_ports() -> Iterator[int]:
    """This worker's share of the ports, from anywhere in it: a cache may be kept between sessions."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = RANGE[worker::workers]
    first = random.SystemRandom().randrange(len(share))
    return itertools.cycle([*share[first:], *share[:first]])


_next = _own_ports()


def bound_socket() -> socket.socket:
    """A socket on the next port of this machine that nobody uses; raises OSError if there is none."""
    for port in itertools.islice(_next, len(RANGE)):
        taken = socket.socket()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", port))
            taken.listen(512)  # two sockets may be bound to a port, only one listens
        except OSError:
            taken.close()
            continue
        return taken
    raise OSError(f"no free port from {RANGE[0]} to {RANGE[-1]}")
