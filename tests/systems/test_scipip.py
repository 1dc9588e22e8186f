"""SciPIP read off what reaches a model server: the three paths, who sees what, which ideas become one, which are kept."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from manyheads.base.errors import ConfigError
from manyheads.core.events import Judged, Stage
from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.graph import Citations, Extraction
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.retrieval import LiteratureDatabase
from manyheads.engine.readiness import prepare
from manyheads.systems import systems
from manyheads.systems.loading import load
from manyheads.systems.scipip.proposal import keep_best, merge
from manyheads.systems.scipip.result import Candidate, ScipipConfig, ScreeningRecord
from support.direct import Play, Played, config_for
from support.faults import Fault
from support.llm import LLM
from support.papers import paper, write_corpus
from support.requests import Request

BACKGROUND = (
    "Robots grasp cups by what a camera sees of them, and it sees the front alone. Fingers feel where the rim is, but touch "
    "is slow, and nobody has said when it is worth its time."
)
STAGES = ("brainstorm", "retrieval", "problem", "ideas", "filter", "refinement", "writing")


def idea(name: str, **more: Any) -> dict[str, Any]:
    return {"title": f"Title {name}", "idea": f"Idea {name}: {NUMBERS[name]}", **more}


NUMBERS: Mapping[str, str] = {
    "one": "owls hunt by ear over frozen fields", "two": "a ledger of doors that were found locked",
    "three": "tactile maps drawn with two fingers", "four": "sepsis alerts that wait for a free nurse",
    "five": "molecules folded like towels on a bench", "six": "citation graphs that grow at their edges",
    "wild": "bats draw kitchens with their voices", "bold": "moles vote on tunnels before they dig",
}  # fmt: skip
LITERATURE = ("one", "two", "three", "four", "five", "six")
ROUGH = ("wild", "bold")
FITS = {"one": 4, "two": 9, "three": 7, "four": 7, "five": 2, "six": 8, "wild": 9, "bold": 3}


def of(names: Sequence[str], **more: Any) -> list[dict[str, Any]]:
    return [idea(name, **more) for name in names]


class Script:
    """What the model answers; a test changes what it is about."""

    def __init__(self) -> None:
        self.rough, self.literature = (
            of(ROUGH, aim="Boldness."),
            of(LITERATURE, papers=[1, 2], inspiration="It."),
        )
        self.final = [
            {"sources": [1], "title": "Final A", "idea": "A.", "details": "L = 1."},
            {"sources": [2, 3], "title": "Final B", "idea": "B.", "details": "L = 2."},
            {"sources": [4], "title": "Final C", "idea": "C.", "details": "L = 3."},
        ]
        self.fits = dict(FITS)

    def ideas(self, request: Request) -> list[dict[str, Any]]:
        lists = {"Brainstorm": self.rough, "InspiredIdeas": self.literature, "Refinement": self.final}
        return lists.get(request.title, [])

    def fit(self, request: Request) -> int:
        return self.fits.get(judged(request), 5)

    def entities(self, request: Request) -> list[str]:
        return ["bat voices"] if NUMBERS["wild"] in request.asking else ["tactile exploration", "first grasp"]


def judged(request: Request) -> str:
    """The idea that a judge is shown."""
    return next((name for name, text in NUMBERS.items() if text in (request.fenced("idea") or "")), "")


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def run(run: Play, llm: LLM, script: Script) -> Play:
    scores = {"fit": script.fit, "novelty": 5, "feasibility": 5}
    llm.answers.update({"ideas": script.ideas, "entities": script.entities, **scores})
    given = f"inputs.background={BACKGROUND}", "scipip.ideas=6", "scipip.brainstorm=[2,2]"
    return partial(run, "system=scipip", *given)


def titles(played: Played) -> list[str]:
    return [request.title for request in played.requests]


def by_number(played: Played) -> dict[int, dict[str, Any]]:
    return {each["number"]: each for each in played.result["ideas"]}


def channels(played: Played, reason: str) -> list[str]:
    """The papers that were found by something that a reason says."""
    return [
        each["title"]
        for each in played.result["evidence"]
        if any(reason in (found.get("reason") or "") for found in each["retrievals"])
    ]


# The paths.


@pytest.mark.parametrize(
    ("path", "brainstorms", "indexed"),
    [
        ("A", 0, 1),
        pytest.param("B", 1, 1, marks=pytest.mark.slow),
        ("C", 1, 2),
    ],
)
async def test_a_path_asks_what_it_must_and_no_more(
    run: Play, path: str, brainstorms: int, indexed: int
) -> None:
    played = await run(f"scipip.path={path}")
    asked = titles(played)
    assert asked.count("Brainstorm") == brainstorms
    assert asked.count("Entities") == indexed
    rest = [title for title in asked if title not in ("Brainstorm", "Entities", "Screening")]
    assert rest == ["Synonyms", "Problem", "InspiredIdeas", "Refinement", "Abstract"]
    assert [each["origin"] for each in played.result["ideas"]] == ["brainstorm"] * 2 * brainstorms + [
        "literature"
    ] * 6
    assert [event.stage for event in played.of(Stage)] == [*STAGES][not brainstorms :]
    assert played.result["inference_cost"] == len(asked) == sum(played.result["turns"].values())


async def test_only_path_c_lets_brainstormed_ideas_into_the_retrieval(run: Play, llm: LLM) -> None:
    def entities(request: Request) -> list[str]:
        return ["Skin tones"] if NUMBERS["wild"] in request.asking else ["tactile exploration"]

    found, read = dict[str, list[str]](), dict[str, list[str]]()
    for path in "BC":
        llm.requests.clear()
        played = await run(f"scipip.path={path}", folder=path, entities=entities, terms=[])
        read[path] = [
            request.fenced("text") or "" for request in played.requests if request.title == "Entities"
        ]
        assert played.result["entities"]["brainstorm"] == (["Skin tones"] if path == "C" else [])
        found[path] = channels(played, "skin tones")
    assert read["B"] == [BACKGROUND]
    [background, brainstormed] = sorted(read["C"], key=lambda text: text != BACKGROUND)
    assert background == BACKGROUND
    assert NUMBERS["wild"] in brainstormed
    assert NUMBERS["bold"] in brainstormed
    assert found["B"] == []
    assert found["C"]


@pytest.mark.slow
async def test_synonyms_are_looked_up_too_and_can_be_left_out(run: Play) -> None:
    other = [
        {"term": "First Grasp", "names": ["sleep staging", "first grasp"]},
        {"term": "unasked", "names": ["x"]},
    ]
    played = await run("scipip.path=A", terms=other)
    [asked] = played.asked("Other names of terms")
    assert asked.fenced("terms") == "tactile exploration\nfirst grasp"
    assert played.result["entities"]["synonyms"] == {"first grasp": ["sleep staging"]}
    assert channels(played, "sleep staging")
    without = await run("scipip.path=A", "scipip.synonyms=false", folder="without", terms=other)
    assert "Synonyms" not in [each.title for each in without.requests[len(played.requests) :]]
    assert channels(without, "sleep staging") == []


@pytest.mark.slow
async def test_what_papers_are_cited_with_is_told_by_its_title(run: Play, tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "papers.jsonl", [paper(n, year=2005 + n) for n in range(12)])
    with build_corpus(
        source, tmp_path / "corpus", BuildOptions(bound=2015), load_embedder("lexical")
    ) as ecosystem:
        LiteratureDatabase.of(ecosystem).graph.add_citations(
            {f"p{n}": Citations(("p2", "p9")) for n in (3, 4)}
        )
    near = "inputs.background=We study federated learning in hospitals, part 2."
    played = await run(
        "scipip.path=A", near, f"corpus={tmp_path / 'corpus'}", "literature.retrieval.semantic=3",
        "literature.retrieval.how=[semantic,cocitation]",
    )  # fmt: skip
    assert channels(played, "cited 2× together with “Study 2”") == ["Study 9"]


@pytest.mark.slow
async def test_the_details_of_a_paper_that_was_read_whole_are_shown(run: Play, tmp_path: Path) -> None:
    """Tables 10 and 11 show contributions with their methods; of an abstract alone there are only main ideas."""
    source = write_corpus(tmp_path / "papers.jsonl", [paper(n, year=2005 + n) for n in range(4)])
    with build_corpus(
        source, tmp_path / "corpus", BuildOptions(bound=2015), load_embedder("lexical")
    ) as ecosystem:
        LiteratureDatabase.of(ecosystem).store_records(
            Extraction(paper=f"p{n}", background=f"{name} hunt by night.", summary=name, main_ideas=(f"Idea {n} alone.",),
                       detailed_ideas=(f"Idea {n} with a loss of its own.",) if n else ())
            for n, name in enumerate(("Owls", "Bats", "Foxes", "Moths"))
        )  # fmt: skip
    near = "inputs.background=Owls that hunt by night."
    played = await run("scipip.path=A", near, f"corpus={tmp_path / 'corpus'}")
    for heading in ("The research problem", "Ideas for the problem"):
        [request] = played.asked(heading)
        assert "Idea 0 alone." in request.asking
        assert "Idea 1 with a loss of its own." in request.asking
        assert "Idea 1 alone." not in request.asking


def test_the_shipped_background_belongs_to_the_shipped_corpus(llm: LLM) -> None:
    with pytest.raises(ConfigError, match=r"corpora/mine.*sample") as refused:
        prepare(load(["scipip"], ["corpus=corpora/mine"]))
    assert "--background" in str(refused.value.hint)
    prepare(load(["scipip"]))
    prepare(load(["scipip"], ["corpus=corpora/mine", f"inputs.background={BACKGROUND}"]))


@pytest.mark.slow
async def test_sentences_are_no_entities(run: Play) -> None:
    long = "a sentence of more words than any term of any paper has"
    played = await run("scipip.path=A", entities=[long, "  first   grasp "], terms=[])
    assert played.result["entities"]["background"] == ["first grasp"]
    assert any("1 of 2 entities" in warning for warning in played.result["warnings"])


@pytest.mark.slow
async def test_without_an_entity_those_of_the_database_are_taken(run: Play) -> None:
    played = await run(
        "scipip.path=A", "inputs.background=Which skin tones do optical sensors miss?", entities=[]
    )
    assert "Synonyms" not in titles(played)
    assert any("the model named no entity" in warning for warning in played.result["warnings"])
    assert channels(played, "skin tones")


# Who sees what.


async def test_who_sees_what(run: Play) -> None:
    played = await run("scipip.papers=3")
    result = played.result
    [brainstorm], [problem], [propose] = (
        played.asked(heading)
        for heading in ("Brainstorming", "The research problem", "Ideas for the problem")
    )
    shown = [each["title"] for each in result["evidence"] if each["id"] in {
        cluster["members"][0] for cluster in result["clusters"] if cluster["shown"]
    }]  # fmt: skip
    assert len(shown) == 3
    assert BACKGROUND in brainstorm.asking
    assert "<paper>" not in brainstorm.asking
    for request in (problem, propose):
        assert request.asking.count("<paper>") == 3
        assert all(title in request.asking for title in shown)
        assert "Background: " in request.asking
        assert "Summary: " in request.asking
    assert BACKGROUND in problem.asking
    assert result["problem"] in propose.asking
    assert result["rationale"] in propose.asking
    assert not any(NUMBERS[name] in propose.asking for name in ROUGH), "brainstormed ideas are independent"
    [refine] = played.asked("The final ideas")
    assert BACKGROUND in refine.asking
    assert result["problem"] in refine.asking


async def test_each_idea_is_judged_by_itself_and_all_at_once(run: Play, llm: LLM, script: Script) -> None:
    llm.faults.append(Fault("slow", times=None, seconds=0.2, when=lambda request: bool(judged(request))))
    played = await run()
    asked = played.asked("Does the idea solve the problem?")
    assert sorted(judged(each) for each in asked) == sorted((*LITERATURE, *ROUGH))
    for request in asked:
        assert sum(text in request.asking for text in NUMBERS.values()) == 1
        assert BACKGROUND in request.asking
        assert played.result["problem"] in request.asking
        assert not any(word in request.asking for word in ("brainstorm", "literature", "[1]"))
    assert llm.peak == len(asked) == 8


# What is kept.


async def test_the_better_half_is_kept_the_fit_first(run: Play) -> None:
    def novelty(request: Request) -> int:
        return 9 if judged(request) == "four" else 5

    played = await run(novelty=novelty)
    placed = sorted(played.result["ideas"], key=lambda each: each["screening"]["place"])
    names = ["wild", "two", "six", "four", "three", "one", "bold", "five"]
    assert [each["title"] for each in placed] == [f"Title {name}" for name in names]
    assert [each["screening"]["kept"] for each in placed] == [True] * 4 + [False] * 4
    assert "place 5 of 8, and the first 4 are kept: fit 7" in placed[4]["screening"]["why"]
    [refine] = played.asked("The final ideas")
    at = [refine.asking.find(NUMBERS[name]) for name in names]
    assert at[:4] == sorted(at[:4])
    assert [each > 0 for each in at] == [True] * 4 + [False] * 4
    told = [event.outcome for event in played.of(Judged) if "left out" in event.outcome]
    assert len(told) == 4


@pytest.mark.slow
async def test_ideas_that_are_one_are_merged_and_the_result_says_so(run: Play, script: Script) -> None:
    script.rough[1] = idea("three", aim="The same.")
    script.literature[4] = {**idea("three"), "papers": [3], "inspiration": "Again."}
    played = await run()
    first = by_number(played)[5]
    assert first["title"] == "Title three"
    assert first["origin"] == "both"
    assert [(each["number"], each["origin"]) for each in first["merged"]] == [
        (7, "literature"),
        (2, "brainstorm"),
    ]
    assert all(each["similarity"] == pytest.approx(1) for each in first["merged"])
    assert sorted(by_number(played)) == [1, 3, 4, 5, 6, 8]
    assert len(first["references"]) == 3, "it takes over the papers"
    assert titles(played).count("Screening") == 6
    assert [event.subject for event in played.of(Judged) if "merged into idea 5" in event.outcome] == [
        "idea 7",
        "idea 2",
    ]


def candidate(number: int, text: str = "", **more: Any) -> Candidate:
    return Candidate(number=number, title="Grasps", idea=text, by="Ideator", origin="literature", **more)


def merged(ideas: Sequence[Candidate], vectors: Any, same: float) -> dict[int, list[int]]:
    return {each.number: [twin.number for twin in each.merged] for each in merge(ideas, vectors, same)}


def test_an_idea_is_merged_into_the_nearest_one() -> None:
    """The third is over the threshold with both others, and nearer to the second."""
    angles = np.radians([0.0, 30.0, 20.0])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert merged([*map(candidate, (1, 2, 3))], vectors, 0.9) == {1: [], 2: [3]}


def test_of_ideas_as_fit_and_as_novel_the_more_feasible_is_kept() -> None:
    reasons = dict.fromkeys(("fit_reason", "novelty_reason", "feasibility_reason"), "")
    screenings = [ScreeningRecord(fit=7, novelty=6, feasibility=each, **reasons) for each in (4, 9, 4)]
    ideas = [candidate(n, screening=each) for n, each in enumerate(screenings, 1)]
    assert [each.number for each in keep_best(ideas, 0.3, 2)] == [2, 1], "and of equals the earlier"


NEAR_COPY = (
    "The robot spends up to four light touches on an object where its shape estimate is least certain. Touching stops when "
    "the expected gain in grasp success is smaller than the time a touch costs.",
    "The robot spends up to five light touches on an object where its estimate of the shape is least certain. It stops "
    "touching when the expected gain in grasp success is smaller than the time that a touch costs.",
)
OF_THE_SAME_PROBLEM = (
    "A small classifier reads the motor currents while the robot grasps an object and predicts whether it will slip. When "
    "slip is likely, the plan is interrupted before the object is lifted.",
    "The robot takes two pictures of the object and grasps where both shape estimates agree. Where they agree nowhere, it "
    "asks a person to turn the object.",
)


@pytest.mark.slow
@pytest.mark.parametrize("embedding", ["auto", "lexical"])
def test_either_embedding_model_tells_a_near_copy_from_another_idea(embedding: str) -> None:
    ideas = [candidate(n, text) for n, text in enumerate((*NEAR_COPY, *OF_THE_SAME_PROBLEM), 1)]
    vectors = load_embedder(embedding).embed([f"{each.title}\n\n{each.idea}" for each in ideas])
    assert merged(ideas, vectors, ScipipConfig().same) == {1: [2], 3: [], 4: []}


# What rests on what.


async def test_a_paper_that_was_not_shown_is_left_out_with_a_warning(run: Play, script: Script) -> None:
    script.literature[0]["papers"] = [2, 4, 2, 99]
    played = await run("scipip.papers=3")
    shown = [each["members"][0] for each in played.result["clusters"] if each["shown"]]
    assert by_number(played)[3]["references"] == [shown[1]]
    [warning] = [each for each in played.result["warnings"] if "not shown" in each]
    assert "idea 3" in warning
    assert "papers" in warning
    assert "4, 99" in warning


@pytest.mark.slow
async def test_an_idea_that_was_not_shown_is_no_source(run: Play, script: Script) -> None:
    script.final[1]["sources"] = [2, 6, 77]
    script.final[2]["sources"] = [88]
    played = await run()
    final = played.result["final"]
    assert final[1]["sources"] == [4]
    assert (final[2]["sources"], final[2]["references"], final[2]["origin"]) == ([], [], None)
    assert sum("not shown" in each for each in played.result["warnings"]) == 2


@pytest.mark.slow
async def test_a_final_idea_has_the_papers_of_its_sources(run: Play, script: Script) -> None:
    script.literature[1]["papers"], script.literature[5]["papers"] = [3], [1, 3]
    played = await run()
    placed = sorted(played.result["ideas"], key=lambda each: each["screening"]["place"])
    final = played.result["final"]
    assert [each["sources"] for each in final] == [[1], [4, 8], [5]]
    assert [each["title"] for each in placed[:4]] == [
        f"Title {name}" for name in ("wild", "two", "six", "three")
    ]
    assert final[1]["references"] == [*placed[1]["references"], placed[2]["references"][0]]
    assert [each["origin"] for each in final] == ["brainstorm", "literature", "literature"]
    assert played.result["idea"] == final[0]
    assert played.run.result.idea.body == "A.\n\nL = 1."


@pytest.mark.parametrize(("sets", "least", "most"), [
    pytest.param((), 3, 4, marks=pytest.mark.slow), (("scipip.final=[2,2]",), 2, 2), pytest.param(("scipip.final=[6,9]", "scipip.keep=1"), 6, 8, marks=pytest.mark.slow),
])  # fmt: skip
async def test_as_many_final_ideas_are_asked_for_as_there_can_be(
    run: Play, sets: Sequence[str], least: int, most: int, script: Script
) -> None:
    script.final = [{**script.final[0], "title": f"Final {n}"} for n in range(least)]
    played = await run(*sets)
    [asked] = played.asked("The final ideas")
    fields = (asked.schema or {})["properties"]
    assert list(fields) == ["coherence", "ideas"]
    assert (fields["ideas"]["minItems"], fields["ideas"]["maxItems"]) == (least, most)
    assert len(played.result["final"]) == least
    assert ("2. Make " + (f"{most} final" if least == most else f"{least} to {most} final")) in asked.asking


# What goes wrong.


def read(background: str | None, **more: Any) -> Any:
    config = systems()["scipip"].model.model_validate({"inputs": {"background": background}, **more})
    return systems()["scipip"].read(prepare(config))


def warned(background: str) -> list[str]:
    return list(read(background).warnings())


@pytest.mark.parametrize(("text", "problem"), [
    ("robots", "one word"), ("state-of-the-art", "it says little"), ("word " * 8000, "8,000 words"),
    ("机器人用手指触摸杯子的边缘，因为相机只能看到正面。", "script"),
    ("Роботы хватают чашки по тому, что видит камера.", "script"),
])  # fmt: skip
def test_a_background_that_may_mislead_is_read_with_a_warning(text: str, problem: str) -> None:
    assert read(text).text == text.strip()
    [warning] = warned(text)
    assert problem in warning


def test_papers_of_services_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"literature\.references"):
        read(BACKGROUND, literature={"references": "services"})


@pytest.mark.parametrize(("sets", "left_out"), [
    ((), set()), (("scipip.path=A",), {"brainstorm"}), (("scipip.synonyms=false",), {"synonyms"}),
    (("literature.retrieval.how=[semantic]",), {"synonyms", "entities"}), (("scipip.abstract=false",), {"abstract"}),
])  # fmt: skip
def test_only_tasks_that_are_asked_are_needed(llm: LLM, sets: Sequence[str], left_out: set[str]) -> None:
    config = config_for(llm, "system=scipip", *sets)
    every = {"brainstorm", "entities", "synonyms", "problem", "propose", "screen", "refine", "abstract"}
    assert {task for _, task in systems()["scipip"].needs(config)} == every - left_out
