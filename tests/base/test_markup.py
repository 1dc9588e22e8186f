"""Titles and abstracts come without markup, and keep what only looks like it."""

import pytest

from manyheads.base.markup import plain

TEX = r"\documentclass{minimal}\begin{document}$$\alpha$$\end{document}"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("Fruit of <i>E.&nbsp;coli</i> &amp; H<sub>2</sub>O", "Fruit of E. coli & H2O"),
        ("&lt;i&gt;Homo&lt;/i&gt; &amp;lt;b&amp;gt;sapiens&amp;lt;/b&amp;gt;", "Homo sapiens"),
        (
            "<jats:title>Abstract</jats:title><jats:p>Here p < 0.05, a<b, 10<jats:sup>-3</jats:sup>.</jats:p>"
            "<jats:p>Next.</jats:p>",
            "Here p < 0.05, a<b, 10^-3. Next.",
        ),
        ("<jats:sec><jats:title>Aims</jats:title><jats:p>Owls.</jats:p></jats:sec>", "Aims: Owls."),
        (
            "<mml:math><mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:msup><mml:mo>+</mml:mo>"
            "<mml:mfrac><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:mfrac></mml:math> is",
            "x^2+a/b is",
        ),
        (
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x_i</annotation></semantics></math>.",
            "$x_i$.",
        ),
        (
            f"<inline-formula><alternatives><tex-math>{TEX}</tex-math><mml:math><mml:mi>α</mml:mi></mml:math>"
            "</alternatives></inline-formula> is",
            r"$\alpha$ is",
        ),
        (r"Schr\"odinger's \emph{cat} is 10% of $x_i^2$", "Schrödinger's cat is 10% of $x_i^2$"),
        ("a < b & c > d at 5%\n\nin two parts", "a < b & c > d at 5%\n\nin two parts"),
        (r"a file C:\temp and {braces}", r"a file C:\temp and {braces}"),
        ("an unclosed <b>word and </i>", "an unclosed word and"),
        ("half a letter \ud800", "half a letter"),
    ],
)  # fmt: skip
def test_a_text_without_its_markup(given: str, text: str) -> None:
    assert plain(given) == text
