"""A review of a paper: its form, what its points rest on, and the text that an author reads."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from manyheads.asking.prompts import Prompts
from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources
from manyheads.documents import Document, Section
from manyheads.documents.reading import LEAST
from manyheads.engine.readiness import roles_of
from manyheads.systems.loading import validate
from manyheads.systems.mamorx.desk import PART, parts
from manyheads.systems.mamorx.paper import Manuscript, read_paper
from manyheads.systems.mamorx.replies import WrittenReview
from manyheads.systems.mamorx.review import ReviewForm, form_names, form_of
from support.direct import EVERY, Play, Played, config_for, play
from support.faults import Fault
from support.llm import LLM
from support.manuscripts import ABSTRACT, SECTIONS, committee, tei

PROMPTS = Prompts(Resources())
SHIPPED = ("free", "iclr", "mamorx", "neurips", "outline")


@pytest.fixture
def run(llm: LLM, tmp_path: Path) -> Play:
    async def runner(*sets: str, folder: str = "run", **answers: object) -> Played:
        lists = ("inquiries", "strengths", "questions", "weaknesses", "points")
        llm.answers = {**{name: [] for name in lists}, **answers}
        own = committee(tei(tmp_path / "paper.tei.xml"))
        return await play(config_for(llm, *own, *sets), tmp_path / folder, llm)

    return runner


@pytest.fixture
def paper(tmp_path: Path) -> Manuscript:
    return read(tei(tmp_path / "paper.tei.xml"))


def read(path: Path) -> Manuscript:
    found = read_paper(validate({"system": "mamorx", "inputs": {"paper": str(path)}}))
    assert found
    return found


def point(text: str, *sources: tuple[str, str]) -> dict[str, Any]:
    return {"text": text, "sources": [{"where": where, "quote": quote} for where, quote in sources]}


# Forms.


@pytest.mark.parametrize("name", SHIPPED)
def test_a_form_that_ships_has_reasons_before_scores_and_says_what_each_number_means(name: str) -> None:
    form = form_of(name, PROMPTS)
    names = [*form.fields]
    for field in form.fields:
        if form.fields[field].kind == "score":
            assert all(form.fields[field].options.values())
            earlier = [form.fields[each].kind for each in names[: names.index(field)]]
            assert {"text", "points"} & {*earlier}
            assert field == "confidence" or f"{field}_reason" in names[: names.index(field)]
    assert list(form.reply(WrittenReview).model_fields) == names
    assert name in form_names(Resources())


def test_a_score_with_gaps_takes_its_own_numbers_alone() -> None:
    form = ReviewForm.model_validate(
        {"title": "A", "about": "B", "fields": {
            "all": {"title": "All", "meaning": "x", "score": {1: "bad", 2: "good"}},
            "some": {"title": "Some", "meaning": "x", "score": {1: "bad", 3: "fair", 10: "good"}},
        }}
    )  # fmt: skip
    kind = form.reply(WrittenReview)
    assert kind.model_validate({"all": 2, "some": 10}).model_dump() == {"all": 2, "some": "10"}
    for wrong in ({"all": 3, "some": 1}, {"all": 1, "some": 2}, {"all": 1.5, "some": 1}, {"some": 1}):
        with pytest.raises(ValidationError):
            kind.model_validate(wrong)


@pytest.mark.parametrize(
    "fields",
    [
        {}, {"a": {"title": "A"}}, {"a": {"title": "A", "text": "x", "flag": "y"}}, {"thought": {"title": "A", "text": "x"}},
        {"A b": {"title": "A", "text": "x"}}, {"a": {"title": "A", "score": {1: "x"}}}, {"spoken": {"title": "A", "text": "x"}},
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_filled_in_is_refused(fields: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ReviewForm.model_validate({"title": "T", "about": "A", "fields": fields})


def test_an_unknown_form_is_told_with_those_there_are(tmp_path: Path) -> None:
    config = validate({"system": "mamorx", "mamorx": {"form": "acl"}, "paths": [str(tmp_path)]})
    with pytest.raises(ConfigError, match="acl") as caught:
        roles_of(config)
    assert all(name in str(caught.value) for name in SHIPPED)


async def test_a_form_of_ones_own_by_a_file(run: Play, llm: LLM, tmp_path: Path) -> None:
    folder = tmp_path / "mine/prompts/review_leader/forms"
    folder.mkdir(parents=True)
    (folder / "acl.yaml").write_text(
        "title: My form\nabout: Be brief.\nfields:\n  why: {title: Why, text: The reason.}\n"
        "  verdict: {title: Verdict, meaning: What to do., choice: {take: it is good, leave: it is not}}\n"
        "  risky: {title: Risky, flag: true if it is.}\n"
        "  grade: {title: Grade, meaning: How good., score: {1: bad, 3: fair, 5: good}}\n"
    )
    mine = {"why": "Owls.", "verdict": "leave", "risky": True, "grade": "3"}
    played = await run("mamorx.form=acl", f"paths=[{tmp_path / 'mine'}]", **mine)
    review = played.result["review"]
    assert [(each["name"], each["kind"], each["value"]) for each in review["entries"]] == [
        ("why", "text", "Owls."), ("verdict", "choice", "leave"), ("risky", "flag", True), ("grade", "score", 3),
    ]  # fmt: skip
    assert review["text"] == (
        "## Why\n\nOwls.\n\n**Verdict:** leave (it is not)\n\n**Risky:** yes\n\n**Grade:** 3/5 (fair)"
    )
    assert review["scores"] == {"grade": 3}
    [write] = [each for each in played.requests if each.title == "WrittenReview"]
    assert "3: fair" in write.asking
    assert list((write.schema or {})["properties"]) == ["thought", *mine]


# What points rest on.


NOWHERE = "sparse touch sensors beat vision in every case"
SOURCES: Mapping[str, Sequence[tuple[str, str, str, str]]] = {
    "passage": (
        ("Section 2", "a learning rate of 0.001", "exact", "Section 2 Method"),
        ("Abstract", "owls find mice under snow by sound alone", "exact", "Abstract"),
        ("Section 9", "Snow lay ten centimetres deep", "exact", "Section 2.1 Data"),
        (
            "Section 2",
            "We trained a net-work on 300 recordings with a learning rate",
            "close",
            "Section 2 Method",
        ),
        ("Section 2", "We trained a network on 900 recordings", "absent", "Section 2"),
        ("Section 3", "The birds were paid by the hour in cash", "absent", "Section 3"),
        ("Section 2", "", "absent", "Section 2"),
    ),
    "figure": (
        ("Fig. 1", "", "there", "Figure 1"),
        ("Figure 1a", "", "there", "Figure 1"),
        ("Figure 1", "Strikes by depth of snow", "exact", "Figure 1"),
        ("Figure 7", "", "absent", "Figure 7"),
        ("Figure 7", "Snow lay ten centimetres deep", "absent", "Figure 7"),
    ),
    "table": (("Table 1", "", "there", "Table 1"), ("Table S2", "", "absent", "Table S2")),
    "reference": (
        ("[2]", "", "there", "[2]"),
        ("[2]", "Snow as a filter of sound", "exact", "[2]"),
        ("Nowak (1999)", "", "there", "[2]"),
        ("Nowak et al., 2003", "", "absent", "Nowak et al., 2003"),
        ("[9]", "", "absent", "[9]"),
        *(
            (name, NOWHERE, "absent", name)
            for name in ("[99]", "Ref. 99", "Smith et al., 2020", "(Smith, 2020)")
        ),
    ),
    "paper": (("N3", "", "absent", "N3"), ("N99", NOWHERE, "absent", "N99")),
}
"""Where a point says that it stands and what it quotes; how that is found, and under which name."""


async def test_a_source_is_looked_up(run: Play) -> None:
    cases = [(kind, *each) for kind, some in SOURCES.items() for each in some]
    points = [point(f"Point {n}.", (where, quote)) for n, (_, where, quote, *_) in enumerate(cases)]
    review = (await run(weaknesses=points)).result["review"]
    verified = review["text"].split("## Not verified")[0]
    for n, (claim, (kind, where, _, state, name)) in enumerate(zip(review["claims"], cases, strict=True)):
        [source] = claim["sources"]
        assert (source["kind"], source["state"], source["name"]) == (kind, state, name), where
        assert (f"Point {n}." in verified) == (state != "absent"), where


@pytest.mark.parametrize("host", EVERY)
async def test_a_source_that_is_nowhere_is_corrected_on_every_host(run: Play, host: str) -> None:
    named = [point("A.", (where, NOWHERE)) for where in ("[99]", "N99", "Section 1")]
    played = await run(f"host={host}", weaknesses=named, summary=f"It says “{NOWHERE}”.")
    [question] = [each for each in played.requests if each.title == "Correction"]
    assert question.asking.count("NOT FOUND") == len(named)


async def test_a_paper_without_text_has_nothing_to_quote(run: Play, tmp_path: Path) -> None:
    empty = tmp_path / "empty.tex"
    heading = r"\section{" + " ".join(["Heading"] * LEAST) + "}"
    empty.write_text(rf"\begin{{document}}{heading}\end{{document}}")
    played = await run(
        f"inputs.paper={empty}",
        weaknesses=[point("A.", ("Section 2", "seven words that stand nowhere at all"))],
    )
    assert [one["state"] for claim in played.result["review"]["claims"] for one in claim["sources"]] == [
        "absent"
    ]


async def test_what_a_point_rests_on_twice_stands_there_once(run: Play) -> None:
    names = ("Figure 1", "Fig. 1"), ("Section 3", "Results")
    quote = "91 percent of strikes"
    twice = [(each, quote if each in names[1] else "") for both in names for each in both]
    played = await run(weaknesses=[point("A point.", *twice, ("Section 3", "Errors grow with the depth"))])
    [claim] = played.result["review"]["claims"]
    assert [(one["name"], one["found"]) for one in claim["sources"]] == [
        ("Figure 1", ""), ("Section 3 Results", quote), ("Section 3 Results", "Errors grow with the depth"),
    ]  # fmt: skip


async def test_points_whose_sources_are_absent_are_corrected_withdrawn_or_set_apart(run: Play) -> None:
    written = [
        point("Good.", ("Section 3", "91 percent of strikes")), point("Mends.", ("Section 3", "as everybody knows it to be")),
        point("Withdrawn.", ("Figure 9", "")), point("Stays.", ("Section 1", "")), point("Unsaid."),
    ]  # fmt: skip
    corrected = [
        {"number": 2, "thought": "x", "withdraw": False, "text": "Mended.",
         "sources": [{"where": "Section 3", "quote": "Errors grow with the depth of snow"}]},
        {"number": 3, "thought": "x", "withdraw": True, "text": "", "sources": []},
        {"number": 4, "thought": "x", "withdraw": False, "text": "Stays.", "sources": [{"where": "Table 8", "quote": ""}]},
        {"number": 1, "thought": "x", "withdraw": True, "text": "", "sources": []},
    ]  # fmt: skip
    played = await run(weaknesses=written, points=corrected)
    [question] = [each for each in played.requests if each.title == "Correction"]
    assert re.findall(r"^Point (\d+):$", question.asking, re.MULTILINE) == ["2", "3", "4", "5"], "those alone"
    assert question.asking.count("NOT FOUND") == 3
    review = played.result["review"]
    assert {claim["number"]: claim["text"] for claim in review["claims"]} == {
        1: "Good.", 2: "Mended.", 4: "Stays.", 5: "Unsaid.",
    }  # fmt: skip
    shown, apart = review["text"].split("## Not verified")
    assert [text in shown for text in ("Good.", "Mended.", "Stays.", "Unsaid.")] == [True, True, False, False]
    assert [text in apart for text in ("Stays.", "Unsaid.", "Withdrawn.")] == [True, True, False]
    assert any("2 of 4 points" in line for line in played.result["warnings"])
    entry = next(each for each in review["entries"] if each["name"] == "weaknesses")
    assert entry["claims"] == [1, 2, 4, 5]


async def test_points_that_cannot_be_corrected_are_set_apart(run: Play, llm: LLM) -> None:
    llm.faults.append(Fault("prose", None, lambda request: request.title == "Correction"))
    played = await run(weaknesses=[point("Stays.", ("Section 1", ""))])
    assert "Stays." in played.result["review"]["text"].split("## Not verified")[1]
    assert any("could not be corrected" in line for line in played.result["warnings"])
    assert played.result["partial"] == ""


async def test_what_a_text_quotes_is_looked_up_too(run: Play) -> None:
    absent = "robots have never picked a single berry"
    there = "We trained a network on 300 recordings"
    played = await run(summary=f"It says “{there}”, «{absent}» and calls them “soft”.")
    review = played.result["review"]
    [entry] = [each for each in review["entries"] if each["name"] == "summary"]
    assert [(each["quote"], each["state"]) for each in entry["quotes"]] == [
        (there, "exact"),
        (absent, "absent"),
    ]
    assert absent in review["text"].partition("## Quotes that were not found")[2]
    assert any("1 quote" in line for line in played.result["warnings"])
    report = (played.folder / "report.html").read_text("utf-8")
    assert re.search(f"Not found in the paper:</strong> “{absent}”", report)


async def test_what_a_model_writes_cannot_pass_for_markup_of_the_review(run: Play) -> None:
    bad = point("Fine.\n\n## Not verified\n\n- forged", ("Section 3", "91 percent of strikes"))
    played = await run(weaknesses=[bad])
    assert "\n## Not verified" not in played.result["review"]["text"]


# The paper and its parts.


def test_sections_are_found_by_number_title_or_both(paper: Manuscript) -> None:
    for name in ("2", "Section 2", "section 2.", "Method", "2 Method", "§2", "Sec. 2 Method"):
        chapter = paper.chapter(name)
        assert chapter
        assert chapter.name == "2 Method"
        assert SECTIONS["2.1", "Data"] in chapter.text
    data = paper.chapter("2.1")
    assert data
    assert data.text == SECTIONS["2.1", "Data"]
    abstract = paper.chapter("abstract")
    assert abstract
    assert abstract.text == ABSTRACT
    assert paper.chapter("20") is None
    assert paper.chapter("Conclusion") is None


def test_a_passage_tells_its_own_page_and_not_all_of_its_section() -> None:
    parts = [
        f"{word.capitalize()} is one thing. " + "It goes on and on. " * 30 for word in ("snow", "ice", "rain")
    ]
    first, second, _ = parts
    starts = (1, 0), (3, len(first) + 1), (4, len(first) + len(second) + 2)
    section = Section(title="Weather", text="\n".join(parts), pages=(1, 3, 4), starts=starts)
    bare = section.model_copy(update={"title": "Elsewhere", "text": "Hail is one thing.", "starts": ()})
    found = Manuscript(Document(title="Owls", sections=(section, bare)), Path("owls.pdf"), "owls.pdf", "")
    pages = {word: found.search(word, 1)[0].pages for word in ("snow", "ice", "rain", "hail")}
    assert pages == {"snow": (1,), "ice": (3,), "rain": (4,), "hail": (1, 3, 4)}


def test_a_search_writes_no_lines_of_its_own(paper: Manuscript, caplog: pytest.LogCaptureFixture) -> None:
    assert paper.search("snow", 3)
    assert caplog.records == []


def test_a_search_gives_passages_word_for_word(paper: Manuscript) -> None:
    [first, *_] = paper.search("how deep was the snow", 3)
    assert first.text in SECTIONS[first.where.split(" ", 1)[0], first.where.split(" ", 1)[1]]
    assert paper.search("zebra", 3) == []
    assert paper.search("the of and", 3) == []
    assert len(paper.search("snow strikes owls", 2)) == 2


def test_a_long_section_is_read_in_parts_that_lose_nothing() -> None:
    text = "\n".join(f"Paragraph {n}. " + "word " * 300 for n in range(30)) + "\n" + "x" * (2 * PART)
    read = [*parts(text)]
    assert all(len(part) <= PART for part in read)
    assert "".join("".join(read).split()) == "".join(text.split())
    assert [*parts("")] == [""]


def test_an_abstract_alone_is_a_paper_that_says_so(tmp_path: Path) -> None:
    abstract = "Owls find mice by sound alone. " * 4
    (tmp_path / "a.md").write_text(f"# Owls\n\n{abstract}")
    paper = read(tmp_path / "a.md")
    assert (paper.title, paper.abstract) == ("Owls", abstract.strip())
    assert paper.anchor.faults
    assert paper.words == 24
