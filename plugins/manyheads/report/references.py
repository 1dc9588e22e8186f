"""Papers cited by a run: their links, and BibTeX, RIS and CSL-JSON for other programs."""

import hashlib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import quote

from manyheads.base.papers import ARXIV_DOI, Identifier, fold, identify
from manyheads.base.text import plain
from manyheads.core.results import Evidence


def links_of(paper: Evidence) -> list[tuple[str, str]]:
    """Links to a paper: names and addresses, the DOI first; empty if there are none."""
    links = [_link(identify(text)) for text in (paper.doi, paper.paper) if text]
    if paper.url and re.fullmatch(r"https?://[^\s<>\"]+", paper.url):
        links.append(("Web", paper.url))
    return [*dict(filter(None, links)).items()]


def _link(known: Identifier) -> tuple[str, str] | None:
    value = quote(known.value, safe="/:;().,_-~")
    match known.kind, known.source:
        case "doi", _ if known.value.lower().startswith(ARXIV_DOI):
            return "arXiv", f"https://arxiv.org/abs/{value[len(ARXIV_DOI) :]}"
        case "doi", _:
            return "DOI", f"https://doi.org/{value}"
        case "own", "crossref":
            return "DOI", f"https://doi.org/{value}"
        case "own", "pubmed":
            return "PubMed", f"https://pubmed.ncbi.nlm.nih.gov/{value}/"
        case ("arxiv", _) | ("own", "arxiv"):
            return "arXiv", f"https://arxiv.org/abs/{value}"
        case "own", "semantic_scholar":
            return "Semantic Scholar", f"https://www.semanticscholar.org/paper/{value}"
        case "own", "openalex":
            return "OpenAlex", f"https://openalex.org/{value}"
        case _:
            return None


# Where a paper was published, and what the formats call it.


class Publication(NamedTuple):
    """A kind of publication in each format; `venue` is the field of BibTeX that names the journal or proceedings."""

    bibtex: str
    venue: str
    ris: str
    csl: str


JOURNAL = Publication("article", "journal", "JOUR", "article-journal")
MEETING = Publication("inproceedings", "booktitle", "CONF", "paper-conference")
OTHER = Publication("misc", "howpublished", "GEN", "article")
PREPRINTS = re.compile(r"(?i)\b(?:arxiv|biorxiv|medrxiv|preprint)")
MEETINGS = re.compile(r"(?i)\b(?:proc\.|proceedings|conference|workshop|symposium|meeting)")


def _form(venue: str) -> Publication:
    if not venue or PREPRINTS.search(venue):
        return OTHER
    return MEETING if MEETINGS.search(venue) else JOURNAL


# Names.

COLLECTIVE = re.compile(
    r"(?i)\b(?:collaboration|consortium|group|team|committee|organi[sz]ation|institutes?|university|network|society|project"
    r"|association|council|agency|department|initiative|foundation|and|of|for|et al)\b|[&\d]"
)
UNDIVIDED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
"""Letters of names whose family name stands first, so that the last word is not it."""
SUFFIX = re.compile(r"([^,]*\S) ([^\s,]+),? (Jr\.?|Sr\.?|II|III|IV)")


class AuthorName(NamedTuple):
    """A name by its parts; a collective, and a name of an unknown order, has only `whole`."""

    whole: str
    family: str = ""
    given: str = ""
    particle: str = ""
    suffix: str = ""

    @classmethod
    def of(cls, name: str) -> "AuthorName":
        from bibtexparser.middlewares.names import parse_single_name_into_parts

        name = plain(re.sub(r"[{}]", "", name)).strip(" ,")
        if later := SUFFIX.fullmatch(name):
            name = f"{later[2]}, {later[3]}, {later[1]}"
        if name.count(",") > 2 or (COLLECTIVE if "," not in name else re.compile(r" and |&")).search(name):
            return cls(name)
        if "," not in name and (UNDIVIDED.search(name) or " " not in name):
            return cls(name)
        parts = parse_single_name_into_parts(name.replace("\\", ""), strict=False)
        family, given, particle, suffix = (
            " ".join(each) for each in (parts.last, parts.first, parts.von, parts.jr)
        )
        return cls(name, family, given, particle, suffix)

    @property
    def sorted(self) -> str:
        """`van der Berg, Jr., Jane`; a collective as it is."""
        family = " ".join(filter(None, (self.particle, self.family)))
        return ", ".join(filter(None, (family, self.suffix, self.given))) or self.whole


# Keys.


def _keyed(papers: Iterable[Evidence]) -> list[tuple[str, Evidence]]:
    """The papers, each once, with their keys: author, year and a word of the title.

    Papers that share a key get letters from their ids: it does not depend on their order.
    """
    once = {(paper.paper or paper.id, paper.title): paper for paper in reversed([*papers])}
    same = defaultdict[str, list[tuple[str, str]]](list)
    for name, paper in reversed(once.items()):
        same[_stem(paper)].append(name)
    letters = {name: f"{stem}{end}" for stem, names in same.items() for name, end in _letters(names).items()}
    return [(letters[name], paper) for name, paper in reversed(once.items())]


def _stem(paper: Evidence) -> str:
    first = AuthorName.of(paper.authors[0]) if paper.authors else AuthorName("")
    words = (_ascii(word) for word in re.findall(r"\w+", paper.title))
    word = next((word for word in words if len(word) > 3), "")
    author, word, year = _ascii(first.family or first.whole)[:30], word[:30], str(paper.year or "")
    return (f"{author}{year}{word}" if author else f"{word}{year}") or "paper"


