"""Exports of known papers, as databases and tools write them with their oddities; and what reading one must give."""

import csv
import html
import io
import json
import random
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from manyheads.corpus.records import RawPaper

WORDS = [
    "soft",
    "grippers",
    "touch",
    "the",
    "edge",
    "of",
    "fruit",
    "before",
    "they",
    "close",
    "and",
    "slip",
    "is",
    "felt",
    "in",
    "motors",
    "where",
    "p",
    "<",
    "0.05",
    "holds",
    "for",
    "3",
    "of",
    "4",
    "hands:",
    "(see",
    "a",
    "note)",
    "R&D",
    "“quoted”",
    "naïve",
    "Ångström",
    "–",
    "β-sheet",
    "水",
    "it's",
    "100%",
    "A*",
    "search",
    "and=or",
    "x_1",
]
NAMES = (
    ("Anna", "Berg", ""), ("Li", "Wei", ""), ("Ana María", "de la Cruz", ""), ("Jörg", "Müller", ""), ("Cy", "O'Dee", ""),
    ("Martin L.", "King", "Jr"), ("Łukasz", "Żak", ""), ("Omar", "Haddad-Said", ""),
)  # fmt: skip
VENUES = ("Journal of Grips", "Fruit & Hands", "Proc. 12th Conf. on Touch")
TERMS = ("soft hands", "slip", "tactile sensing", "motors", "β-sheet")
FIELDS = ("title", "abstract", "byline", "year", "venue", "keywords", "doi", "citations", "id")


@dataclass
class Known:
    """A paper as it is."""

    number: int
    title: str
    abstract: str
    names: tuple[tuple[str, str, str], ...]
    year: int
    venue: str
    keywords: tuple[str, ...]
    citations: int
    broken: str = ""
    """`year` or `title`: the field that its record lacks, and which it is refused for."""

    @property
    def doi(self) -> str:
        return f"10.1234/grip.{self.number}"

    @property
    def byline(self) -> tuple[str, ...]:
        return tuple(" ".join(filter(None, name)) for name in self.names)

    @property
    def listed(self) -> list[str]:
        """Family name first."""
        return [", ".join(filter(None, (family, given, suffix))) for given, family, suffix in self.names]

    def has(self, field: str, value: Any) -> Any:
        return "" if self.broken == field else value


def known_papers(count: int, seed: int = 5, without: str = "") -> Iterator[Known]:
    """Papers, some without authors or an abstract, one in 97 broken; `without` names words and parts of names that are left out."""
    rng = random.Random(seed)
    words = [one for one in WORDS if one not in without.split()]
    names = [one for one in NAMES if not any(part in " ".join(one) for part in without.split())]
    terms = [one for one in TERMS if not any(part in one for part in without.split())]
    for number in range(1, count + 1):
        text = " ".join(rng.choices(words, k=rng.randint(5, 60)))
        yield Known(
            number, f"On {' '.join(rng.choices(words, k=5))} {number}", f"We ask {text}." if number % 10 else "",
            tuple(rng.sample(names, rng.randint(1, 4))) if number % 13 else (), rng.randint(1950, 2025), rng.choice(VENUES),
            tuple(rng.sample(terms, rng.randint(0, 3))), rng.randint(0, 900), ("year", "title")[number % 2] if number % 97 == 96 else "",
        )  # fmt: skip


@dataclass(frozen=True)
class Export:
    """A file of a format: what stands around its records, and how one is written."""

    file: str
    format: str
    record: Callable[[Known], str]
    carries: frozenset[str]
    """Fields that it has, of `FIELDS`."""
    start: str = ""
    between: str = ""
    end: str = ""
    encoding: str = "utf-8"
    changes: Mapping[str, Callable[[Known], Any]] = field(default_factory=dict[str, Any])
    """Fields whose value is another than the paper's own."""

    def write(self, folder: Path, papers: Iterable[Known]) -> Path:
        (folder / self.file).parent.mkdir(parents=True, exist_ok=True)
        with (folder / self.file).open("w", encoding=self.encoding, newline="") as out:
            out.write(self.start)
            for at, paper in enumerate(papers):
                out.write((self.between if at else "") + self.record(paper))
            out.write(self.end)
        return folder / self.file

    def wrong(self, paper: Known, read: RawPaper) -> list[str]:
        """The fields that were read wrongly."""
        found = {name: getattr(read, name) for name in self.carries}
        empty = {"venue": None, "doi": None}
        right = {
            name: self.changes.get(name, lambda one, name=name: getattr(one, name))(paper)
            for name in self.carries - {"id"}
        }
        own = (
            {"id": self.changes.get("id", lambda one: str(one.number))(paper)} if "id" in self.carries else {}
        )
        return [
            name
            for name, value in (right | own).items()
            if (found[name] or empty.get(name, found[name])) != value
        ]


