"""`manyheads measure --against services`: the runs' own services asked, look-ups told, scores that ratings are held against."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from manyheads.base.errors import ConfigError, LiteratureError, MeasureError, UserError
from manyheads.cli import app
from support.invoked import mistake, scores
from support.results import idea
from support.results import write as write_result
from support.scholar import Scholar, record
from support.services import down

RUN = CliRunner()
TEXT = "We study tactile grasping of fragile fruit."


@pytest.fixture
def scholar() -> Iterator[Scholar]:
    """Six papers of 2010 to 2015, more and more unlike the text."""
    told = TEXT.split()
    papers = [
        record(
            f"{n}" * 40,
            f"Tactile grasping {n}",
            abstract=" ".join(told[: 8 - n]) + f" Apples{n}.",
            year=2009 + n,
            citationCount=n,
        )
        for n in range(1, 7)
    ]
    with Scholar(papers) as server:
        yield server


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scholar: Scholar) -> Path:
    """A text, and a run that asked a service of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEMANTIC_SCHOLAR_API_KEY", scholar.key)  # a shorter pause between requests
    (tmp_path / "idea.md").write_text(f"# Tactile grasping\n\n{TEXT}\n")
    run_folder(tmp_path / "run", scholar.url)
    return tmp_path


def run_folder(path: Path, address: str) -> None:
    result = {
        "system": "virsci", "corpus": "sample", "abstract": {"title": "Gentle hands", "text": TEXT},
        "idea": {**idea("Tactile"), "idea": "grasping"},
    }  # fmt: skip
    write_result(path, result)
    literature = {
        "before": "2012", "cascade": ["local", "semantic_scholar"], "retries": 0,
        "endpoints": {"semantic_scholar": address},
    }  # fmt: skip
    config = {"system": "virsci", "embedding": "lexical", "literature": literature}
    (path / "config.yaml").write_text(json.dumps(config))


def asking(scholar: Scholar) -> tuple[str, ...]:
    sets = (
        "literature.retries=0",
        "literature.cascade=[semantic_scholar]",
        f"literature.endpoints.semantic_scholar={scholar.url}",
    )
    return ("--embedding", "lexical", *(part for one in sets for part in ("--set", one)))


def measure(*arguments: str | Path) -> Result:
    given = ("measure", "--against", "services", *map(str, arguments))
    return RUN.invoke(app, given if "--retrieve" in given else (*given, "--retrieve", "6"))


def test_a_run_is_measured_by_its_own_services_over_all_time(scholar: Scholar) -> None:
    done = measure("run", "--json")
    [one] = scores(done)
    assert (one["against"], one["embedding"], one["corpus"]) == ("services", "lexical-hash-384", None)
    assert one["retrieval"]["query"] == "Tactile\ngrasping"
    assert (one["retrieval"]["sources"], one["retrieval"]["dates"]) == (["semantic_scholar"], "any")
    assert one["retrieval"]["compared"] == 6
    assert one["ci"] == pytest.approx((1 + 2 + 3 + 4 + 5) / 5 / (21 / 6))
    assert scholar.requests[0].params["query"] == "Tactile grasping"
    assert done.stderr.startswith("semantic_scholar: found, 6 in ")


def test_the_table_holds_what_there_is(scholar: Scholar) -> None:
    done = measure("idea.md", *asking(scholar), "--show-neighbours")
    [one] = scores(measure("idea.md", *asking(scholar), "--json"))
    assert "up to 6 papers from semantic_scholar, 5 neighbours, normalised by database" in done.stdout
    [row] = [line for line in done.stdout.splitlines() if "│" in line and "Tactile" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "Tactile grasping", f"{one['cd']:.3f}", f"{one['ci']:.3f}",
    ]  # fmt: skip
    assert " HD " not in done.stdout
    assert "retrieved" in done.stdout
    assert "warning: no HD and ON: papers of the services are not split" in done.stderr
    assert len(scholar.requests) == 1, "the second time it is on disk"


def test_a_service_that_is_down_is_no_result(scholar: Scholar) -> None:
    scholar.troubles.append(down())
    done = measure("idea.md", *asking(scholar), "--out", "m.jsonl")
    refused = mistake(done)
    assert isinstance(refused, LiteratureError)
    assert "503" in refused.message
    assert "semantic_scholar: failed" in done.stderr
    assert not Path("m.jsonl").exists()


def test_what_does_not_go_together_is_refused(scholar: Scholar, here: Path) -> None:
    run_folder(here / "other", "http://127.0.0.1:1")
    cases: list[tuple[tuple[str, ...], type[UserError], str]] = [
        (("run", "other"), MeasureError, "the runs ask different services"),
        (("run", "--set", "literature.before=bound"), ConfigError, "literature.before: without a corpus"),
        (("run", "--set", "literature.before=soon"), ConfigError, "'soon' is not a date"),
        (("run", "--set", "literature.cascade=[local]"), ConfigError, "there is no corpus"),
    ]
    for arguments, kind, said in cases:
        refused = mistake(measure(*arguments))
        assert isinstance(refused, kind), refused
        assert said in refused.message
        assert refused.hint
    assert not scholar.requests
