"""Full texts and citations: read from JSON Lines, kept in a corpus's graph, masked, counted, verified."""

import json
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.building import build_corpus
from manyheads.corpus.corpora import resolve_corpus, verify_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.graph import GRAPH, Citations, Extraction, Graph
from manyheads.corpus.meta import BuildOptions, read_meta
from manyheads.corpus.records import JsonLines, RawPaper, Rejects
from manyheads.corpus.retrieval import LiteratureDatabase
from manyheads.corpus.selection import Spool, select
from support.corpora import copied
from support.papers import paper, papers, write_corpus

OPTIONS = BuildOptions(bound=2014)


def read(folder: Path, *records: dict[str, Any]) -> tuple[list[RawPaper], Rejects]:
    rejects = Rejects()
    source = write_corpus(folder / "papers.jsonl", records)
    return [one for _, one in JsonLines(source).papers(rejects)], rejects


def build(folder: Path, records: list[dict[str, Any]], name: str = "corpus") -> Path:
    source = write_corpus(folder / f"{name}.jsonl", records)
    build_corpus(source, folder / name, OPTIONS, load_embedder("lexical")).close()
    return folder / name


def cited(corpus: Path, *ids: str) -> dict[str, Citations]:
    with Graph(corpus / GRAPH) as graph:
        return graph.citations(ids)


# Reading.


def test_sections_become_introduction_method_and_core_references(tmp_path: Path) -> None:
    sections = [
        {"title": "1 Introduction", "text": "We begin.", "citations": ["p7", 1]},
        {"title": "2 Related Work", "text": "Others.", "citations": ["p8"]},
        {"title": "3 Salt", "text": "We do.", "citations": [{"id": "p9"}, 99, "Not in the list"]},
        {"title": "4 Experiments", "text": "It works.", "citations": [2]},
    ]
    references = ["p7", "Berg, J. Tides. 2011", "p8", None, "p9"]
    [found], _ = read(tmp_path, paper(references=references, sections=sections))
    assert (found.introduction, found.method) == ("We begin.", "We do.")
    assert found.references == ("p7", "Berg, J. Tides. 2011", "p8", "p9")
    assert found.core_references == ("p7", "Berg, J. Tides. 2011", "p9", "99", "Not in the list")


