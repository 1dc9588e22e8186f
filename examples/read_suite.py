"""A small suite, and its results read with the standard library: `summary.csv` and `results.jsonl`.

python read_suite.py [FOLDER]    # the folder of a suite that has run; a small one runs when left out
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/eval-rebuttal-novelty")
if not folder.exists():
    suite = ["eval", "rebuttal-novelty", "--repeats", "1", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "manyheads", *suite], check=True)

with (folder / "summary.csv").open(encoding="utf-8-sig", newline="") as file:
    for row in csv.DictReader(file):
        if row["measure"] == "ranking.s":
            print(row)

lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
print(len(lines), "cells; the keys of one:", ", ".join(json.loads(lines[0])))
