"""The graph of a corpus: the same however it comes in, and right in its counts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.graph import CITATIONS, Citations, Extraction, Graph, Text

IDS = [f"p{number}" for number in range(7)]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with Graph(tmp_path / "graph.sqlite") as graph:
        yield graph


def record(paper: str, *entities: str, recipe: str = "one") -> Extraction:
    return Extraction(paper=paper, entities=entities, background=f"why {paper}", recipe=recipe)


def test_a_paper_keeps_its_text_and_its_record(graph: Graph) -> None:
    graph.add_papers([("a", 2014), ("b", None)])
    graph.add_texts({"a": Text("We begin.", "We do."), "no such": Text("", "")})
    graph.add_extractions([record("b", "Graph Search", "graph-search", "!", "Deep Nets")])
    assert graph.texts(["b", "a"]) == {"a": Text("We begin.", "We do.")}
    assert graph.extraction(["a", "b"]) == {
        "b": record("b", "Graph Search", "graph-search", "!", "Deep Nets")
    }
    assert graph.missing() == ["a"]
    assert graph.missing("another") == ["a", "b"]
    assert graph.entity_counts(["deep nets", "none"]) == {"deep nets": 1}
    assert graph.counts() == (2, 1, 0, 0, 1, 2)


def test_a_new_record_takes_the_place_of_the_old_one(graph: Graph) -> None:
    graph.add_papers([("a", 2014), ("b", 2014)])
    graph.add_extractions([record("a", "robot arms", "grasp planning"), record("b", "robot arms")])
    graph.add_extractions([record("a", "grasp planning", "touch sensing", recipe="two")])
    assert graph.entity_counts(["Robot Arms", "Grasp planning", "touch sensing"]) == {
        "Robot Arms": 1,
        "Grasp planning": 1,
        "touch sensing": 1,
    }
    graph.add_extractions([record("b"), record("a", recipe="two")])
    assert graph.entity_counts(["robot arms"]) == {}
    assert graph.counts().entities == 0
    assert {one.name: one.records for one in graph.recipes()} == {"one": 1, "two": 1}


def counting(graph: Graph) -> set[tuple[str, str]]:
    """The citations that count for co-citation, by id."""
    ids = dict(graph.each("SELECT number, id FROM paper"))
    return {(ids[citing], ids[cited]) for citing, cited in graph.each(CITATIONS)}


def test_cycles_self_citations_and_dangling_ids(graph: Graph) -> None:
    graph.add_papers([("a", 1), ("b", 1), ("c", 1)])
    graph.add_citations(
        {
            "a": Citations(("a", "b", "c", "gone")),
            "b": Citations(("a", "c"), core=("c", "b")),
            "c": Citations(()),
            "no such": Citations(("a", "b")),
        }
    )
    assert graph.citations([*IDS, "a", "b", "c"]) == {
        "a": Citations(("b", "c")),
        "b": Citations(("a", "c"), ("c",)),
        "c": Citations(()),
    }
    assert counting(graph) >= {("a", "b"), ("a", "c"), ("b", "c")}
    assert ("b", "a") not in counting(graph), "which b cites neither in its introduction nor in its method"
    assert graph.counts()[2:4] == (3, 4)
    graph.add_citations({"a": Citations(("b",))})
    assert graph.citations(["a"]) == {"a": Citations(("b", "c"))}


def test_a_file_that_is_no_graph(tmp_path: Path) -> None:
    (tmp_path / "graph.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(CorpusError, match=r"graph\.sqlite"):
        Graph(tmp_path / "graph.sqlite")
