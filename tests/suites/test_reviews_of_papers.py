"""The suites on reviews of papers, by reviewers whose right answer is known: found, missed, alleged; calibrated; laid out blind."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from manyheads.arena.store import Arena
from manyheads.base.resources import Resources, shipped
from manyheads.judges.planted_error.planted import KINDS
from manyheads.judges.planted_error.result import KEY, read_key
from manyheads.judges.planted_error.result import PlantedDocument as Document
from manyheads.measures.agreement import Calibration
from manyheads.suites.cells import CellRow
from manyheads.suites.evaluate import calibrations
from manyheads.suites.spec import read_suite
from suites.test_evaluate import run
from support.llm import LLM
from support.records import read_lines
from support.requests import Request
from support.suites import summary_of, words_of
from systems.test_planted_error import EVERYTHING, PRAISE, told

EVALS = shipped() / "evals"
PLANTED = EVALS / "review-planted-errors"
Reviewer = Callable[[Document], str]


def shown(request: Request) -> Document:
    """The document that a request shows, by all of its tables, captions, citations and sections."""
    [entry] = [
        entry
        for entry in read_key(PLANTED / KEY).documents
        if all(each in request.asking for each in pieces(json.loads((PLANTED / entry.file).read_text())))
    ]
    return entry


def pieces(paper: dict[str, Any]) -> Iterator[str]:
    yield from (line for section in paper["sections"] for line in section["text"].split("\n"))
    yield from (figure["caption"] for figure in paper["figures"])
    for table in paper["tables"]:
        yield "\n".join([table["caption"], *(" | ".join(row) for row in table["rows"])])
    yield from paper["references"]


def evaluated(folder: Path, name: str, llm: LLM, variant: str, *papers: str, **spec: Any) -> Path:
    """A suite that ships, of one maker and of some papers; gives the suite's folder of results."""
    own = yaml.safe_load((EVALS / name / "suite.yaml").read_text())
    (suite := folder / name).mkdir()
    own |= {"variants": {variant: own["variants"][variant]}, "plot": None, "against": {}, **spec}
    (suite / "suite.yaml").write_text(yaml.safe_dump(own))
    lines = [json.loads(line) for line in (EVALS / name / "cases.jsonl").read_text().splitlines()]
    for line in lines:
        for key in ("paper", "planted-error.key"):
            if key in line:
                line[key] = str((EVALS / name / line[key]).resolve())
    kept = [line for line in lines if not papers or line["id"].partition(",")[0] in papers]
    (suite / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
    if "calibration" in own:
        (suite / own["calibration"]["people"]).write_bytes(
            (EVALS / name / own["calibration"]["people"]).read_bytes()
        )
    model = {"provider": "openai", "name": "test", "base_url": llm.base_url, "tools": False}
    run(suite, folder / "out", f"models.default={json.dumps(model)}", "embedding=lexical")
    return folder / "out"


def means(out: Path) -> dict[str, float | None]:
    return {
        entry["measure"].removeprefix("planted-error."): float(entry["mean"]) if entry["mean"] else None
        for entry in summary_of(out)
    }


def reviewed(folder: Path, llm: LLM, say: Reviewer, *papers: str) -> dict[str, float | None]:
    llm.answers["review"] = lambda request: say(shown(request))
    return means(evaluated(folder, "review-planted-errors", llm, "plain", *papers))


def perfect(document: Document) -> str:
    return "\n\n".join([PRAISE, *([told(document.faults[0])] if document.planted else [])])


@pytest.mark.slow
def test_a_plain_reviewer_who_names_each_error_finds_all(llm: LLM, tmp_path: Path) -> None:
    found = reviewed(tmp_path, llm, perfect, "kiln")
    assert (found["found"], found["false_alarms"], found["alarms"], found["failed"]) == (1, 0, 0, 0)
    assert {found[f"{kind}.found"] for kind in KINDS} == {1}
    rows = read_lines(tmp_path / "out" / "results.jsonl", CellRow)
    assert len(rows) == 1 + len(KINDS)
    assert not any(row.missing or row.error for row in rows), "what a document cannot tell is unknown"
    assert len(llm.requests) == len(rows)


@pytest.mark.slow
def test_a_plain_reviewer_who_praises_finds_none_and_one_who_complains_alleges_as_much(
    llm: LLM, tmp_path: Path
) -> None:
    for name in ("silent", "loud"):
        (tmp_path / name).mkdir()
    silent = reviewed(tmp_path / "silent", llm, lambda document: PRAISE, "kiln")
    assert (silent["found"], silent["false_alarms"], silent["alarms"]) == (0, 0, 0)
    loud = reviewed(tmp_path / "loud", llm, lambda document: "\n\n".join(EVERYTHING))
    assert loud["found"]
    assert loud["false_alarms"]
    assert loud["found"] > 0.5
    assert loud["false_alarms"] > 0.5
    assert loud["alarms"] == len(EVERYTHING)


@pytest.mark.slow
def test_the_points_of_a_committee_are_found_too(llm: LLM, tmp_path: Path) -> None:
    """With sources: the text of a point names the contradiction, its source quotes the place."""

    def points(request: Request) -> list[dict[str, Any]]:
        """Of the request to write the review, which shows the whole paper to a model without tools."""
        if "weaknesses" not in (request.schema or {}).get("properties", {}):
            return []
        document = shown(request)
        fault = document.faults[0]
        source = {"where": "the text", "quote": fault.quotes[0]}
        return [{"text": told(fault), "sources": [source]}] if document.planted else []

    llm.answers["weaknesses"] = points
    found = means(evaluated(tmp_path, "review-planted-errors", llm, "committee", "kiln", set={
        "mamorx.novelty.enabled": False, "mamorx.references.enabled": False, "mamorx.exchanges": 1,
    }))  # fmt: skip
    assert found["found"] == 1
    assert found["false_alarms"] == 0


@pytest.mark.slow
def test_scores_that_follow_what_was_planted_go_with_ratings_that_do(llm: LLM, tmp_path: Path) -> None:
    severity = {None: 8, "missing-baseline": 6, "wrong-number": 4, "swapped-columns": 3}
    llm.answers["overall"] = lambda request: severity[shown(request).planted]
    out = evaluated(tmp_path, "review-calibration", llm, "plain")
    suite = read_suite(str(tmp_path / "review-calibration"), Resources.of())
    [(_, held)] = calibrations(suite, read_lines(out / "results.jsonl", CellRow))
    assert isinstance(held, Calibration)
    assert (held.papers, held.ratings) == (12, 36)
    for side in (held.scores, held.people):
        assert side
        assert all(each and each.low <= each.estimate <= each.high for each in side.figures.values())
        spearman = side.figures["spearman"]
        assert spearman
        assert spearman.estimate > 0.4
    assert "One person and the others" in words_of(out / "report.html")


def test_reviews_are_laid_out_without_their_makers(llm: LLM, tmp_path: Path) -> None:
    llm.answers["review"] = (
        "As an AI language model I like it. MAMORX and its clarity_expert would too. Table 1 is clear."
    )
    own = {"rivals": {}, "measures": ["usage.calls"]}
    out = evaluated(tmp_path, "review-systems", llm, "plain", "kiln", **own)
    with Arena.open(out / "arena") as arena:
        [text], [case] = arena.texts(), arena.cases()
        paper = arena.paper(case)
    assert "the reviewer would too. Table 1 is clear." in text.body
    assert "language model" not in text.body
    assert case.title.startswith("Listening to Kilns")
    assert paper
    assert json.loads(paper.read_text())["title"] == case.title
