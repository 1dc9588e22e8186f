"""What came of a command that Typer's runner has invoked."""

import json
from typing import Any

from typer.testing import Result

from manyheads.base.errors import UserError


def scores(done: Result) -> list[dict[str, Any]]:
    """What `measure --json` printed; fails the test when it has ended otherwise."""
    assert done.exit_code == 0, (done.output, done.exception)
    return [json.loads(line) for line in done.stdout.splitlines()]


def mistake(done: Result) -> UserError:
    """The user's mistake in which it has ended; fails the test when there is none."""
    assert isinstance(done.exception, UserError), done.output
    return done.exception