def marked(text: str, number: int) -> str:
    """A text as some publishers deliver it: in tags and escaped."""
    return f"<jats:p>{html.escape(text, False)}</jats:p>" if text and number % 7 == 0 else text


def tagged(pairs: Iterable[tuple[str, object]], form: str = "{}  - {}", end: str = "\n") -> str:
    return "".join(
        form.format(tag, value).rstrip(" ") + end for tag, value in pairs if value not in (None, ())
    )


def ris(
    paper: Known,
    title: str = "TI",
    people: str = "AU",
    year: str = "PY",
    end: str = "\n",
    numbered: bool = False,
) -> str:
    date = {0: f"{paper.year}/05//", 1: f"{paper.year}", 2: f"{paper.year}/12/31/"}[paper.number % 3]
    pairs = [
        ("TY", "JOUR"), (title, paper.has("title", paper.title)), *((people, one) for one in paper.listed),
        (year, paper.has("year", date)), ("T2", paper.venue), *(("KW", one) for one in paper.keywords),
        ("AB", marked(paper.abstract, paper.number)), ("DO", paper.doi), ("N1", f"Export Date: {paper.number} May 2026; Cited By: {paper.citations}"), ("L2", ""),
        ("UR", f"https://example.org/{paper.number}"), ("ER", ""),
    ]  # fmt: skip
    return (f"{paper.number}.{end}" if numbered else "") + tagged(pairs, end=end) + end


def endnote_ris(paper: Known) -> str:
    """A keyword a line, abstracts over lines, dates in Y1, editors where there is no author."""
    text = "\n".join(textwrap.wrap(paper.abstract, 60, break_long_words=False, break_on_hyphens=False))
    pairs = [
        ("TY", "CHAP"), ("T1", paper.has("title", paper.title)), *(("A2" if paper.number % 5 == 0 else "A1", one) for one in paper.listed),
        ("Y1", paper.has("year", f"{paper.year}///")), ("JF", paper.venue), ("KW", "\n".join(paper.keywords)), ("N2", text), ("ID", paper.number), ("ER", ""),
    ]  # fmt: skip
    return tagged(pairs) + "\n"


def refer(paper: Known) -> str:
    text = "\n".join(textwrap.wrap(paper.abstract, 60, break_long_words=False, break_on_hyphens=False))
    pairs = [
        ("0", "Journal Article"), ("T", paper.has("title", paper.title)), *(("A", one) for one in paper.listed), ("J", paper.venue),
        ("D", paper.has("year", paper.year)), ("X", text), ("K", "\n".join(paper.keywords)), ("R", paper.doi), ("@", "1234-5678"),
    ]  # fmt: skip
    return tagged(pairs, "%{} {}") + "\n"


def nbib(paper: Known) -> str:
    def folded(text: str) -> str:
        return "\n      ".join(textwrap.wrap(text, 78, break_long_words=False, break_on_hyphens=False))

    date = {
        0: f"{paper.year} Dec 31",
        1: f"{paper.year} Spring",
        2: f"{paper.year} Dec-{paper.year + 1} Jan",
    }[paper.number % 3]
    pairs: list[tuple[str, object]] = [
        ("PMID", paper.number), ("OWN", "NLM"), ("DP", paper.has("year", date)), ("TI", folded(paper.has("title", paper.title))),
        ("LID", f"{paper.doi} [doi]"), ("LID", "S1 [pii]"), ("AB", folded(paper.abstract)),
    ]  # fmt: skip
    for name, (given, family, _) in zip(paper.listed, paper.names, strict=True):
        pairs += [("FAU", name), ("AU", f"{family} {given[0]}"), ("AD", "Basin Institute,\n      Northtown.")]
    pairs += [
        ("JT", paper.venue),
        *(("OT", f"*{one}" if paper.number % 2 else one) for one in paper.keywords),
        ("MH", "Humans" if paper.keywords else ""),
    ]
    return tagged([(one, text) for one, text in pairs if text != ""], "{:<4}- {}") + "\n"


