"""`--batch` as its users meet it: fewer batches than requests, half the price, and nothing sent twice after a kill."""

import json
import re
import time
from pathlib import Path

import pytest

from manyheads.arena.store import Arena
from manyheads.base.errors import CacheError
from manyheads.base.files import cache_folder
from manyheads.corpus.meta import BuildOptions
from manyheads.literature.lookup import LookupCache
from manyheads.models import batches
from support.arenas import arena
from support.batches import BatchLLM
from support.command import finish, manyheads_command, result_of, served_by, start
from support.corpora import built
from support.hosts import HOSTS
from support.papers import papers
from support.requests import Request
from support.suites import write_suite

pytestmark = pytest.mark.usefixtures("own_cache")
AGAIN = (
    "models.default.retries=3",
    "models.default.max_wait=0.01",
    "models.default.price={input: 10, output: 20}",
)
RANKING = [{"idea": number, "rationale": "So it is."} for number in (2, 3, 1)]


def overall(request: Request) -> str | int:
    """Of a pair, or of a review."""
    return "A" if request.title == "Preference" else 7


ANSWERS = {"entities": ["soft grippers", "rare languages"], "overall": overall, "ranking": RANKING}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "QUIET", 0.3)
    monkeypatch.setattr(batches, "POLL", 0.02)
    monkeypatch.setattr(batches, "LONGEST_POLL", 0.05)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    lines = [json.dumps({"title": f"Idea {n}", "abstract": f"We plan with {n} owls."}) for n in range(6)]
    (tmp_path / "ideas.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


REVIEW = ("review", "ideas.jsonl", "--repeats", "2", "--batch")
SOCIETY = ("run", "society", "--batch")


def sizes(llm: BatchLLM) -> list[int]:
    return [len(each.bodies) for each in llm.batches]


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_reviews_of_many_texts_are_one_batch_at_half_price(
    home: Path, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    with BatchLLM(polls=3, troubles=["expired"]) as llm:
        flags = (*REVIEW, *served_by(llm, *AGAIN), "--host", host)
        estimated = manyheads_command(*flags, "--estimate", cwd=home)
        assert (estimated.code, llm.batches) == (0, [])
        assert "half price" in estimated.out
        done = manyheads_command(*flags, cwd=home)
        assert done.code == 0, done.err
        assert (sizes(llm), llm.singles) == ([12, 1], 0), "more texts than --jobs"
    assert re.search(r'batch_0: waits since \d+ \w+ \d+:\d+: "total": 12', caplog.text)
    found = [result_of(folder) for folder in (home / "runs").glob("*-review-*/")]
    usages = [each["usage"] for each in found]
    assert sum(each["calls"] for each in usages) == 13
    assert sum(len(each["warnings"]) for each in found) == 1
    cost = sum(each["input_tokens"] * 5 + each["output_tokens"] * 10 for each in usages) / 1e6
    assert sum(each["cost"] for each in usages) == pytest.approx(cost)
    assert {each["prices"]["default"]["input"] for each in found} == {5}


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("host", HOSTS)
def test_a_killed_command_fetches_what_it_has_sent(
    home: Path, host: str, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with BatchLLM(polls=10**6) as llm:
        flags = [*REVIEW, *served_by(llm, *AGAIN, "models.default.max_tokens=900"), "--host", host]
        if wire == "anthropic":
            flags[flags.index("openai/test")] = "anthropic/test"
            flags[flags.index(f"models.default.base_url={llm.base_url}")] = (
                f"models.default.base_url={llm.url}"
            )
        with start(*flags, cwd=home) as process:
            while not any(each.polls for each in llm.batches):
                assert process.poll() is None, finish(process)
                time.sleep(0.01)
            process.kill()
        llm.polls = llm.batches[0].polls + 2
        done = manyheads_command(*flags, cwd=home)
        assert done.code == 0, done.err
        assert (sizes(llm), llm.singles) == ([12], 0)
    assert len([*(home / "runs").glob("*-review-*/")]) == 6
    assert not list((cache_folder() / "batches").iterdir())


@pytest.mark.parametrize(
    ("command", "flags", "words"),
    [
        (REVIEW, (), "offline"),
        (REVIEW, ("-m", "ollama/llama3.1"), "ollama"),
        (REVIEW, ("-m", "openai/gpt-4o-mini", "--engine", "ray"), "--engine"),
        (SOCIETY, ("-m", "openai/gpt-4o-mini", "--engine", "ray"), "--engine"),
    ],
)
def test_what_has_no_batches_is_refused_before_anything_is_asked(
    home: Path, command: tuple[str, ...], flags: tuple[str, ...], words: str
) -> None:
    message = manyheads_command(*command, *flags, cwd=home).message
    assert words in message
    assert "batch" in message
    assert not list(home.glob("runs/*"))


def test_a_server_without_batches_is_asked_nothing(home: Path) -> None:
    with BatchLLM(without=True) as llm:
        done = manyheads_command(*REVIEW, *served_by(llm), cwd=home)
        assert (done.code, llm.singles, llm.calls) == (5, 0, 0)
    assert "--batch" in done.err


@pytest.mark.slow
def test_ranking_arena_extraction_and_suites_ask_in_batches(home: Path) -> None:
    built(home / "mine", papers(24), BuildOptions(bound=2014))
    (home / "owls.md").write_text("# On owls\n\nWe plan with owls.", encoding="utf-8")
    cases = [{"id": f"c{n}", "subject": "../owls.md"} for n in range(5)]
    suite = write_suite(
        home, "suite", configs=["conference-review"], set={}, grid={"conference-review.repeats": [1, 2]}, cases=cases,
        repeats=1, measures=["usage.calls"], plot=None,
    )  # fmt: skip
    (suite / "suite.yaml").write_text(
        (suite / "suite.yaml").read_text().replace("turns: 1", "embedding: lexical")
    )
    rank = ("ranking", "judge", "We plan with bats.", "We plan with owls.", "--target", "We plan with dogs.")
    commands = {
        (*rank, "--orders", "12"): [3, 12],
        ("arena", "judge", "a", "--pairs", "20"): [
            6,
            6,
        ],  # the other order of a pair is asked once it has an answer
        ("corpus", "extract", "mine"): [24],
        ("eval", str(suite)): [15],
    }
    with arena(home / "a", ("a", "b", "c")):
        for command, expected in commands.items():
            with BatchLLM(answers=ANSWERS) as llm:
                done = manyheads_command(*command, *served_by(llm, *AGAIN), "--batch", cwd=home)
                assert done.code == 0, (command, done.err)
                assert (sizes(llm), llm.singles) == (expected, 0), command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "keep", "command", "asked"),
    [
        (LookupCache, "keep_answer", ("corpus", "extract", "mine"), [3]),
        (Arena, "vote", ("arena", "judge", "a", "--pairs", "3"), [3, 3]),  # each pair in both orders
    ],
)
def test_an_answer_that_could_not_be_stored_is_fetched_again(
    home: Path,
    what: type,
    keep: str,
    command: tuple[str, ...],
    asked: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise CacheError("the disk is full")

    built(home / "mine", papers(3), BuildOptions(bound=2014))
    with BatchLLM(answers=ANSWERS) as llm:
        if command[0] == "arena":
            arena(home / "a", ("a", "b", "c")).close()
        words = (*command, "--batch", *served_by(llm, *AGAIN))
        with monkeypatch.context() as patch:
            patch.setattr(what, keep, full)
            assert manyheads_command(*words, cwd=home).code != 0
        done = manyheads_command(*words, cwd=home)
        assert done.code == 0, done.err
        assert sizes(llm) == asked
    assert not list((cache_folder() / "batches").glob("*.json"))
