"""Telling formats apart, opening what a user names, and reading several sources as one."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.records import Rejects
from manyheads.datasets.formats import format_examples, formats
from manyheads.datasets.opening import SourceOptions, detect, name_of, open_corpus, open_sources
from support.datasets import read_papers
from support.papers import paper, write_corpus

XML = '<?xml version="1.0"?>\n<collection id="2021.fruit"><volume id="1"><meta><year>2021</year></meta></volume></collection>'
BIB = "% my library\n\n@article{a, title={Pears}, author={Jo Berg}, year=2015}\n"
CSV = "title,abstract,authors,year\nPears,About pears.,Jo Berg,2015\n"
OAG = json.dumps(
    {"id": "1", "title": "Pears", "authors": [{"id": "a", "name": "Jo Berg"}], "year": 2015, "n_citation": 1}
)
OURS = json.dumps(paper())
AMINER = "#index 1\n#* Pears\n#@ Jo Berg\n#t 2015\n"
GRAPH = json.dumps({"corpusid": 1, "title": "Pears", "authors": [], "year": 2015})


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.jsonl", OURS, "jsonl"),
        ("a.txt", "\ufeff" + OURS, "jsonl"),
        ("a.xml", XML, "anthology"),
        ("a.bib", BIB, "bibtex"),
        ("library", BIB, "bibtex"),
        ("a.csv", CSV, "csv"),
        ("a.csv", "a,b,c\n1,2,3\n", "csv"),
        ("a.txt", CSV.replace(",", "\t"), "csv"),
        ("a.json", OAG, "oag"),
        ("a.json", f"[\n{OURS}]", "json"),
        ("AMiner-Paper.txt", AMINER, "aminer"),
        ("papers", GRAPH, "semantic-scholar"),
        ("a.parquet", "PAR1", "parquet"),
    ],
)
def test_files_are_told_by_content_and_name_packed_or_not(
    tmp_path: Path, name: str, content: str, found: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert detect(tmp_path / name) == found
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert detect(packed) == found
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr(name, content)
    if name not in ("a.csv",) or content == CSV:
        assert detect(tmp_path / "all.zip") == found


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.xml": XML, "b.xml.gz": ""}, "anthology"),
        ({"deep/a.bib": BIB}, "bibtex"),
        ({"train-0.parquet": "PAR1"}, "parquet"),
        ({"a.tsv": CSV, "README.md": "#"}, "csv"),
        ({"AMiner-Paper.txt": AMINER}, "aminer"),
        ({"papers/1.gz": "", "abstracts/1.gz": ""}, "semantic-scholar"),
        ({"v3.1_author_1.json": '{"id": "a", "name": "Jo"}', "v3.1_publication_1.json": OAG}, "oag"),
        ({"a.jsonl": OURS, "b.jsonl": OURS}, "jsonl"),
    ],
)
def test_folders_are_told_by_what_is_in_them(tmp_path: Path, files: dict[str, str], found: str) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert detect(tmp_path) == found


@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_called_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.bib").write_bytes(content)
    with pytest.raises(CorpusError, match="empty"):
        detect(tmp_path / "a.bib")


@pytest.mark.parametrize("content", ["just words\n", "<html></html>", "\x00\x01\x02"])
def test_an_unknown_format_lists_those_that_are_known(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.doc").write_text(content)
    known = format_examples()
    for path in (tmp_path / "a.doc", tmp_path):
        with pytest.raises(CorpusError) as told:
            detect(path)
        assert told.value.tried == known
    assert all(f"{name} ({one.example})" in known for name, one in formats().items())
    with pytest.raises(CorpusError, match="no such file or folder"):
        detect(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match="no such format"):
        open_corpus(tmp_path, SourceOptions("docx"))


def test_a_preset_says_what_a_folder_holds(tmp_path: Path) -> None:
    (tmp_path / "papers.json").write_text(
        json.dumps({"id": "1", "title": "Pears", "authors": [], "year": 2015})
    )
    [found], _ = read_papers(open_sources([str(tmp_path)], SourceOptions(preset="oag")))
    assert found.citations is None


def test_several_sources_are_read_as_one_and_rejects_name_theirs(tmp_path: Path) -> None:
    write_corpus(tmp_path / "one.jsonl", [paper(1), "{cut", paper(2)])
    (tmp_path / "two.bib").write_text(BIB + "@misc{b, title={T}, author={A B}}\n" + BIB.replace("{a,", "{c,"))
    reader = open_sources([str(tmp_path / "one.jsonl"), str(tmp_path / "two.bib")], SourceOptions())
    assert reader.name == "one.jsonl + two.bib"
    found, rejects = read_papers(reader)
    assert [one.id for one in found] == ["p1", "p2", "a", "c"]
    assert [str(reject).partition(":")[0] for reject in rejects.first] == [
        "one.jsonl, line 2, json",
        "two.bib, record 2, year",
    ]
    assert rejects.by_field == {"json": 1, "year": 1}


def test_a_broken_source_is_not_carried_by_a_sound_one(tmp_path: Path) -> None:
    sound = write_corpus(tmp_path / "one.jsonl", [paper(number) for number in range(50)])
    broken = write_corpus(tmp_path / "two.jsonl", [paper(99), "{cut", "{cut"])
    with pytest.raises(CorpusError, match=r"2 of 3 lines are not papers: two\.jsonl, line 2"):
        read_papers(open_sources([str(sound), str(broken)], SourceOptions()))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("data/papers.jsonl.gz", "papers"), ("2023.acl.xml", "2023.acl"), ("x/oag/", "oag"), ("a.zip", "a"),
        ("s2:graph  retrieval/..", "graph-retrieval"), ("s2:?!", "search"),
    ],
)  # fmt: skip
def test_corpora_are_named_by_their_source(source: str, name: str) -> None:
    assert name_of(source) == name


@pytest.mark.parametrize("line", ['{"paperTitle": "A", "summary": "B"}', '{"Name": "A", "Abstract": "B", "Year": 2015}'])  # fmt: skip
def test_lines_with_other_keys_are_a_table_whose_columns_can_be_set(tmp_path: Path, line: str) -> None:
    source = tmp_path / "papers.jsonl"
    source.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError) as error:
        list(open_corpus(source).papers(Rejects()))
    assert "--columns " in str(error.value.hint)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_papers_in_an_object_is_read(tmp_path: Path, indent: int | None) -> None:
    source = tmp_path / "papers.json"
    page = {"meta": {"n": 1}, "papers": [{"title": "A", "year": 2015}] * 2, "next": {"papers": []}}
    source.write_text("\n".join([json.dumps(page, indent=indent)] * 3), encoding="utf-8")
    found, rejects = read_papers(source)
    assert ([one.title for one in found], rejects.total) == (["A"] * 6, 0)


@pytest.mark.parametrize("text", ["n/a", "NA", "-", "nan", "Unknown", " "])
def test_a_word_for_a_missing_count_is_no_reject(tmp_path: Path, text: str) -> None:
    source = tmp_path / "papers.csv"
    source.write_text(f"title,abstract,authors,year,citations\nA,B,Jo Berg,2015,{text}\n", encoding="utf-8")
    [(_, paper)] = open_corpus(source).papers(Rejects())
    assert paper.citations is None
