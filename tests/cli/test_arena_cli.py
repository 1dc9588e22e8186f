"""`manyheads arena` as users meet it: texts in, raters invited, votes out, makers rated, and every mistake in words."""

import csv
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.arena.store import Arena
from support.arenas import arena, vote_by
from support.command import manyheads_command

STRENGTHS = {"one": 0.0, "two": 0.3, "three": 2.5}


def run(*words: str | Path, cwd: Path) -> str:
    done = manyheads_command("arena", *words, cwd=cwd)
    assert done.code == 0, done.err
    return done.out


def refused(*words: str | Path, cwd: Path) -> str:
    return manyheads_command("arena", *words, cwd=cwd).message


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for maker, opening in (("human", "The paper counts"), ("machine", "As an AI model I see")):
        (tmp_path / maker).mkdir()
        for case in ("owls", "bats"):
            (tmp_path / maker / f"{case}.md").write_text(f"# Review\n\n{opening} {case}. It is fine.\n")
    return tmp_path


def voted(folder: Path, kind: str = "review", raters: int = 6, most: int = 40) -> Arena:
    made = arena(folder, list(STRENGTHS), [f"c{n}" for n in range(12)], kind)
    for number in range(raters):
        vote_by(made, made.enter(f"R{number}"), STRENGTHS, random.Random(number), most)
    return made


def test_from_files_to_invitations(home: Path) -> None:
    run("new", "a", "--form", "review", cwd=home)
    run("add", "a", "human/owls.md", "human/bats.md", "--maker", "human", cwd=home)
    assert "2 makers on 2 cases" in run(
        "add", "a", "machine/owls.md", "machine/bats.md", "--maker", "machine", cwd=home
    )
    said = run("invite", "a", "Ada", "Grace", "--url", "https://example.org/", cwd=home)
    tokens = re.findall(r"^(\w+)  https://example\.org/arena/enter\?token=(\S+)$", said, re.MULTILINE)
    assert [name for name, _ in tokens] == ["Ada", "Grace"]
    with Arena.open(home / "a") as made:
        known = [made.rater(token) for _, token in tokens]
        assert [rater and rater.name for rater in known] == ["Ada", "Grace"]
    status = json.loads(run("status", "a", "--json", cwd=home))
    assert status["makers"] == {"human": 2, "machine": 2}
    assert status["raters"]["Ada"] == {"kind": "person", "answered": 0, "skipped": 0, "left": 2}
    assert status["problems"] == []
    run("revoke", "a", "Ada", cwd=home)
    with Arena.open(home / "a") as made:
        assert made.rater(tokens[0][1]) is None
        assert made.rater(tokens[1][1])


def test_ratings_as_a_table_and_as_json(tmp_path: Path) -> None:
    voted(tmp_path / "a", most=15).close()
    said = run("rate", "a", "--resamples", "20", cwd=tmp_path)
    assert all(word in said for word in ("three", "overall", "rank", "95% interval"))
    data = json.loads(run("rate", "a", "--resamples", "20", "--json", "--question", "clarity", cwd=tmp_path))
    [first, *_] = data["people"]
    best = first["makers"][0]
    found = (first["question"], best["maker"], best["best"], len(first["raters"]))
    assert found == ("clarity", "three", 1, 6)


@pytest.mark.slow
def test_hostile_names_of_makers_are_text(tmp_path: Path) -> None:
    names = ["<script>alert(1)</script>", "\x1b[31mred", "=cmd()"]
    made = arena(tmp_path / "a", names, [f"c{n}" for n in range(8)])
    for number in range(3):
        vote_by(made, made.enter(f"R{number}"), dict.fromkeys(names, 0.0), random.Random(number))
    made.close()
    said = run("rate", "a", "--resamples", "20", "-o", "out", cwd=tmp_path)
    assert "\x1b" not in said
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "'=cmd()" in (tmp_path / "out" / "ratings.csv").read_text()


