"""BibTeX: accents, names, macros, and entries that are broken."""

import io
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError
from manyheads.base.text import NotTeXError, from_latex
from manyheads.corpus.records import RawPaper, Rejects
from manyheads.datasets.opening import SourceOptions, open_corpus
from manyheads.datasets.values import bibtex_names
from support.datasets import read_papers

LIBRARY = r"""Free text before the first entry is a comment, even with an a@b.
@string{pears = "Journal of {Pears}"}
@comment{nothing}
@preamble{"\newcommand{\x}{y}"}
@Article{okafor:2015,
  Title = {On {Soft} Fingers: {\'E}tudes with $\alpha_{1}$ \& more},
  author = {Okafor, J{\"o}rg and Jos\'e {\'A}lvarez and {The Pear Team} and Ludwig van Beem and others},
  journal = pears, year = 2015, month = jan,
  abstract = "About 50% of pears, half~all
     of them {Dutch}.",
  keywords = {soft fingers, pears; grasping}
}
@inproceedings{lux, title = {Pears}, author = {A B}, date = {2016-03}, booktitle = {Fruit}}
"""


def read(path: Path, text: str) -> tuple[list[RawPaper], Rejects]:
    path.write_text(text, encoding="utf-8")
    return read_papers(path, "bibtex")


def test_entries_are_read_as_people_read_them(tmp_path: Path) -> None:
    [article, talk], rejects = read(tmp_path / "my.bib", LIBRARY)
    assert article.id == "okafor:2015"
    assert article.title == r"On Soft Fingers: Études with $\alpha_{1}$ & more"
    assert article.byline == ("Jörg Okafor", "José Álvarez", "The Pear Team", "Ludwig van Beem")
    assert article.abstract == "About 50% of pears, half all of them Dutch."
    assert (article.year, article.venue, article.citations) == (2015, "Journal of Pears", None)
    assert article.keywords == ("soft fingers, pears", "grasping")
    assert (talk.id, talk.year, talk.venue, talk.abstract) == ("lux", 2016, "Fruit", "")
    assert not rejects.total


def test_broken_entries_are_rejected_with_field_and_line_and_the_others_read(tmp_path: Path) -> None:
    good = "".join(f"@misc{{g{n}, title={{T}}, author={{A B}}, year=2015}}\n" for n in range(6))
    bad = (
        "@article{open, title = {never closed\n"
        "@article{late, title={T}, author={A B}, year={forthcoming}}\n"
        "@article{crowd, title={T}, author={A, B, C, D, E}, year=2015}\n"
        "@article{none, title={T}, year=2015}\n"
        "@article{twice, title={T}, author={A B}, year=2015, year=2016}\n"
    )
    found, rejects = read(tmp_path / "my.bib", good + bad)
    assert len(found) == 7
    assert found[6].byline == ()
    told = [str(reject) for reject in rejects.first]
    assert told[0].startswith("record 7, entry: ")
    assert told[0].endswith("(open, line 7)")
    assert told[1] == "record 8, year: not a whole number: 'forthcoming' (late, line 8)"
    assert "Too many commas" in told[2]
    assert "year" in told[3]


def test_an_entry_on_the_line_of_another_is_not_passed_over(tmp_path: Path) -> None:
    one = "@misc{a%d, title={T}, author={A B}, year=2015}"
    found, rejects = read(tmp_path / "my.bib", "\n".join(one % n for n in range(3)) + one % 3 + "\n")
    assert [paper.id for paper in found] == ["a0", "a1"]
    assert "record 3, entry: another entry begins inside" in rejects.summary()


@pytest.mark.parametrize(
    ("encoding", "remark"),
    [("utf-8", None), ("cp1252", "Windows-1252"), ("gbk", "not UTF-8"), ("shift-jis", "not UTF-8")],
)
def test_entries_of_older_programs_are_read_and_told_and_others_refused(
    tmp_path: Path, encoding: str, remark: str | None
) -> None:
    title = "水果和梨" if encoding in ("gbk", "shift-jis") else "Früchte – „reif“"
    path = tmp_path / "old.bib"
    path.write_bytes(f"@misc{{a, title={{{title}}}, author={{A B}}, year=2015}}\n".encode(encoding))
    rejects = Rejects(log := io.StringIO())
    papers = open_corpus(path, SourceOptions("bibtex")).papers(rejects)
    if remark == "not UTF-8":
        with pytest.raises(CorpusError, match="1 of 1 records are not UTF-8") as told:
            next(papers)
        assert "iconv" in str(told.value.hint)
    else:
        assert next(papers)[1].title == title
    assert (remark or "") in log.getvalue()
    assert bool(rejects.faulty) == (encoding == "cp1252")


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        (r"{\ss}tra{\ss}e, \O{}rsted", "ßtraße, Ørsted"),
        (r"50\% of \#1 \& 50% of #2", "50% of #1 & 50% of #2"),
        (r"\'{e}t\'e and 5% more", "été and 5% more"),
        (r"\input{/etc/passwd}", ""),
        (r"keep $\frac{a}{b}$ {DROP} braces", r"keep $\frac{a}{b}$ DROP braces"),
    ],
)
def test_latex_becomes_letters(text: str, read_as: str) -> None:
    assert from_latex(text) == read_as


@pytest.mark.parametrize("text", [r"\begin{array}", "\\'" + "{" * 3000])
def test_what_is_no_latex_is_said(text: str) -> None:
    with pytest.raises(NotTeXError):
        from_latex(text)


def test_names_stand_with_the_family_name_last() -> None:
    assert bibtex_names("de la Cruz, Ana and King, Jr, Martin") == ["Ana de la Cruz", "Martin King Jr"]