def wos(paper: Known) -> str:
    def folded(text: str) -> str:
        return "\n   ".join(textwrap.wrap(text, 70, break_long_words=False, break_on_hyphens=False))

    pairs = [
        ("PT", "J"), ("AU", "\n   ".join(paper.listed)), ("AF", "\n   ".join(paper.listed)), ("TI", folded(paper.has("title", paper.title))),
        ("SO", paper.venue), ("DE", folded("; ".join(paper.keywords))), ("AB", folded(paper.abstract)), ("TC", paper.citations),
        ("PY", paper.has("year", paper.year)), ("UT", f"WOS:{paper.number}"), ("DI", paper.doi),
    ]  # fmt: skip
    return tagged([(one, text) for one, text in pairs if text != ""], "{} {}") + "ER\n\n"


def endnote_xml(paper: Known) -> str:
    def style(tag: str, text: object) -> str:
        return f'<{tag}><style face="normal" font="default">{html.escape(str(text), False)}</style></{tag}>'

    return (
        f"<record><rec-number>{paper.number}</rec-number><contributors><authors>{''.join(style('author', one) for one in paper.listed)}</authors></contributors>"
        f"<titles>{style('title', paper.title) if paper.broken != 'title' else ''}{style('secondary-title', paper.venue) if paper.broken != 'title' else ''}</titles>"
        f"<periodical>{style('full-title', paper.venue)}</periodical><keywords>{''.join(style('keyword', one) for one in paper.keywords)}</keywords>"
        f"<dates>{style('year', paper.year) if paper.broken != 'year' else ''}</dates>{style('abstract', paper.abstract)}"
        f"{style('electronic-resource-num', paper.doi)}</record>"
    )  # fmt: skip


def as_json(make: Callable[[Known], dict[str, Any]], end: str = "\n") -> Callable[[Known], str]:
    """A record without the field that it lacks, or with an object in it."""

    def record(paper: Known) -> str:
        made = make(paper)
        about = made.get("metadata", made)
        for key in [key for key in about if paper.broken and key in BROKEN[paper.broken]]:
            about[key] = {"raw": "On grips"} if paper.broken == "title" else None
        return json.dumps(made, ensure_ascii=paper.number % 2 == 0) + end

    return record


BROKEN = {
    "title": ("title", "display_name"),
    "year": ("year", "issued", "publication_year", "publication_date", "versions", "update_date"),
}


def positions(text: str) -> dict[str, list[int]] | None:
    found: dict[str, list[int]] = {}
    for at, word in enumerate(text.split()):
        found.setdefault(word, []).append(at)
    return found or None


def csl(paper: Known) -> dict[str, Any]:
    def name(given: str, family: str, suffix: str) -> dict[str, str]:
        particle, last = family.rsplit(" ", 1) if " " in family else ("", family)
        both = {"family": last, "given": given, "non-dropping-particle": particle, "suffix": suffix}
        return {key: value for key, value in both.items() if value}

    date: dict[str, Any] = {"date-parts": [[str(paper.year) if paper.number % 2 else paper.year, 5]]}
    return {
        "id": str(paper.number), "type": "article-journal", "title": paper.title, "abstract": marked(paper.abstract, paper.number),
        "author": [name(*one) for one in paper.names], "issued": date if paper.number % 3 else {"literal": f"May {paper.year}"},
        "container-title": paper.venue, "keyword": ", ".join(paper.keywords), "DOI": paper.doi,
    }  # fmt: skip


def openalex(paper: Known) -> dict[str, Any]:
    people = [
        {"author": {"id": f"https://openalex.org/A{len(one)}", "display_name": one, "orcid": None}, "institutions": [{"display_name": "Basin", "id": None}]}
        for one in paper.byline
    ]  # fmt: skip
    return {
        "id": f"https://openalex.org/W{paper.number}", "doi": f"https://doi.org/{paper.doi}", "title": paper.title, "display_name": paper.title,
        "publication_year": paper.year, "publication_date": f"{paper.year}-05-01", "authorships": people, "cited_by_count": paper.citations,
        "primary_location": {"source": {"id": "S1", "display_name": paper.venue}}, "referenced_works": [], "abstract_inverted_index": positions(paper.abstract),
        "keywords": [{"id": "k", "display_name": one, "score": 0.5} for one in paper.keywords],
    }  # fmt: skip


