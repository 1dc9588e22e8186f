"""`manyheads corpus targets` as users run it."""

import json
from pathlib import Path
from typing import Any

import pytest

from manyheads.suites.spec import read_cases
from support.command import Done, manyheads_command
from support.openalex import OpenAlexServer, work
from support.papers import paper, write_corpus
from support.scholar import Scholar, Trouble, record

pytestmark = pytest.mark.usefixtures("unpaced")
IDS = [letter * 40 for letter in "abcdef"]
PAPERS = [
    record(each, f"Tactile {letter}", abstract=f"About {letter}.", year=2020, citationCount=9)
    for letter, each in zip("abcdef", IDS, strict=True)
]
PAPERS.append(record("9" * 40, "Tactile nine", year=2020))
PAPERS.append(record("8" * 40, "Tactile years after", abstract="About what came of it.", year=2023))
CITES = {IDS[0]: ["9" * 40, "8" * 40, *IDS[1:4]], IDS[4]: IDS[:1]}


def targets(tmp_path: Path, *arguments: str, **endpoints: str) -> Done:
    sets = [
        "literature.retries=0",
        *(f"literature.endpoints.{name}={url}" for name, url in endpoints.items()),
    ]
    more = [part for each in sets for part in ("--set", each)] if endpoints else []
    env = {"MANYHEADS_CACHE": str(tmp_path / "cache")}
    return manyheads_command("corpus", "targets", *arguments, *more, cwd=tmp_path, env=env)


def cases(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]


def test_datasets_become_cases(tmp_path: Path) -> None:
    old = [paper(n, title=f"An old study, number {n}") for n in range(5)]
    write_corpus(tmp_path / "old.jsonl", old)
    new = paper(9, title="A new study", year=2014, references=["An old study, number 2. 2010", "?", "p9"])
    write_corpus(tmp_path / "new.jsonl", [new])
    done = targets(tmp_path, "old.jsonl", "new.jsonl", "--least", "1", "--most", "2")
    assert done.code == 0, done.err
    [case] = cases(tmp_path)
    assert case["ranking.target"].startswith("A new study\n\nWe study ")
    assert [text.partition("\n")[0] for text in case["background"]] == ["An old study, number 2"]
    assert "cases.jsonl: 1 of 1 suitable papers" in done.out
    assert "papers not used: 5 without references" in done.err
    [(name, keys)] = read_cases(tmp_path / "cases.jsonl").items()
    assert (name, keys.keys()) == ("p9", {"background", "ranking.target"})
    again = targets(tmp_path, "old.jsonl", "new.jsonl", "--least", "1")
    assert "cases.jsonl: already exists" in again.message


@pytest.mark.slow
def test_a_corpus_becomes_cases_of_what_stands_near(tmp_path: Path) -> None:
    done = targets(
        tmp_path, "--corpus", "sample", "--embedding", "lexical", "--count", "3", "--after", "2022"
    )
    assert done.code == 0, done.err
    assert all(" (2023): 20 of the most similar past papers" in case["about"] for case in cases(tmp_path))


def test_papers_are_asked_for_with_their_references(tmp_path: Path) -> None:
    with Scholar(PAPERS, CITES) as scholar:
        named = ("--paper", f"semantic_scholar:{IDS[0]}", "--paper", "Tactile e")
        named += ("--source", "semantic_scholar")
        done = targets(tmp_path, *named, "--least", "2", semantic_scholar=scholar.url)
    assert done.code == 0, done.err
    [case] = cases(tmp_path)
    assert case["id"] == f"semantic_scholar:{IDS[0]}"
    assert case["background"] == [f"Tactile {letter}\n\nAbout {letter}." for letter in "bcd"]
    assert "1 with fewer than 2 references" in done.err


def test_a_source_that_is_down_never_means_no_references(tmp_path: Path) -> None:
    trouble = Trouble("status", times=None, path="references", status=503)
    with (
        Scholar(PAPERS, CITES, troubles=[trouble]) as scholar,
        OpenAlexServer([work(1, "Tactile a", abstract="About a.")]) as openalex,
    ):
        services = {"semantic_scholar": scholar.url, "openalex": openalex.url}
        alone = targets(
            tmp_path, "--paper", "Tactile a", "--source", "semantic_scholar", semantic_scholar=scholar.url
        )
        first = ("--source", "openalex", "--source", "semantic_scholar")
        beside = targets(tmp_path, "--paper", "Tactile a", *first, **services)
    assert "503" in alone.err
    assert alone.code == 4
    assert "some sources failed: semantic_scholar" in beside.err
    assert beside.code == 4
    assert not (tmp_path / "cases.jsonl").exists()
