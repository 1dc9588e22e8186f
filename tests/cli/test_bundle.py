"""`manyheads bundle`: a folder of runs as a static site, whole, without scripts, secrets and paths."""

import json
import re
import shutil
import zipfile
from pathlib import Path
from urllib.parse import unquote

import pytest

from golden.runs import FOLDERS, RESULTS
from manyheads.base.resources import data_file
from support.command import manyheads_command

KEY = "sk-this-is-a-key-of-the-owner-1234"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a finished, a stopped, a damaged run and one of another system, which names private things."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    runs = tmp_path / "runs"
    shutil.copytree(FOLDERS / "virsci-finished", runs / "one")
    shutil.copytree(FOLDERS / "virsci-stopped", runs / "two & half")
    shutil.copytree(FOLDERS / "rebuttal-of-a-text-finished", runs / "rebuttal")
    (runs / "broken").mkdir()
    (runs / "broken/config.yaml").write_text("system: virsci\n")
    (runs / "broken/result.json").write_text("{")
    for name, text in (("one", "rationale"), ("two & half", "rationale")):
        path = runs / name / "result.json"
        if path.is_file():
            whole = json.loads(path.read_text(encoding="utf-8"))
            whole["warnings"] = [f"{tmp_path}/private/a.pdf and /srv/secret/b.pdf; {KEY}; {text} and/or 1/2"]
            path.write_text(json.dumps(whole), encoding="utf-8")
    return tmp_path


def pages(site: Path) -> dict[str, str]:
    return {
        str(path.relative_to(site)): path.read_text(encoding="utf-8")
        for path in site.rglob("*")
        if path.is_file()
    }


def test_a_site_is_whole_and_private(home: Path) -> None:
    assert manyheads_command("report", "runs/one", cwd=home).code == 0
    page = home / "runs/one/report.html"
    evil = '<script src="x.js">alert(1)</script><a href="../../elsewhere/report.html">away</a><a href="../rebuttal/report.html#a">there</a>'
    page.write_text(page.read_text().replace("</main>", f"{evil}</main>"))
    done = manyheads_command("bundle", "runs", cwd=home)
    assert done.code == 0, done.err
    assert "warning: broken: no report" in done.err
    site = pages(home / "runs-site")
    assert {
        "index.html",
        "one/report.html",
        "one/references.bib",
        "one/references.ris",
        "two & half/report.html",
    } <= {*site}
    assert {Path(name).suffix for name in site} <= {".html", ".md", ".bib", ".ris", ".json", ".csv"}
    assert not any(name.endswith("result.json") for name in site)
    sample = data_file("configs/corpora/sample.jsonl").read_text(encoding="utf-8").splitlines()
    names = {name for line in sample for name in json.loads(line)["authors"]}
    for name, text in site.items():
        assert "<script" not in text, name
        for private in (str(home), KEY, "/srv/secret", "/root/"):
            assert private not in text, (name, private)
        if name.endswith(".html"):
            assert not [one for one in names if one in text], name
    assert "b.pdf" in site["one/report.html"]
    assert "and/or 1/2" in site["one/report.html"]
    for state in ("finished", "stopped", "damaged"):
        assert f"chip {state}" in site["index.html"]
    assert ">there</a>" in site["one/report.html"]
    for name, text in site.items():
        for link in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', text):
            assert ((home / "runs-site" / name).parent / unquote(link)).is_file(), (name, link)


def test_exports_name_the_authors_of_cited_papers_under_the_keys_of_show(home: Path) -> None:
    assert manyheads_command("bundle", "runs", "-o", "site", cwd=home).code == 0
    for file, form in (("references.bib", "bib"), ("references.ris", "ris"), ("result.md", "md")):
        assert manyheads_command("show", "runs/one", "--format", form, "-o", file, cwd=home).code == 0
        assert (home / "site/one" / file).read_bytes() == (home / file).read_bytes()
    assert "author = {" in (home / "site/one/references.bib").read_text()


def test_a_site_is_replaced_only_where_that_is_asked_for(home: Path) -> None:
    shutil.rmtree(home / "runs/one")
    for out in ("site", "site.zip"):
        assert manyheads_command("bundle", "runs", "-o", out, cwd=home).code == 0
        refused = manyheads_command("bundle", "runs", "-o", out, cwd=home)
        assert (refused.code, "--replace" in refused.message) == (2, True)
        shutil.rmtree(home / "runs/rebuttal", ignore_errors=True)
        assert manyheads_command("bundle", "runs", "-o", out, "--replace", cwd=home).code == 0
    assert not (home / "site/rebuttal").exists()
    assert "site/index.html" in zipfile.ZipFile(home / "site.zip").namelist()
    (home / "mine").mkdir()
    (home / "mine/notes.txt").write_text("mine")
    refused = manyheads_command("bundle", "runs", "-o", "mine", "--replace", cwd=home)
    assert (refused.code, (home / "mine/notes.txt").read_text()) == (2, "mine")
    assert not [path for path in home.iterdir() if path.name.startswith(".bundle")]


def test_what_is_no_folder_of_runs_is_refused(home: Path) -> None:
    (home / "empty").mkdir()
    for name, word in (
        ("nowhere", "No such file"),
        ("empty", "no runs in it"),
        ("runs/one", "manyheads bundle runs"),
    ):
        refused = manyheads_command("bundle", name, cwd=home)
        assert (refused.code, word in refused.message) == (2, True), refused.message


@pytest.mark.slow
def test_every_system_has_a_place_in_a_site(tmp_path: Path) -> None:
    for path in RESULTS.glob("*.json"):
        (tmp_path / "runs" / path.stem).mkdir(parents=True)
        shutil.copy(path, tmp_path / "runs" / path.stem / "result.json")
    assert data_file("configs/virsci.yaml").is_file()
    done = manyheads_command("bundle", "runs", cwd=tmp_path)
    assert done.code == 0, done.err
    assert len(pages(tmp_path / "runs-site")) > len([*RESULTS.glob("*.json")])