def scholar(paper: Known) -> dict[str, Any]:
    return {
        "paperId": str(paper.number), "externalIds": {"DOI": paper.doi, "CorpusId": paper.number}, "title": paper.title, "abstract": paper.abstract or None,
        "year": paper.year, "publicationDate": None, "citationCount": paper.citations, "venue": paper.venue, "fieldsOfStudy": [*paper.keywords] or None,
        "authors": [{"authorId": None, "name": one} for one in paper.byline],
    }  # fmt: skip


def aminer(paper: Known, *, ids: str = "id", plain: bool = False, indexed: str = "") -> dict[str, Any]:
    people = [one if plain else {ids: f"a{len(one)}", "name": one, "org": "Basin"} for one in paper.byline]
    index = {"IndexLength": len(paper.abstract.split()), "InvertedIndex": positions(paper.abstract) or {}}
    texts: dict[str, Any] = {
        "": {"abstract": paper.abstract}, "object": {"indexed_abstract": index}, "text": {"indexed_abstract": json.dumps(index)}
    }[indexed]  # fmt: skip
    return {
        ids: str(paper.number), "title": paper.title, "authors": people, "year": paper.year, "n_citation": paper.citations, "references": ["1", "2"],
        "venue": paper.venue if plain else {"raw": paper.venue, "id": "v1"}, "doi": paper.doi, "keywords": [*paper.keywords], **texts,
    }  # fmt: skip


def mongo(paper: Known) -> str:
    text = json.dumps(
        {**aminer(paper, ids="_id"), "year": None if paper.broken == "year" else paper.year},
        indent=2,
        ensure_ascii=False,
    )
    text = text.replace(
        f'"title": {json.dumps(paper.title, ensure_ascii=False)}',
        f'"title": {json.dumps(paper.has("title", paper.title), ensure_ascii=False)}',
    )
    return text.replace(f'"year": {paper.year}', f'"year" : NumberInt({paper.year})').replace(
        f'"n_citation": {paper.citations}', f'"n_citation" : NumberInt({paper.citations})'
    )


def blocks(paper: Known) -> str:
    rows = [
        ("*", paper.has("title", paper.title)),
        ("@", ",".join(paper.byline)),
        ("t", paper.has("year", paper.year)),
        ("c", paper.venue),
        ("index", paper.number),
    ]
    return (
        "".join(f"#{tag}{text}\n" for tag, text in [*rows, *(("!", one) for one in [paper.abstract] if one)])
        + "\n"
    )


def dblp(paper: Known) -> str:
    people = "".join(
        f"<author>{html.escape(one).replace('ü', '&uuml;')}{' 0001' if paper.number % 2 else ''}</author>"
        for one in paper.byline
    )
    title = html.escape(paper.title).replace("β", "<i>β</i>").replace("ï", "&iuml;")
    year = f"<year>{paper.year}</year>" if paper.broken != "year" else ""
    return (
        f'<article mdate="2026-05-01" key="journals/x/{paper.number}">{people}<title>{title if paper.broken != "title" else ""}</title>'
        f"<journal>{html.escape(paper.venue)}</journal>{year}<ee>https://doi.org/{paper.doi}</ee></article>\n"
        + ('<www key="homepages/b/Berg"><author>Anna Berg</author><title>Home Page</title></www>\n' if paper.number % 9 == 0 else "")
    )  # fmt: skip


def anthology(paper: Known) -> str:
    people = "".join(
        f"<author><first>{given}</first><last>{' '.join(filter(None, (html.escape(family), suffix)))}</last></author>"
        for given, family, suffix in paper.names
    )
    title = (
        f"<title>{html.escape(paper.title).replace('soft', '<fixed-case>soft</fixed-case>')}</title>"
        if paper.broken != "title"
        else ""
    )
    year = f"<year>{paper.year}</year>" if paper.broken != "year" else "<year>soon</year>"
    return f'<paper id="{paper.number}">{title}{people}{year}<abstract>{html.escape(paper.abstract)}</abstract><doi>{paper.doi}</doi></paper>\n'


def unarxive(paper: Known) -> dict[str, Any]:
    about = {
        "title": paper.title, "abstract": paper.abstract, "authors_parsed": [[family, given, suffix] for given, family, suffix in paper.names],
        "versions": [{"version": "v1", "created": f"Mon, 2 Apr {paper.year} 19:18:42 GMT"}], "journal-ref": paper.venue, "doi": paper.doi,
    }  # fmt: skip
    return {"paper_id": str(paper.number), "metadata": about, "bib_entries": {}, "body_text": []}


