"""The top of a report: what a run is for, what was measured and reviewed of it since, and nothing of the user's folders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.core.results import MEASURE, Evidence
from manyheads.report.references import links_of
from manyheads.report.top import LONGEST, first_sentences, place
from manyheads.systems.results import update_reports, write_report

Write = Callable[..., Path]
Read = Callable[[Path], Any]
SCORE = {
    "on": 1.354, "hd": 0.9, "cd": 0.8, "ci": None, "corpus": "/home/ada/corpora/mine", "embedding": "org/mini-7",
    "past": [{"id": "p", "title": "Maps that forget", "year": 2014, "distance": 0.61}],
    "contemporary": [{"id": "q", "title": "Memory", "year": 2019, "distance": 0.74}],
}  # fmt: skip


def test_the_winning_idea_stands_first_and_once(run: Write, read: Read, told: dict[str, Any]) -> None:
    told["idea"] = {**told["ideas"][1], "votes": 2, "tie": None}
    page = read(run(outcome=told))
    ideas = [each for each in page.values("id") if each.startswith("idea-")]
    assert ideas[0] == "idea-2"
    assert len(ideas) == len(set(ideas)) == 4


def test_what_was_measured_later_is_shown(run: Write, read: Read) -> None:
    folder = run()
    (folder / MEASURE).write_text(json.dumps(SCORE), encoding="utf-8")
    words = read(folder).words
    assert "Novelty ON 1.35, HD 0.90, CD 0.80 Nearest paper: Maps that forget (2014), distance 0.61." in words
    assert "/home/ada" not in words
    assert "Maps that forget 2014 past 0.610" in words
    assert "Memory 2019 contemporary 0.740" in words
    (folder / MEASURE).write_text("{", encoding="utf-8")
    assert "Nearest paper" not in read(folder).words


def test_a_run_and_its_review_link_to_each_other(run: Write, read: Read) -> None:
    home = run().rename(run().with_name("home"))
    review = {"summary": "s", "strengths": ["a"], "weaknesses": ["b"], "questions": ["c"], "limitations": "l",
              "ethical_concerns": False, "overall": 6, "reviewer": "Reviewer1", "model": "offline"}  # fmt: skip
    subject = {"source": str(home.resolve()), "sha256": "0", "words": 4, "text": "Robots that forget well."}
    means = {"overall": {"mean": 6.0, "n": 1, "level": 0.95, "spread": None, "low": None, "high": None}}
    outcome = {
        "system": "conference-review",
        "title": "T",
        "subject": subject,
        "reviews": [review],
        "means": means,
    }
    config = f"system: conference-review\ninputs: {{subject: {home.resolve()}}}\n"
    folder = run(events=[], outcome=outcome, config=config)
    page = read(folder)
    assert "Robots that forget well." in page.words
    assert "../home/report.html" in page.values("href")
    update_reports(folder)
    html = (home / "report.html").read_text(encoding="utf-8")
    assert '"../run/report.html"' in html
    assert "Overall 6" in html


def test_no_folder_of_the_user_is_told(run: Write, read: Read) -> None:
    folder = run()
    config = f"system: virsci\npaths: [{folder.resolve().parent}/mine, {Path.home()}/prompts]\n"
    html = write_report(run(config=config)).read_text(encoding="utf-8")
    assert str(folder.resolve().parent.parent) not in html
    assert "~/prompts" in html


def test_sentences_end_where_they_end_and_no_word_is_cut() -> None:
    text = "We test it, e.g. on robots. It works vs. the baseline. Does it? Yes. No."
    assert first_sentences(text) == "We test it, e.g. on robots. It works vs. the baseline. Does it?"
    long = first_sentences("wordy " * 500)
    assert long.endswith("wordy…")
    assert len(long) <= LONGEST + 1


def test_of_a_path_the_name_is_shown() -> None:
    assert [place(each) for each in ("/home/ada/runs/one", "notes/abstract.md", r"C:\Users\ada\a.bib", "a text")] == [
        "one", "notes/abstract.md", "a.bib", "a text",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("paper", "links"),
    [
        ({"paper": "p1", "doi": "10.1000/xyz"}, {"DOI": "https://doi.org/10.1000/xyz"}),
        ({"paper": "arxiv:2101.00001"}, {"arXiv": "https://arxiv.org/abs/2101.00001"}),
        ({"paper": "p2", "doi": "10.48550/arXiv.2101.00001"}, {"arXiv": "https://arxiv.org/abs/2101.00001"}),
        ({"paper": "openalex:W12"}, {"OpenAlex": "https://openalex.org/W12"}),
        ({"paper": "p3", "url": "https://example.org/a"}, {"Web": "https://example.org/a"}),
        ({"paper": "p4", "url": "javascript:alert(1)"}, {}),
    ],
)
def test_papers_link_to_where_they_are(paper: dict[str, Any], links: dict[str, str]) -> None:
    assert dict(links_of(Evidence(id="e1", title="T", **paper))) == links