def _ascii(text: str) -> str:
    return fold(text).encode("ascii", "ignore").decode()


def _letters(names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Letters that tell papers apart, as few as possible, from hashes of their ids; none for a single paper."""
    hashes = {
        name: "".join(chr(97 + byte % 26) for byte in hashlib.sha256("\n".join(name).encode()).digest())
        for name in names
    }
    length = next(n for n in range(33) if len({each[:n] for each in hashes.values()}) == len(names))
    return {name: each[:length] for name, each in hashes.items()}


# Formats.


def bibtex(papers: Iterable[Evidence]) -> str:
    """The papers as BibTeX; unknown fields are left out."""
    from bibtexparser.entrypoint import write_string
    from bibtexparser.library import Library
    from bibtexparser.model import Entry, Field

    entries = list[Any]()
    for key, paper in _keyed(papers):
        form, links, (doi, arxiv) = _form(paper.venue or ""), dict(links_of(paper)), _numbers(paper)
        names = (AuthorName.of(name) for name in paper.authors)
        authors = (_latex(one.sorted) if one.family else f"{{{_latex(one.whole)}}}" for one in names)
        fields = {
            "author": " and ".join(authors), "title": f"{{{_latex(paper.title)}}}",
            form.venue: _latex(paper.venue or ""), "year": str(paper.year or ""), "doi": doi, "eprint": arxiv,
            "archiveprefix": "arXiv" if arxiv else "", "url": next(iter(links.values()), ""),
            "note": "" if links else _latex(paper.paper),
        }  # fmt: skip
        entries.append(
            Entry(form.bibtex, key, [Field(name, value) for name, value in fields.items() if value])
        )
    return write_string(Library(entries)) if entries else ""


def ris(papers: Iterable[Evidence]) -> str:
    """The papers as RIS."""
    import rispy

    records = [
        {
            "type_of_reference": _form(paper.venue or "").ris, "id": key, "title": plain(paper.title),
            "authors": [AuthorName.of(name).sorted for name in paper.authors], "year": str(paper.year or ""),
            "secondary_title": plain(paper.venue or ""), "doi": _numbers(paper)[0],
            "urls": [address for _, address in links_of(paper)],
            "notes": [] if links_of(paper) else [plain(paper.paper)],
        }
        for key, paper in _keyed(papers)
    ]  # fmt: skip
    told = [{name: value for name, value in one.items() if value} for one in records]
    # rispy numbers the records by lines that other programs refuse
    return re.sub(r"(?m)^\d+\.\n(?=TY  - )", "", rispy.dumps(told)) if told else ""


def csl(papers: Iterable[Evidence]) -> str:
    """The papers as CSL-JSON, the form of citation processors such as Pandoc's and Zotero's."""
    items = list[dict[str, Any]]()
    for key, paper in _keyed(papers):
        links = links_of(paper)
        item = {
            "id": key, "type": _form(paper.venue or "").csl, "title": plain(paper.title),
            "author": [_csl_name(AuthorName.of(name)) for name in paper.authors],
            "issued": {"date-parts": [[paper.year]]} if paper.year else None,
            "container-title": plain(paper.venue or ""), "DOI": _numbers(paper)[0],
            "URL": links[0][1] if links else "", "note": "" if links else plain(paper.paper),
        }  # fmt: skip
        items.append({name: value for name, value in item.items() if value})
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n" if items else ""


def _csl_name(name: AuthorName) -> dict[str, str]:
    if not name.family:
        return {"literal": name.whole}
    parts = {
        "family": name.family, "given": name.given, "non-dropping-particle": name.particle, "suffix": name.suffix,
    }  # fmt: skip
    return {part: text for part, text in parts.items() if text}


REFERENCES: Mapping[str, Callable[[Iterable[Evidence]], str]] = {"bib": bibtex, "ris": ris, "csl": csl}


def _numbers(paper: Evidence) -> tuple[str, str]:
    """DOI and arXiv number; empty if there are none."""
    known = [identify(text) for text in (paper.doi, paper.paper, paper.url) if text]
    dois = (one.value for one in known if one.kind == "doi")
    arxiv = (one.value for one in known if one.kind == "arxiv" or (one.kind, one.source) == ("own", "arxiv"))
    return next(dois, ""), next(arxiv, "")


@cache
def _coded(letter: str) -> str:
    """Cached, as each call of pylatexenc makes a class."""
    from pylatexenc.latexencode import UnicodeToLatexEncoder

    return UnicodeToLatexEncoder(unknown_char_policy="keep", unknown_char_warning=False).unicode_to_latex(
        letter
    )


def _latex(text: str) -> str:
    coded = "".join(map(_coded, unicodedata.normalize("NFC", plain(text))))
    coded = coded.replace(r"{\textemdash}", "---").replace(r"{\textendash}", "--")  # which Pandoc knows, too
    depths = [*accumulate({"{": 1, "}": -1}.get(letter, 0) for letter in text)]
    if depths and (min(depths) < 0 or depths[-1]):  # BibTeX counts braces even where they are escaped
        coded = coded.replace(r"\{", r"{\lbrace}").replace(r"\}", r"{\rbrace}")
    return coded
