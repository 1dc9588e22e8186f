"""`manyheads review` as its users meet it."""

import json
from pathlib import Path

import pytest

from support.command import manyheads_command, result_of, served_by
from support.faults import Fault
from support.llm import LLM


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "owls.md").write_text("# Owls for planning\n\nWe plan with owls.\n", encoding="utf-8")
    (tmp_path / "bats.txt").write_text("We plan with bats.\n", encoding="utf-8")
    return tmp_path


def test_texts_are_reviewed_one_run_each(home: Path) -> None:
    command = ("review", "owls.md", "bats.txt", "--repeats", "2", "--host", "agentscope", "--out", "reviews")
    done = manyheads_command(*command, cwd=home)
    assert (done.code, done.err) == (0, "")
    assert "Owls for planning" in done.out
    assert "the mean of 2 reviews" in done.out
    folders = sorted((home / "reviews").iterdir(), key=lambda folder: folder.name.rpartition("-")[2])
    assert [folder.name.partition("-review-")[2] for folder in folders] == ["bats", "owls"]
    assert result_of(folders[1])["means"]["overall"]["n"] == 2
    assert (folders[0] / "report.html").exists()


def test_one_text_is_reviewed_here_on_every_engine(home: Path) -> None:
    done = manyheads_command("review", "owls.md", "--repeats", "1", "--engine", "ray", cwd=home)
    assert done.code == 0
    assert "without Ray" in done.err
    done = manyheads_command(
        "review", "owls.md", "--repeats", "1", "--engine", "rya", "--out", "new", cwd=home
    )
    assert "rya" in done.message
    assert not (home / "new").exists()


def test_each_line_of_many_texts_is_reviewed(home: Path) -> None:
    lines = [json.dumps({"title": f"Idea {n}", "abstract": f"We plan with {n} owls."}) for n in (1, 2, 3)]
    (home / "ideas.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = manyheads_command("review", "ideas.jsonl", "--form", "rating", "--repeats", "2", cwd=home)
    assert (done.code, done.err) == (0, "")
    folders = sorted((home / "runs").glob("*/"))
    found = [result_of(folder) for folder in folders]
    assert {each["title"] for each in found} == {"Idea 1", "Idea 2", "Idea 3"}
    assert {each["subject"]["source"] for each in found} == {f"{home / 'ideas.jsonl'}:{n}" for n in (1, 2, 3)}
    scored = manyheads_command("resume", folders[0], cwd=home)
    assert scored.code == 0


def test_a_text_cannot_command_the_terminal(home: Path, llm: LLM) -> None:
    title = "Owls \x1b]0;pwned\x07 \x1b[31mred \u202edrow"
    (home / "evil.md").write_text(f"# {title}\n\nWe plan.\n", encoding="utf-8")
    done = manyheads_command("review", "evil.md", "--repeats", "1", *served_by(llm), cwd=home)
    assert done.code == 0
    assert not set("\x1b\x07\u202e") & set(done.out + done.err)
    assert "[31mred  drow" in done.out


def test_a_text_that_fails_does_not_keep_the_others(home: Path, llm: LLM) -> None:
    llm.faults.append(Fault("status", times=None, when=lambda request: "owls" in request.asking, status=403))
    done = manyheads_command("review", "owls.md", "bats.txt", *served_by(llm), cwd=home)
    assert done.code == 5
    assert "3 of 3 reviews failed" in done.err
    assert "manyheads resume" not in done.err
    assert "1 of 2 texts have no review" in done.err
    assert "bats.txt" in done.out
    assert "Traceback" not in done.err


def test_nothing_is_paid_for_before_all_texts_are_read(home: Path, llm: LLM) -> None:
    done = manyheads_command("review", "owls.md", "gone.txt", *served_by(llm), cwd=home)
    assert "gone.txt: No such file" in done.message
    assert llm.calls == 0
    assert not (home / "runs").exists()


@pytest.mark.slow
def test_the_same_reviews_go_on_with_what_has_failed(home: Path, llm: LLM) -> None:
    llm.faults.append(Fault("status", times=None, when=lambda request: "owls" in request.asking, status=403))
    command = ("review", "owls.md", "bats.txt", "--repeats", "2", *served_by(llm))
    assert manyheads_command(*command, cwd=home).code == 5
    [finished], before = (home / "runs").glob("*-review-*"), llm.calls
    llm.faults.clear()
    done = manyheads_command(*command, cwd=home)
    assert (done.code, done.err) == (0, "")
    assert llm.calls - before == 2
    assert done.out.index("Owls for planning") < done.out.index("bats"), "in the order of the command"
    folders = set((home / "runs").glob("*/"))
    assert len(folders) == 2
    assert finished in folders
    assert manyheads_command(*command, cwd=home).code == 0, "all were finished: they are done anew"
    assert len(set((home / "runs").glob("*/"))) == 4


@pytest.mark.slow
def test_reviews_go_side_by_side_under_one_budget(home: Path) -> None:
    texts = [f"idea{number}.md" for number in range(4)]
    for text in texts:
        (home / text).write_text(f"# {text}\n\nWe plan.\n", encoding="utf-8")
    with LLM(delay=0.05) as llm:
        command = ("review", *texts, "--repeats", "1", "--jobs", "2", *served_by(llm), "--budget")
        done = manyheads_command(*command, "calls=3", cwd=home)
        assert (done.code, llm.calls, llm.peak) == (3, 3, 2)
        assert "calls 3, used: 3" in done.err
        assert "1 of 4 texts have no review" in done.err
        assert manyheads_command(*command, "calls=3", cwd=home).code == 3
        assert llm.calls == 3
        assert manyheads_command(*command, "calls=4", cwd=home).code == 0
        assert llm.calls == 4


def test_events_of_texts_are_printed_one_text_after_the_other(home: Path) -> None:
    command = ("review", "owls.md", "bats.txt", "--repeats", "2", "--json")
    done = manyheads_command(*command, cwd=home)
    assert done.code == 0
    kinds = [event["kind"] for event in done.events]
    assert kinds.count("result") == 2
    first = done.events[: kinds.index("result") + 1]
    assert "Owls for planning" in json.dumps(first)
    assert "bats" not in json.dumps(first)
