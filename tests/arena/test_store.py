"""An arena keeps texts, raters and votes: nothing is lost, nothing counts twice, and a rater sees no maker."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from manyheads.arena.items import ArenaForm, Case, NewText
from manyheads.arena.store import FILE, Arena
from manyheads.base.errors import ArenaError
from support.arenas import FORM, answer, arena, makers_of, text


def test_votes_are_there_when_the_arena_is_opened_again(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two")) as made:
        ada = made.invite("Ada").rater
        item = made.next_item(ada)
        assert item
        made.vote(ada, item.id, {"overall": "tie"}, 12.5, "Both are short.")
        makers = makers_of(made, item)
    with Arena.open(tmp_path / "a") as again:
        [vote] = again.votes()
        assert (vote.left, vote.right) == makers
        assert (vote.answers, vote.rater, vote.case) == ({"overall": "tie"}, "Ada", item.case.id)
        assert vote.seconds == 12.5
        assert vote.left_style == {"words": 13, "lines": 3, "headings": 1, "lists": 2}
        [row] = again.rows()
        assert row.comment == "Both are short."


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../secret", "papers/link", "papers/../../secret", "papers/folder/x", "arena.sqlite", "papers/pipe", "papers/\0", "papers"]
)  # fmt: skip
def test_an_arena_of_others_serves_only_its_own_papers(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    with arena(tmp_path / "a", ("one", "two")) as made:
        (tmp_path / "a" / "papers" / "folder").mkdir(parents=True)
        (tmp_path / "a" / "papers" / "link").symlink_to(tmp_path / "secret")
        (tmp_path / "a" / "papers" / "folder" / "x").write_text("x")
        os.mkfifo(tmp_path / "a" / "papers" / "pipe")
        made._db.change('UPDATE "case" SET paper = ?', name)
        assert [made.paper(case) for case in made.cases()] == [None, None]
        (tmp_path / "a" / "papers" / "folder" / "x").unlink()
        made._db.change('UPDATE "case" SET paper = ?', "papers/own.pdf")
        (tmp_path / "a" / "papers" / "own.pdf").write_bytes(b"%PDF-1.4")
        assert made.paper(made.cases()[0]) == tmp_path / "a" / "papers" / "own.pdf"
        (tmp_path / "a" / "papers").rename(tmp_path / "papers")
        (tmp_path / "a" / "papers").symlink_to(tmp_path / "papers")
        assert made.paper(made.cases()[0]) is None


def test_an_item_stays_until_it_is_answered_or_skipped(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two"), ("owls", "bats")) as made:
        ada = made.invite("Ada").rater
        first = made.next_item(ada)
        assert first == made.next_item(ada)
        assert made.progress(ada) == (made.progress(ada).__class__)(0, 0, 2)
        assert first
        made.skip(ada, first.id)
        second = made.next_item(ada)
        assert second
        assert second.case != first.case
        answer(made, ada, second)
        assert made.next_item(ada) is None
        progress = made.progress(ada)
        assert (progress.answered, progress.skipped, progress.left) == (1, 1, 0)
        assert made.past(ada) == [first.id, second.id]


def test_the_same_vote_again_counts_once_and_another_replaces_it(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two"), ("owls",)) as made:
        ada = made.invite("Ada").rater
        item = made.next_item(ada)
        assert item
        for value in ("left", "left", "right", "right"):
            answer(made, ada, item, value)
        assert [vote.answers["overall"] for vote in made.votes()] == ["right"]
        shown = made.item(ada, item.id)
        assert shown
        assert shown.answers == {"overall": "right"}
        kept = sqlite3.connect(tmp_path / "a" / FILE).execute("SELECT count(*) FROM answer").fetchone()
        assert kept == (2,)


def test_a_vote_needs_an_item_of_this_rater_and_an_answer_to_each_question(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two"), ("owls",)) as made:
        ada, bob = (made.invite(name).rater for name in ("Ada", "Bob"))
        item = made.next_item(ada)
        assert item
        for rater, answers in ((bob, {"overall": "left"}), (ada, {}), (ada, {"overall": "A"})):
            with pytest.raises(ArenaError):
                made.vote(rater, item.id, answers)
        with pytest.raises(ArenaError):
            made.vote(ada, "another", {"overall": "left"})
        assert made.item(bob, item.id) is None
        assert made.votes() == []


def test_an_invitation_can_be_revoked_and_expires(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two")) as made:
        first, second, short = made.invite("Ada"), made.invite("Ada"), made.invite("Bob", days=0)
        assert first.rater == second.rater == made.rater(first.token) == made.rater(second.token)
        assert made.rater(short.token) is None
        assert made.rater("x") is made.rater("") is None
        assert made.revoke("Ada") == 2
        assert made.rater(first.token) is made.rater(second.token) is None
        assert made.rater(made.invite("Ada").token) == first.rater
        with pytest.raises(ArenaError, match="Cleo"):
            made.revoke("Cleo")
        stored = (tmp_path / "a" / FILE).read_bytes() + b"".join(
            path.read_bytes() for path in (tmp_path / "a").glob(f"{FILE}-*")
        )
        assert first.token.encode() not in stored


@pytest.mark.parametrize("name", ["", " ", "\n", "x" * 201])
def test_a_rater_needs_a_name(tmp_path: Path, name: str) -> None:
    with arena(tmp_path / "a", ("one", "two")) as made, pytest.raises(ArenaError):
        made.invite(name)


def test_the_same_text_of_a_maker_is_added_once(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two")) as made:
        assert made.add([text("one", "owls"), text("one", "eels")]) == ["one"]
        assert len(made.texts()) == 5
        assert [each.id for each in made.cases()] == ["owls", "bats", "eels"]


def test_a_paper_is_copied_under_a_name_of_its_own(tmp_path: Path) -> None:
    paper = tmp_path / "by-maker-one.PDF"
    paper.write_bytes(b"%PDF-1.4")
    with Arena.create(tmp_path / "a", FORM) as made:
        made.add([NewText(Case("owls/../../x"), "one", "", "Text.", paper=paper)])
        [case] = made.cases()
        copied = made.paper(case)
        assert copied
        assert copied.parent == tmp_path / "a" / "papers"
        assert copied.read_bytes() == b"%PDF-1.4"
        assert "maker" not in copied.name


def test_ratings_are_whole_numbers_of_one_text_at_a_time(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two"), ("owls",), "rating") as made:
        made.add([NewText(Case("owls"), "three", "", text("one", "owls").body)])  # equal to that of `one`
        ada = made.invite("Ada").rater
        assert made.progress(ada).left == 2
        seen = set[str]()
        while item := made.next_item(ada):
            [only] = item.texts
            seen.add(only.body)
            with pytest.raises(ArenaError):
                made.vote(ada, item.id, {"novelty": "11", "feasibility": "1", "effectiveness": "1"})
            made.vote(ada, item.id, {"novelty": "10", "feasibility": "1", "effectiveness": "5"})
        assert len(seen) == 2
        assert made.votes() == []
        assert [row.answers["novelty"] for row in made.rows()] == ["10", "10"]


def test_a_ranking_has_each_rank_once(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two", "three"), ("owls", "bats"), "ranking") as made:
        ada = made.invite("Ada").rater
        item = made.next_item(ada)
        assert item
        ids = [each.id for each in item.texts]
        assert len(ids) == 3
        for ranks in (("1", "2", "2"), ("1", "2", ""), ("0", "1", "2")):
            with pytest.raises(ArenaError):
                made.vote(ada, item.id, dict(zip(ids, ranks, strict=True)))
        made.vote(ada, item.id, dict(zip(ids, "312", strict=True)))
        other = made.next_item(ada)
        assert other
        assert other.case != item.case
        assert made.rows()[0].answers == dict(zip(ids, "312", strict=True))


def test_a_folder_without_an_arena_and_one_with_an_arena(tmp_path: Path) -> None:
    with pytest.raises(ArenaError, match="no arena"):
        Arena.open(tmp_path)
    arena(tmp_path / "a", ("one", "two")).close()
    with pytest.raises(ArenaError, match="already"):
        Arena.create(tmp_path / "a", FORM)


def test_an_arena_of_another_version_and_a_broken_one_are_refused(tmp_path: Path) -> None:
    arena(tmp_path / "a", ("one", "two")).close()
    database = sqlite3.connect(tmp_path / "a" / FILE)
    database.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    database.commit()
    database.close()
    with pytest.raises(ArenaError, match="99"):
        Arena.open(tmp_path / "a")
    (tmp_path / "a" / FILE).write_bytes(b"no database" * 100)
    with pytest.raises(ArenaError, match=FILE):
        Arena.open(tmp_path / "a")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that nobody can write")
def test_a_folder_that_nobody_can_write() -> None:
    with pytest.raises(ArenaError):
        Arena.create(Path("/proc/self/arena"), FORM)


@pytest.mark.parametrize("wrong", [
    {"questions": []}, {"main": "none"}, {"answers": ["left"]}, {"scale": [3, 3]}, {"kind": "votes"},
    {"questions": [{"id": "a", "text": "A"}, {"id": "a", "text": "B"}]},
    {"kind": "ranking", "questions": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}]},
])  # fmt: skip
def test_a_form_that_cannot_work_is_refused(wrong: dict[str, object]) -> None:
    form = {"title": "T", "questions": [{"id": "overall", "text": "Overall"}], **wrong}
    with pytest.raises(ValueError):  # noqa: PT011
        ArenaForm.model_validate(form)


def test_two_pages_of_a_rater_get_the_same_item(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two", "three")) as made:
        ada = made.invite("Ada").rater
        shown = list[str]()
        with Arena.open(tmp_path / "a") as other:

            def show(place: Arena) -> None:
                item = place.next_item(ada)
                shown.append(item.id if item else "")

            threads = [threading.Thread(target=show, args=(place,)) for place in (made, other) * 4]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(shown) == 8
        assert len(set(shown)) == 1


VOTER = """
import random, sys
from pathlib import Path
from manyheads.arena.store import Arena
folder, name = Path(sys.argv[1]), sys.argv[2]
with Arena.open(folder) as made:
    rater = made.enter(name)
    while item := made.next_item(rater):
        made.vote(rater, item.id, {"overall": random.choice(["left", "right", "tie"])}, 1.0)
        print(item.id, flush=True)
