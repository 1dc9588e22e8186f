"""Prints the table: `make attack`, or with `tests` on PYTHONPATH `python -m attack [AREA…]`. MANYHEADS_ATTACK=10 tries ten times as much."""

import argparse
import sys
import tempfile
from pathlib import Path

from attack.areas import AREAS, attack


def main() -> int:
    parser = argparse.ArgumentParser(description="What a hostile or broken world does to manyheads, counted.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)}")
    names = parser.parse_args().areas or list(AREAS)
    if unknown := [name for name in names if name not in AREAS]:
        parser.error(f"no such area: {', '.join(unknown)}")
    print("| area | tried | failed | |\n| --- | --- | --- | --- |", flush=True)
    faults = list[str]()
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            figure = attack(name)(Path(folder))
        print(figure.row(), flush=True)
        faults += figure.faults
    print(*faults, sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
