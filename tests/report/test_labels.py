"""Labels of reports in a user's words: the file of words, the page that it makes, and what it leaves alone."""

import json
import re
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from manyheads.base.errors import ConfigError
from manyheads.cli import app
from manyheads.config import RunConfig
from manyheads.report.labels import in_words, labels_of, texts_of
from manyheads.systems.loading import load
from manyheads.systems.results import write_report
from report.conftest import IDEA, TITLES
from support.invoked import mistake

Write = Callable[..., Path]
TEXT = re.compile(r">([^<>]+)<|aria-label=\"([^\"]*)\"")


def relabelled(folder: Path, file: Path) -> tuple[str, str]:
    """The report after `--labels`, and what the command says beside its path."""
    done = CliRunner().invoke(app, ["report", str(folder), "--labels", str(file)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return (folder / "report.html").read_text(encoding="utf-8"), done.stderr


def words_file(path: Path, words: Mapping[str, str]) -> Path:
    path.write_text(yaml.safe_dump(dict(words), allow_unicode=True), encoding="utf-8")
    return path


def test_each_label_of_a_page_can_be_put_in_words(run: Write, tmp_path: Path) -> None:
    """With each label in brackets, what stands outside of them is what the run says, or a line of a drawing."""
    folder, file = run(), tmp_path / "de.yaml"
    english = write_report(folder).read_text(encoding="utf-8")
    assert relabelled(folder, file)[0] == english, "a new file leaves the page as it was"
    labels = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert {"Ideas", "Turn {1}", "{1} votes, with reasons", "Methods", "leader"} <= labels.keys()
    assert set(labels.values()) == {""}
    page, said = relabelled(folder, words_file(file, {each: f"⟦{each}⟧" for each in labels}))
    assert f"0 of {len(labels)} " in said
    assert "⟦Turn 1⟧" in page
    assert IDEA in unescape(page)
    files = ("result.json", "events.jsonl")
    data = "".join((folder / each).read_text(encoding="utf-8") for each in files).lower()
    page = re.sub(r"(?s)<(style|pre|text)\b.*?</\1>|<span class=\"gap\">[^<]*", "", page)
    texts = [unescape(one or other) for one, other in TEXT.findall(page)]
    left = {text for text in texts if "⟦" not in text for word in words(text) if word not in data}
    assert not left
    assert write_report(folder).read_text(encoding="utf-8").count("⟦") > 100, "the run folder keeps the words"


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


def test_what_people_and_models_wrote_stays() -> None:
    page = '<h4 dir="auto">Methods</h4><p class="prose" dir="auto"><span class="runin">Idea</span>a <ins>and</ins></p><b>and</b>'
    given = {"Methods": "Methoden", "Idea": "Idee", "and": "und"}
    assert in_words(page, given, frozenset({"Methods"})) == (
        page.replace(">Idea<", ">Idee<").replace("<b>and<", "<b>und<")
    )
    assert in_words("<code>and</code><pre><b>and</b></pre>", given, frozenset()).count("and") == 2


def test_an_idea_titled_as_a_label_keeps_its_title(run: Write, tmp_path: Path) -> None:
    folder = run()
    for name in ("result.json", "events.jsonl"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(TITLES[0], "Methods"), encoding="utf-8")
    page, _ = relabelled(folder, words_file(tmp_path / "de.yaml", {"Methods": "Methoden", "Team": "Gruppe"}))
    assert '<h1 dir="auto">Methods</h1>' in page
    assert "Methoden" not in page
    assert ">Gruppe<" in page


def test_values_are_moved_and_words_are_escaped() -> None:
    page = '<p>\n 2 of 10 &amp; more</p><svg aria-label="2 of 3"></svg>'
    given = {"{1} of {2}": "von {2}: {1} <{9}>", "{1} of {2} & more": '{2}"{1}'}
    assert in_words(page, given, frozenset()) == (
        '<p>\n 10&#34;2</p><svg aria-label="von 3: 2 &lt;{9}&gt;"></svg>'.replace("&#34;", "&quot;")
    )
    assert in_words(page, {"of": ""}, frozenset()) == page
    assert labels_of(page, frozenset({"2 of 3"})) == ["{1} of {2} & more"]


def test_what_a_broken_file_says_is_left_alone_too(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(
        b'{"title": "One \\u00e4 two", "x": "\\q", "y": "\xff"}\n{"a": "Half'
    )
    assert "One ä two" in texts_of(tmp_path)


def test_a_misspelt_label_is_told_with_the_nearest(run: Write, tmp_path: Path) -> None:
    page, said = relabelled(run(), words_file(tmp_path / "de.yaml", {"Idaes": "Ideen", "Far off": "Weit"}))
    assert "'Idaes'" in said
    assert "'Ideas'" in said
    assert "Far off" not in said
    assert "Ideen" not in page


@pytest.mark.parametrize("text", ["- Ideas\n", "Ideas: [a]\n"])
def test_a_file_of_labels_is_a_map_of_texts(run: Write, tmp_path: Path, text: str) -> None:
    (file := tmp_path / "de.yaml").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["report", str(folder := run()), "--labels", str(file)])
    assert str(file) in mistake(done).message
    assert not (folder / "labels.yaml").exists()
    with pytest.raises(ConfigError, match=r"de\.yaml"):
        load(["virsci"], [f"labels={file}"])


@pytest.mark.slow
def test_a_run_keeps_the_words_of_its_config(tmp_path: Path) -> None:
    assert "labels" not in json.loads(RunConfig().model_dump_json())
    words_file(tmp_path / "de.yaml", {"Team": "Gruppe", "Ideas": ""})
    (config := tmp_path / "mine.yaml").write_text("system: virsci\nlabels: de.yaml\n", encoding="utf-8")
    assert load([str(config)]).labels == {"Team": "Gruppe"}
    options = [
        "-s",
        "language=de",
        "-s",
        "team.size=2",
        "-s",
        "turns=1",
        "-o",
        str(folder := tmp_path / "run"),
    ]
    done = CliRunner().invoke(app, ["run", str(config), *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    page = (folder / "report.html").read_text(encoding="utf-8")
    (tmp_path / "de.yaml").unlink()
    assert write_report(folder).read_text(encoding="utf-8") == page
    assert ">Gruppe<" in page
    assert ">Ideas<" in page
    assert '<html lang="de">' in page
    assert 'lang="en" class="prose' in page
