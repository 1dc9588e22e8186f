"""The command line: Typer commands, one file each, without logic of their own."""

import sys

from manyheads.errors import UserError


def main() -> None:
    """Run `manyheads`; a user's mistake ends with a message and exit code 2, Ctrl-C with 130."""
    try:
        from manyheads.cli.app import app

        app(standalone_mode=True)
    except UserError as error:
        from manyheads.cli.progress import printable

        print(printable(f"manyheads: {error}"), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("manyheads: stopped", file=sys.stderr)
        sys.exit(130)
