"""Papers that LaTeX typesets, where it is installed: each figure and table found, whole, with its own caption."""

import shutil
import subprocess
from pathlib import Path

import pytest

from manyheads.documents import Document, Figure, Table, read_document
from support.crops import is_whole

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX on this machine"),
]
TEXT = (
    "We study how groups of readers agree on the worth of a manuscript when each of them reads alone. The measure rises "
    "with the number of readers and falls with the length of the text, as one would expect from earlier work \\cite{berg,lee}. "
    "A reader who has seen many manuscripts judges faster, but not better, than one who has seen few. "
)
KINDS = {
    "one column": ("article", "11pt", False),
    "two columns": ("article", "twocolumn", True),
    "conference": ("IEEEtran", "conference", True),
    "journal": ("IEEEtran", "journal,onecolumn", False),
}


def plots(folder: Path) -> None:
    import numpy as np
    from matplotlib.figure import Figure as Drawn

    draw = np.random.default_rng(1)
    x = np.linspace(0, 10, 60)

    def save(name: str, drawn: Drawn) -> None:
        drawn.savefig(folder / name, bbox_inches="tight")

    line = Drawn((4, 3))
    axes = line.subplots()
    for shift in range(3):
        axes.plot(x, np.sin(x + shift) + shift, label=f"method {shift}")
    axes.set(xlabel="epochs", ylabel="accuracy (%)", title="training")
    axes.legend()
    save("line.pdf", line)
    bar = Drawn((4, 3))
    bar.subplots().bar(["A", "B", "C"], [3, 5, 2])
    save("bar.pdf", bar)
    points = Drawn((4, 3))
    points.subplots().scatter(*draw.normal(size=(2, 2000)), s=2)
    save("points.pdf", points)
    panels = Drawn((7, 4))
    for number, one in enumerate(panels.subplots(2, 2).flat):
        one.plot(x, np.cos(x * (number + 1)))
        one.set_title(f"({'abcd'[number]}) panel")
    panels.tight_layout()
    save("panels.pdf", panels)
    photo = Drawn((3, 3))
    axes = photo.subplots()
    axes.imshow(np.hypot(*np.mgrid[-3:3:90j, -3:3:90j]))
    axes.axis("off")
    save("photo.png", photo)


def source(kind: str) -> str:
    name, options, two = KINDS[kind]
    star = "*" if two else ""

    def text(times: int) -> str:
        return TEXT * times + "\n\n"

    def one(file: str, caption: str, wide: str = "") -> str:
        width = "0.8\\textwidth" if wide else "0.9\\columnwidth" if two else "0.5\\textwidth"
        return f"\\begin{{figure{wide}}}[t]\\centering\\includegraphics[width={width}]{{{file}}}\\caption{{{caption}}}\\end{{figure{wide}}}\n"

    def part(file: str, caption: str, command: str) -> str:
        return f"\\begin{{{command}}}{{0.45\\linewidth}}\\centering\\includegraphics[width=\\linewidth]{{{file}}}\\caption{{{caption}}}\\end{{{command}}}"

    pieces = [
        f"\\documentclass[{options}]{{{name}}}\\usepackage{{graphicx,booktabs,subcaption}}",
        "\\title{Reading Together}\\author{Ada Berg}\\begin{document}\\maketitle\\begin{abstract}"
        + TEXT
        + "\\end{abstract}",
        "\\section{Introduction}"
        + text(4)
        + one("line.pdf", "Three methods over epochs, each the mean of five runs.")
        + text(5),
        "\\section{Method}" + text(3) + one("panels.pdf", "Four panels in one file.", star) + text(5),
        "\\begin{table}[t]\\centering\\caption{Accuracy of methods.}\\begin{tabular}{lrr}\\toprule Method & A & B\\\\\\midrule "
        "Ours & 91.2 & 88.4\\\\ Base & 90.1 & 87.0\\\\\\bottomrule\\end{tabular}\\end{table}" + text(5),
        "\\begin{figure}[t]\\centering "
        + part("bar.pdf", "bars", "subfigure")
        + "\\hfill "
        + part("points.pdf", "points", "subfigure"),
        "\\caption{Two parts of one figure.}\\end{figure}" + text(5) + "\\section{Experiments}" + text(2),
        one("photo.png", "A picture of pixels.") + text(5),
        "\\begin{figure}[t]"
        + part("bar.pdf", "The left of two.", "minipage")
        + "\\hfill "
        + part("points.pdf", "The right of two.", "minipage"),
        "\\end{figure}" + text(5),
        f"\\begin{{table{star}}}[t]\\centering\\caption{{A table of sentences.}}\\begin{{tabular}}{{lp{{0.3\\textwidth}}p{{0.3\\textwidth}}}}\\toprule "
        "Name & What it does & What it needs\\\\\\midrule First & It reads the whole of a text once, from its beginning. & Nothing but time\\\\ "
        f"Second & It reads a part, and guesses the rest. & A prior\\\\\\bottomrule\\end{{tabular}}\\end{{table{star}}}"
        + text(6),
        "\\section{Conclusion}"
        + text(2)
        + "\\begin{thebibliography}{9}\\bibitem{berg} A. Berg and B. Lee. Reading alone. \\emph{Readings}, 1990.",
        "\\bibitem{lee} B. Lee. Reading together. In \\emph{Proceedings of Reading}, 2001.\\end{thebibliography}\\end{document}",
    ]
    return "\n".join(pieces)


