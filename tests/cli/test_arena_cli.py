"""`manyheads arena` as users meet it: texts in, raters invited, votes out, makers rated, and every mistake in words."""

import csv
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from manyheads.arena.store import Arena
from manyheads.measures.votes import votes_csv
from support.arenas import arena, vote_by
from support.command import manyheads_command
from support.votes import votes_by

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


@pytest.mark.slow
def test_ratings_as_a_folder(tmp_path: Path) -> None:
    voted(tmp_path / "a").close()
    run("rate", "a", "--resamples", "60", "-o", "out", cwd=tmp_path)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "three" in page
    assert "data:image/svg+xml" in page
    rows = list(csv.DictReader((tmp_path / "out" / "ratings.csv").open(encoding="utf-8")))
    assert {row["question"] for row in rows} == {"technical", "constructiveness", "clarity", "overall"}


def test_ratings_as_a_table_and_as_json(tmp_path: Path) -> None:
    voted(tmp_path / "a", most=15).close()
    said = run("rate", "a", "--resamples", "20", cwd=tmp_path)
    for word in ("three", "overall", "technical", "rank", "95% interval"):
        assert word in said
    data = json.loads(run("rate", "a", "--resamples", "20", "--json", "--question", "clarity", cwd=tmp_path))
    first = data["people"][0]
    assert (first["question"], first["makers"][0]["maker"], first["makers"][0]["best"]) == (
        "clarity",
        "three",
        1,
    )
    assert len(first["raters"]) == 6


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


def test_a_line_that_gives_a_maker_away_is_in_the_status_and_is_left_out_on_demand(tmp_path: Path) -> None:
    for maker, form in (("machine", "**Problem.** Zorilla plans {}."), ("human", "{} are many.")):
        (tmp_path / maker).mkdir()
        for case in ("owls", "bats"):
            (tmp_path / maker / f"{case}.md").write_text(form.format(case))
    for folder, options in (("a", ()), ("b", ("--drop", "**Problem.**", "--hide", "Zorilla"))):
        run("new", folder, "--form", "idea", cwd=tmp_path)
        for maker in ("machine", "human"):
            texts = (f"{maker}/owls.md", f"{maker}/bats.md")
            run("add", folder, *texts, "--maker", maker, *options, cwd=tmp_path)
        run("invite", folder, "Ada", cwd=tmp_path)
    [problem] = json.loads(run("status", "a", "--json", cwd=tmp_path))["problems"]
    assert "'machine'" in problem
    assert "“**Problem.**”" in problem
    assert json.loads(run("status", "b", "--json", cwd=tmp_path))["problems"] == []
    with Arena.open(tmp_path / "b") as made:
        assert {each.body for each in made.texts() if each.maker == "machine"} == {
            "The author plans owls.", "The author plans bats.",
        }  # fmt: skip


