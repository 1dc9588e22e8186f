"""How the server notices that the client at its standard input leaves: its cut-off calls then stop no run."""

import os
import select
import socket

import pytest

from manyheads.mcp.serving import _hung_up  # pyright: ignore[reportPrivateUsage]


@pytest.mark.skipif(
    not hasattr(select, "POLLRDHUP"), reason="no poll, or none that notices half a connection"
)
def test_a_client_of_node_leaves_by_shutting_down_its_half_of_a_pair_of_sockets() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        left = _hung_up(ours.fileno())
        theirs.send(b"{}\n")
        assert not left()
        theirs.shutdown(socket.SHUT_WR)
        assert left()


@pytest.mark.skipif(not hasattr(select, "poll"), reason="no poll")
def test_a_client_leaves_by_closing_its_pipe() -> None:
    read, write = os.pipe()
    left = _hung_up(read)
    assert not left()
    os.close(write)
    assert left()
    os.close(read)
