"""`manyheads ranking judge` and `manyheads run ranking` as users run them: outcome, a kill, and mistakes."""

import re
from pathlib import Path

import pytest

from support.command import manyheads_command, result_of, served_by
from support.faults import Fault
from support.llm import LLM
from support.requests import Request
from support.results import write

TARGET = (
    "We train dogs to find mines by smell. Nobody knows how far they smell. They should find half of them."
)
IDEAS = (
    "Owls plan by ear. Drones cannot. We let owls lead drones.",
    "Bats map caves. Maps go stale. We renew them.",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A target's abstract, and a finished review and rebuttal that wrote none."""
    (tmp_path / "target.md").write_text(f"# Dogs\n\n{TARGET}\n", encoding="utf-8")
    return tmp_path


def test_a_ranking_has_an_estimate_and_a_budget_and_keeps_its_orders_in_order(home: Path) -> None:
    order = [{"idea": number, "rationale": "So it is."} for number in (2, 3, 1)]
    numbers = iter(range(99))
    first = Fault("slow", seconds=0.3, when=lambda r: r.title == "Ranking" and next(numbers) == 0)
    with LLM(answers={"ranking": order}, faults=[first]) as llm:
        flags = ("ranking", "judge", *IDEAS, "--target", "target.md", "--orders", "3", *served_by(llm))
        estimated = manyheads_command(*flags, "--estimate", cwd=home)
        assert (estimated.code, llm.calls) == (0, 0)
        calls = int(re.findall(r"total +│ +(\d+) │", estimated.out)[0])
        stopped = manyheads_command(*flags, "--budget", f"calls={calls - 1}", "--out", "part", cwd=home)
        assert (stopped.code, llm.calls) == (3, calls - 1)
        whole = manyheads_command(*flags, "--out", "whole", cwd=home)
        assert whole.code == 0, whole.err
    part, shown = ([each["shown"] for each in result_of(home / name)["orders"]] for name in ("part", "whole"))
    assert part == [each for each in shown if each in part], "by number, not as judges end"


def test_runs_without_an_idea_are_left_out(home: Path) -> None:
    write(home / "runs" / "review", {"system": "conference-review", "reviews": []})
    (home / "runs" / "empty").mkdir()
    flags = ("--target", "target.md", "--orders", "2", "--out", "ranked", "--quiet")
    runs = ("runs/empty", IDEAS[0], "runs/review")
    done = manyheads_command("ranking", "judge", *runs, *flags, cwd=home)
    assert done.code == 0, done.err
    assert len(result_of(home / "ranked")["ideas"]) == 1
    left = [line for line in done.err.splitlines() if "left out" in line]
    assert ["runs/empty" in left[0], "runs/review" in left[1], len(left)] == [True, True, 2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("run ranking --set ranking.ideas=Owls.", "inputs.ideas: should be a list"),
        ("ranking judge Owls. Owls. --target target.md", "one is named twice"),
        ("ranking judge many.jsonl --target target.md", "many.jsonl:1"),
        ("ranking judge many.jsonl:3 --target target.md", "many.jsonl:3: "),
        ("ranking judge . --target target.md", "not a run folder"),
        ("ranking judge review --target target.md", "this run did not produce an idea"),
        ("ranking judge hand --target target.md", "idea.number: field required"),
        ("ranking judge Owls. --target hand", "wrote no abstract"),
        ("ranking judge Owls. --target target.md --set system=virsci", "this run is of virsci"),
    ],
)
def test_mistakes(home: Path, arguments: str, said: str) -> None:
    write(home / "review", {"system": "conference-review", "reviews": []})
    write(home / "hand", {"system": "virsci", "idea": {"idea": "Owls.", "references": []}})
    (home / "many.jsonl").write_text('{"text": "Owls."}\n{"text": "Bats."}\n', encoding="utf-8")
    done = manyheads_command(*arguments.split(), cwd=home)
    assert said in done.message
    assert not list((home / "runs").glob("*"))


@pytest.mark.slow
def test_what_a_finished_ranking_went_without_is_asked_for_on_demand_alone(home: Path) -> None:
    order = [{"idea": number, "rationale": "So it is."} for number in (2, 3, 1)]
    bad = [order[:2]]

    def ranked(request: Request) -> list[dict[str, int | str]]:
        return bad.pop() if bad and "Idea 1:" in request.asking else order

    with LLM(answers={"ranking": ranked}) as llm:
        flags = ("ranking", "judge", *IDEAS, "--target", "target.md", *served_by(llm, "attempts=1"))
        assert manyheads_command(*flags, "--out", "run", cwd=home).code == 0
        calls = llm.calls
        for json in ((), ("--json",)):
            done = manyheads_command("resume", "run", *json, cwd=home)
            assert done.code == 0, done.err
            assert "--again" in done.err
            assert (llm.calls, result_of(home / "run")["failed"]) == (calls, 1)
        assert manyheads_command("resume", "run", "--again", cwd=home).code == 0
        assert (llm.calls, result_of(home / "run")["failed"]) == (calls + 1, 0)