def test_published_votes_need_no_arena(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(votes_csv(votes_by({"a": 0.0, "b": 1.0}, 80), ("overall",)))
    data = json.loads(run("rate", "v.csv", "--resamples", "30", "--json", cwd=tmp_path))
    assert data["people"][0]["votes"] == 80
    (tmp_path / "w.csv").write_text("model_a,model_b,winner\na,b,model_a\na,b,model_b\na,b,nobody\n")
    columns = "left=model_a,right=model_b,winner=winner"
    data = json.loads(run("rate", "w.csv", "--resamples", "30", "--json", "--columns", columns, cwd=tmp_path))
    assert data["people"][0]["votes"] == 2
    assert any("nobody" in note for note in data["notes"])
    assert "no column left" in refused("rate", "w.csv", cwd=tmp_path)


def test_imported_votes_count_once(tmp_path: Path) -> None:
    arena(tmp_path / "a", ("x", "y")).close()
    (tmp_path / "v.csv").write_text(votes_csv(votes_by({"a": 0.0, "b": 1.0}, 50), ("overall",)))
    assert "50 votes added" in run("import", "a", "v.csv", cwd=tmp_path)
    with Arena.open(tmp_path / "a") as made:
        number = len(made.votes())
    assert "0 votes added" in run("import", "a", "v.csv", cwd=tmp_path)
    with Arena.open(tmp_path / "a") as made:
        assert len(made.votes()) == number


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


def test_ratings_of_one_text_are_a_form_of_rating_agreement(tmp_path: Path) -> None:
    ideas = tmp_path / "ideas.jsonl"
    ideas.write_text(
        "".join(
            json.dumps({"title": f"T{n}", "abstract": f"Idea {n} is about owls."}) + "\n" for n in range(5)
        )
    )
    run("new", "a", "--form", "rating", cwd=tmp_path)
    run("add", "a", "ideas.jsonl", "--maker", "team", cwd=tmp_path)
    with Arena.open(tmp_path / "a") as made:
        for name in ("Ada", "Grace"):
            rater = made.enter(name)
            while item := made.next_item(rater):
                number = str(int(item.left.title[1:]) + 1 + (name == "Ada"))
                made.vote(rater, item.id, dict.fromkeys(("novelty", "feasibility", "effectiveness"), number))
    run("export", "a", "-o", "form.csv", cwd=tmp_path)
    scores = "".join(f"T{n},{n}\n" for n in range(5))
    (tmp_path / "scores.csv").write_text("id,on\n" + scores)
    done = manyheads_command(
        "rating", "agreement", "form.csv", "--key", "form.key.csv", "--json", cwd=tmp_path
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["raters"] == 2
    assert "rating agreement" in refused("rate", "a", cwd=tmp_path)


@pytest.mark.slow
def test_rankings_are_a_form_of_ranking_agreement(tmp_path: Path) -> None:
    for name, text in (
        ("target", "Owls plan by ear."),
        ("bats", "Bats map caves."),
        ("cats", "Cats sleep more."),
    ):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{text}")
    done = manyheads_command(
        "ranking",
        "judge",
        "bats.md",
        "cats.md",
        "--target",
        "target.md",
        "-o",
        "judged",
        "--quiet",
        cwd=tmp_path,
    )
    assert done.code == 0, done.err
    run("new", "a", "--form", "ranking", cwd=tmp_path)
    run("add", "a", "judged", cwd=tmp_path)
    with Arena.open(tmp_path / "a") as made:
        for name in ("Ada", "Grace"):
            rater = made.enter(name)
            while item := made.next_item(rater):
                assert len(item.texts) == 3
                made.vote(rater, item.id, {each.id: str(at + 1) for at, each in enumerate(item.texts)})
    run("export", "a", "-o", "ranks.csv", cwd=tmp_path)
    done = manyheads_command(
        "ranking", "agreement", "ranks.csv", "--key", "ranks.key.csv", "--json", cwd=tmp_path
    )
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["raters"]) == 2


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


def test_makers_without_a_common_case_and_equal_texts_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("The same text.")
    (tmp_path / "y.md").write_text("Another text.")
    run("new", "a", cwd=tmp_path)
    run("add", "a", "x.md", "--maker", "one", cwd=tmp_path)
    run("add", "a", "x.md", "--maker", "two", cwd=tmp_path)
    run("add", "a", "y.md", "--maker", "three", cwd=tmp_path)
    assert "manyheads serve ." in manyheads_command("arena", "invite", "a", "Ada", cwd=tmp_path).err
    status = json.loads(run("status", "a", "--json", cwd=tmp_path))
    assert status["raters"]["Ada"]["left"] == 0
    assert any("three" in each for each in status["problems"])
    assert any("equal" in each for each in status["problems"])


def test_one_vote_is_not_an_order(tmp_path: Path) -> None:
    voted(tmp_path / "a", raters=1, most=1).close()
    said = run("rate", "a", cwd=tmp_path)
    assert "no finite rating" in said
