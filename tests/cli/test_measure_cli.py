"""`manyheads measure`: texts in, a table or JSON Lines out."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from manyheads.base.errors import CorpusError, EmbeddingError, MeasureError, SubjectError, UserError
from manyheads.cli import app
from manyheads.corpus.building import build_corpus
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.measures.scores import Score, mean_score
from manyheads.report.top import read_measure
from support.invoked import mistake, scores
from support.papers import papers, write_corpus
from support.records import read_lines
from support.results import write as write_result

RUN = CliRunner()
TEXT = "We study tactile grasping of fragile objects with dense retrieval."


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    source = write_corpus(folder / "papers.jsonl", papers(80))
    build_corpus(source, folder / "mine", BuildOptions(bound=2014), LexicalEmbedder()).close()
    return folder / "mine"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "idea.txt").write_text(TEXT)
    lines = [{"title": one["title"], "abstract": one["abstract"]} for one in papers(3, seed=9)]
    (tmp_path / "many.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def measure(*arguments: str | Path) -> Result:
    return RUN.invoke(app, ["measure", *map(str, arguments)])


def test_one_text_is_a_row(corpus: Path) -> None:
    done = measure("idea.txt", "--corpus", corpus)
    assert done.exit_code == 0, done.output
    [row] = [line for line in done.stdout.splitlines() if "idea" in line]
    [one] = scores(measure("idea.txt", "--corpus", corpus, "--json"))
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["idea", *(f"{one[name]:.3f}" for name in ("hd", "cd", "ci", "on"))]
    assert "RND" not in done.stdout
    assert "mean of" not in done.stdout
    assert one["on"] == pytest.approx(one["hd"] * one["ci"] / one["cd"])


def test_several_texts_have_a_mean_with_its_interval(corpus: Path) -> None:
    done = measure(
        "idea.txt", "many.jsonl", "--corpus", corpus, "--rnd", "--rnd-papers", "10", "--rnd-neighbours", "5",
        "--out", "measures.jsonl",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    kept = read_lines(Path("measures.jsonl"), Score)
    assert [one.source for one in kept] == ["idea.txt", *(f"many.jsonl:{line}" for line in (1, 2, 3))]
    assert [one.name for one in kept][1:] == [one["title"] for one in papers(3, seed=9)]
    mean = mean_score(kept, "rnd")
    assert not isinstance(mean, str)
    rows = {
        line.split("│")[1].strip(): line.split("│")[-2].strip()
        for line in done.stdout.splitlines()
        if "│" in line
    }
    assert rows["mean of 4"] == f"{mean.mean:.3f}"
    assert (rows["95% interval: from"], rows["95% interval: to"]) == (f"{mean.low:.3f}", f"{mean.high:.3f}")


def run_folder(path: Path, corpus: str, abstract: dict[str, str] | None) -> Path:
    result = {"system": "virsci", "corpus": corpus, **({"abstract": abstract} if abstract else {})}
    write_result(path, result)
    return path


def test_a_run_is_measured_against_its_own_corpus(here: Path, corpus: Path) -> None:
    run = run_folder(here / "run", str(corpus), {"title": "Gentle hands", "text": TEXT})
    [one] = scores(measure(run, "--json"))
    assert (one["name"], one["source"], one["corpus"]) == ("Gentle hands", str(run), "mine")
    [text] = scores(measure("idea.txt", "--corpus", corpus, "--json"))
    assert (one["hd"], one["on"]) == (text["hd"], text["on"])
    assert len(scores(measure(run, "idea.txt", "--json"))) == 2


def test_a_run_on_a_shipped_corpus_keeps_its_embedding(here: Path) -> None:
    run = run_folder(here / "run", "sample", {"title": "Gentle hands", "text": TEXT})
    (run / "config.yaml").write_text("system: virsci\nembedding: lexical\n")
    [one] = scores(measure(run, "--json"))
    assert (one["corpus"], one["embedding"]) == ("sample", "lexical-hash-384")


def test_gaps_are_counted_in_the_table_one_warning_and_the_report(here: Path) -> None:
    records = papers(80)
    for record in records[7::16]:  # five of the ten of 2017, and of 2015 one
        record["citations"] = None
    records[5]["citations"] = None
    build_corpus(
        write_corpus(here / "gaps.jsonl", records), here / "gaps", BuildOptions(bound=2014), LexicalEmbedder()
    ).close()
    Path("all.jsonl").write_text(
        "".join(json.dumps({"abstract": one["abstract"]}) + "\n" for one in papers(80)[:32])
    )
    done = measure("all.jsonl", "--corpus", "gaps", "--out", "measures.jsonl")
    kept = read_lines(Path("measures.jsonl"), Score)
    partial = [one for one in kept if one.known["neighbours"] == (4, 5)]
    lost = [one for one in kept if one.ci is None]
    assert partial
    assert lost
    assert all(one.ci is not None for one in partial)
    assert all(one.known["neighbours"][0] < 4 for one in lost)
    assert done.stdout.count("4 of 5") == len(partial)
    assert f"{32 - len(lost)} of 32" in done.stdout
    assert mean_score(kept, "on") == f"{len(lost)} of 32 texts have none"
    kinds = ("no CI, ON: the citation counts of", "CI and ON are over known citation counts: ")
    assert [done.stderr.count(kind) for kind in kinds] == [1, 1]
    assert f"{len([one for one in kept if one.gap])} of 32 texts: {kinds[1]}" in done.stderr

    run = run_folder(
        here / "run",
        "gaps",
        {"title": "T", "text": papers(80)[kept.index(partial[0])]["abstract"]},
    )
    (run / "config.yaml").write_text("system: virsci\ncorpus: gaps\nembedding: lexical\n")
    assert measure(run).exit_code == 0
    told = read_measure(run)
    assert told
    assert told.note.startswith("Citation counts are known of 4 of 5 neighbours")


def test_bad_input_is_named(here: Path, corpus: Path) -> None:
    (here / "blank.txt").write_text(" \n")
    other = run_folder(here / "other", "elsewhere", {"title": "", "text": TEXT})
    mine = run_folder(here / "mine", str(corpus), {"title": "", "text": TEXT})
    mute = run_folder(here / "mute", str(corpus), None)
    cases: list[tuple[tuple[str | Path, ...], type[UserError], str]] = [
        (("nowhere.txt", "--corpus", corpus), SubjectError, "nowhere.txt"),
        (("blank.txt", "--corpus", corpus), SubjectError, "blank.txt: contains no text"),
        ((mute,), SubjectError, "wrote no abstract"),
        (("idea.txt",), MeasureError, "no corpus is named"),
        ((mine, other), MeasureError, "different corpora"),
        ((other,), CorpusError, "'elsewhere': no such corpus"),
        (("idea.txt", "--corpus", corpus, "--embedding", "lexical-hash-64"), EmbeddingError, "built with lexical-hash-384"),
        (("idea.txt", "--corpus", corpus, "--neighbours", "50"), MeasureError, "50 neighbours are more than the 40"),
        (("idea.txt", "--corpus", corpus, "--rnd"), MeasureError, "need 100 past papers; the corpus has 40"),
        (("idea.txt", "--corpus", corpus, "--out", "no/where"), MeasureError, "no/where: cannot be written"),
        (("idea.txt", "--corpus", corpus, "--exclude", "p9999"), MeasureError, "mine: no paper p9999 to leave out"),
    ]  # fmt: skip
    for arguments, kind, said in cases:
        refused = mistake(measure(*arguments))
        assert isinstance(refused, kind), refused
        assert said in refused.message
        assert refused.hint
    assert measure("idea.txt", "--corpus", corpus, "--normalise", "decade").exit_code == 2
    assert "--embedding lexical-hash-384" in str(mistake(measure(*cases[6][0])).hint)


@pytest.mark.slow
def test_a_paper_of_the_corpus_is_told_from_its_neighbours_and_left_out(here: Path, corpus: Path) -> None:
    [paper] = [one for one in papers(80) if one["id"] == "p10"]
    Path("published.json").write_text(
        json.dumps({"title": paper["title"].upper(), "abstract": paper["abstract"]})
    )
    given = ("published.json", "--corpus", corpus, "--json")
    plain = measure(*given)
    assert re.search(r"published\.json: .*itself.*--exclude.*: p10", plain.stderr)
    assert scores(plain)[0]["past"][0] | {"distance": 0} == scores(plain)[0]["past"][0]
    left_out = measure(*given, "--exclude", "p10")
    [one] = scores(left_out)
    assert "itself" not in left_out.stderr
    assert (one["excluded"], one["itself"]) == (["p10"], [])
    assert one["hd"] > scores(plain)[0]["hd"]
    [one] = scores(measure(*given, "--exclude-same-title"))
    assert one["excluded"] == ["p10"]
    source = write_corpus(here / "without.jsonl", [each for each in papers(80) if each["id"] != "p10"])
    build_corpus(source, here / "without", BuildOptions(bound=2014), LexicalEmbedder()).close()
    [never] = scores(measure("published.json", "--corpus", "without", "--json"))
    for name in ("hd", "cd", "ci", "on", "past", "contemporary"):
        assert one[name] == never[name], name