FIGURES = ["Three methods", "Four panels", "Two parts", "A picture", "The left", "The right"]
TABLES = ["Accuracy of", "A table of"]


@pytest.mark.parametrize("kind", KINDS)
def test_figures_of_latex(kind: str, tmp_path: Path) -> None:
    if subprocess.run(
        ["kpsewhich", f"{KINDS[kind][0]}.cls", "subcaption.sty"], capture_output=True
    ).returncode:
        pytest.skip("not all that it takes is installed")
    plots(tmp_path)
    (tmp_path / "paper.tex").write_text(source(kind), encoding="utf-8")
    for _ in range(2):
        subprocess.run(
            ["pdflatex", "-interaction=batchmode", "paper"], cwd=tmp_path, capture_output=True, check=False
        )
    path = tmp_path / "paper.pdf"
    document = read_document(path)
    print(f"{kind}: {counts(path, document)}")
    assert counts(path, document) == {"found": 8, "whole": 8, "matched": 8}
    assert [one.title for one in document.sections] == ["Introduction", "Method", "Experiments", "Conclusion"]
    assert len(document.references) == 2
    assert all(one.cites == (0, 1) for one in document.sections)
    assert document.tables[0].rows[1:] == (("Ours", "91.2", "88.4"), ("Base", "90.1", "87.0"))
    assert document.hidden == ()
    # The source of the same paper says the same.
    same = read_document(tmp_path / "paper.tex")
    assert [one.caption for one in same.tables] == [one.caption for one in document.tables]
    assert [one.title for one in same.sections] == [one.title for one in document.sections]
    assert [len(one.files) for one in same.figures][:4] == [1, 1, 2, 1]


def counts(path: Path, document: Document) -> dict[str, int]:
    """How many of eight figures and tables are found, are whole, and stand by their own caption."""
    floats: list[Figure | Table] = [*document.figures, *document.tables]
    begins = {f"Figure {number}": begin for number, begin in enumerate(FIGURES, 1)}
    begins |= {f"Table {number}": begin for number, begin in enumerate(TABLES, 1)}
    begins |= {"Table I": TABLES[0], "Table II": TABLES[1]}
    return {
        "found": sum(one.box is not None for one in floats),
        "whole": sum(one.box is not None and is_whole(path, one) for one in floats),
        "matched": sum(
            one.caption.startswith(begins.get(f"{type(one).__name__} {one.number}", "?")) for one in floats
        ),
    }
