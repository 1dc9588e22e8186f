"""Papers as people have them: folders, LaTeX folders and archives, and addresses, downloaded once into the run's folder."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from manyheads.base.http import Pace
from manyheads.base.papers import web_address
from manyheads.literature import fulltext
from support.command import Done, manyheads_command, result_of
from support.files import FileServer
from support.openalex import OpenAlexServer, work

OWLS = "Owls hear better than they see, and mice know it. " * 5
TEX = rf"\documentclass{{article}}\title{{Owls}}\begin{{document}}\section{{Introduction}}{OWLS}\input{{sec}}\end{{document}}"
MARKDOWN = f"# Readers agree\n\n## Abstract\nThey do.\n\n## 1 Introduction\n{OWLS}\n"
ABSTRACT = f"<!doctype html><h1>Owls</h1><h2>Abstract</h2><p>We ask.</p><h2>1 Introduction</h2><p>{OWLS}</p>"
HTML = f"<!doctype html><html><h1>Owls</h1><h2>1 Introduction</h2><p>{OWLS}</p></html>"
OFF = (f"mamorx.{name}.enabled=false" for name in ("novelty", "figures", "references"))
SHORT = (*(part for each in OFF for part in ("-s", each)), "-s", "exchanges=1", "--quiet")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setattr(fulltext, "PACE", Pace(0.0))
    with FileServer({"/owls.html": HTML.encode()}) as server:
        yield server


@pytest.fixture
def home(server: FileServer) -> tuple[str, ...]:
    """The one setting by which an address of this machine may be asked."""
    return (*SHORT, "-s", f"literature.endpoints.arxiv={server.url}", "-s", "literature.retries=0")


def review(*arguments: str, cwd: Path) -> Done:
    return manyheads_command("review", *arguments, "-o", "out", cwd=cwd)


def titles(folder: Path) -> list[str]:
    return sorted(str(result_of(each.parent)["title"]) for each in folder.glob("*/result.json"))


def latex(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in ({"main": TEX, "sec": "Last words."} | files).items():
        (folder / f"{name}.tex").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("2401.12345", "https://arxiv.org/pdf/2401.12345"), ("arXiv:2401.12345v2", "https://arxiv.org/pdf/2401.12345v2"),
        ("https://arxiv.org/abs/2401.12345v2", "https://arxiv.org/pdf/2401.12345v2"),
        ("http://www.arxiv.org/pdf/2401.12345.pdf", "https://arxiv.org/pdf/2401.12345"), ("hep-th/9901001", "https://arxiv.org/pdf/hep-th/9901001"),
        ("https://arxiv.org/abs/2401.12345?context=cs", "https://arxiv.org/pdf/2401.12345"),
        ("10.48550/arXiv.2401.12345", "https://arxiv.org/pdf/2401.12345"), ("doi:10.1000/a(b)1", "https://doi.org/10.1000/a(b)1"),
        ("https://doi.org/10.1000/xyz", "https://doi.org/10.1000/xyz"), ("https://a.example/p?id=1", "https://a.example/p?id=1"),
        ("paper.pdf", None), ("https://", None), ("ftp://a.example/p", None), ("a paper on https://a.example", None), ("file:///etc/passwd", None),
    ],
)  # fmt: skip
def test_what_names_a_paper_on_the_web(name: str, address: str | None) -> None:
    assert web_address(name) == address


@pytest.mark.slow
def test_a_folder_is_all_papers_in_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (mine := tmp_path / "mine").mkdir()
    latex(mine / "sent")
    (mine / "a.html").write_text(HTML.replace("Owls</h1>", "Mice</h1>"))
    (mine / "b.md").write_text(MARKDOWN)
    for other in ("README.md", "data.csv"):
        (mine / other).write_text(MARKDOWN)
    done = review("mine", *SHORT, cwd=tmp_path)
    assert done.code == 0, done.err
    assert titles(tmp_path / "out") == ["Mice", "Owls", "Readers agree"]
    assert "README.md, data.csv" in caplog.text
    (tmp_path / "none").mkdir()
    assert "without papers" in review("none", *SHORT, cwd=tmp_path).message


def test_a_latex_folder_is_one_paper_and_a_mixed_one_is_asked_about(tmp_path: Path) -> None:
    latex(folder := tmp_path / "sent", other=TEX.replace("Owls}", "Rivals}"))
    (folder / "main.pdf").write_bytes(b"%PDF-")
    assert review("sent", *SHORT, cwd=tmp_path).code == 0
    assert titles(tmp_path / "out") == ["Owls"]
    (folder / "rival.pdf").write_bytes(b"%PDF-")
    message = review("sent", *SHORT, cwd=tmp_path).message
    assert "main.tex" in message
    assert "rival.pdf" in message


@pytest.mark.parametrize("kind", ["zip", pytest.param("tar.gz", marks=pytest.mark.slow)])
def test_an_archive_is_unpacked_into_the_runs_folder_and_resumed_without_it(
    kind: str, tmp_path: Path
) -> None:
    import shutil

    latex(tmp_path / "sent")
    shutil.make_archive(str(tmp_path / "sent"), kind.replace("tar.gz", "gztar"), tmp_path / "sent")
    done = manyheads_command("run", "mamorx", "--paper", f"sent.{kind}", *SHORT, "-o", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    out = tmp_path / "out"
    assert yaml.safe_load((out / "config.yaml").read_text())["inputs"]["paper"] == "./sent/main.tex"
    assert result_of(out)["paper"]["source"] == str(tmp_path / f"sent.{kind}")
    (tmp_path / f"sent.{kind}").unlink()
    moved = out.rename(tmp_path / "moved")
    assert manyheads_command("resume", "moved", "--quiet", cwd=tmp_path).code == 0
    assert result_of(moved)["title"] == "Owls"


def test_a_download_is_kept_and_resumed_without_a_network(
    home: tuple[str, ...], server: FileServer, tmp_path: Path
) -> None:
    server.files["/pdf/2401.12345v2"] = (302, {"Location": "/owls.html"}, b"")
    for name in ("arXiv:2401.12345v2", "https://arxiv.org/abs/2401.12345v2"):
        assert review(name, *home, "--estimate", cwd=tmp_path).code == 0
    assert not (tmp_path / "out").exists()
    begun = manyheads_command(
        "run", "mamorx", "--paper", "2401.12345v2", *home, "--budget", "calls=3", "-o", "out", cwd=tmp_path
    )
    assert begun.code == 3, begun.err
    out = tmp_path / "out"
    entry = json.loads((out / "downloads.jsonl").read_text())
    assert entry["named"] == "2401.12345v2"
    asked = [*server.asked]
    server.files.clear()
    assert manyheads_command("resume", "out", "-s", "budget.calls=99", cwd=tmp_path).code == 0
    assert server.asked == asked
    assert result_of(out)["paper"]["source"] == "2401.12345v2"


def test_several_at_once_resume_and_one_that_fails_costs_the_others_nothing(
    home: tuple[str, ...], server: FileServer, tmp_path: Path
) -> None:
    both = (f"{server.url}/owls.html", f"{server.url}/gone.html")
    for _ in range(2):
        done = review(*both, *home, cwd=tmp_path)
        assert (done.code, done.err.count("gone.html cannot be downloaded: 404")) == (5, 1), done.err
    assert server.asked.count("/owls.html") == 1, "the second start has it"
    assert titles(tmp_path / "out") == ["Owls"]


def test_a_publishers_page_leads_to_its_pdf_but_never_to_a_private_address(
    home: tuple[str, ...], server: FileServer, tmp_path: Path
) -> None:
    with FileServer({"/secret.html": HTML.encode()}) as stranger:
        page = '<!doctype html><meta name="citation_pdf_url" content="{}"><h1>Page</h1>'
        server.files["/page"] = page.format("/owls.html").encode()
        server.files["/bad"] = page.format(f"{stranger.url}/secret.html").encode()
        server.files["/moved"] = (302, {"Location": f"{stranger.url}/secret.html"}, b"")
        assert review(f"{server.url}/page", *home, cwd=tmp_path).code == 0
        assert titles(tmp_path / "out") == ["Owls"]
        for path in ("bad", "moved"):
            assert "not a public address" in review(f"{server.url}/{path}", *home, cwd=tmp_path).message
        assert "not a public address" in review(f"{stranger.url}/secret.html", *home, cwd=tmp_path).message
        assert stranger.asked == []
    assert len([*(tmp_path / "out").iterdir()]) == 1


def test_what_is_no_paper_is_refused_in_a_sentence(
    home: tuple[str, ...], server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "LARGEST", 50_000)
    server.files |= {
        "/video.mp4": b"\x00\x00\x00 ftypisom" * 9,
        "/large.pdf": b"%PDF-" + bytes(60_000),
        "/empty.pdf": b"",
    }
    for path, part in {
        "video.mp4": "no paper",
        "large.pdf": "longer than 0.05 MB",
        "empty.pdf": "no paper",
    }.items():
        assert part in review(f"{server.url}/{path}", *home, cwd=tmp_path).message
    assert not (tmp_path / "out").exists() or not [*(tmp_path / "out").iterdir()]


@pytest.mark.parametrize("name", ["../evil.tex", "/etc/evil.tex", "a\\..\\..\\evil.tex"])
def test_an_archive_writes_nothing_outside(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("main.tex", TEX)
        archive.writestr(name, "x")
    assert "outside" in review("bad.zip", *SHORT, cwd=tmp_path).message
    assert not [*tmp_path.rglob("evil.tex")]


@pytest.mark.slow
def test_a_text_or_an_idea_may_be_a_paper_too(server: FileServer, tmp_path: Path) -> None:
    server.files["/page.html"] = ABSTRACT.encode()
    server_only = ("-s", f"literature.endpoints.arxiv={server.url}", "--quiet")
    page = f"{server.url}/page.html"
    done = manyheads_command(
        "run", "conference-review", "--subject", page, *server_only, "-o", "one", cwd=tmp_path
    )
    assert done.code == 0, done.err
    subject = result_of(tmp_path / "one")["subject"]
    assert subject["source"] == page
    assert "We ask." in subject["text"]
    assert OWLS.strip() in subject["text"]
    (tmp_path / "known.md").write_text("Mice hide from owls.")
    done = manyheads_command(
        "run", "rebuttal", "--idea", page, "--background", "known.md", *server_only, "-o", "two", cwd=tmp_path
    )
    assert done.code == 0, done.err
    shown = (tmp_path / "two" / "events.jsonl").read_text()
    assert "We ask." in shown
    assert manyheads_command("resume", "one", "--quiet", cwd=tmp_path).code == 0
    assert server.asked == ["/page.html"] * 2


def test_check_downloads_nothing(server: FileServer, tmp_path: Path) -> None:
    done = manyheads_command("check", "mamorx", "-s", f"inputs.paper={server.url}/owls.html", cwd=tmp_path)
    assert "when a run begins" in done.out
    assert server.asked == []


def test_a_doi_leads_to_an_open_copy_that_a_source_knows(server: FileServer, tmp_path: Path) -> None:
    server.files["/owls.pdf"] = b"%PDF-1.4 no more"
    location = {"pdf_url": f"{server.url}/owls.pdf"}
    works = [
        work(1, "Owls", doi="https://doi.org/10.1000/owls", best_oa_location=location),
        work(2, "Mice", doi="https://doi.org/10.1000/mice"),
    ]
    with OpenAlexServer(papers=works) as sources:
        sets = (
            *SHORT,
            "-s",
            f"literature.endpoints={{openalex: '{sources.url}', arxiv: '{server.url}'}}",
            "-s",
            "literature.cascade=[openalex]",
        )
        message = review("doi:10.1000/owls", *sets, cwd=tmp_path).message
        assert "manyheads: doi:10.1000/owls" in message, "it was had, and is no whole PDF"
        assert "PDFium" in message
        assert server.asked == ["/owls.pdf"]
        message = review("https://doi.org/10.1000/mice", *sets, cwd=tmp_path).message
        assert "10.1000/mice cannot be downloaded" in message
        assert len(sources.requests) == 2
