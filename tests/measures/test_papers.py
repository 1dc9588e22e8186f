"""The papers of a built corpus: read out of its bank once, then from the files beside it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from manyheads.base.errors import CorpusError, EmbeddingError, MeasureError
from manyheads.core.texts import Subject
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions, read_meta
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.corpus.vectors import unread
from manyheads.measures.corpus import MeasuringCorpus
from manyheads.measures.papers import FOLDER, load_papers
from manyheads.measures.scores import scores
from support.corpora import built as built_corpus
from support.corpora import copied
from support.embedding import needs_minilm
from support.papers import papers

MODEL = LexicalEmbedder()


def texts(*abstracts: str) -> list[Subject]:
    return [Subject(f"{number}.txt", "", abstract) for number, abstract in enumerate(abstracts)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    records = papers(80)
    del records[7]["citations"]  # of 2017
    return built_corpus(folder / "corpus", records, BuildOptions(bound=2014))


@pytest.fixture
def corpus(built: Path, tmp_path: Path) -> Path:
    return copied(built, tmp_path / "corpus")


def test_they_are_those_of_the_bank_by_year_and_id(corpus: Path) -> None:
    found = load_papers(corpus, read_meta(corpus), MODEL)
    assert {period: len(some) for period, some in found.items()} == {"past": 40, "contemporary": 40}
    with KnowledgeBank.open(corpus, MODEL, read_only=True) as bank:
        stored = sorted(bank.papers(where={"period": "past"}), key=lambda one: (one.year, one.id))
        records = bank.store.get([one.id for one in stored], vectors=True)
    past = found["past"]
    assert list(past.ids) == [one.id for one in stored]
    assert list(zip(past.titles, past.years, past.citations, strict=True)) == [
        (one.title, one.year, one.citations) for one in stored
    ]
    vectors = [records[one].vector for one in past.ids]
    assert np.array_equal(past.vectors, np.array(vectors, dtype=np.float32))
    assert {year: rows.stop - rows.start for year, rows in past.by_year.items()} == {
        2010: 10, 2011: 10, 2012: 10, 2013: 10,
    }  # fmt: skip


def test_the_bank_is_read_once_and_vectors_stay_on_disk(corpus: Path) -> None:
    meta = read_meta(corpus)
    first = load_papers(corpus, meta, MODEL)
    shutil.rmtree(corpus / "papers")
    again = load_papers(corpus, meta, MODEL)
    assert isinstance(again["past"].vectors, np.memmap)
    assert again["past"].ids == first["past"].ids
    with pytest.raises(CorpusError):  # another corpus of the same name is read anew
        load_papers(corpus, meta.model_copy(update={"fingerprint": "other"}), MODEL)


def test_a_damaged_copy_is_made_anew(corpus: Path, caplog: pytest.LogCaptureFixture) -> None:
    meta = read_meta(corpus)
    right = load_papers(corpus, meta, MODEL)["past"].vectors.copy()
    vectors = corpus / FOLDER / "past" / "vectors.npy"
    data = bytearray(vectors.read_bytes())
    data[-1] ^= 1
    vectors.write_bytes(data)
    assert np.array_equal(load_papers(corpus, meta, MODEL)["past"].vectors, right)
    assert str(corpus / FOLDER) in caplog.text


@pytest.mark.slow
def test_damaged_files_without_checksums_are_named(corpus: Path) -> None:
    meta = read_meta(corpus)
    load_papers(corpus, meta, MODEL)
    (corpus / FOLDER / "checksums.json").unlink()
    vectors = corpus / FOLDER / "past" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-100])
    with pytest.raises(CorpusError, match="past: damaged") as refused:
        load_papers(corpus, meta, MODEL)
    assert str(refused.value.hint).startswith("remove")
    table = corpus / FOLDER / "past" / "papers.json"
    columns = json.loads(table.read_text())
    shutil.rmtree(corpus / FOLDER)
    load_papers(corpus, meta, MODEL)
    (corpus / FOLDER / "checksums.json").unlink()
    table.write_text(json.dumps({name: values[1:] for name, values in columns.items()}))
    with pytest.raises(CorpusError, match="40 vectors for 39 papers"):
        load_papers(corpus, meta, MODEL)


def test_a_folder_that_cannot_be_written_is_named(corpus: Path) -> None:
    (corpus / FOLDER).write_text("in the way")
    with pytest.raises(CorpusError, match="cannot be saved"):
        load_papers(corpus, read_meta(corpus), MODEL)


def test_another_model_is_refused_also_when_the_bank_is_not_opened(corpus: Path) -> None:
    MeasuringCorpus.open(corpus, MODEL)
    with pytest.raises(EmbeddingError, match=r"built with lexical-hash-384 .* not with lexical-hash-128"):
        MeasuringCorpus.open(corpus, LexicalEmbedder(128))


def test_a_text_is_embedded_as_abstracts_are(corpus: Path) -> None:
    opened = MeasuringCorpus.open(corpus)
    abstract = papers(80)[0]["abstract"]
    [found] = scores(opened, texts(f"\n {abstract}\n"))
    assert found.past[0].distance == pytest.approx(0, abs=1e-6)
    assert (found.rnd, found.unread) == (None, None)
    with pytest.raises(MeasureError, match="text 2 is empty"):
        scores(opened, texts(abstract, " \n"))
    assert scores(opened, []) == []


def test_one_unknown_count_leaves_an_impact_over_the_others(corpus: Path) -> None:
    opened = MeasuringCorpus.open(corpus)
    assert read_meta(corpus).counts.without_citations == 1
    found = scores(opened, texts(*(one["abstract"] for one in papers(80))))
    for one in found:
        near = [paper.citations is not None for paper in one.contemporary]
        assert one.known["neighbours"] == (sum(near), 5)
        lost = any(paper.year == 2017 for paper in one.contemporary)
        assert one.known["papers"][1] - one.known["papers"][0] == lost
        assert one.ci is not None
    assert {sum(one.known["neighbours"]) for one in found} == {9, 10}


@pytest.mark.slow
@needs_minilm
def test_a_model_says_how_much_of_a_text_it_does_not_read() -> None:
    """256 tokens are read, two of them the marks of start and end; `word` is one token."""
    model = load_embedder()
    texts = ["", "word", "word " * 254, "word " * 255, "word " * 700]
    assert unread(model, texts) == [0, 0, 0, 1, 446]
    same = model.embed([texts[3], texts[2]])
    assert np.allclose(same[0], same[1])
    assert unread(MODEL, ["word"]) == [None]