def arxiv(paper: Known) -> dict[str, Any]:
    return unarxive(paper)["metadata"] | {"id": str(paper.number), "update_date": f"{paper.year + 1}-03-04"}


def s2orc(paper: Known) -> dict[str, Any]:
    people = [
        {"first": given.split()[0], "middle": given.split()[1:], "last": family, "suffix": suffix}
        for given, family, suffix in paper.names
    ]
    return {
        "paper_id": str(paper.number), "title": paper.title, "authors": people, "abstract": paper.abstract or None, "year": paper.year, "arxiv_id": None,
        "doi": paper.doi, "venue": None, "journal": paper.venue, "mag_field_of_study": [*paper.keywords], "outbound_citations": [], "inbound_citations": ["7"],
    }  # fmt: skip


def latex(text: str) -> str:
    for letter, command in {
        "&": r"\&",
        "%": r"\%",
        "_": r"\_",
        "ü": r"{\"u}",
        "ï": r"{\"\i}",
        "Å": r"{\AA}",
        "ö": r"\"{o}",
    }.items():
        text = text.replace(letter, command)
    return text


def bibtex(paper: Known, dated: bool = False) -> str:
    people = "editor" if paper.number % 6 == 0 else "author"
    names = " and ".join(
        ", ".join(filter(None, (family, suffix, given))) for given, family, suffix in paper.names
    )
    date = {
        0: f"{paper.year}-05",
        1: f"{paper.year}?",
        2: f"{paper.year}~",
        3: f"{paper.year}/{paper.year + 2}",
    }[paper.number % 4]
    when = ("date", date) if dated else ("year", str(paper.year))
    pairs = [
        ("title", "{" + latex(paper.title) + "}"), (people, latex(names)), ("199u" if paper.broken == "year" else when[1], when[0])[::-1],
        ("journal", latex(paper.venue)), ("keywords", latex("; ".join(paper.keywords))), ("abstract", latex(paper.abstract)), ("doi", latex(paper.doi)), ("month", ""),
    ]  # fmt: skip
    inside = ",\n  ".join(
        f"{name} = {{{value}}}"
        for name, value in pairs
        if value and (name != "title" or paper.broken != "title")
    )
    comment = "% a comment with an a@b\n" if paper.number % 11 == 0 else ""
    return f"{comment}@article{{k{paper.number},\n  {inside}\n}}\n\n"


def row(*cells: object, delimiter: str = ",", end: str = "\r\n") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerow(cells)
    return text.getvalue()


def scopus(paper: Known) -> str:
    people = (
        "; ".join(f"{one} ({57190000000 + at})" for at, one in enumerate(paper.listed))
        or "[No author name available]"
    )
    short = (
        "; ".join(f"{family} {given[0]}." for given, family, _ in paper.names) or "[No author name available]"
    )
    ids = "; ".join(str(57190000000 + at) for at in range(len(paper.names))) or "[No author id available]"
    return row(
        short, people, ids, paper.has("title", paper.title), paper.has("year", paper.year), paper.venue, paper.citations, paper.doi,
        "Basin, Northtown; Fjord, Southtown", paper.abstract or "[No abstract available]", "; ".join(paper.keywords), "Article", f"2-s2.0-{paper.number}",
    )  # fmt: skip


def embase(paper: Known) -> str:
    date = paper.has("year", f" ({paper.year}) 12:3 (1500-1999). Date of Publication: 1 May {paper.year}")
    people = ", ".join(f"{family} {given[0]}." for given, family, _ in paper.names)
    return row(
        paper.has("title", paper.title),
        f"{paper.venue}{date}",
        people,
        paper.abstract,
        ", ".join(paper.keywords),
        f"L{paper.number}",
        paper.doi,
    )


def zotero(paper: Known) -> str:
    people = "; ".join(paper.listed)
    return row(
        f"K{paper.number}", "journalArticle", paper.has("year", paper.year), people, paper.has("title", paper.title), paper.venue, paper.doi if paper.number % 2 else "",
        marked(paper.abstract, paper.number), "2026-05-01 10:00:00", "; ".join(paper.keywords),
    )  # fmt: skip