def test_what_is_given_goes_before_what_sections_tell(tmp_path: Path) -> None:
    sections = [
        {"title": "Introduction", "text": "Of the sections.", "citations": ["p2"]},
        {"title": "Method"},
    ]
    given = {"introduction": "Given.", "core_references": ["p3"], "method": None, "references": ["p2", "p3"]}
    [found, plain], _ = read(tmp_path, paper(1, sections=sections, **given), paper(2, method="We do."))
    assert (found.introduction, found.method, found.core_references) == ("Given.", "", ("p3",))
    assert (plain.introduction, plain.method, plain.references) == ("", "We do.", ())


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"introduction": 7}, "introduction"),
        ({"method": ["We do."]}, "method"),
        ({"sections": "Introduction: we begin."}, "sections"),
        ({"sections": {"Introduction": "We begin."}}, "sections"),
        ({"sections": ["We begin."]}, "sections.0"),
        ({"sections": [{"text": ""}, {"title": "Method", "text": 7}]}, "sections.1.text"),
        ({"sections": [{"title": ["Method"]}]}, "sections.0.title"),
    ],
)
def test_a_text_of_the_wrong_shape_is_counted_and_named(
    tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    found, rejects = read(tmp_path, paper(1), paper(2, **changes))
    assert [one.id for one in found] == ["p1"]
    assert rejects.by_field == {field: 1}


@pytest.mark.parametrize(
    "sections", [None, [], [{}], [{"title": None, "text": None, "citations": None}], [{"citations": 7}]]
)
def test_a_text_that_is_not_given_spoils_nothing(tmp_path: Path, sections: object) -> None:
    [found], _ = read(tmp_path, paper(sections=sections, introduction=None, core_references=7))
    assert (found.introduction, found.method, found.core_references) == ("", "", ())


# Building.


def planted(count: int, seed: int = 0) -> tuple[list[dict[str, Any]], dict[str, Citations]]:
    """Papers that cite earlier ones, by id, DOI, arXiv number or a bibliography's entry, and papers that are not there; and
    who cites whom."""
    rng, truth = random.Random(seed), dict[str, Citations]()
    records = papers(count)
    for number, one in enumerate(records):
        one["title"] = f"On the slow tides of basin number {number} in winter"
        one["id"] = (f"p{number}", f"10.1000/tides.{number}", f"2101.{number:05}")[number % 3]
        one["year"] = 2010 + number * 8 // count
    for number, one in enumerate(records):
        others = rng.sample(records[:number], min(number, rng.randint(0, 5)))
        refs = [
            rng.choice((other["id"], f"Berg, J.: {other['title']}. Tides 7, {other['year']}."))
            for other in others
        ]
        core = rng.randint(0, len(refs))
        one["references"] = [*refs, "Cole, A. Not of this corpus at all. 1999", f"q{number}"]
        one["core_references"] = refs[:core]
        ids = [other["id"] for other in others]
        truth[one["id"]] = Citations(tuple(sorted(ids)), tuple(sorted(ids[:core])))
    return records, truth


def test_planted_citations_are_the_ones_that_are_kept(tmp_path: Path) -> None:
    records, truth = planted(90)
    corpus = build(tmp_path, records)
    found = cited(corpus, *truth)
    assert {one: Citations(each.all, tuple(sorted(each.core))) for one, each in found.items()} == truth
    counts = read_meta(corpus).counts
    assert counts.citations_within == sum(len(one.all) for one in truth.values())
    assert (counts.with_references, counts.full_texts) == (90, 0)
    rows = dict(read_meta(corpus).rows())
    assert rows["with references"] == "90 (100%)"
    assert rows["citations within"] == f"{counts.citations_within:,}"
    assert "with full text" not in rows


def test_a_reference_by_an_id_of_several_papers_means_the_one_in_its_file_or_none(tmp_path: Path) -> None:
    def numbered(name: str, *ids: str) -> None:
        records = [
            paper(9, id=one, title=f"Study {one} in {name}", references=["p1", "p2", "10.1234/B"])
            for one in ids
        ]
        write_corpus(
            tmp_path / "all" / name,
            [*records, paper(9, id=f"x{name}", title=name, doi="10.1234/b")][
                : len(ids) + (name == "c.jsonl")
            ],
        )

    (tmp_path / "all").mkdir()
    for name, ids in {
        "a.jsonl": ("p1", "q"),
        "b.jsonl": ("p1", "r"),
        "c.jsonl": ("s", "p2", "p2@c.jsonl"),
    }.items():
        numbered(name, *ids)
    build_corpus(JsonLines(tmp_path / "all"), tmp_path / "corpus", OPTIONS, load_embedder("lexical")).close()
    found = cited(tmp_path / "corpus", "q", "r", "s")
    assert {one: each.all for one, each in found.items()} == {
        "q": ("p1", "p2", "xc.jsonl"), "r": ("p1@b.jsonl", "p2", "xc.jsonl"), "s": ("p2", "xc.jsonl"),
    }  # fmt: skip


@pytest.mark.slow
def test_a_paper_that_the_filters_remove_is_not_in_the_graph(tmp_path: Path) -> None:
    records = [
        paper(n, year=2013 + n % 2, references=["p0", "p1"], introduction="We begin.") for n in range(4)
    ]
    records[1] |= {"abstract": ""}
    corpus = build(tmp_path, [*records, paper(5, year=2014, references=["p2"])])
    assert cited(corpus, "p1", "p2", "p5") == {"p2": Citations(("p0",)), "p5": Citations(("p2",))}
    with Graph(corpus / GRAPH) as graph:
        assert graph.counts()[:4] == (4, 3, 4, 3)


@pytest.mark.slow
def test_texts_and_citations_change_the_fingerprint(tmp_path: Path) -> None:
    bare = papers(20)
    corpora = [
        [one | changes for one in bare]
        for changes in ({}, {}, {"references": ["p1"]}, {"references": ["p2"]}, {"method": "We do."})
    ]
    prints = [read_meta(build(tmp_path, one, str(number))).fingerprint for number, one in enumerate(corpora)]
    assert prints[0] == prints[1]
    assert len({*prints}) == 4


# What becomes of a corpus.


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records, _ = planted(60)
    return build(tmp_path_factory.mktemp("linked"), [one | {"introduction": "We begin."} for one in records])


@pytest.mark.slow
def test_records_that_come_in_do_not_damage_a_corpus(linked: Path, tmp_path: Path) -> None:
    copied(linked, tmp_path / "mine")
    with Ecosystem.open(tmp_path / "mine") as ecosystem:
        record = Extraction(paper="p0", entities=("slow tides",), summary="Tides are slow.")
        LiteratureDatabase.of(ecosystem).store_records([record])
    assert resolve_corpus(str(tmp_path / "mine")) == tmp_path / "mine"
    assert any("1 records" in line for line in verify_corpus(tmp_path / "mine"))


def _empty(path: Path) -> None:
    path.unlink()
    Graph(path).close()


def _torn(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\xff" * 4096
    path.write_bytes(data)


def _no_database(path: Path) -> None:
    path.write_text("no database")


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil",
    [_empty, _torn, _no_database],
)
def test_a_graph_that_is_damaged_is_told(
    linked: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    copied(linked, tmp_path / "mine")
    spoil(tmp_path / "mine" / GRAPH)
    with pytest.raises(CorpusError, match=GRAPH):
        verify_corpus(tmp_path / "mine")


@pytest.mark.slow
def test_a_graph_that_is_gone_is_told_where_there_was_more_than_papers(linked: Path, tmp_path: Path) -> None:
    copied(linked, tmp_path / "mine")
    (tmp_path / "mine" / GRAPH).unlink()
    for check in (lambda: resolve_corpus(str(tmp_path / "mine")), lambda: verify_corpus(tmp_path / "mine")):
        with pytest.raises(CorpusError, match=f"damaged since the build: {GRAPH}"):
            check()


@pytest.mark.slow
def test_a_corpus_of_before_there_were_graphs_opens(tmp_path: Path) -> None:
    corpus = build(tmp_path, papers(20))
    (corpus / GRAPH).unlink()
    (corpus / "checksums.json").unlink()
    meta = json.loads((corpus / "meta.json").read_text())
    for new in ("full_texts", "with_references", "citations_within"):
        del meta["counts"][new]
    (corpus / "meta.json").write_text(json.dumps(meta))
    with Ecosystem.open(resolve_corpus(str(corpus))) as ecosystem:
        assert ecosystem.meta.counts.citations_within == 0
    assert len(verify_corpus(corpus)) == 3


@pytest.mark.slow
def test_texts_and_references_wait_on_the_disk_not_in_memory(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        """Bytes at most, while so many papers are selected, each with a text and a bibliography of 50 kB."""
        one = {
            "method": "tides " * 8000,
            "references": [f"Berg, J. Salt in motion {n}. Tides" for n in range(600)],
        }
        source = tmp_path / f"{count}.jsonl"
        with source.open("w") as file:
            file.writelines(json.dumps(paper(n, year=2013 + n % 2) | one) + "\n" for n in range(count))
        tracemalloc.start()
        try:
            with Spool(tmp_path / "spool.sqlite") as spool:
                rejects = Rejects()
                select(JsonLines(source).papers(rejects), OPTIONS, rejects, spool)
                assert sum(len(method) for _, _, method in spool.texts()) == count * 48_000
                assert sum(len(references) for *_, references, _ in spool.bibliographies()) == count * 600
                return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peaks = [min(peak(count) for _ in range(2)) for count in (40, 400)]
    assert peaks[1] < 2 * peaks[0]