def test_published_votes_need_no_arena(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("model_a,model_b,winner\na,b,model_a\na,b,model_b\na,b,nobody\n")
    columns = "left=model_a,right=model_b,winner=winner"
    data = json.loads(run("rate", "w.csv", "--resamples", "30", "--json", "--columns", columns, cwd=tmp_path))
    assert data["people"][0]["votes"] == 2
    assert any("nobody" in note for note in data["notes"])
    assert "no column left" in refused("rate", "w.csv", cwd=tmp_path)


def test_an_export_is_read_again_and_holds_no_secret(tmp_path: Path) -> None:
    with voted(tmp_path / "a", raters=2, most=10) as made:
        token, votes = made.invite("Ada").token, made.votes()
    run("export", "a", cwd=tmp_path)
    run("export", "a", "--format", "json", cwd=tmp_path)
    assert "exists" in refused("export", "a", cwd=tmp_path)
    data: dict[str, Any] = json.loads(run("rate", "votes.csv", "--resamples", "20", "--json", cwd=tmp_path))
    assert data["people"][0]["votes"] == len(votes) == 20
    for name in ("votes.csv", "votes.json"):
        text = (tmp_path / name).read_text()
        assert token not in text
        assert "hash" not in text
    answers = json.loads((tmp_path / "votes.json").read_text())["answers"]
    assert len(answers) == 20


CRITERIA = ("novelty", "feasibility", "effectiveness")


def fill(path: Path, say: Callable[[dict[str, str], list[dict[str, str]]], dict[str, str]]) -> None:
    """What a rater makes of a sheet."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    filled = [{**row, **say(row, rows)} for row in rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(filled)


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """Six ideas with scores, rated on sheets by two raters with a difference of one."""
    ideas = [{"title": f"Idea {n}", "abstract": f"We study {n}."} for n in range(6)]
    (tmp_path / "ideas.jsonl").write_text("\n".join(map(json.dumps, ideas)), encoding="utf-8")
    scores = [{"source": f"ideas.jsonl:{n + 1}", "name": f"Idea {n}", "on": n / 2} for n in range(6)]
    (tmp_path / "measures.jsonl").write_text("\n".join(map(json.dumps, scores)), encoding="utf-8")
    run("new", "a", "--form", "rating", cwd=tmp_path)
    assert "6 texts of 1 maker" in run("add", "a", "ideas.jsonl", cwd=tmp_path)
    assert "sheet-2.csv" in run("export", "a", "--sheets", "2", cwd=tmp_path)
    for rater in (1, 2):
        fill(
            tmp_path / f"sheet-{rater}.csv",
            lambda row, _, rater=rater: dict.fromkeys(CRITERIA, str(int(row["title"][5:]) + rater)),
        )
    assert "12 answers added" in run("import", "a", "sheet-1.csv", "sheet-2.csv", cwd=tmp_path)
    return tmp_path


@pytest.mark.slow
def test_raters_on_sheets_agree_with_each_other_and_with_a_measure(rated: Path) -> None:
    assert "0 answers added" in run("import", "a", "sheet-1.csv", cwd=rated)
    data = json.loads(run("agreement", "a", "--scores", "measures.jsonl", "--json", cwd=rated))
    assert (data["texts"], data["raters"], data["criteria"]["novelty"]["scale"]) == (6, 2, [1, 10])
    # Six units (n + 1, n + 2). Observed 12 × 1 / 12 = 1; expected twice the variance of 1, 2, 2, 3, 3 … 6, 6, 7.
    assert data["criteria"]["novelty"]["alpha"] == pytest.approx(1 - 1 / (2 * 3.4545454545))
    assert data["calibration"]["scores"]["figures"]["pearson"]["estimate"] == pytest.approx(1)
    run("export", "a", cwd=rated)
    again = json.loads(run("agreement", "ratings.csv", "--scores", "measures.jsonl", "--json", cwd=rated))
    assert again["calibration"] == data["calibration"]
    assert "arena agreement" in refused("rate", "a", cwd=rated)


@pytest.mark.slow
def test_agreement_to_read_and_as_a_picture(rated: Path) -> None:
    said = run("agreement", "a", "--scores", "measures.jsonl", "--plot", "a.png", cwd=rated)
    for words in (
        "6 texts, 2 raters, ratings per text: 2",
        "on against novelty, n = 6",
        "Pearson r           1.00",
    ):
        assert words in said
    assert (rated / "a.png").read_bytes().startswith(b"\x89PNG")


def test_own_tables_are_read_by_their_columns(tmp_path: Path) -> None:
    rows = [f"R{rater},P{paper},{paper + rater}" for paper in range(1, 7) for rater in (1, 2)]
    (tmp_path / "own.csv").write_text("\n".join(["Who,Paper,Nov", *rows]), encoding="utf-8")
    columns = "rater=Who,id=Paper,novelty=Nov"
    assert "6 texts, 2 raters" in run("agreement", "own.csv", "--columns", columns, cwd=tmp_path)
    assert "no column 'Nov2' (novelty)" in refused(
        "agreement", "own.csv", "--columns", f"{columns}2", cwd=tmp_path
    )
    assert "rater=COLUMN" in refused("agreement", "own.csv", cwd=tmp_path)
    assert "--scale 0-100" in refused(
        "agreement", "own.csv", "--columns", columns, "--scale", "5", cwd=tmp_path
    )
    (tmp_path / "places.csv").write_text("rater,idea,rank\nA,x,1\nA,y,2\nJ,x,2\nJ,y,1\n", encoding="utf-8")
    data = json.loads(run("agreement", "places.csv", "--judge", "J", "--target", "x", "--json", cwd=tmp_path))
    assert data["qualities"]["rank"]["alignment"] == 0
    said = run("agreement", "places.csv", "--judge", "J", "--target", "x", cwd=tmp_path)
    assert re.search(r"D\(S\) of judge and people +1\.00; alignment 0%", said)


def test_mistakes_are_answered_in_words(home: Path) -> None:
    assert "no arena" in refused("status", "a", cwd=home)
    assert "review" in refused("new", "a", "--form", "reveiw", cwd=home)
    run("new", "a", cwd=home)
    assert "already" in refused("new", "a", cwd=home)
    assert "--maker" in refused("add", "a", "human/owls.md", cwd=home)
    assert "no such" in refused("add", "a", "nothing.md", "--maker", "m", cwd=home).lower()
    assert "no votes" in refused("rate", "a", cwd=home)
    assert "no answers" in refused("export", "a", cwd=home)
    assert "nobody" in refused("revoke", "a", "nobody", cwd=home)
    assert "arena add" in run("status", "a", cwd=home)
    run("add", "a", "human/owls.md", "human/bats.md", "--maker", "human", cwd=home)
    assert "two makers" in run("status", "a", cwd=home)
    assert (
        "there already"
        in manyheads_command("arena", "add", "a", "human/owls.md", "--maker", "human", cwd=home).err
    )
    assert "--style" in refused("rate", "a", "--style", "colour", cwd=home)
    (home / "empty.csv").write_text("")
    assert "empty" in refused("import", "a", "empty.csv", cwd=home)
    (home / "file").write_text("")
    assert "file" in refused("new", "file", cwd=home)
