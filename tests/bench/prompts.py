"""What a model is asked: `python tests/bench/prompts.py` prints how long each task's request is, and how it is made up.

A small run of VirSci, of review and rebuttal, of SciPIP, and of a conference review, on the model server of the tests. Of each task,
means over its requests:

- characters of all that the model reads, and tokens, one for four characters
- quoted: the share of it that is data between fences: the longer, the more is said in a run
- form: the share of it that shows the form of the reply
- before: the share of it that stands before the task, which begins at `## Your task`, else with the first numbered line,
  else with the first long line that is no label, each outside of what is quoted
- grade: the reading grade (Flesch and Kincaid) of what is neither quoted nor form

Then how much of whole runs' input repeats earlier requests, see `bench/prefixes.py`.
"""

import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path[0] = str(Path(__file__).parents[1])  # run as a file, Python looks for modules beside it only

from bench.prefixes import table  # noqa: E402
from manyheads.engine.journal import read_turns  # noqa: E402
from support.command import manyheads_command, served_by  # noqa: E402
from support.llm import LLM  # noqa: E402
from support.requests import Request  # noqa: E402

ABSTRACT = (
    "Grasping by touch\n\nRobots learn to grasp fragile things by touch alone, from forty demonstrations."
)
RUNS: Mapping[str, Sequence[str]] = {
    "virsci": (
        *("run", "virsci", "--set", "team.size=3", "--set", "turns=2", "--set", "embedding=lexical"),
        *("--set", "virsci.self_review.enabled=true"),
    ),
    "rebuttal": ("run", "rebuttal", "--background", ABSTRACT, "--set", "rebuttal.max_iters=2"),
    "scipip": ("run", "scipip", "--background", ABSTRACT, "--set", "embedding=lexical"),
    "review": (
        "run",
        "conference-review",
        "--subject",
        "abstract.md",
        "--set",
        "conference-review.repeats=1",
    ),
}
OVERLAPS = [
    {"paper": number, "reason": "It is of something else.", "similarity": 10} for number in range(1, 6)
]
FORM = re.compile(r"^(?:## The form of your answer\n+)?Answer with one JSON object", re.MULTILINE)
QUOTED = re.compile(r"^<(\w+)>\n.*?^</\1>$", re.MULTILINE | re.DOTALL)
GUESTS = re.compile(r"^## Whom you may ask$.*", re.MULTILINE | re.DOTALL)
TASKS = (r"^## Your task$", r"^1\. ", r"^(?!#|You are )(?=(?:\S+ ){12}).*[^:]$")


@dataclass(frozen=True)
class Size:
    """A request, measured."""

    characters: int
    quoted: float
    form: float
    before: float
    grade: float

    @classmethod
    def of(cls, request: Request) -> "Size":
        text = request.text
        shown = list(FORM.finditer(text))
        end = shown[-1].start() if shown else len(text)
        own = QUOTED.sub(lambda quote: "\n" * len(quote[0]), text[:end])
        begin, asked = len(request.messages[0].text), GUESTS.sub("", own)
        places = (
            found.start() for task in TASKS for found in re.compile(task, re.MULTILINE).finditer(asked, begin)
        )
        whole = len(text)
        quoted = sum(len(quote[0]) for quote in QUOTED.finditer(text[:end]))
        task = next(places, begin)
        return cls(whole, quoted / whole, 1 - end / whole, task / whole, reading_grade(own))


FIGURES = [field.name for field in fields(Size)]


def reading_grade(text: str) -> float:
    """Years of school that a text asks for: 0.39 words a sentence + 11.8 syllables a word - 15.59."""
    parts = re.split(r"[.!?:;](?:\s|$)|\n", text)
    sentences = [part for part in parts if len(part.split()) > 3]  # others are labels
    words = re.findall(r"[A-Za-z]+(?:['-][A-Za-z]+)*", " ".join(sentences))
    syllables = sum(max(1, len(re.findall(r"[aeiouy]+", re.sub(r"e\b", "", word.lower())))) for word in words)
    return 0.39 * len(words) / len(sentences) + 11.8 * syllables / len(words) - 15.59


def sizes(system: str) -> dict[str, list[Size]]:
    """The first request of each turn, by stage and task."""
    with LLM(answers={"overlaps": OVERLAPS}) as llm, tempfile.TemporaryDirectory() as base:
        out = Path(base)
        (out / "abstract.md").write_text(f"# {ABSTRACT}", encoding="utf-8")
        done = manyheads_command(*RUNS[system], *served_by(llm), "--out", out, cwd=out)
        assert done.code == 0, done.err
        [journal] = out.rglob("journal.sqlite")
        turns = read_turns(journal)
    by_task: defaultdict[str, list[Size]] = defaultdict(list)
    waiting = list(llm.requests)
    for place, request, _ in sorted(turns, key=lambda turn: -len(turn[1]["thread"][0]["text"])):
        if asked := next(_matching(waiting, request), None):
            waiting.remove(asked)
            by_task[f"{place.stage} {place.task.split()[0]}"].append(Size.of(asked))
    return dict(sorted(by_task.items()))


def _matching(requests: Sequence[Request], turn: Mapping[str, Any]) -> Iterator[Request]:
    texts = [turn["system"], *(message["text"] for message in turn["thread"])]
    return (request for request in requests if all(text.strip() in request.text for text in texts))


def main() -> None:
    """Print the table, in Markdown."""
    print("| system | stage and task | requests | characters | tokens | quoted | form | before | grade |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for system in RUNS:
        for task, found in sizes(system).items():
            characters, *shares, grade = (fmean(getattr(size, name) for size in found) for name in FIGURES)
            parts = " | ".join(f"{share:.0%}" for share in shares)
            numbers = f"{characters:.0f} | {characters / 4:.0f} | {parts} | {grade:.1f}"
            print(f"| {system} | {task} | {len(found)} | {numbers} |", flush=True)
    print()
    table()


if __name__ == "__main__":
    main()
