"""A short paper to be reviewed, as TEI, with a figure, a table and two references."""

from pathlib import Path
from xml.sax.saxutils import escape

TITLE = "Owls that hunt by ear"
ABSTRACT = "We show that owls find mice under snow by sound alone. A model of their ears explains nine of ten strikes."
SECTIONS = {
    ("1", "Introduction"): "Owls hunt at night. It is not known how they aim at what they cannot see.",
    (
        "2",
        "Method",
    ): "We trained a network on 300 recordings with a learning rate of 0.001. Each bird struck twenty times.",
    ("2.1", "Data"): "Recordings were made in two barns in winter. Snow lay ten centimetres deep.",
    (
        "3",
        "Results",
    ): "The model explains 91 percent of strikes, as Table 1 shows. Errors grow with the depth of snow.",
}
CAPTION, TABLE = "Strikes by depth of snow.", "Strikes by barn."
REFERENCES = (
    ("Acoustic location of prey by barn owls", "Payne", 1971),
    ("Snow as a filter of sound", "Nowak", 1999),
)


def tei(
    path: Path, *, more: str = "", caption: str = CAPTION, title: str = TITLE, abstract: str = ABSTRACT
) -> Path:
    """Write the paper; `more` stands in a section of its own."""
    sections = {**SECTIONS, **({("4", "Discussion"): more} if more else {})}
    divs = "".join(
        f'<div><head n="{number}">{name}</head><p>{escape(text)}</p></div>'
        for (number, name), text in sections.items()
    )
    cited = "".join(
        f'<biblStruct xml:id="b{at}"><analytic><title level="a">{name}</title><author><persName><surname>{author}</surname>'
        f'</persName></author></analytic><monogr><imprint><date when="{year}"/></imprint></monogr></biblStruct>'
        for at, (name, author, year) in enumerate(REFERENCES)
    )
    path.write_text(
        '<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>'
        f'<title type="main">{escape(title)}</title></titleStmt></fileDesc><profileDesc><abstract><p>{escape(abstract)}</p>'
        f"</abstract></profileDesc></teiHeader><text><body>{divs}"
        f'<figure xml:id="f1"><head>Figure 1</head><label>1</label><figDesc>{escape(caption)}</figDesc></figure>'
        f'<figure type="table" xml:id="t1"><head>Table 1</head><label>1</label><figDesc>{TABLE}</figDesc><table>'
        "<row><cell>Barn</cell><cell>Strikes</cell></row><row><cell>A</cell><cell>91</cell></row></table></figure>"
        f'</body><back><div type="references"><listBibl>{cited}</listBibl></div></back></text></TEI>',
        encoding="utf-8",
    )
    return path


def committee(paper: Path, *on: str) -> tuple[str, ...]:
    """The settings of a review of a paper, where only what is named is found out before the plan."""
    off = (each for each in ("novelty", "references", "figures") if each not in on)
    switched = (f"mamorx.{each}.enabled=false" for each in off)
    return "system=mamorx", f"inputs.paper={paper}", "models.default.retries=0", *switched
