"""`manyheads ranking form` and `agreement` as users meet them: a judge's rankings out, people's in, the two compared."""

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.command import manyheads_command, result_of, served_by
from support.llm import LLM
from support.requests import Request

TASTE = ("Owls", "Dogs", "Bats", "Cats")
"""What the judge likes, the best first: the target, Dogs, comes second of four."""
IDEAS = ("Owls plan by ear.", "Bats map caves.", "Cats sleep more.")
FIELDS = ("title", "problem", "objective", "hypothesis", "method", "expected_impact")


def shown(request: Request) -> list[str]:
    return re.findall(r"^Idea \d+:\n<idea>\n(.*?)\n</idea>", request.asking, re.DOTALL | re.MULTILINE)


def liked(request: Request) -> list[dict[str, Any]]:
    texts = shown(request)
    order = sorted(range(len(texts)), key=lambda at: taste(texts[at]))
    return [{"idea": at + 1, "rationale": "I like it."} for at in order]


def taste(text: str) -> int:
    return next(place for place, word in enumerate(TASTE) if word in text)


def condensed(request: Request) -> str:
    found = re.search(r"<text>\n(.*?)\n</text>", request.asking, re.DOTALL)
    return found[1].strip() if found else "no text"


@pytest.fixture(scope="module")
def llm() -> Iterator[LLM]:
    answers: dict[str, Any] = {"ranking": liked, **dict.fromkeys(FIELDS, condensed)}
    with LLM(answers=answers, seed=lambda request: request.asking) as server:
        yield server


@pytest.fixture(scope="module")
def home(llm: LLM, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same ideas judged by two qualities, and a form for two people."""
    folder = tmp_path_factory.mktemp("people")
    for quality in ("novelty", "feasibility"):
        flags = ("--target", "Dogs find mines by smell.", "--indicator", quality, "--quiet", "--out", quality)
        done = manyheads_command("ranking", "judge", *IDEAS, *flags, *served_by(llm), cwd=folder)
        assert done.code == 0, done.err
    done = manyheads_command("ranking", "form", "novelty", "feasibility", "--raters", "2", cwd=folder)
    assert (done.code, done.err) == (0, "")
    assert "2 sets for 2 raters" in done.out
    assert "form.key.csv  (keep it from the raters)" in done.out
    fill(folder / "form-1.csv", lambda text, _: taste(text))
    fill(folder / "form-2.csv", lambda text, quality: -taste(text) if quality == "novelty" else taste(text))
    return folder


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, liking: Callable[[str, str], int]) -> None:
    """A rater ranks each set by what they like."""
    rows = cells(path)
    for row in rows:
        mates = [other for other in rows if other["set"] == row["set"]]
        order = sorted(mates, key=lambda other: liking(other["text"], other["quality"]))
        row["rank"] = str(order.index(row) + 1)
    write(path, rows)


def write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def agreement(home: Path, *more: str) -> dict[str, Any]:
    arguments = ("form-1.csv", "form-2.csv", "--key", "form.key.csv", "--json", *more)
    done = manyheads_command("ranking", "agreement", *arguments, cwd=home)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_people_see_what_the_judge_saw(home: Path, llm: LLM) -> None:
    judged = {text for request in llm.requests for text in shown(request)}
    assert len(judged) == 4
    for name in ("form-1.csv", "form-2.csv"):
        assert {row["text"] for row in cells(home / name)} == judged


def test_a_rater_who_ranks_as_the_judge_does_agrees_and_one_who_turns_it_round_does_not(home: Path) -> None:
    """The judge's S is 1/3, as is R1's; R2 turns novelty round, so that S is 2/3 and D(S) 0 and 1/3."""
    assert result_of(home / "novelty")["s"] == pytest.approx(1 / 3)
    qualities = agreement(home)["qualities"]
    same, turned = qualities["feasibility"], qualities["novelty"]
    assert (same["alignment"], same["tau"]["mean"], same["first"]["mean"]) == (1, pytest.approx(1), 1)
    assert turned["difference"]["mean"] == pytest.approx(1 / 6)
    assert turned["alignment"] == pytest.approx(5 / 6)
    assert turned["between_people"]["mean"] == pytest.approx(1 / 3)
    assert turned["tau"]["mean"] == pytest.approx(0)
    assert turned["tau_between_people"]["mean"] == pytest.approx(-1)
    assert (turned["concordance"]["mean"], turned["first"]["mean"]) == (0, 0.5)


def test_figures_to_read(home: Path) -> None:
    done = manyheads_command(
        "ranking", "agreement", "form-1.csv", "form-2.csv", "--key", "form.key.csv", cwd=home
    )
    assert (done.code, done.err) == (0, "")
    for line in (
        r"2 sets, 2 raters, rankings per set: 2",
        r"novelty: 1 set with 1 target, 2 raters, 2 rankings",
        r"  D\(S\) of judge and people +0\.17; alignment 83%",
        r"  D\(S\) between two people +0\.33",
        r"  Kendall's tau between two people +-1\.00",
        r"  S\d: S of the judge 0\.33, of R1 0\.33, R2 0\.67; D\(S\) 0\.17",
    ):
        assert re.search(f"^{line}$", done.out, re.MULTILINE), (line, done.out)


def test_a_set_is_left_out_on_demand_and_said_to_be(home: Path) -> None:
    row = next(
        number for number, row in enumerate(cells(home / "form-2.csv"), 2) if row["quality"] == "novelty"
    )
    left = agreement(home, "--exclude", f"form-2.csv:{row}")
    assert left["excluded"] == [f"form-2.csv:{row}"]
    assert left["qualities"]["novelty"]["alignment"] == 1
    assert left["qualities"]["novelty"]["between_people"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("agreement", "form.key.csv", "--key", "form.key.csv"), "no column rater, rank"),
        (("agreement", "form-1.csv", "--key", "form-2.csv"), "no column number"),
        (("agreement", "none.csv", "--key", "form.key.csv"), "none.csv: No such file"),
        (("form", "novelty", "novelty", "--out", "new.csv"), "the same ideas and quality"),
        (("form", "novelty"), "form-1.csv: exists already"),
        (("form", "nowhere", "--out", "new.csv"), "nowhere: not a run folder"),
    ],
)
def test_mistakes_are_told_in_one_message(arguments: tuple[str, ...], told: str, home: Path) -> None:
    assert told in manyheads_command("ranking", *arguments, cwd=home).message


def test_a_rank_that_is_missing_stops_with_its_place(home: Path) -> None:
    rows = cells(home / "form-1.csv")
    rows[0]["rank"] = ""
    write(home / "spoilt.csv", rows)
    message = manyheads_command(
        "ranking", "agreement", "spoilt.csv", "--key", "form.key.csv", cwd=home
    ).message
    assert "spoilt.csv:2: column rank: empty" in message
    assert "--exclude FILE:ROW" in message
