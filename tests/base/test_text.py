"""What others wrote is made safe in one place for terminals, spreadsheets and messages, and nobody goes around it."""

import ast
import csv
import json
from pathlib import Path

import pytest

from manyheads.base.errors import is_secret, scrubbed
from manyheads.base.text import csv_text, first_few, plain, plain_text, printable, printable_json, shortened

PACKAGE = Path(__file__).parents[2] / "plugins" / "manyheads"
EVIL = "a\x1b[2J\x1b]0;OWNED\x07\u202eb\u009bc\x00d\ud800e"


def calls(path: Path) -> set[str]:
    """The functions that a file calls, as they are written."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_all_commands_print_through_one_file() -> None:
    direct = {"print", "typer.echo", "typer.secho", "Console", "sys.stdout.write", "sys.stderr.write"}
    around = {
        (path.name, name)
        for path in (PACKAGE / "cli").glob("*.py")
        if path.name != "printing.py"
        for name in calls(path) & direct
    }
    assert around == set()


def test_all_tables_for_spreadsheets_are_written_by_one_function() -> None:
    writers = {"csv.writer", "csv.DictWriter", "write_csv"}
    naming = [path for path in PACKAGE.rglob("*.py") if "csv" in path.read_text(encoding="utf-8")]
    assert {path.name for path in naming if calls(path) & writers} == {"text.py"}


def test_nothing_commands_a_terminal() -> None:
    assert plain(EVIL) == "a [2J ]0;OWNED b c d e"
    assert printable(f"{EVIL}\n{EVIL}").isprintable() is False  # the line's end alone is left
    assert all(line.isprintable() for line in printable(f"{EVIL}\n{EVIL}").split("\n"))


def test_json_keeps_its_values_and_commands_no_terminal() -> None:
    shown = printable_json(json.dumps([EVIL], ensure_ascii=False, indent=2))
    assert json.loads(shown) == [EVIL]
    assert all(line.isprintable() for line in shown.split("\n"))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", " =1", "\x1b=1", "＝1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert list(csv.reader(csv_text([["id", text]]).splitlines())) == [["id", f"'{text}"]]


def test_numbers_and_texts_stay_as_they_are() -> None:
    assert csv_text([["a", -1, 2.5, None, "x=1", ""]]) == "a,-1,2.5,,x=1,\n"


def test_of_many_texts_the_first_are_named_and_the_others_counted() -> None:
    names = [*"abc", *["d"] * 1_000]
    assert first_few(names[:3], 3) == "a, b, c"
    assert first_few(names, 2) == "a, b and 1,001 more"
    assert first_few(names[:3], 2, "; ") == "a; b; and 1 more"


def test_long_words_and_texts_are_shortened() -> None:
    assert len(shortened("a/" * 2000)) <= 250
    assert len(shortened("{a: " * 2000)) <= 1200
    assert shortened("no such file: x.md") == "no such file: x.md"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("http://user:PASS@host/v1", "PASS"),
        ("https://host/v1?api_key=KEY42&x=1", "KEY42"),
        ("https://host/v1?access_token=KEY42", "KEY42"),
        ("Authorization: Bearer abc.def", "abc.def"),
        ("sk-proj-0123456789", "0123456789"),
    ],
)
def test_keys_and_logins_are_scrubbed(text: str, secret: str) -> None:
    assert secret not in scrubbed(text)
    assert scrubbed(scrubbed(text)) == scrubbed(text)


def test_an_address_may_name_the_environment() -> None:
    address = "https://${LOGIN}@host/v1?api_key=${KEY}"
    assert scrubbed(address) == address


def test_keys_are_secret_by_their_names() -> None:
    secret = ("models.default.api_key", "password", "models.x.api_key_env", "token")
    assert all(map(is_secret, secret))
    assert not any(map(is_secret, ("budget.tokens", "max_tokens", "keywords", "monkey")))


# Titles and abstracts without markup.

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
    assert plain_text(given) == text


def test_a_known_key_is_scrubbed_whatever_it_looks_like() -> None:
    assert scrubbed("no: my-own-key, my-own", "my-own", "my-own-key") == "no: …, …"
