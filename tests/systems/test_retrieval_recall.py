"""Recall of retrieval on corpora whose right answer is known: what counts as found, what is as if it were not there."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import MeasureError
from manyheads.base.resources import shipped
from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.graph import Citations, Extraction
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.retrieval import LiteratureDatabase
from manyheads.judges.retrieval_recall.recall import hits
from manyheads.systems import systems
from manyheads.systems.results import closing_lines
from planted import planted
from support.direct import Played, config_for, play
from support.llm import LLM
from support.papers import write_corpus

BACKGROUND = "Robots drop glass cups, for nobody tells how hard they press."
NEAR = ("Glass cups break as robots press hard.", "Robots that press cups hard drop them.")
FAR = (
    "Monks copied ledgers by candle light.", "Coral reefs hum at dawn before storms.", "Bread rises slower on salted marble.",
    "Trams in winter towns run behind schedule.",
)  # fmt: skip
FILL = [f"Minute {number} of the {word} council." for number, word in enumerate(
    ("harbour", "orchard", "granary", "foundry", "chapel", "mill", "quarry", "brewery", "tannery", "smithy"))]  # fmt: skip
TEXTS = {
    "test": BACKGROUND, "near0": NEAR[0], "near1": NEAR[1],
    **{f"far{number}": text for number, text in enumerate(FAR)},
    **{f"fill{number}": text for number, text in enumerate(FILL)},
}  # fmt: skip
Cites = dict[str, tuple[str, ...]]
ALONE: Cites = {"test": ("near0", "near1", "far0", "far1")}
"""Nobody else cites two of these together: what they have to do with each other, the paper under test alone tells."""
OTHERS: Cites = {**ALONE, "fill0": ("near0", "far0"), "fill1": ("near0", "far0"), "fill2": ("near1", "far1")}
FEW = (
    "literature.retrieval={semantic: 2, cocited: 3}", "against=cosine", "depths=[2,4]", "least=3",
)  # fmt: skip


def corpus(
    folder: Path,
    cites: Cites,
    *,
    core: Cites | None = None,
    years: dict[str, int] | None = None,
    entities: dict[str, tuple[str, ...]] | None = None,
    texts: dict[str, str] | None = None,
) -> Path:
    """A built corpus of TEXTS, and a paper of 2022; records say of each paper what its text says."""
    texts = {**TEXTS, **(texts or {})}
    rows = [
        {"id": one, "title": f"Title {one}", "abstract": text, "authors": ["Ansel Okafor"],
         "year": (years or {}).get(one, 2015), "citations": 0}
        for one, text in {**texts, "later": "It comes later."}.items()
    ]  # fmt: skip
    rows[-1]["year"] = 2022
    source = write_corpus(folder / "papers.jsonl", rows)
    options = BuildOptions(
        bound=2020, min_past_citations=0, min_contemporary_citations=0, min_papers=1, min_coauthors=0
    )
    with build_corpus(source, folder / "corpus", options, load_embedder("lexical")) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        database.graph.add_citations(
            {one: Citations(some, (core or {}).get(one, ())) for one, some in cites.items()}
        )
        database.store_records(
            Extraction(paper=one, background=text, summary=text, main_ideas=(text,), entities=(entities or {}).get(one, ()),
                       recipe="hand", made_by="the test")
            for one, text in {**texts, "later": "It comes later."}.items()
        )  # fmt: skip
    return folder / "corpus"


@pytest.fixture
def tested(llm: LLM, tmp_path: Path) -> Callable[..., Any]:
    async def run(folder: Path | str, *sets: str, few: Sequence[str] = FEW) -> Played:
        keys = [one if one.startswith("literature.") else f"retrieval-recall.{one}" for one in (*few, *sets)]
        config = config_for(llm, "system=retrieval-recall", f"corpus={folder}", *keys)
        return await play(config, tmp_path / "run", llm)

    return run


def recall(played: Played, method: str, depth: int) -> float:
    [row] = [row for row in played.result["rows"] if row["method"] == method]
    return row["recall"][str(depth)]["mean"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("alone"), ALONE)


def test_its_options_are_those_of_every_retrieval(llm: LLM) -> None:
    own, former = (
        config_for(llm, "system=retrieval-recall", f"{key}={{semantic: 7}}")
        for key in ("literature.retrieval", "retrieval-recall.options")
    )
    assert own == former
    assert own.course()["literature"]["retrieval"]["semantic"] == 7


@pytest.mark.slow
async def test_the_references_of_a_paper_under_test_tell_nothing(tested: Any, alone: Path) -> None:
    """Its own list of references cites near0 and far0 together: were it counted, co-citation would find all of them."""
    played = await tested(alone)
    [target] = played.result["targets"]
    assert (target["paper"], sorted(target["truth"])) == ("test", ["far0", "far1", "near0", "near1"])
    for method in (
        "semantic",
        "semantic+entity+cocitation",
        "scipip",
        "scimon-like",
        "research-agent-like",
        "fused",
    ):
        assert recall(played, method, 4) <= 0.5, method
    assert recall(played, "semantic", 2) == 0.5
    assert played.requests == []


@pytest.mark.slow
async def test_what_others_cite_together_is_found(tested: Any, tmp_path: Path) -> None:
    played = await tested(corpus(tmp_path, OTHERS))
    assert recall(played, "semantic", 4) == 0.5
    assert recall(played, "semantic+entity+cocitation", 4) == 1
    assert recall(played, "scipip", 4) == 1
    assert played.result["recall"]["4"]["mean"] == 1, "of all methods, SciPIP is the one that is told"
    [row] = [row for row in played.result["rows"] if row["method"] == "scipip"]
    assert row["recall"]["4"]["difference"]["mean"] == 0.5
    report = systems()["retrieval-recall"].write_report(played.folder).read_text(encoding="utf-8")
    assert "<b>1.000</b>" in report
    assert "+0.500" in report


@pytest.mark.slow
@pytest.mark.parametrize(
    "why",
    [
        "a later year",
        "it cites the paper under test",
        "the same title",
    ],
)
async def test_later_papers_and_twins_are_as_if_they_were_not_there(
    tested: Any, tmp_path: Path, why: str
) -> None:
    """They cite what the paper under test cites."""
    teller = "fill9"
    cites = {**ALONE, teller: ALONE["test"]}
    years: dict[str, int] = {}
    texts: dict[str, str] = {}
    match why:
        case "a later year":
            years = {teller: 2016}
        case "it cites the paper under test":
            cites[teller] += ("test",)
        case _:
            teller = "TEST"  # its title differs in case alone
            cites, texts = {**ALONE, teller: ALONE["test"]}, {teller: BACKGROUND}
    folder = corpus(tmp_path, cites, years=years, texts=texts)
    played = await tested(folder, "method=semantic+entity+cocitation")
    [target] = [one for one in played.result["targets"] if one["paper"] == "test"]
    assert target["hits"]["semantic+entity+cocitation"][-1] == 2
    total = len(TEXTS) + 1 + len(texts)
    assert target["within"] == total - 3, "itself, the later paper, and the other"


@pytest.mark.slow
async def test_a_reference_near_a_result_counts_beside_as_in_the_paper(tested: Any, tmp_path: Path) -> None:
    """near1 says what near0 says: who finds near0 alone is near it; the other two are near nobody."""
    texts = {"near0": BACKGROUND, "near1": BACKGROUND + " It is so."}
    played = await tested(corpus(tmp_path, ALONE, texts=texts), "method=semantic", "depths=[1]")
    figure = played.result["recall"]["1"]
    assert (figure["mean"], figure["near"]) == (0.25, 0.5)
    assert "near 0.500" in closing_lines(played.folder)


@pytest.mark.slow
async def test_a_paper_of_the_same_year_that_is_cited_back_stays(tested: Any, tmp_path: Path) -> None:
    cites = {**ALONE, "near0": ("test", "far0"), "fill0": ("far0", "far1")}
    played = await tested(corpus(tmp_path, cites), "method=cosine", "least=3")
    [target] = played.result["targets"]
    assert "near0" in target["truth"]


@pytest.mark.slow
async def test_core_references_count_where_they_are_known(tested: Any, tmp_path: Path) -> None:
    cites = {**ALONE, "near0": ("fill0", "fill1")}
    played = await tested(
        corpus(tmp_path, cites, core={"test": ("near0", "far3")}), "method=semantic", "least=2"
    )
    by_paper = {one["paper"]: one for one in played.result["targets"]}
    assert (by_paper["test"]["core"], sorted(by_paper["test"]["truth"])) == (True, ["far3", "near0"])
    assert (by_paper["near0"]["core"], sorted(by_paper["near0"]["truth"])) == (False, ["fill0", "fill1"])
    assert any(
        "1 of 2 papers" in one and "introduction and method" in one for one in played.result["warnings"]
    )


def test_a_reference_in_a_retrieved_cluster_is_found() -> None:
    found = [("a", "b"), ("c",), ("d", "e", "f")]
    assert hits(found, ["b", "e", "x"], [1, 2, 3]) == [1, 1, 2]
    assert hits([(one,) for one in "abcdef"], ["b", "e", "x"], [1, 2, 5]) == [0, 1, 2]


@pytest.mark.slow
async def test_clusters_count_their_members_and_say_how_many_were_seen(tested: Any, tmp_path: Path) -> None:
    texts = {"near1": NEAR[0]}  # the same words: one cluster
    folder = corpus(tmp_path, ALONE, texts=texts)
    played = await tested(folder, "depths=[1]")
    rows = {row["method"]: row["recall"]["1"] for row in played.result["rows"]}
    assert (rows["semantic"]["mean"], rows["semantic"]["seen"]) == (0.25, 1)
    assert (rows["semantic+clusters"]["mean"], rows["semantic+clusters"]["seen"]) == (0.5, 2)


@pytest.mark.slow
async def test_entities_find_what_holds_them(tested: Any, tmp_path: Path) -> None:
    held = dict.fromkeys(("far2", "far3"), ("glass cups",))
    cites = {"test": ("near0", "far2", "far3")}
    folder = corpus(tmp_path, cites, entities={**held, "near0": ("press",), "near1": ("press",)})
    played = await tested(folder)
    assert recall(played, "entity", 4) == pytest.approx(2 / 3) or recall(played, "entity", 4) == 1
    assert recall(played, "semantic", 4) == pytest.approx(1 / 3)
    assert recall(played, "semantic+entity", 4) == 1


@pytest.mark.slow
async def test_chance_is_what_a_random_order_would_find(tested: Any, alone: Path) -> None:
    played = await tested(alone, "method=chance", "depths=[4,100]")
    within = played.result["targets"][0]["within"]
    assert within == len(TEXTS) - 1
    assert recall(played, "chance", 4) == pytest.approx(4 / within)
    assert recall(played, "chance", 100) == 1
    assert any("compare it with chance" in one for one in played.result["warnings"])


@pytest.mark.slow
async def test_papers_are_drawn_by_the_seed_and_intervals_are_over_papers(
    tested: Any, tmp_path: Path
) -> None:
    cites = {f"fill{number}": ("near0", f"far{number % 4}", "fill9") for number in range(8)}
    folder = corpus(tmp_path, cites)
    played = await tested(folder, "sample=6", "method=cosine", "depths=[3]")
    assert (len(played.result["targets"]), played.result["eligible"]) == (6, 8)
    [row] = played.result["rows"]
    one = row["recall"]["3"]
    values = [each["hits"]["cosine"][0] / len(each["truth"]) for each in played.result["targets"]]
    assert one["mean"] == pytest.approx(sum(values) / 6)
    if len(set(values)) > 1:
        assert one["low"] < one["mean"] < one["high"]
        assert one["interval"] == "t"


@pytest.mark.slow
async def test_a_corpus_without_citations_cannot_be_tested(tested: Any, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="no paper cites 3 earlier papers") as error:
        await tested(corpus(tmp_path, {}))
    assert "references" in (error.value.hint or "")


PLANTED = ("literature.retrieval={semantic: 5, cocited: 1}", "depths=[5,10,20]", "period=contemporary")


@pytest.mark.slow
async def test_the_planted_corpus_has_a_known_answer(tested: Any) -> None:
    """Of 12 references 4 are told by semantics, 2 by an entity, 4 by co-citation, and 2 by nothing but the paper's own list."""
    played = await tested("planted", few=PLANTED)
    assert len(played.result["targets"]) == 12
    assert all(each["core"] and len(each["truth"]) == 12 for each in played.result["targets"])
    for method, share in {
        "semantic": 4, "cosine": 4, "bm25": 4, "entity": 6, "semantic+entity": 6, "semantic+entity+clusters": 6,
        "semantic+entity+cocitation": 10, "scipip": 10, "fused": 10,
    }.items():  # fmt: skip
        assert recall(played, method, 20) == pytest.approx(share / 12), method
    assert all(row["recall"]["20"]["mean"] <= 10 / 12 + 1e-9 for row in played.result["rows"])


def test_the_planted_corpus_that_ships_is_the_one_that_is_made() -> None:
    lines = (shipped() / "configs/corpora/planted.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [*planted()]
