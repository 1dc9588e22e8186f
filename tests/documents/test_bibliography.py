"""Entries of reference lists in the styles that papers have, and the citations that name them."""

import time

import pytest

from manyheads.documents.bibliography import CitationFinder, reference

ENTRIES = {
    "Vaswani, A., Shazeer, N.: Attention is all you need. In: NIPS, pp. 5998–6008 (2017)": "Vaswani; Shazeer | Attention is all you need | 2017",
    "Hochreiter, S. and Schmidhuber, J. Long short-term memory. Neural computation, 9(8):1735–1780, 1997.": "Hochreiter; Schmidhuber | Long short-term memory | 1997",
    "Thomas S. Kuhn. 1962. The Structure of Scientific Revolutions. University of Chicago Press.": "Kuhn | The Structure of Scientific Revolutions | 1962",
    "Thomas N Kipf and Max Welling. Semi-supervised classification with graphs. In ICLR, 2017.": "Kipf; Welling | Semi-supervised classification with graphs | 2017",
    "Smith J, Doe AB, Roe C. A trial of things. Lancet. 2019;394(10204):1145-1158.": "Smith; Doe; Roe | A trial of things | 2019",
    "E. Sato, Readers and Rooms. Cambridge, MA, USA: MIT Press, 2016.": "Sato | Readers and Rooms | 2016",
    "F. Ng, “Two thousand and one: 1998–2008 readings,” IEEE Trans. Read., 2011.": "Ng | Two thousand and one: 1998–2008 readings | 2011",
    "van den Oord, A., Li, Y., and Vinyals, O. Contrastive coding. arXiv preprint arXiv:1807.03748, 2018.": "van den Oord; Li; Vinyals | Contrastive coding | 2018",
    "Mrinmaya Sachan and Eric Xing. Easy questions first? A case study. In ACL, pp. 453–463, 2016.": "Sachan; Xing | Easy questions first? A case study | 2016",
    "OpenAI. GPT-4 technical report. 2023.": "OpenAI | GPT-4 technical report | 2023",
}
"""Authors, title and year of each."""


@pytest.mark.parametrize("text", ENTRIES)
def test_entry(text: str) -> None:
    one = reference(text)
    assert f"{'; '.join(one.authors)} | {one.title} | {one.year}" == ENTRIES[text]
    assert one.text == text


def test_years_of_numbers_are_none() -> None:
    one = reference("Yael Levi. Reading lists. arXiv:2012.19991, pp. 1998–2004.")
    assert (one.year, one.arxiv) == (None, "2012.19991")
    assert reference("Nobody knows what this is").title == ""


CITED = [
    "Berg, A., & Lee, B. (2020). One. Readings.",
    "Berg, A., Lee, B., & Okafor, D. (2020). Two. Readings.",
    "Berg, A. (2020a). Three. Readings.",
    "Berg, A. (2020b). Four. Readings.",
    "O'Neil, M. (2019). Five. Readings.",
    "Veličković, P. (2018). Six. Readings.",
]


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("(Berg & Lee, 2020)", (0,)),
        ("Berg and Lee (2020) say so.", (0,)),
        ("Following Berg et al. (2020), we read.", (1,)),
        ("(Berg, 2020a, b)", (2, 3)),
        ("(see Berg, 2020b; O’Neil, 2019, p. 3)", (3, 4)),
        ("(Velickovic, 2018)", (5,)),
        ("In 2020, Nobody (2019) was there; Leeds (2020) too.", ()),
    ],
)
def test_citations_by_names(text: str, cites: tuple[int, ...]) -> None:
    assert CitationFinder([reference(one) for one in CITED]).of(text) == cites


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("[2]", (1,)),
        ("[3, 1]", (2, 0)),
        ("[1–3], [2]", (0, 1, 2)),
        ("[1]–[3]", (0, 1, 2)),
        ("[2, Sec. 3]", (1,)),
        ("on the interval [0, 9] and in [1999]", ()),
        ("[1-99999]", ()),
    ],
)
def test_citations_by_numbers(text: str, cites: tuple[int, ...]) -> None:
    entries = [reference(f"[{number}] A. Berg. Reading alone. Readings, 2020.") for number in (1, 2, 3)]
    assert CitationFinder(entries).of(text) == cites


@pytest.mark.parametrize(
    "piece", ["A. ", "Aa, ", "Aa-", "Aa'", "van der ", "(Aa et al., 2020; ", "Aa & ", "[1, "]
)
def test_long_nonsense_takes_no_time(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    start = time.perf_counter()
    CitationFinder([reference(text), *map(reference, CITED)]).of(text)
    assert time.perf_counter() - start < 2
