"""What exporters write that no description of their format says, in small files by hand: name, text, and what is read of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from manyheads.datasets.opening import detect
from support.datasets import read_papers

WORK = {
    "DOI": "10.1234/a", "title": ["Pears"], "container-title": ["Fruit"], "author": [{"given": "Jo", "family": "Berg", "sequence": "first"}],
    "issued": {"date-parts": [[None]]}, "published": {"date-parts": [[2015, 3]]}, "abstract": "<jats:p>We &lt; you.</jats:p>",
    "is-referenced-by-count": 3, "reference": [{"DOI": "10.1/b"}, {"unstructured": "Figs"}],
}  # fmt: skip
READ = {
    "id": "10.1234/a", "title": "Pears", "venue": "Fruit", "year": 2015, "citations": 3, "byline": ("Jo Berg",), "abstract": "We < you.",
    "references": ("10.1/b",),
}  # fmt: skip
PAGE = {"status": "ok", "message": {"facets": {}, "items": [WORK], "total-results": 1}}
CITING = {"data": [{"contexts": ["x"], "citingPaper": {"paperId": "a", "title": "Pears", "year": 2015}}]}
ARXIV = {
    "id": "0704.0001", "authors": "C. Bal\\'azs", "title": "Pears", "abstract": " We ask.", "update_date": "2008-11-26",
    "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}], "authors_parsed": [["Bal\\'azs", "C.", ""]],
}  # fmt: skip
ODDITIES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "Scopus begins its RIS with a date and has counts in notes": (
        "ris", "a.ris",
        "Scopus\nEXPORT DATE: 15 March 2024\n\nTY  - JOUR\nTI  - Pears\nPY  - 2015\nN1  - Export Date: 15 March 2024; Cited By: 1,037;\nER  -\n",
        {"title": "Pears", "citations": 1037},
    ),
    "Web of Science has counts in lines of a note": (
        "ris", "a.ris", "TY  - JOUR\nTI  - Pears\nPY  - 2015\nN1  - Times Cited in Web of Science Core Collection:  12\nTotal Times Cited:  14\nER  -\n",
        {"citations": 12},
    ),
    "the book of a chapter in RIS": (
        "ris", "a.ris", "TY  - CHAP\nTI  - Pears\nBT  - Fruit\nPY  - 2015\nED  - Dee, Cy\nAU  - Berg, Jo\nER  -\n",
        {"title": "Pears", "venue": "Fruit", "byline": ("Jo Berg",)},
    ),
    "PubMed writes a suffix after the given names": (
        "nbib", "a.nbib", "PMID- 7\nTI  - Pears\nDP  - 2015\nFAU - King, Martin L Jr\nFAU - Cole, A Sr.\nFAU - Jr, Bo\n",
        {"byline": ("Martin L King Jr", "A Cole Sr.", "Bo Jr")},
    ),
    "EndNote's tagged text": (
        "refer", "a.enw",
        "%0 Journal Article\n%T Pears\n%A Berg, Jo\n%A Wei Li\n%J Fruit\n%D 2015\n%X We\nask.\n%K soft\nhands\n%R 10.1234/a\n%@ 1234-5678\n\n",
        {"title": "Pears", "byline": ("Jo Berg", "Wei Li"), "venue": "Fruit", "abstract": "We ask.", "keywords": ("soft", "hands"), "doi": "10.1234/a"},
    ),
    "a page of Crossref": ("csl", "a.json", json.dumps(PAGE), READ),
    "a page of Crossref on many lines": ("csl", "a.json", json.dumps(PAGE, indent=1), READ),
    "one work of Crossref": ("csl", "a.json", json.dumps({"status": "ok", "message": WORK}, indent=1), READ),
    "one work of Crossref on a line": ("csl", "a.json", json.dumps({"status": "ok", "message": WORK}), READ),
    "papers that cite another, of Semantic Scholar": ("semantic-scholar-papers", "a.json", json.dumps(CITING), {"id": "a", "title": "Pears"}),
    "arXiv's metadata has the year of the first version": (
        "arxiv", "a.json", json.dumps(ARXIV) + "\n" + json.dumps(ARXIV), {"year": 2007, "byline": ("C. Balázs",)},
    ),
    "Zotero's items, as its service gives them": (
        "json", "a.json",
        json.dumps([{"key": "A", "library": {}, "data": {"key": "A", "title": "Pears", "abstractNote": "We ask.", "date": "2015-05-01", "publicationTitle": "Fruit",
            "creators": [{"firstName": "Jo", "lastName": "Berg"}, {"name": "Pear Group"}], "tags": [{"tag": "soft"}]}}]),
        {"id": "A", "title": "Pears", "abstract": "We ask.", "year": 2015, "venue": "Fruit", "byline": ("Jo Berg", "Pear Group"), "keywords": ("soft",)},
    ),
    "Mendeley's documents, as its service gives them": (
        "json", "a.json", json.dumps([{"title": "Pears", "authors": [{"first_name": "Jo", "last_name": "Berg"}], "year": 2015, "id": "u"}]), {"byline": ("Jo Berg",)},
    ),
    "Embase once wrote its header in capitals": (
        "embase", "a.csv", "TITLE,AUTHOR NAMES,SOURCE\nPears,\"Berg J., Li W.\",Fruit (2016) 12:3 (1-9). Date: 1 May 2017\n", {"year": 2016, "venue": "Fruit"},
    ),
    "papers of Semantic Scholar as a table": (
        "csv", "a.csv", "paperId,title,year,citationCount,authors\na,Pears,2015,3,Jo Berg; Wei Li\n", {"id": "a", "citations": 3},
    ),
    "works of OpenAlex as a table, with an author known by another name": (
        "csv", "a.csv",
        'id,title,authorships,publication_year,abstract_inverted_index\nW1,Pears,"[{\'author\': {\'id\': None, \'display_name\': None}, '
        "'raw_author_name': 'Jo Berg'}]\",2015,\"{'ask': [1], 'We': [0]}\"\n",
        {"byline": ("Jo Berg",), "abstract": "We ask"},
    ),
    "OpenAlex's own table": (
        "csv", "a.csv", "id,display_name,publication_year,authorships.author.display_name,primary_location.source.display_name\nW1,Pears,2015,Jo Berg|Wei Li,Fruit\n",
        {"byline": ("Jo Berg", "Wei Li"), "venue": "Fruit"},
    ),
    "texts joined by # in BibTeX": (
        "bibtex", "a.bib",
        '@string{f = "Fruit"}\n@string{ff = f # { and }}\n@article{a, title={A # "b"}, journal = FF # "hands" # 2, author="Jo {"}Berg", year=2015, month = jan # "~5"}',
        {"title": 'A # "b"', "venue": "Fruit and hands2", "byline": ('Jo "Berg',)},
    ),
    "a crossref in BibTeX, which names a later entry": (
        "bibtex", "a.bib",
        "@inproceedings{a, title={Pears}, author={Berg, Jo}, crossref={Touch15}}\n@proceedings{touch15, title={Proc. of Touch}, year=2015, editor={Dee, Cy}}",
        {"title": "Pears", "year": 2015, "venue": "Proc. of Touch", "byline": ("Jo Berg",)},
    ),
    "names in parts, of BibLaTeX": (
        "bibtex", "a.bib", "@book{a, title={Pears}, subtitle={A {Study}}, date={2015~}, author={family=Cruz, given={Ana M.}, given-i=A, prefix=de la, useprefix=true and Berg, Jo}}",
        {"title": "Pears: A Study", "byline": ("Ana M. de la Cruz", "Jo Berg")},
    ),
    "symbols in BibTeX of Zotero, and an older DOI": (
        "bibtex",
        "a.bib",
        "@article{a, title={p {\\textless} 0.05 {\\textbar} x{\\_}1 \\textgreater{} {\\textasciitilde}2}, year=2015, doi={10.1002/(SICI)1-4(96)47:1{\\textless}23::AID-A3{\\textgreater}3.0.CO;2-Q}}",
        {"title": "p < 0.05 | x_1 > ~2", "doi": "10.1002/(SICI)1-4(96)47:1<23::AID-A3>3.0.CO;2-Q"},
    ),
    "an older DOI in a link": (
        "ris",
        "a.ris",
        "TY  - JOUR\nTI  - Pears\nPY  - 2015\nUR  - https://doi.org/10.1175/1-4(1994)033%3C0140:ASTMFM%3E2.0.CO;2\nER  -\n",
        {"doi": "10.1175/1-4(1994)033<0140:ASTMFM>2.0.CO;2"},
    ),
    "counts in BibTeX of Scopus": (
        "bibtex", "a.bib", "Scopus\nEXPORT DATE: 15 March 2024\n\n@ARTICLE{a, title={Pears}, year={2015}, note={Cited by: 37}, author_keywords={a; b}}",
        {"citations": 37, "keywords": ("a", "b")},
    ),
    "counts in BibTeX of Web of Science": ("bibtex", "a.bib", "@article{ WOS:1,\nTitle = {{Pears}},\nYear = {{2015}},\nTimes-Cited = {{12}},\n}\n", {"citations": 12}),
}  # fmt: skip


@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_oddity_of_an_exporter_is_read(tmp_path: Path, oddity: str) -> None:
    name, file, text, known = ODDITIES[oddity]
    (tmp_path / file).write_text(text)
    assert detect(tmp_path / file) == name
    papers, _ = read_papers(tmp_path / file)
    assert {field: getattr(papers[0], field) for field in known} == known


def test_a_year_that_is_no_year_yet_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("title,year\nPears,n.d.\nFigs,No date\nPlums,2015\nDates,2016\n")
    assert [str(one) for one in read_papers(tmp_path / "a.csv")[1].first] == [
        "row 1, year: missing",
        "row 2, year: missing",
    ]


def test_a_field_with_the_name_of_a_list_of_papers_is_a_field(tmp_path: Path) -> None:
    rows = [{"name": "Pears", "when": 2015, "results": {"accuracy": 1}, "items": ["soft"]}] * 2
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    papers, rejects = read_papers(tmp_path / "a.jsonl", columns={"title": "name", "year": "when"})
    assert ([one.title for one in papers], rejects.total) == (["Pears"] * 2, 0)
