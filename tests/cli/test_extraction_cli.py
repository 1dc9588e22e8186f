"""`manyheads corpus extract`: records of all papers, each paid once, whatever comes between."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from manyheads.base.files import FileLock
from manyheads.corpus.database import LOCK
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.graph import GRAPH, Extraction
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.retrieval import LiteratureDatabase
from support.command import Done, kill, manyheads_command, manyheads_process, served_by
from support.corpora import built, vector_sources
from support.faults import Fault
from support.llm import LLM
from support.papers import papers
from support.requests import Request

pytestmark = pytest.mark.usefixtures("own_cache")
COUNT = 24
ANSWERS = {"entities": ["soft grippers", "rare languages"]}
BUDGET = re.compile(r"budget is spent: calls 12, used: 12")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return built(tmp_path / "mine", papers(COUNT), BuildOptions(bound=2014))


@pytest.fixture
def llm() -> Iterator[LLM]:
    with LLM(answers=ANSWERS, delay=0.02) as served:
        yield served


def extract(corpus: Path, *flags: str) -> Done:
    return manyheads_command("corpus", "extract", corpus, *flags, cwd=corpus.parent)


def records(corpus: Path) -> dict[str, Extraction]:
    with Ecosystem.open(corpus) as ecosystem:
        graph = LiteratureDatabase.of(ecosystem).graph
        return {one.paper: one for one in graph.extractions()}


def asked(llm: LLM) -> Counter[str]:
    """How often the model was asked about each paper, by its title."""
    return Counter(title(request) for request in llm.requests)


def title(request: Request) -> str:
    [found] = re.findall(r"^Title: (.+)$", request.text, re.MULTILINE)
    return found


def test_without_a_model_records_are_lexical_and_made_once(corpus: Path) -> None:
    first = extract(corpus)
    assert first.code == 0, first.err
    assert f"{COUNT} papers extracted without a model; 0 already had a record" in first.out
    made = records(corpus)
    assert len(made) == COUNT
    assert {one.made_by for one in made.values()} == {"lexical"}
    assert all(one.entities and one.background and one.summary for one in made.values())
    again = extract(corpus)
    assert f"0 papers extracted without a model; {COUNT} already had a record" in again.out
    assert records(corpus) == made
    assert not (corpus.parent / "cache" / "extraction.sqlite").exists()


@pytest.mark.slow
def test_info_says_how_many_records_there_are_and_who_has_made_them(corpus: Path) -> None:
    before = manyheads_command("corpus", "info", corpus, cwd=corpus.parent).out
    assert "records by" not in before
    extract(corpus)
    shown = manyheads_command("corpus", "info", corpus, cwd=corpus.parent).out
    assert re.search(rf"records +│ {COUNT} of {COUNT} papers; \d+ entities", shown)
    assert re.search(rf"records by lexical +│ {COUNT} ", shown)
    assert manyheads_command("corpus", "verify", corpus, cwd=corpus.parent).code == 0


def test_info_of_a_corpus_whose_records_cannot_be_read(corpus: Path) -> None:
    (corpus / GRAPH).write_text("no database at all, but a text that is long enough to be read " * 20)
    for beside in ("-wal", "-shm"):
        (corpus / f"{GRAPH}{beside}").unlink(missing_ok=True)
    told = manyheads_command("corpus", "info", corpus, cwd=corpus.parent)
    assert told.code == 0
    assert "cannot be read here" in told.out
    assert GRAPH in extract(corpus).message


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["gone", "broken"])
def test_vectors_of_records_are_made_anew_without_asking_anybody(corpus: Path, llm: LLM, damage: str) -> None:
    extract(corpus, *served_by(llm))
    made, calls = records(corpus), llm.calls
    folder = corpus / "records"
    if damage == "broken":
        for file in folder.rglob("*.dat"):
            file.write_bytes(b"junk")
        refused = manyheads_command(
            "search", "salt", "--how", "semantic", "--corpus", corpus, cwd=corpus.parent
        )
        assert refused.code == 2
        assert f"remove {folder}: manyheads corpus extract" in refused.message
    shutil.rmtree(folder)
    for command in (
        ("search", "salt", "--how", "semantic", "--corpus", corpus),
        ("corpus", "verify", corpus),
    ):
        refused = manyheads_command(*command, cwd=corpus.parent)
        assert refused.code == 2
        assert "the vectors of its records are missing" in refused.message
        assert "manyheads corpus extract" in refused.message
    again = extract(corpus)
    assert again.code == 0
    assert f"the vectors of {COUNT} records were missing and have been recomputed" in again.out
    assert (records(corpus), llm.calls) == (made, calls)
    with Ecosystem.open(corpus) as ecosystem:
        assert vector_sources(LiteratureDatabase.of(ecosystem)) == {"texts": COUNT}
    assert manyheads_command("corpus", "verify", corpus, cwd=corpus.parent).code == 0


@pytest.mark.slow
def test_a_model_takes_the_place_of_lexical_records_and_stays(corpus: Path, llm: LLM) -> None:
    extract(corpus)
    served = served_by(llm)
    made = manyheads_process("corpus", "extract", corpus, *served, cwd=corpus.parent)
    assert made.code == 0, made.err
    assert f"{COUNT} papers extracted by openai/test; 0 already had such a record" in made.out
    assert f"{COUNT} papers asked, 0 cached" in made.err
    assert set(asked(llm).values()) == {1}
    assert {one.made_by for one in records(corpus).values()} == {"openai/test"}
    assert f"{COUNT} of them by a model" in extract(corpus).out
    assert f"0 papers extracted by openai/test; {COUNT} already had such" in extract(corpus, *served).out
    assert llm.calls == COUNT
    other = extract(corpus, *served, "--set", "models.default.temperature=1")
    assert f"{COUNT} papers extracted by openai/test" in other.out
    assert llm.calls == 2 * COUNT
    extract(corpus, "--extractor", "lexical")
    assert {one.made_by for one in records(corpus).values()} == {"lexical"}
    back = extract(corpus, *served)
    assert f"0 papers asked, {COUNT} cached" in back.err
    assert llm.calls == 2 * COUNT


@pytest.mark.slow
def test_a_killed_extraction_goes_on_and_pays_for_nothing_twice(corpus: Path) -> None:
    with LLM(answers=ANSWERS, delay=0.15) as llm:
        served = (*served_by(llm, "models.default.concurrency=4"),)
        kill("corpus", "extract", corpus, *served, llm=llm, calls=18, cwd=corpus.parent)
        done = llm.calls
        again = manyheads_process("corpus", "extract", corpus, *served, cwd=corpus.parent)
    assert again.code == 0, again.err
    twice = [name for name, times in asked(llm).items() if times > 1]
    assert len(twice) <= 4  # those under way when it was killed
    assert llm.calls == COUNT + len(twice)
    assert done < COUNT
    assert len(records(corpus)) == COUNT


@pytest.mark.slow
def test_a_budget_that_ends_keeps_what_is_done(corpus: Path, llm: LLM) -> None:
    served = (*served_by(llm), "--budget", "calls=12")
    stopped = extract(corpus, *served)
    assert BUDGET.search(stopped.err)
    assert f"12 of {COUNT} papers are finished and kept" in stopped.err
    assert "with --budget calls=<larger>" in stopped.err
    assert stopped.code == 3
    assert len(records(corpus)) == llm.calls == 12
    assert extract(corpus, *served_by(llm), "--budget", "calls=100").code == 0
    assert set(asked(llm).values()) == {1}
    assert len(records(corpus)) == COUNT


@pytest.mark.slow
def test_papers_that_no_reply_is_of_use_for_are_told(corpus: Path, llm: LLM) -> None:
    bad = papers(COUNT)[3]["title"]
    llm.faults.append(Fault("prose", times=None, when=lambda request: title(request) == bad))
    told = extract(corpus, *served_by(llm))
    assert told.code == 5
    assert f"1 of {COUNT} papers have no record by openai/test" in told.err
    assert "passed over: p3: " in told.err
    assert len(records(corpus)) == COUNT - 1
    llm.faults.clear()
    calls = llm.calls
    assert extract(corpus, *served_by(llm)).code == 0
    assert llm.calls == calls + 1


def test_a_corpus_that_cannot_be_written_or_is_being_extracted(corpus: Path) -> None:
    with FileLock(corpus / LOCK):
        assert "another process is extracting its papers" in extract(corpus).message
    (corpus / LOCK).unlink()
    (corpus / LOCK).mkdir()
    assert "cannot be written" in extract(corpus).message


@pytest.mark.slow
def test_whoever_needs_a_database_gets_lexical_records_first(corpus: Path, llm: LLM) -> None:
    lines: list[str] = []
    with Ecosystem.open(corpus) as ecosystem:
        database = LiteratureDatabase.ready(ecosystem, lines.append)
        assert database.graph.missing() == []
        assert [len(lines), LiteratureDatabase.ready(ecosystem, lines.append)] == [1, database]
    [line] = lines
    assert f"{COUNT} papers have no records yet" in line
    with Ecosystem.open(corpus) as ecosystem:
        LiteratureDatabase.ready(ecosystem, lines.append)
    assert len(lines) == 1
    assert extract(corpus, *served_by(llm)).code == 0
    with Ecosystem.open(corpus) as ecosystem:
        LiteratureDatabase.ready(ecosystem, lines.append)
    assert len(lines) == 1
    assert {one.made_by for one in records(corpus).values()} == {"openai/test"}