def wos_table(paper: Known) -> str:
    people = "; ".join(paper.listed)
    return row(
        "J", people, people, paper.has("title", paper.title), paper.venue, "; ".join(paper.keywords), paper.abstract, paper.citations,
        paper.has("year", paper.year), paper.doi, f"WOS:{paper.number}", delimiter="\t",
    )  # fmt: skip


def table(paper: Known) -> str:
    return row(paper.number, paper.has("title", paper.title), paper.abstract, "; ".join(paper.byline), paper.has("year", f"{paper.year}.0"), paper.venue, "; ".join(paper.keywords), paper.doi, f"{paper.citations:,}")  # fmt: skip


def ours(paper: Known) -> dict[str, Any]:
    return {
        "id": paper.number, "title": paper.title, "abstract": paper.abstract or None, "authors": [*paper.byline], "year": paper.year, "citations": paper.citations,
        "venue": paper.venue, "keywords": [*paper.keywords], "doi": paper.doi,
    }  # fmt: skip


def page(key: str, after: str = "}", before: str = '{"meta":{"count":7,"page":1},') -> dict[str, Any]:
    return {"start": f'{before}"{key}":[', "between": ",", "end": f"]{after}\n"}


ALL = frozenset(FIELDS)
NO_COUNT = ALL - {"citations"}
ID: dict[str, Callable[[Known], Any]] = {
    "doi": lambda one: one.doi, "wos": lambda one: f"WOS:{one.number}", "openalex": lambda one: f"https://openalex.org/W{one.number}",
    "bib": lambda one: f"k{one.number}", "eid": lambda one: f"2-s2.0-{one.number}", "dblp": lambda one: f"journals/x/{one.number}",
    "embase": lambda one: f"L{one.number}", "zotero": lambda one: f"K{one.number}", "acl": lambda one: f"2024.x-1.{one.number}",
}  # fmt: skip
UNSUFFIXED: dict[str, Callable[[Known], Any]] = {
    "byline": lambda one: tuple(f"{family} {given[0]}." for given, family, _ in one.names)
}
DOI_ID = {"id": ID["doi"]}
OPENALEX = {"id": ID["openalex"]}
LIST: dict[str, Any] = {"start": "[\n", "between": ",", "end": "]\n"}

