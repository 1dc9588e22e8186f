"""What a run wrote, for other programs: `manyheads show`; its report and the list of runs in the browser: `manyheads open`."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pypandoc
import pypdfium2 as pdfium
import pytest
from bibtexparser.entrypoint import parse_string

from documents.test_annotations import read
from golden.runs import FOLDERS, RESULTS
from manyheads.base.resources import data_file
from manyheads.report.index import INDEX, write_index
from manyheads.report.references import REFERENCES
from manyheads.systems.exports import TEXTS
from support.command import SMALL, manyheads_command
from support.pdfs import body, heading, typeset
from support.results import today

SYSTEMS = (
    "virsci", "single", "discussion", "conference-review", "rebuttal", "ranking", "scipip", "mamorx",
)  # fmt: skip
QUICK = (
    "-s",
    "mamorx.novelty.enabled=false",
    "-s",
    "mamorx.references.enabled=false",
    "-s",
    "mamorx.exchanges=1",
)
HOSTILE = (
    r"=cmd|' /C calc'!A0 \input{/etc/passwd} 100 % of $x_1^2$ & #1 {a} ~ \end{document} 漢字 é “so” 🤖 <b>"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each system."""
    home = tmp_path_factory.mktemp("shown")
    for name in SYSTEMS:
        (home / name).mkdir()
        shutil.copy(RESULTS / f"{name}.json", home / name / "result.json")
    return home


def show(home: Path, name: str, form: str) -> str:
    done = manyheads_command("show", name, "--format", form, cwd=home)
    assert done.code == 0, done.err
    return done.out


