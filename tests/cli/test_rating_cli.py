"""`manyheads rating` as its users meet it: form out, ratings in, agreement and plot."""

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from manyheads.cli.forms import ratings as app
from support.command import Done, manyheads_command
from support.invoked import mistake
from support.results import write


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six abstracts, with the scores that a measure gave them."""
    folder = tmp_path_factory.mktemp("rating")
    texts = [{"title": f"Idea {n}", "abstract": f"We study {n}."} for n in range(6)]
    (folder / "ideas.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    scores = [{"source": f"ideas.jsonl:{n + 1}", "name": f"Idea {n}", "on": n / 2} for n in range(6)]
    (folder / "measures.jsonl").write_text("\n".join(map(json.dumps, scores)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def made(home: Path) -> Done:
    """The form, filled in by two raters who see the same order with a difference of one."""
    done = manyheads_command("rating", "form", "ideas.jsonl", "--raters", "2", cwd=home)
    for rater in (1, 2):
        path = home / f"form-{rater}.csv"
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            number = int(row["title"].removeprefix("Idea "))
            row.update(dict.fromkeys(("novelty", "feasibility", "effectiveness"), str(number + rater)))
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return done


def test_a_form_is_made(made: Done) -> None:
    assert (made.code, made.err) == (0, "")
    assert "6 texts for 2 raters" in made.out
    assert "form.key.csv  (keep it from the raters)" in made.out


def test_runs_without_an_abstract_and_texts_that_stand_there_twice_are_left_out(tmp_path: Path) -> None:
    for name, text in (("one", "Owls."), ("same", "Owls."), ("other", "Bats.")):
        write(tmp_path / "runs" / name, {"system": "virsci", "abstract": {"title": "T", "text": text}})
    write(tmp_path / "runs" / "review", {"system": "conference-review", "reviews": []})
    (tmp_path / "runs" / "empty").mkdir()
    runs = [f"runs/{name}" for name in ("empty", "one", "other", "review", "same")]
    done = manyheads_command("rating", "form", *runs, cwd=tmp_path)
    assert (done.code, "2 texts for 3 raters" in done.out) == (0, True)
    assert [line.split("runs/")[1].split(":")[0] for line in done.err.splitlines()] == [
        "empty",
        "review",
        "same",
    ]
    alone = manyheads_command("rating", "form", "runs/review", "runs/empty", "--out", "a.csv", cwd=tmp_path)
    assert "wrote no abstract" in alone.message
    gone = manyheads_command("rating", "form", *runs, "runs/gone", "--out", "a.csv", cwd=tmp_path)
    assert "runs/gone" in gone.message


@pytest.mark.slow
def test_ratings_are_held_against_scores(made: Done, home: Path) -> None:
    assert made.code == 0
    flags = ("--scores", "measures.jsonl", "--key", "form.key.csv", "--plot", "agreement.png")
    done = manyheads_command("rating", "agreement", "form-1.csv", "form-2.csv", *flags, cwd=home)
    assert (done.code, done.err) == (0, "")
    assert "6 texts, 2 raters, ratings per text: 2" in done.out
    assert "on against novelty, n = 6" in done.out
    assert "Pearson r   1.00" in done.out
    assert "few texts" in done.out
    assert (home / "agreement.png").read_bytes().startswith(b"\x89PNG")


def test_figures_as_json(made: Done, home: Path) -> None:
    assert made.code == 0
    done = manyheads_command("rating", "agreement", "form-1.csv", "form-2.csv", "--json", cwd=home)
    data = json.loads(done.out)
    assert (data["texts"], data["raters"], data["held"]) == (6, 2, None)
    # Six units (n + 1, n + 2). Observed 12 × 1 / 12 = 1; expected twice the variance of 1, 2, 2, 3, 3 … 6, 6, 7.
    assert data["criteria"]["novelty"]["alpha"] == pytest.approx(1 - 1 / (2 * 3.4545454545))


def test_ratings_of_another_origin_are_read_by_their_columns(tmp_path: Path) -> None:
    rows = [f"R{rater},P{paper},{paper + rater}" for paper in range(1, 7) for rater in (1, 2)]
    (tmp_path / "own.csv").write_text("\n".join(["Who,Paper,Nov", *rows]), encoding="utf-8")
    columns = "rater=Who,id=paper,novelty=Nov"
    done = manyheads_command("rating", "agreement", "own.csv", "--columns", columns, cwd=tmp_path)
    assert (done.code, "6 texts, 2 raters" in done.out) == (0, True)
    wrong = manyheads_command("rating", "agreement", "own.csv", "--columns", "who=Who", cwd=tmp_path)
    assert "no column rater, id" in wrong.message
    assert "rater=COLUMN" in wrong.message
    absent = manyheads_command("rating", "agreement", "own.csv", "--columns", f"{columns}2", cwd=tmp_path)
    assert "no column 'Nov2' (novelty)" in absent.message
    bare = manyheads_command("rating", "agreement", "own.csv", cwd=tmp_path)
    assert "--columns rater=COLUMN" in bare.message


def test_any_criteria_and_scale_are_read_and_stated(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(
        "who;paper;clear;new;venue\nA;1;80,5;3.0;x\nB;1;90;NA;x\nA;2;20;;y\nB;2;30;5;y\n", encoding="utf-8"
    )
    arguments = [
        "agreement",
        str(tmp_path / "own.csv"),
        "--columns",
        "rater=who,id=paper,clarity=clear,fresh=new",
    ]
    told = CliRunner().invoke(app, arguments).stdout
    assert re.search(
        r"^clarity +mean 55\.12 of 2 texts, .*; 4 ratings between 20 and 90$", told, re.MULTILINE
    )
    assert re.search(
        r"^fresh +mean 4\.00 of 2 texts, .*; 2 ratings between 3 and 5, 2 missing$", told, re.MULTILINE
    )
    assert re.search(r"^Not read +venue", told, re.MULTILINE)
    scaled = CliRunner().invoke(app, [*arguments, "--scale", "0-100", "--json"]).stdout
    assert json.loads(scaled)["scale"] == [0, 100]
    off = CliRunner().invoke(app, [*arguments, "--scale", "0-50"])
    assert "own.csv:2: column clarity: '80,5' is not a number from 0 to 50" in mistake(off).message
    assert "--scale 0-100" in str(mistake(CliRunner().invoke(app, [*arguments, "--scale", "5"])).hint)


def test_a_bad_rating_stops_with_its_place(home: Path) -> None:
    (home / "bad.csv").write_text("rater,id,novelty\nR1,T1,5\nR1,T2,12\n", encoding="utf-8")
    done = manyheads_command("rating", "agreement", "bad.csv", cwd=home)
    assert "bad.csv:3: column novelty: '12' is not a whole number from 1 to 10" in done.message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("form.csv", "--on", "novelty"), "need --scores"),
        (("form.csv", "--plot", "a.png"), "need --scores"),
        ((".", "--key", "form.key.csv"), "with filled-in forms only"),
        ((".", "--exclude", "3"), "with filled-in forms only"),
        ((".", "--columns", "id=a"), "with filled-in forms only"),
        (("form.csv", "--scores", "runs/1", "."), "give each with --scores"),
        (("form.csv", "--seed", "-1"), "--seed"),
    ],
)
def test_no_flag_is_passed_over_in_silence(arguments: tuple[str, ...], told: str) -> None:
    done = CliRunner().invoke(app, ["agreement", *arguments], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert told in done.output