EXPORTS: dict[str, Export] = {
    "ris scopus": Export("scopus.ris", "ris", ris, ALL, "\ufeff\n\n", changes=DOI_ID),
    "ris pubmed": Export("pubmed.ris", "ris", lambda one: ris(one, "T1", "A1", "Y1", "\r\n"), ALL, changes=DOI_ID),
    "ris ovid": Export("ovid.ris", "ris", lambda one: ris(one, numbered=True), ALL, changes=DOI_ID),
    "ris endnote": Export("endnote.txt", "ris", endnote_ris, NO_COUNT - {"doi"}),
    "ris cp1252": Export("old.ris", "ris", ris, ALL, encoding="cp1252", changes=DOI_ID),
    "nbib": Export("set.nbib", "nbib", nbib, NO_COUNT),
    "wos tagged": Export("savedrecs.txt", "web-of-science", wos, ALL, "\ufeffFN Clarivate Analytics Web of Science\nVR 1.0\n", end="EF\n", changes={"id": ID["wos"]}),
    "wos table": Export("table.txt", "web-of-science-table", wos_table, ALL, "\ufeff" + row("PT", "AU", "AF", "TI", "SO", "DE", "AB", "TC", "PY", "DI", "UT", delimiter="\t"), changes={"id": ID["wos"]}),
    "endnote xml": Export("library.xml", "endnote", endnote_xml, NO_COUNT, '<?xml version="1.0" encoding="UTF-8" ?><xml><records>', end="</records></xml>", changes=DOI_ID),
    "refer": Export("library.enw", "refer", refer, NO_COUNT, changes=DOI_ID),
    "csl": Export("csl.json", "csl", as_json(csl, ""), NO_COUNT, **LIST),
    "zotero csv": Export("zotero.csv", "zotero", zotero, NO_COUNT - {"doi"}, "\ufeff" + row("Key", "Item Type", "Publication Year", "Author", "Title", "Publication Title", "DOI", "Abstract Note", "Date Added", "Manual Tags"), changes={"id": ID["zotero"]}),
    "embase csv": Export("embase.csv", "embase", embase, NO_COUNT, row("Title", "Source", "Author Names", "Abstract", "Author Keywords", "Embase Accession ID", "DOI"), changes={"id": ID["embase"], **UNSUFFIXED}),
    "scopus csv": Export("scopus.csv", "scopus", scopus, ALL, "\ufeff" + row("Authors", "Author full names", "Author(s) ID", "Title", "Year", "Source title", "Cited by", "DOI", "Affiliations", "Abstract", "Author Keywords", "Document Type", "EID"), changes={"id": ID["eid"]}),
    "openalex jsonl": Export("works.jsonl", "openalex", as_json(openalex), ALL, changes=OPENALEX),
    "openalex page": Export("page.json", "openalex", as_json(openalex, ""), ALL, changes=OPENALEX, **page("results", ',"group_by":[]}')),
    "openalex list": Export("works.json", "openalex", as_json(openalex, ""), ALL, changes=OPENALEX, **LIST),
    "s2 jsonl": Export("s2.jsonl", "semantic-scholar-papers", as_json(scholar), ALL),
    "s2 page": Export("s2.json", "semantic-scholar-papers", as_json(scholar, ""), ALL, **page("data", before='{"total": 9, "offset": 0, "next": 100, ')),
    "s2 bulk": Export("bulk.json", "semantic-scholar-papers", as_json(scholar, ""), ALL, **page("data", before='{"total": 9, "token": "abc", ')),
    "aminer v8": Export("dblp.txt", "aminer-citations", blocks, NO_COUNT - {"doi", "keywords"}, "12\n"),
    "aminer v9": Export("dblp-ref-0.json", "oag", as_json(lambda one: aminer(one, plain=True)), ALL),
    "aminer v11": Export("dblp_papers_v11.txt", "oag", as_json(lambda one: aminer(one, indexed="object")), ALL),
    "aminer v12": Export("dblp.v12.json", "oag", as_json(lambda one: aminer(one, indexed="object")), ALL, **LIST),
    "aminer v13": Export("dblpv13.json", "oag", mongo, ALL, **LIST),
    "aminer v14": Export("dblp_v14.json", "oag", as_json(aminer), ALL, **LIST),
    "oag 1": Export("mag_papers_0.txt", "oag", as_json(lambda one: aminer(one, plain=True) | {"authors": [{"name": name} for name in one.byline]}), ALL),
    "oag 2": Export("mag_papers_1.txt", "oag", as_json(lambda one: aminer(one, indexed="text")), ALL),
    "oag 3": Export("v3.1_oag_publication_1.json", "oag", as_json(aminer), ALL),
    "dblp": Export("dblp.xml", "dblp", dblp, ALL - {"abstract", "keywords", "citations"}, '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE dblp SYSTEM "dblp.dtd">\n<dblp>\n', end="</dblp>", changes={"id": ID["dblp"]}),
    "anthology": Export("2024.x.xml", "anthology", anthology, ALL - {"venue", "keywords", "citations"}, '<?xml version="1.0" encoding="UTF-8"?>\n<collection id="2024.x"><volume id="1"><meta><year>2024</year></meta>\n', end="</volume></collection>", changes={"id": ID["acl"]}),
    "unarxive": Export("arXiv_src_1.jsonl", "unarxive", as_json(unarxive), ALL - {"keywords", "citations"}),
    "arxiv": Export("arxiv-arXiv_src_1.jsonl", "arxiv", as_json(arxiv), ALL - {"keywords", "citations"}),
    "s2orc": Export("metadata_0.jsonl", "s2orc", as_json(s2orc), NO_COUNT),
    "bibtex": Export("library.bib", "bibtex", bibtex, NO_COUNT, "\ufeff% Encoding: UTF-8\n@string{x = {y}}\n", changes={"id": ID["bib"]}),
    "biblatex": Export("edtf.bib", "bibtex", lambda one: bibtex(one, dated=True), NO_COUNT, changes={"id": ID["bib"]}),
    "csv": Export("papers.csv", "csv", table, ALL, "sep=,\r\n" + row("id", "title", "abstract", "authors", "year", "venue", "keywords", "doi", "citations")),
    "json": Export("papers.json", "json", as_json(ours, ""), ALL, **LIST),
    "jsonl": Export("papers.jsonl", "jsonl", as_json(ours), ALL),
}  # fmt: skip
"""A file of each format; a paper without authors is in all of them."""
