"""`manyheads corpus build`, `info` and `formats`."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from manyheads.base.errors import CorpusError, EmbeddingError
from manyheads.cli import app
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.engine.readiness import findings
from manyheads.measures.corpus import MeasuringCorpus
from manyheads.systems.loading import load
from manyheads.team.run import TeamConfig
from manyheads.team.team import need_members
from support.invoked import mistake
from support.llm import LLM
from support.papers import paper, papers, write_corpus
from support.scholar import Scholar, record

RUN = CliRunner()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.slow
def test_a_name_names_the_folder_too_and_finds_it_again(tmp_path: Path) -> None:
    write_corpus(tmp_path / "mine.jsonl", papers(80))
    made = build("mine.jsonl", "--name", "My corpus/2")
    assert (table(made)["folder"], "corpus My corpus/2" in made.stdout) == ("corpora/My-corpus-2", True)
    assert "--set corpus=corpora/My-corpus-2" in made.stderr
    assert RUN.invoke(app, ["corpus", "info", "My-corpus-2"]).stdout == made.stdout
    assert RUN.invoke(app, ["corpus", "verify", "My-corpus-2"]).exit_code == 0
    folder = (tmp_path / "corpora" / "My-corpus-2").resolve()
    assert load(["virsci"], ["corpus=My-corpus-2"]).corpus == str(folder)
    folder.rename(folder.with_name("sample"))
    assert load(["virsci"]).corpus == "sample"  # what ships is found first
    assert "corpus sample" in RUN.invoke(app, ["corpus", "info", "--embedding", "lexical"]).stdout
    tried = mistake(RUN.invoke(app, ["corpus", "info", "nowhere"])).tried
    assert tried == "nowhere/meta.json, corpora/nowhere/meta.json"


@pytest.mark.slow
def test_a_preset_with_an_override(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "mine.jsonl", papers(80))
    made = RUN.invoke(
        app,
        ["corpus", "build", str(source), "--preset", "aminer-cs", "--bound", "2013", "--min-papers", "1",
         "--min-coauthors", "0", "--embedding", "lexical", "--out", "out"],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "past citations ≥ 10" in made.stdout
    rows = table(made)
    assert re.fullmatch(r"[1-9]\d* \(2010–2012\); the paper: 85,217", rows["past papers"])
    assert re.fullmatch(r"[1-9]\d* \(2013–2014\); the paper: 92,980", rows["contemporary papers"])
    assert re.fullmatch(r"[1-9]\d*; the paper: 156", rows["scientists"])
    assert rows["embedding; the paper"] == "mixedbread-ai/mxbai-embed-large-v1"
    assert table(RUN.invoke(app, ["corpus", "info", "out"])) == rows


@pytest.mark.parametrize(
    "command",
    [pytest.param(("build", "mine.jsonl", "--bound", "2014"), marks=pytest.mark.slow), ("info", "sample")],
)
def test_a_model_that_is_nowhere_names_the_option_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write_corpus(tmp_path / "mine.jsonl", papers(8))
    refused = mistake(RUN.invoke(app, ["corpus", *command, "--embedding", "BAAI/bge-small-en-v1.5"]))
    assert isinstance(refused, EmbeddingError)
    assert str(refused.hint).endswith("choose word hashing: --embedding lexical")


@pytest.mark.parametrize(
    ("flags", "said", "hint"),
    [
        ("--bound 2014 --min-contemporary-citations 9999", "(from 2014 on) left: 80 papers read; contemporary citations ≥ 9999", "loosen"),
        ("--bound 1990", "no past papers (before 1990): 80 papers read; they are from the years", "from 20"),
        ("--bound 2014 --min-past-citations 9999", "(before 2014) left: 80 papers read; past citations ≥ 9999", "loosen"),
    ],
)  # fmt: skip
def test_what_left_nothing_is_to_blame(tmp_path: Path, flags: str, said: str, hint: str) -> None:
    write_corpus(tmp_path / "mine.jsonl", papers(80))
    refused = mistake(
        RUN.invoke(app, ["corpus", "build", "mine.jsonl", "--embedding", "lexical", *flags.split()])
    )
    assert said in refused.message
    assert hint in str(refused.hint)


@pytest.mark.slow
def test_past_papers_without_authors_serve_search_and_scipip_alone(tmp_path: Path) -> None:
    write_corpus(tmp_path / "mine.jsonl", [paper(n, authors=[]) for n in range(9)])
    made = RUN.invoke(
        app,
        [
            "corpus",
            "build",
            "mine.jsonl",
            "--bound",
            "2030",
            "--embedding",
            "lexical",
            "--out",
            "corpora/one",
        ],
    )
    for shown in (made, RUN.invoke(app, ["corpus", "info", "corpora/one"])):
        assert "corpus one" in shown.stdout
        [line] = [each for each in shown.stdout.splitlines() if "scipip" in each]
        assert all(each in line for each in ("search", "virsci", "measure", "authors", "2030"))
    folder = tmp_path / "corpora/one"
    with pytest.raises(CorpusError, match="contemporary papers, of 2030 or later") as refused:
        MeasuringCorpus.open(folder)
    assert "--against services" in str(refused.value.hint)
    with Ecosystem.open(folder) as ecosystem, pytest.raises(CorpusError, match="no scientists") as refused:
        need_members(TeamConfig(), ecosystem)
    assert "scipip" in str(refused.value.hint)
    virsci = load(["virsci"], [f"corpus={folder}"])
    [wrong] = [each for each in findings(virsci) if not each.ok]
    assert (wrong.subject, "no scientists" in wrong.message) == ("corpus", True)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    write_corpus(tmp_path / "mine.jsonl", papers(80))
    (tmp_path / "file").write_text("")
    build = ["build", "mine.jsonl", "--bound", "2014", "--embedding", "lexical", "--out", "file/mine"]
    refused = mistake(RUN.invoke(app, ["corpus", *build]))
    assert "file/mine.partial cannot be written" in refused.message
    assert "--out FOLDER" in str(refused.hint)


def table(shown: Result) -> dict[str, str]:
    """The summary as label and value."""
    assert shown.exit_code == 0, (shown.output, shown.exception)
    rows = (line.strip("│").split("│") for line in shown.stdout.splitlines() if line.startswith("│"))
    return {key.strip(): value.strip() for key, value in rows}


def build(*arguments: str) -> Result:
    return RUN.invoke(app, ["corpus", "build", *arguments, "--bound", "2014", "--embedding", "lexical"])


def bibtex(path: Path) -> Path:
    """The usual papers as BibTeX."""
    entries = (
        f"@article{{{one['id']}, title={{{one['title']}}}, abstract={{{one['abstract']}}}, year={one['year']}, "
        f"author={{{' and '.join(one['authors'])}}}, keywords={{grasping; pears}}}}\n"
        for one in papers(60)
    )
    path.write_text(
        "".join(entries) + "@misc{odd, title={Odd}, author={A B}, year={soon}}\n", encoding="utf-8"
    )
    return path


def test_every_format_is_listed_with_an_example() -> None:
    shown = RUN.invoke(app, ["corpus", "formats"])
    assert shown.exit_code == 0
    names = ("jsonl", "aminer", "oag", "semantic-scholar-api", "anthology", "bibtex", "csv", "parquet")
    assert all(name in shown.stdout for name in names)
    assert "--columns title=Title,year=Year" in shown.stdout


def test_a_format_is_detected_and_its_rejects_are_told(tmp_path: Path) -> None:
    made = build(str(bibtex(tmp_path / "my.bib")), "--name", "[my/]", "--out", "corpora/my")
    told = table(made)
    assert "corpus [my/]" in made.stdout
    assert (told["papers read"], told["records rejected"], told["rejected: year"]) == ("60", "1", "1")
    assert told["without citation counts"] == "60"
    assert told["interests by"].startswith("texts for 8")
    assert "record 61, year: not a whole number: 'soon' (odd, line 61)" in made.stderr
    assert RUN.invoke(app, ["corpus", "info", "corpora/my"]).stdout == made.stdout


def test_columns_and_a_forced_format(tmp_path: Path) -> None:
    lines = (
        f"{one['title']}\t{one['abstract']}\t{'|'.join(one['authors'])}\t{one['year']}" for one in papers(60)
    )
    (tmp_path / "list.txt").write_text("T\tA\tW\tY\n" + "\n".join(lines))
    assert "--format NAME" in str(mistake(build("list.txt")).hint)
    refused = mistake(build("list.txt", "--format", "csv"))
    assert "--columns title=COLUMN,abstract=COLUMN,authors=COLUMN,year=COLUMN" in str(refused.hint)
    chosen = ("--columns", "title=T,abstract=A,authors=W,year=Y")
    assert table(build("list.txt", "--format", "csv", *chosen))["papers read"] == "60"


@pytest.mark.parametrize("name", ["csv", "docx"])
def test_a_wrong_format_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    write_corpus(tmp_path / "mine.jsonl", papers(8))
    refused = mistake(build("mine.jsonl", "--format", name))
    assert isinstance(refused, CorpusError)
    assert refused.hint
    assert not list(tmp_path.glob("corpora/*"))


@pytest.mark.slow
def test_interests_by_a_model_are_said_to_be_and_paid_once(tmp_path: Path) -> None:
    bibtex(tmp_path / "my.bib")
    with LLM(answers={"interests": ["Fruit"]}) as llm:
        served = ("--model", "openai/m", "--set", f"models.default.base_url={llm.base_url}")
        made = build("my.bib", "--interests", "model", *served, "--out", "one")
        calls = llm.calls
        again = build("my.bib", "--interests", "model", *served, "--out", "two")
        assert llm.calls == calls
    assert table(made)["interests by"] == "openai/m for 8"
    assert table(again)["interests by"] == "openai/m for 8"
    assert '"Fruit"' in (tmp_path / "two" / "scientists.json").read_text()
    assert "0 authors asked, 8 cached" in again.stderr


@pytest.mark.slow
def test_a_search_makes_a_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMANTIC_SCHOLAR_API_KEY", "right")
    found = [
        record(f"{one['id']:0>40}", one["title"], abstract=one["abstract"], year=one["year"], citationCount=2,
               authors=[{"authorId": None, "name": name} for name in one["authors"]])
        for one in papers(60)
    ]  # fmt: skip
    with Scholar(papers=found) as scholar:
        where = ("--set", f"literature.endpoints.semantic_scholar={scholar.url}")
        made = build("s2:on", "--start", "2013", "--end", "2014", *where)
    told = table(made)
    assert (told["past papers"], told["contemporary papers"]) == ("8 (2013–2013)", "7 (2014–2014)")
    assert told["folder"] == "corpora/on"
    assert [asked.params["publicationDateOrYear"] for asked in scholar.requests] == [
        "2013-01-01:2013-12-31",
        "2014-01-01:2014-12-31",
    ]


@pytest.mark.slow
def test_a_corpus_is_verified(tmp_path: Path) -> None:
    build(str(bibtex(tmp_path / "my.bib")))
    verified = RUN.invoke(app, ["corpus", "verify", "corpora/my"])
    assert verified.exit_code == 0
    assert "files" in verified.stdout
    (tmp_path / "corpora" / "my" / "scientists.json").write_text("[]")
    assert "scientists.json" in mistake(RUN.invoke(app, ["corpus", "verify", "corpora/my"])).message
    assert "corpus build" in str(mistake(RUN.invoke(app, ["corpus", "verify", "nowhere"])).hint)
