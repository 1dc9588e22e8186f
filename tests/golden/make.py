"""Writes the goldens anew, on purpose: after a change that is meant to change what a run comes to.

    python tests/golden/make.py                   # results/: the result.json of every case of cases.yaml
    python tests/golden/make.py virsci ranking    # of these cases alone
    python tests/golden/make.py --recorded        # recorded/: journals of runs on the tests' model server, to be replayed
    python tests/golden/make.py --folders         # folders/: run folders, finished and stopped

Read the difference (`git diff --stat tests/golden`, then the files) before you commit it: it is what changes for users.

The results may be written anew whenever they change on purpose. The folders and the recorded journals show that runs
of an earlier version go on and are replayed: write them anew only where a version gives that up, and say so in the
change log. When a command of a case changes, its recorded journal and its folder have to follow.
"""

import argparse
import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # run as a file, Python looks for modules beside it only

from golden.runs import CASES, FOLDERS, HOSTS, RECORDED, RESULTS, Runs, differences  # noqa: E402
from support.llm import LLM  # noqa: E402
from support.requests import Request  # noqa: E402

STOPPED: Mapping[str, int] = {"virsci": 13, "virsci-member-leaves": 24, "rebuttal-of-a-text": 4}
"""Cases whose run folders are kept, and after how many calls one of them is stopped."""
FINISHED = ("virsci", "rebuttal-of-a-text")
KEPT = ("config.yaml", "journal.sqlite", "events.jsonl", "result.json")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the goldens anew.")
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; all when left out")
    parser.add_argument("--recorded", action="store_true", help="the journals to be replayed")
    parser.add_argument("--folders", action="store_true", help="the run folders, finished and stopped")
    given = parser.parse_args()
    if unknown := set(given.cases) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as base:
        runs = Runs(Path(base))
        if given.recorded:
            record(runs)
        elif given.folders:
            keep_folders(runs)
        else:
            write_results(runs, given.cases or list(CASES))


def write_results(runs: Runs, names: Sequence[str]) -> None:
    """Freeze results that are the same on every host."""
    RESULTS.mkdir(exist_ok=True)
    for name in names:
        first, *others = (runs.result(name, host) for host in HOSTS)
        for other in others:
            if apart := differences(first, other):
                sys.exit(f"{name}: the hosts differ: {apart}")
        text = json.dumps(first, ensure_ascii=False, indent=1)
        (RESULTS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
        print(f"results/{name}.json")


def keep_folders(runs: Runs) -> None:
    """Keep folders of runs that have ended, and of runs that a budget has stopped."""
    shutil.rmtree(FOLDERS, ignore_errors=True)
    for name in FINISHED:
        _keep(runs.folder(name, "autogen"), FOLDERS / f"{name}-finished")
    for name, calls in STOPPED.items():
        done = runs.run(name, "agentscope", "--set", f"budget.calls={calls}", out="stopped")
        assert done.code == 3, done
        _keep(runs.home("agentscope") / "stopped", FOLDERS / f"{name}-stopped")
        shutil.rmtree(runs.home("agentscope") / "stopped")


def _keep(folder: Path, kept: Path) -> None:
    kept.mkdir(parents=True)
    for name in KEPT:
        if (folder / name).exists():
            shutil.copyfile(folder / name, kept / name)
    print(f"folders/{kept.name}")


def record(runs: Runs) -> None:
    """Keep journals of runs whose replies the tests' model server has made."""
    RECORDED.mkdir(exist_ok=True)
    wish = {"name": "Scientist9", "question": "What would you measure?"}
    servers = {
        "virsci": LLM(answers={"overlaps": _reviews(90, 30)}, tool_calls=[("invite_scientist", wish)]),
        "rebuttal": LLM(answers={"improved": True}),
    }
    for name, server in servers.items():
        with server as llm:
            served = ("--model", "openai/test", "--set", f"models.default.base_url={llm.base_url}")
            done = runs.run(f"{name}-replayed", "autogen", *served, out=name)
        assert done.code == 0, done
        path = RECORDED / f"{name}.sqlite"
        shutil.copyfile(runs.home("autogen") / name / "journal.sqlite", path)
        with closing(sqlite3.connect(path)) as journal:
            journal.execute("VACUUM")
        print(f"recorded/{path.name}")


def _reviews(*highest: int) -> Callable[[Request], list[dict[str, Any]]]:
    """How alike an abstract is to its papers: the highest of each review in turn."""
    left = iter(highest)

    def review(request: Request) -> list[dict[str, Any]]:
        if "overlaps" not in (request.schema or {}).get("properties", {}):
            return []
        count, highest = request.asking.count("<paper>"), next(left)
        return [
            {"paper": n, "similarity": highest if n == 1 else 10, "reason": "So."}
            for n in range(1, count + 1)
        ]

    return review


if __name__ == "__main__":
    main()
