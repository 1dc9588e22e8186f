"""ACL Anthology XML: numbers, names, markup, and XML that is not to be trusted."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.records import Rejects
from manyheads.datasets.opening import SourceOptions, open_corpus
from manyheads.datasets.values import anthology_id
from support.datasets import read_papers

PAPER = """
    <paper id="{number}">
      <title>Weighing <fixed-case>D</fixed-case>utch
        pears with <i>soft</i> fingers</title>
      <author id="jo-berg-2"><first>Jo</first><last>Berg</last><affiliation>Sea U</affiliation></author>
      <author><first/><last>Mira</last><variant script="hani"><first>米</first><last>拉</last></variant></author>
      <pages>1–9</pages>
      <abstract>Pears &amp; apples, <tex-math>x_1</tex-math> each.</abstract>
      <url hash="0">x</url>
    </paper>"""
VOLUME = """<?xml version="1.0" encoding="UTF-8"?>
<collection id="{collection}">
  <volume id="{volume}" type="proceedings">
    <meta><booktitle>Proceedings of <fixed-case>FRUIT</fixed-case></booktitle>
      <editor><first>Ed</first><last>Itor</last></editor><year>2021</year><venue>fruit</venue></meta>
    <frontmatter><url>x</url></frontmatter>{papers}
  </volume>
</collection>
"""


def xml(*papers: str, collection: str = "2021.fruit", volume: str = "long") -> str:
    return VOLUME.format(collection=collection, volume=volume, papers="".join(papers))


def refused(path: Path) -> CorpusError:
    with pytest.raises(CorpusError) as told:
        read_papers(path, "anthology")
    return told.value


def test_a_paper_is_read_with_all_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "2021.fruit.xml"
    path.write_text(xml(PAPER.format(number=7)), encoding="utf-8")
    [found], rejects = read_papers(path, "anthology")
    assert found.id == "2021.fruit-long.7"
    assert found.title == "Weighing Dutch pears with soft fingers"
    assert found.abstract == "Pears & apples, x_1 each."
    assert (found.year, found.venue, found.citations) == (2021, "fruit", None)
    assert found.byline == ("Jo Berg", "Mira")
    assert found.keys == ("jo-berg-2", "Mira")
    assert found.affiliations_of("jo-berg-2") == ("Sea U",)
    assert found.affiliations_of("Mira") == ()
    assert not rejects.total


@pytest.mark.parametrize(
    ("collection", "volume", "paper", "number"),
    [
        ("2023.acl", "long", "1", "2023.acl-long.1"),
        ("P18", "1", "1", "P18-1001"),
        ("P18", "3", "12", "P18-3012"),
        ("W18", "25", "4", "W18-2504"),
        ("C69", "1", "2", "C69-0102"),
        ("D19", "1", "2", "D19-1002"),
        ("D19", "50", "2", "D19-5002"),
    ],
)
def test_numbers_are_those_of_the_anthology(collection: str, volume: str, paper: str, number: str) -> None:
    assert anthology_id(f"{collection} {volume} {paper}") == number


def test_a_folder_is_read_file_by_file_and_rejects_name_theirs(tmp_path: Path) -> None:
    nameless = PAPER.format(number=2).replace("<title>", "<title/><x>").replace("</title>", "</x>")
    (tmp_path / "b.xml").write_text(xml(PAPER.format(number=1), nameless), encoding="utf-8")
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(xml(PAPER.format(number=3)).encode()))
    (tmp_path / "notes.txt").write_text("no XML")
    found, rejects = read_papers(tmp_path, "anthology")
    assert [one.id for one in found] == ["2021.fruit-long.3", "2021.fruit-long.1"]
    [reject] = rejects.first
    assert str(reject).startswith("b.xml, paper 2, title: ")


BOMB = """<?xml version="1.0"?>
<!DOCTYPE c [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY d SYSTEM "file:///etc/passwd">]>
<collection id="x"><volume id="1"><paper id="1"><title>&b;&d;</title></paper></volume></collection>"""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no element found"),
        (b'{"id": 1}', "not well-formed"),
        (BOMB.encode(), "EntitiesForbidden"),
        (b"<html><body/></html>", "begins with <html>"),
        (b'<?xml version="1.0" encoding="utf-99"?><collection/>', "utf-99"),
        (xml(PAPER.format(number=1)).encode("latin-1", "replace").replace(b"?", b"\xe9", 5), "well-formed"),
        (xml(PAPER.format(number=1)).encode()[:-20], "after paper 1"),
        (b'<collection id="x"/>', "contains no paper"),
    ],
)  # fmt: skip
def test_what_is_no_anthology_is_refused_in_words(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "some.xml"
    path.write_bytes(content)
    error = refused(path)
    assert "some.xml" in error.message
    assert said in error.message
    assert error.hint


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    sizes = (100, 1000)
    # When garbage is collected moves a peak; the least of several is what reading needs.
    peaks = [min(peak(tmp_path / f"{size}.xml", size) for _ in range(3)) for size in sizes]
    assert peaks[1] < 2 * peaks[0]


def peak(path: Path, papers: int) -> int:
    """Bytes at most, while a file of so many papers is read."""
    path.write_text(xml(*(PAPER.format(number=number) for number in range(papers))), encoding="utf-8")
    reader = open_corpus(path, SourceOptions("anthology"))
    tracemalloc.start()
    try:
        assert sum(1 for _ in reader.papers(Rejects())) == papers
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
