"""The program `manyheads`, which `python -m manyheads` runs, too."""

import atexit
import gc


def main() -> None:
    """See `manyheads.cli.main`.

    Python looks for garbage when the command begins, and not at the end: imports leave none, and the end of the process leaves
    none either, but looking takes a sixth of the time of the imports, and as long as a report at the end.
    """
    gc.disable()
    atexit.register(gc.freeze)
    from manyheads.cli import main as run

    run()


if __name__ == "__main__":
    main()
