"""A judge's rankings in an arena, people's on its sheets, and the two compared, as users meet them."""

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
    """The same ideas judged by two qualities, and sheets of two people."""
    folder = tmp_path_factory.mktemp("people")
    for quality in ("novelty", "feasibility"):
        flags = ("--target", "Dogs find mines by smell.", "--indicator", quality, "--quiet", "--out", quality)
        done = manyheads_command("ranking", "judge", *IDEAS, *flags, *served_by(llm), cwd=folder)
        assert done.code == 0, done.err
    for words in (
        ("new", "a", "--form", "ranking"), ("add", "a", "novelty", "feasibility"), ("export", "a", "--sheets", "2"),
    ):  # fmt: skip
        done = manyheads_command("arena", *words, cwd=folder)
        assert done.code == 0, done.err
    fill(folder / "sheet-1.csv", lambda text, _: taste(text))
    fill(folder / "sheet-2.csv", lambda text, quality: taste(text) * (-1) ** (quality == novelty_set(folder)))
    done = manyheads_command("arena", "import", "a", "sheet-1.csv", "sheet-2.csv", cwd=folder)
    assert (done.code, "4 answers added" in done.out) == (0, True), done.err
    return folder


def novelty_set(folder: Path) -> str:
    """The name on the sheets of the set that is ranked by novelty."""
    found = re.search(
        r"^## (S\d) novelty$", (folder / "sheet.guide.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert found
    return found[1]


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, liking: Callable[[str, str], int]) -> None:
    """A rater ranks each set by what they like."""
    rows = cells(path)
    for row in rows:
        mates = [other for other in rows if other["set"] == row["set"]]
        order = sorted(mates, key=lambda other: liking(other["text"], other["set"]))
        row["rank"] = str(order.index(row) + 1)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def agreement(home: Path) -> dict[str, Any]:
    done = manyheads_command("arena", "agreement", "a", "--json", cwd=home)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


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
    done = manyheads_command("arena", "agreement", "a", cwd=home)
    assert (done.code, done.err) == (0, "")
    for line in (
        r"2 sets, 2 raters, rankings per set: 2",
        r"novelty: 1 set with 1 target, 2 raters, 2 rankings",
        r"  D\(S\) of judge and people +0\.17; alignment 83%",
        r"  D\(S\) between two people +0\.33",
        r"  Kendall's tau between two people +-1\.00",
        r"  novelty-\w+: S of the judge 0\.33, of R1 0\.33, R2 0\.67; D\(S\) 0\.17",
    ):
        assert re.search(f"^{line}$", done.out, re.MULTILINE), (line, done.out)