"""


@pytest.mark.slow
def test_no_vote_is_lost_when_processes_are_killed(tmp_path: Path) -> None:
    """What a process said it kept is there after kill -9 of all of them, in the middle of their votes."""
    arena(tmp_path / "a", [f"m{n}" for n in range(8)], [f"c{n}" for n in range(12)]).close()
    said = list[str]()
    for round_ in range(2):
        files = [tmp_path / f"{round_}-{n}.txt" for n in range(4)]
        voters = list[subprocess.Popen[bytes]]()
        for number, file in enumerate(files):
            command = [sys.executable, "-c", VOTER, str(tmp_path / "a"), f"R{number}"]
            with file.open("wb") as output:
                voters.append(subprocess.Popen(command, stdout=output))
        until = time.monotonic() + 60
        while sum(file.stat().st_size for file in files) < 800 or not all(f.stat().st_size for f in files):
            assert time.monotonic() < until
            time.sleep(0.02)
        for voter in voters:
            os.kill(voter.pid, signal.SIGKILL)
        for voter, file in zip(voters, files, strict=True):
            voter.wait()
            said += [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    said = [each.strip() for each in said]
    assert len(said) > 60
    with Arena.open(tmp_path / "a") as made:
        rows = made.rows()
        kept = [row.item for row in rows]
        assert set(said) <= set(kept)
        assert len(set(said)) == len(said)
        assert len(kept) - len(said) <= 12  # written, but not yet said
        pairs = [(row.rater.id, frozenset(each.id for each in row.places)) for row in rows]
        assert len(set(pairs)) == len(pairs)
        check = sqlite3.connect(tmp_path / "a" / FILE).execute("PRAGMA integrity_check").fetchone()
        assert check == ("ok",)


def test_what_another_process_wrote_is_seen(tmp_path: Path) -> None:
    with arena(tmp_path / "a", ("one", "two"), ("owls",)) as made, Arena.open(tmp_path / "a") as other:
        ada, bob = made.enter("Ada"), made.enter("Bob")
        first = made.next_item(ada)
        assert first
        other.add([text("three", "owls")])
        answer(other, ada, first)
        assert made.progress(ada).left == 2
        item = made.next_item(bob)
        assert item
        assert "three" in makers_of(made, item)  # nobody has seen it yet