def result(home: Path, name: str) -> Any:
    return json.loads((home / name / "result.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_is_shown_in_every_format_or_refused_in_a_sentence(home: Path, name: str) -> None:
    for form in (*TEXTS, "pdf"):
        done = manyheads_command("show", name, "--format", form, cwd=home)
        if done.code:
            assert form in (*REFERENCES, "pdf")
            assert len(done.message.splitlines()) == 2
            assert "another --format: md, " in done.message
        else:
            assert done.out.strip()


def test_markdown_has_title_abstract_idea_and_references(home: Path) -> None:
    text, whole = show(home, "virsci", "md"), result(home, "virsci")
    own = whole["result"]
    assert text.startswith(f"# {own['abstract']['title']}\n")
    assert own["abstract"]["text"] in text
    assert own["idea"]["idea"] in text
    titles = {each["id"]: each["title"] for each in whole["evidence"]}
    references = text[text.index("## References") :]
    assert all(titles[each] in references for each in own["idea"]["references"])
    assert "not by a language model" in text


def test_a_review_and_json_are_the_whole_result(home: Path) -> None:
    text = show(home, "conference-review", "md")
    for review in result(home, "conference-review")["result"]["reviews"]:
        assert review["summary"] in text
    assert json.loads(show(home, "rebuttal", "json")) == result(home, "rebuttal")


def test_bibtex_has_an_entry_for_each_reference(home: Path) -> None:
    library = parse_string(show(home, "virsci", "bib"))
    own = result(home, "virsci")
    assert not library.failed_blocks
    assert len({entry.key for entry in library.entries}) == len(own["result"]["idea"]["references"])
    years = {each["title"]: str(each["year"]) for each in own["evidence"]}
    assert all(years[entry["title"].strip("{}")] == entry["year"] for entry in library.entries)


def test_references_name_the_authors_whom_the_report_masks(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = [json.loads(line) for line in data_file("configs/corpora/sample.jsonl").read_text().splitlines()]
    authors = {each["title"]: each["authors"] for each in source}
    for entry in json.loads(show(home, "virsci", "csl")):
        assert [f"{name['given']} {name['family']}" for name in entry["author"]] == authors[entry["title"]]
        assert ", ".join(authors[entry["title"]]) in show(home, "virsci", "md")
    shutil.copytree(home / "virsci", tmp_path / "run")
    path = tmp_path / "run/result.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"sample"', '"lost"'), encoding="utf-8")
    done = manyheads_command("show", "run", "--format", "bib", cwd=tmp_path)
    assert (done.code, "author =" in done.out, "warning: lost" in caplog.text) == (0, False, True)


def test_a_corpus_keeps_bylines_and_dois_for_exports_alone(tmp_path: Path) -> None:
    names = ("Ada Known", "王小明", "The OWL Collaboration")
    paper = {"abstract": "We watch owls.", "authors": names, "year": 2010, "doi": "10.1000/x"}
    owls = ({"id": f"p{n}", "title": f"Owls {n} by Ada Known", **paper} for n in range(3))
    (tmp_path / "papers.jsonl").write_text("\n".join(map(json.dumps, owls)))
    build = ("corpus", "build", "papers.jsonl", "--bound", "2015", "--out", "mine", "--embedding", "lexical")
    done = manyheads_command(*build, cwd=tmp_path)
    assert done.code == 0, done.err
    (tmp_path / "run").mkdir()
    whole: dict[str, Any] = json.loads((RESULTS / "virsci.json").read_text(encoding="utf-8"))
    whole["corpus"] = "mine"
    for number, each in enumerate(whole["evidence"]):
        each |= {"paper": f"p{number % 3}", "title": "Owls by Scientist0"}
    (tmp_path / "run/result.json").write_text(json.dumps(whole), encoding="utf-8")
    text = show(tmp_path, "run", "bib")
    assert "author = {Known, Ada and {王小明} and {The OWL Collaboration}}" in text
    assert "by Ada Known" in text
    assert "doi = {10.1000/x}" in text


def test_papers_of_a_users_own_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "own.bib").write_text(
        "@article{owl, title={Owls}, author={Owl, Ann and Kauz, Bo}, year={2016}, journal={Birds}, abstract={We watch.}}"
    )
    run = ("run", "rebuttal", "--background", "own.bib", "--quiet", "--out", "run", "-s", "max_iters=1")
    done = manyheads_command(*run, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "author = {Owl, Ann and Kauz, Bo}" in show(tmp_path, "run", "bib")


def test_word_has_the_text_and_nothing_of_a_model_is_fetched_or_lost(home: Path, tmp_path: Path) -> None:
    done = manyheads_command("show", "virsci", "--format", "docx", cwd=home)
    assert (done.code, done.out.strip()) == (0, "virsci/result.docx"), done.err
    whole = json.loads((RESULTS / "virsci.json").read_text(encoding="utf-8"))
    whole["result"]["abstract"]["text"] = "A <b>bold</b> ![picture](/etc/passwd) and 5 < 6."
    (tmp_path / "run").mkdir()
    (tmp_path / "run/result.json").write_text(json.dumps(whole), encoding="utf-8")
    assert manyheads_command("show", "run", "--format", "docx", "-o", "a.docx", cwd=tmp_path).code == 0
    command = [pypandoc.get_pandoc_path(), "-t", "plain", "--wrap=none", "a.docx"]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, encoding="utf-8").stdout
    assert "A <b>bold</b> picture and 5 < 6." in text
    assert whole["result"]["idea"]["title"] in text
    assert "root:" not in text


def test_word_without_its_extra_is_one_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypandoc", None)
    monkeypatch.setenv("PATH", "")
    done = manyheads_command("show", "virsci", "--format", "docx", cwd=home)
    assert done.code == 2
    assert "[office]" in done.message


@pytest.mark.slow
def test_a_review_is_written_into_a_copy_of_its_pdf(tmp_path: Path) -> None:
    abstract = [heading("Abstract"), body("We ask whether owls can count.", 9)]
    typeset(tmp_path / "paper.pdf", [], [*abstract, heading("1 Introduction"), body("We begin.", 8)])
    before = (tmp_path / "paper.pdf").read_bytes()
    run = ("run", "mamorx", "--paper", "paper.pdf", "--quiet", "--out", "run", *QUICK)
    done = manyheads_command(*run, cwd=tmp_path)
    assert done.code == 0, done.err
    done = manyheads_command("show", "run", "--format", "pdf", cwd=tmp_path)
    assert (done.code, done.out.strip()) == (0, "run/annotated.pdf"), done.err
    assert (tmp_path / "paper.pdf").read_bytes() == before
    comments = "\n".join(text for _, text, _ in read(pdfium.PdfDocument(tmp_path / "run/annotated.pdf")[0]))
    claims = result(tmp_path, "run")["result"]["review"]["claims"]
    assert claims
    assert all(each["text"] in comments for each in claims)
    (tmp_path / "paper.pdf").unlink()
    assert "put it back" in manyheads_command("show", "run", "--format", "pdf", cwd=tmp_path).message


def test_csv_has_every_idea_with_its_scores(home: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(show(home, "virsci", "csv"))))
    own = result(home, "virsci")["result"]
    assert [row["title"] for row in rows] == [idea["title"] for idea in own["ideas"]]
    assert [float(row["confidence"]) for row in rows] == [idea["confidence"] for idea in own["ideas"]]
    [chosen] = [row for row in rows if row["chosen"] == "True"]
    assert int(chosen["number"]) == own["idea"]["number"]


def hostile(folder: Path) -> Path:
    """A run of which every text is hostile."""

    def spoilt(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: spoilt(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [each if key == "references" else spoilt(each, key) for each in value]
        return (
            HOSTILE
            if isinstance(value, str) and key in ("title", "idea", "text", "topic", "thought")
            else value
        )

    whole = json.loads((RESULTS / "virsci.json").read_text(encoding="utf-8"))
    folder.mkdir(parents=True)
    whole = {**whole, "evidence": spoilt(whole["evidence"]), "result": spoilt(whole["result"])}
    (folder / "result.json").write_text(json.dumps(whole), encoding="utf-8")
    return folder


def test_nothing_that_a_model_wrote_commands_a_program(tmp_path: Path) -> None:
    hostile(tmp_path / "run")
    library = parse_string(show(tmp_path, "run", "bib"))
    assert not library.failed_blocks
    assert len(library.entries) == 2
    for row in csv.DictReader(io.StringIO(show(tmp_path, "run", "csv"))):
        assert not any((cell or "").startswith(("=", "+", "@")) for cell in row.values())
    (tmp_path / "run/result.json").write_text(
        (tmp_path / "run/result.json").read_text().replace("=cmd", "\\u001b[31m=cmd"), encoding="utf-8"
    )
    assert all("\x1b" not in show(tmp_path, "run", form) for form in TEXTS)


def test_what_is_shown_goes_to_a_file(home: Path, tmp_path: Path) -> None:
    done = manyheads_command("show", "virsci", "--out", tmp_path / "idea.md", cwd=home)
    assert (done.code, done.out.strip()) == (0, str(tmp_path / "idea.md"))
    assert (tmp_path / "idea.md").read_text(encoding="utf-8").startswith("# ")
    refused = manyheads_command("show", "virsci", "--out", tmp_path / "none/idea.md", cwd=home)
    assert "choose another --out" in refused.message


def test_a_run_that_wrote_nothing_yet_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    told = {**today({"system": "virsci", "host": "autogen"}), "finished": False}
    (tmp_path / "run/result.json").write_text(json.dumps(told), encoding="utf-8")
    assert "written nothing yet" in manyheads_command("show", "run", cwd=tmp_path).message


# The browser.


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a browser notes what it is asked to open."""
    import webbrowser

    seen = tmp_path / "opened"

    def note(address: str) -> bool:
        with seen.open("a") as file:
            file.write(f"{address}\n")
        return True

    monkeypatch.setattr(webbrowser, "open", note)
    return seen


def test_open_shows_a_report_and_without_a_run_the_list_of_runs(tmp_path: Path, browser: Path) -> None:
    run = tmp_path / "runs/20260102-030405-virsci"
    shutil.copytree(FOLDERS / "virsci-stopped", run)
    done = manyheads_command("open", run.relative_to(tmp_path), cwd=tmp_path)
    assert (done.code, done.out.strip()) == (0, "runs/20260102-030405-virsci/report.html")
    assert manyheads_command("open", cwd=tmp_path).out.strip() == f"runs/{INDEX}"
    pages = browser.read_text().splitlines()
    assert pages == [(run / "report.html").as_uri(), (tmp_path / "runs" / INDEX).as_uri()]
    assert "20260102-030405-virsci" in (tmp_path / "runs" / INDEX).read_text()


def test_runs_that_lie_in_the_folder_itself_are_found(tmp_path: Path, browser: Path) -> None:
    for place in ("first", "runs/20260102-030405-virsci"):
        shutil.copytree(FOLDERS / "virsci-stopped", tmp_path / place)
    listed = manyheads_command("list", "runs", cwd=tmp_path).out
    assert {line.split()[0] for line in listed.splitlines()} == {"first", "runs/20260102-030405-virsci"}
    shutil.rmtree(tmp_path / "runs")
    assert manyheads_command("open", cwd=tmp_path).out.strip() == "first/report.html"


def test_what_cannot_be_opened_is_named(tmp_path: Path, browser: Path) -> None:
    assert "manyheads list runs" in manyheads_command("open", "nowhere", cwd=tmp_path).message
    assert "no runs in it" in manyheads_command("open", cwd=tmp_path).message
    (tmp_path / "runs/run").mkdir(parents=True)
    (tmp_path / "runs/run/config.yaml").write_text("system: virsci\n")
    (tmp_path / "runs" / INDEX).write_text("<title>mine</title>")
    assert "not a page of manyheads" in manyheads_command("open", cwd=tmp_path).message
    assert (tmp_path / "runs" / INDEX).read_text() == "<title>mine</title>"
    assert not browser.exists()


def test_a_run_opens_its_report_at_the_end(tmp_path: Path, browser: Path) -> None:
    run = ("run", "virsci", "--topic", "Birds", "--quiet", *SMALL, "--set", "team.size=1", "--open")
    done = manyheads_command(*run, cwd=tmp_path)
    assert done.code == 0, done.err
    [page] = browser.read_text().splitlines()
    assert page.endswith("report.html")
    assert (tmp_path / "runs" / INDEX).is_file()


def test_the_page_of_all_runs_is_no_run_where_all_files_of_the_folder_are_named(tmp_path: Path) -> None:
    base = tmp_path / "runs"
    shutil.copytree(FOLDERS / "virsci-finished", base / "20260102-030405-virsci")
    assert write_index(base)
    named = sorted(path.relative_to(tmp_path) for path in base.glob("[!.]*"))
    assert [path.name for path in named] == ["20260102-030405-virsci", INDEX]
    assert manyheads_command("arena", "new", "a", "--form", "rating", cwd=tmp_path).code == 0
    added = manyheads_command("arena", "add", "a", *named, cwd=tmp_path)
    assert (added.code, INDEX in added.out + added.err) == (0, False), added.err
    measured = manyheads_command("measure", *named, "--embedding", "lexical", cwd=tmp_path)
    assert (measured.code, "runs/index" in measured.out) == (0, False), measured.err
