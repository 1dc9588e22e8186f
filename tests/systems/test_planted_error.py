"""Planted errors: each is proved by the paper itself; who names it has found it, who says nothing or everything has not."""

import json
import time
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ConfigError, DocumentError, SubjectError
from manyheads.base.resources import shipped
from manyheads.documents import Document, Section, Table, read_document
from manyheads.judges.planted_error.judging import ReviewPoint, alleges, names, points_of
from manyheads.judges.planted_error.planted import KINDS, Fault, Kind, as_json, plant
from manyheads.judges.planted_error.result import CASES, KEY, PlantedDocument, plant_all, read_key
from support.direct import Played, config_for, play
from support.llm import LLM
from support.requests import Request

SUITE = shipped() / "evals" / "review-planted-errors"
PAPERS = sorted((SUITE / "papers").glob("*.json"))


def differences(one: Any, other: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where two pieces of data differ."""
    if isinstance(one, dict) and one.keys() == other.keys():
        return [each for key in one for each in differences(one[key], other[key], (*place, key))]
    if isinstance(one, list) and len(one) == len(other):
        pairs = zip(one, other, strict=True)
        return [each for n, (a, b) in enumerate(pairs) for each in differences(a, b, (*place, n))]
    return [] if one == other else [place]


def told(fault: Fault) -> str:
    """What a reviewer writes who has found it."""
    first, *_ = fault.places
    match fault.kind:
        case "wrong-number":
            return f"The text gives {fault.values[0]}, whereas {first} reports {fault.values[1]} for {fault.subjects[0]}."
        case "caption":
            return f"The caption of {first} contradicts the text: it reads “{fault.values[0]}”."
        case "missing-baseline":
            return f"{fault.subjects[0]} is announced as a baseline, but results for it are missing from {first}."
        case "broken-reference":
            return f"The citation {fault.subjects[0]} does not appear in the list of references."
        case "swapped-columns":
            return f"In {first} the columns {fault.subjects[0]} and {fault.subjects[1]} seem to be swapped."


PRAISE = (
    "The paper is well written. Table 1 supports the claims, and Figure 2 is clear. More datasets would help."
)
EVERYTHING = (
    "The numbers in Table 1 do not match the text in Section 5.",
    "The caption of Figure 1 contradicts the text, and so does the caption of Figure 2.",
    "Table 2 is inconsistent with Section 6 and its columns are mislabelled.",
    "Several baselines are missing: Table 1 has no rows for step counters, network load, carbon dioxide, door beams, line "
    "perplexity, made-up errors, burst counters or the duration mixture.",
    "References are missing from the list, such as [9] and [14].",
)


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_stands_in_one_place_and_is_known_by_who_names_it(kind: Kind, path: Path) -> None:
    clean = read_document(path)
    planting = plant(clean, kind, 3)
    assert planting
    assert plant(clean, kind, 3) == planting
    fault, before, after = planting.fault, as_json(clean), as_json(planting.document)
    changed = differences(before, after)
    tables = {place[:2] for place in changed if place[0] == "tables"}
    assert len(tables or changed) == 1, "one cell, caption, sentence or table"
    expected = {"caption": "figures", "missing-baseline": "tables", "swapped-columns": "tables"}
    assert changed[0][0] == expected.get(kind, "sections")
    texts = json.dumps(after, ensure_ascii=False)
    assert all(quote in texts for quote in fault.quotes)
    assert names(ReviewPoint(told(fault)), fault)
    assert not any(names(point, fault) for point in points_of(PRAISE))
    others = [other.fault for each in KINDS if each != kind and (other := plant(clean, each, 3))]
    assert sum(names(ReviewPoint(told(other)), fault) for other in others) <= 1, (
        "faults of one table may be taken for each other"
    )


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_other_seeds_plant_other_faults_that_are_proved_all_the_same(seed: int) -> None:
    for path in PAPERS:
        clean = read_document(path)
        for kind in KINDS:
            planting = plant(clean, kind, seed)
            assert planting
            assert as_json(planting.document) != as_json(clean)
            assert names(ReviewPoint(told(planting.fault)), planting.fault)


WRONG = Fault(
    kind="wrong-number", about="", places=["Table 1", "Section 5", "Results"], quotes=["Treadcount has a mean error of 3.84 visitors."],
    values=["3.84", "1.84"], subjects=["Treadcount", "Mean error"],
)  # fmt: skip
REFERENCE = Fault(
    kind="broken-reference", about="", places=["[14]"], quotes=["Beams lose count when groups pass [14]."], values=["14", "2"],
    subjects=["[14]"],
)  # fmt: skip
BASELINE = Fault(
    kind="missing-baseline", about="", places=["Table 1", "Section 4"], quotes=["We compare with network load and door beams."],
    subjects=["Network load"],
)  # fmt: skip
CAPTION = Fault(
    kind="caption", about="", places=["Figure 2"], quotes=["The error fall with the number of visitors."], values=["fall", "rise"],
    subjects=["caption"],
)  # fmt: skip
COLUMNS = Fault(
    kind="swapped-columns", about="", places=["Table 1", "Section 5", "Results"], values=["6.5", "1.84"], subjects=["Mean error", "Delay"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "text", "sources", "found"),
    [
        (WRONG, "Is it 3.84 or 1.84?", (), True),
        (WRONG, "The error of 3.84 in Sec. 5 disagrees with Tab. 1.", (), True),
        (WRONG, "This number is not the one in the table; they do not match.", ("Treadcount has a mean error of 3.84 visitors", "Table 1"), True),
        (WRONG, "Table 1 is inconsistent with the Results section.", (), True),
        (WRONG, "Table 1 is inconsistent with Table 2.", (), False),
        (WRONG, "The error of 3.84 visitors in Table 1 is impressive.", (), False),
        (WRONG, "The error 13.84 is wrong.", (), False),
        (REFERENCE, "[14] is cited but there are only six references.", (), True),
        (REFERENCE, "Reference 14 does not exist.", (), True),
        (REFERENCE, "A citation points to nothing.", ("Beams lose count when groups pass",), True),
        (REFERENCE, "[14] is an excellent paper that is discussed too briefly.", (), False),
        (REFERENCE, "References on acoustics are missing.", (), False),
        (BASELINE, "Table 1 has no row for network load, although Section 4 announces it.", (), True),
        (BASELINE, "Door beams are missing from Table 1.", ("We compare with network load and door beams.",), False),
        (BASELINE, "Network load is a weak baseline.", (), False),
        (BASELINE, "The comparison with network load lacks a test of significance.", (), False),
        (BASELINE, "Why are the results of network load not reported?", (), True),
        (COLUMNS, "The entries of mean error and delay look interchanged.", (), True),
        (COLUMNS, "For Table 1, the text says 1.84 but the column Mean error has 6.5: it does not match.", (), True),
        (COLUMNS, "Mean error is the wrong measure; report the median too.", (), False),
        (COLUMNS, "Section 5 gives a mean error of 1.84, Table 1 has 6.5.", (), True),
        (COLUMNS, "The delay differs from the mean error by much.", (), False),
        (CAPTION, "Figure 2: the caption lets the error fall, while the text says that it rises.", (), True),
        (CAPTION, "Figure 2: that the error falls is contradicted by Section 5.", (), True),
        (CAPTION, "Figure 2 is hard to read.", (), False),
        (CAPTION, "Figure 3 contradicts the text, where the error rises.", (), False),
        (REFERENCE, "Section 1 cites [14], but the list ends at [6].", (), True),
        (BASELINE, "Network load disappears between Section 4 and Table 1.", (), True),
    ],
)  # fmt: skip
def test_a_point_must_name_the_place_and_the_contradiction(
    fault: Fault, text: str, sources: tuple[str, ...], found: bool
) -> None:
    assert names(ReviewPoint(text, sources), fault) is found


def test_alarms_are_allegations_about_something_in_the_paper() -> None:
    assert alleges(ReviewPoint("The caption of Figure 3 contradicts the text."), "caption")
    assert not alleges(ReviewPoint("The authors contradict common sense."), "caption")
    assert alleges(ReviewPoint("Table 2 has no row for the larger model."), "missing-baseline")
    for fair in (
        "Section 3 lacks the learning rate.",
        "Stronger baselines are missing.",
        "Work on bats is missing from the references.",
    ):
        assert not any(alleges(ReviewPoint(fair), kind) for kind in KINDS), fair
    assert not any(alleges(ReviewPoint(text), kind) for text in PRAISE.split(". ") for kind in KINDS)


def test_tables_without_heads_or_with_gaps_are_passed_over() -> None:
    ragged = Table(
        number="1",
        caption="",
        page=0,
        rows=((), ("Owl",), ("Owl", "1.23", "4.56"), ("", ""), ("Bat", "7.89")),
    )
    text = "We compare Owl with Bat, as Table 1 shows: 1.23 and 7.89 [3]."
    document = Document(title="Owls", sections=(Section(title="Results", text=text),), tables=(ragged,))
    assert [plant(document, kind) for kind in KINDS] == [None] * len(KINDS)


def test_a_long_paper_is_planted_soon() -> None:
    rows = (("Method", "Mean", "Spread"), *((f"Method {n}", f"{n}.11", f"{n}.22") for n in range(150)))
    text = " ".join(f"We compare Method {n}, whose mean is {n}.11 in Table 1 [1]." for n in range(400))
    long = Document(
        title="Long",
        sections=(Section(title="Results", text=text),),
        tables=(Table(number="1", caption="", page=0, rows=rows),),
    )
    began = time.perf_counter()
    assert plant(long, "wrong-number")
    assert plant(long, "swapped-columns")
    assert time.perf_counter() - began < 10


MARKDOWN = """# Bats in Attics

## Abstract

We count bats in attics.

## 1 Introduction

Bats were counted before [1, 2].

## 2 Results

We compare Echo with the lamp count and with guano weight. As Table 1 shows, Echo has a recall of 81.5 percent. Figure 1 shows that
recall falls with the size of the attic.

**Table 1.** Recall in percent, and hours.

| Method | Recall | Hours |
| --- | --- | --- |
| Lamp count | 44.2 | 3.1 |
| Guano weight | 51.3 | 0.4 |
| Sweep | 12.9 | 1.7 |
| Echo | 81.5 | 2.6 |

![Recall](recall.png)

**Figure 1.** Recall falls with the size of the attic.

## References

[1] A. Berg. Counting bats. Journal of Attics, 2010.

[2] B. Ito. Bats by lamp. Journal of Attics, 2012.
"""


def test_a_paper_in_markdown_is_planted_too(tmp_path: Path) -> None:
    (tmp_path / "bats.md").write_text(MARKDOWN)
    key = plant_all([tmp_path / "bats.md"], tmp_path / "out")
    assert key.without == {}
    about = {each.planted: each.faults[0].about for each in key.documents if each.planted}
    assert "Section 2 says" in about["wrong-number"]
    assert "Table 1 has 81.5 (Echo, Recall)" in about["wrong-number"]
    assert "rises" in about["caption"]
    clean = next(each for each in key.documents if each.planted is None)
    read = read_document(tmp_path / "out" / clean.file)
    assert as_json(read) == as_json(read_document(tmp_path / "bats.md"))
    assert len(read.references) == 2


def test_where_nothing_proves_a_fault_none_is_planted(tmp_path: Path) -> None:
    bare = Document(title="Owls", abstract="Owls hear. " * 10, year=2020)
    assert [plant(bare, kind) for kind in KINDS] == [None] * len(KINDS)
    (paper := tmp_path / "owls.json").write_text(json.dumps(as_json(bare)))
    with pytest.raises(DocumentError, match="no fault can be planted"):
        plant_all([paper], tmp_path / "out")


def test_what_ships_is_what_is_made_and_names_tell_nothing(tmp_path: Path) -> None:
    key = plant_all(PAPERS, tmp_path)
    for file in (KEY, CASES, *(each.file for each in key.documents)):
        assert (tmp_path / file).read_text() == (SUITE / file).read_text(), "manyheads plant"
    assert len(key.documents) == len(PAPERS) * (1 + len(KINDS))
    letters = {each.file[-6] for each in key.documents if each.planted is None}
    assert len(letters) > 1, "the clean one is not always the same letter"
    for each in key.documents:
        document = read_document(SUITE / each.file)
        assert document.tables[0].rows
        assert len(document.references) in (3, 5, 6)


# The judge.


Say = Callable[[PlantedDocument], Sequence[str]]


def reviews_of(folder: Path, say: Say) -> list[str]:
    """A review of each document of the key, as text files by the documents' names."""
    paths = list[str]()
    for entry in read_key(SUITE / KEY).documents:
        path = folder / f"{Path(entry.file).stem}.md"
        path.write_text("\n\n".join(say(entry)))
        paths.append(str(path))
    return paths


async def judged(llm: LLM, folder: Path, say: Say, *sets: str, key: Path = SUITE / KEY) -> Played:
    listed = json.dumps(reviews_of(folder, say))
    config = config_for(
        llm, "system=planted-error", f"inputs.reviews={listed}", f"planted-error.key={key}", *sets
    )
    return await play(config, folder / "run", llm)


def perfect(entry: PlantedDocument) -> list[str]:
    return [PRAISE, *([told(entry.faults[0])] if entry.planted else [])]


def shares(played: Played) -> dict[str, tuple[float, float, float]]:
    rows = {"all": played.result["all"], **played.result["kinds"]}
    return {
        name: tuple(each[part]["mean"] for part in ("found", "false_alarms", "difference"))
        for name, each in rows.items()
    }


async def test_who_names_each_fault_finds_all_and_alleges_nothing(llm: LLM, tmp_path: Path) -> None:
    played = await judged(llm, tmp_path, perfect)
    assert shares(played) == dict.fromkeys(("all", *KINDS), (1, 0, 1))
    assert played.result["alarms"]["mean"] == 0
    planted = [each for each in played.result["reviews"] if each["planted"]]
    assert [each["alarms"] for each in planted] == [0] * len(planted), "a hit is no false alarm"
    assert played.requests == []
    assert {(each["planted"], each["clean"]) for each in played.result["kinds"].values()} == {(3, 3)}
    report = (played.folder / "report.html").read_text()
    assert "Planted errors" in report
    assert all(each["about"] in unescape(report) for each in played.result["checks"])


async def test_who_complains_about_everything_raises_as_many_false_alarms(llm: LLM, tmp_path: Path) -> None:
    played = await judged(llm, tmp_path, lambda entry: EVERYTHING)
    found, alarms, difference = shares(played)["all"]
    assert found > 0.5
    assert alarms > 0.5
    assert abs(difference) < 0.35
    assert played.result["alarms"]["mean"] == len(EVERYTHING)


async def test_a_judge_model_is_asked_about_each_fault(llm: LLM, tmp_path: Path) -> None:
    """It answers by the fault's own words, which the perfect reviewer repeats here."""

    def by_about(request: Request) -> list[int]:
        asked = request.asking
        about = asked.partition("<fault>")[2].partition("</fault>")[0].strip()
        points = asked.split("Point ")[1:]
        return [number for number, text in enumerate(points, 1) if about in text]

    llm.answers["points"] = by_about

    def say(entry: PlantedDocument) -> list[str]:
        return [PRAISE, *([entry.faults[0].about] if entry.planted else [])]

    played = await judged(llm, tmp_path, say, "planted-error.by=model")
    assert shares(played) == dict.fromkeys(("all", *KINDS), (1, 0, 1))
    assert len(played.requests) == 3 * 2 * len(KINDS)
    assert played.result["judged_by"] == "model"


async def test_an_answer_that_names_no_point_is_counted_and_not_guessed(llm: LLM, tmp_path: Path) -> None:
    llm.answers["points"] = lambda request: [99] if "Line perplexity" in request.asking else []
    played = await judged(llm, tmp_path, perfect, "planted-error.by=model")
    assert played.result["failed"] == 2
    assert [each["kind"] for each in played.result["checks"] if each["failed"]] == ["missing-baseline"] * 2
    assert any("left out" in each for each in played.result["warnings"])


async def test_what_cannot_be_judged_is_refused(llm: LLM, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        await judged(llm, tmp_path, perfect, key=tmp_path / "none.json")
    (other := tmp_path / "owls.md").write_text("A review.")
    config = config_for(
        llm, "system=planted-error", f"inputs.reviews=[{other}]", f"planted-error.key={SUITE / KEY}"
    )
    with pytest.raises(SubjectError, match=r"owls\.md, which is not in"):
        await play(config, tmp_path / "run", llm)
    config = config_for(llm, "system=planted-error", f"inputs.reviews=[{other}]")
    with pytest.raises(ConfigError, match="needs the key"):
        await play(config, tmp_path / "run", llm)
