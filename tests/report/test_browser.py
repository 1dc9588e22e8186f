"""The report in a real browser: nothing runs, nothing is fetched, nothing overflows, all of it prints."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from golden.runs import FOLDERS
from manyheads.report.index import write_index
from manyheads.systems.results import write_report
from support.browser import NEEDS_CHROMIUM, browse, shown, width_of
from support.ranked import RANKED, SHOWN, order, ranking
from support.served import check, chromium

Write = Callable[..., Path]
pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]


def test_a_script_in_a_model_text_does_not_run(tmp_path: Path, run: Write, told: dict[str, Any]) -> None:
    told["abstract"]["title"] = "</title><script>document.documentElement.dataset.owned = 1</script>"
    told["ideas"][0]["idea"] = "<img src=x onerror='document.documentElement.dataset.owned = 1'>"
    dom = browse(tmp_path, write_report(run(outcome=told)), "--dump-dom")
    assert "data-owned" not in dom
    assert "&lt;script&gt;" in dom


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_wider_than_the_window(
    tmp_path: Path, run: Write, told: dict[str, Any], width: int
) -> None:
    told["ideas"][0]["title"] = "Unbreakable" * 30
    told["topic"]["topic"] = "x" * 500
    assert width_of(tmp_path, write_report(run(outcome=told)), width) <= width


CELLS = """
const broken = [];
for (const cell of page.querySelectorAll('th, td')) {
  if (!cell.offsetWidth || !cell.textContent.trim()) continue;
  const range = page.createRange();
  for (const walk = page.createTreeWalker(cell, 4); walk.nextNode();) {
    for (const word of walk.currentNode.data.matchAll(/[A-Za-z]{2,20}/g)) {
      range.setStart(walk.currentNode, word.index);
      range.setEnd(walk.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(each => Math.round(each.top))).size > 1) broken.push(word[0]);
    }
  }
}
return broken;
"""
"""Words of tables that stand on more than one line."""


@pytest.mark.parametrize("width", [400, 1280])
def test_no_word_of_a_table_is_broken(tmp_path: Path, run: Write, width: int) -> None:
    assert shown(tmp_path, write_report(run()), width, CELLS) == []
    orders = [order(shown, ranked) for shown, ranked in zip(SHOWN, RANKED, strict=True)]
    folder = run(outcome=ranking(orders=orders), config="system: ranking\n")
    assert shown(tmp_path, write_report(folder), width, CELLS) == []


def test_title_abstract_and_votes_stand_above_the_fold(tmp_path: Path, run: Write) -> None:
    script = """
    for (const each of page.querySelectorAll('details')) each.open = false;
    return ['h1', '.abstract', '.facts', '.facts .tally'].map(name => page.querySelector(name).getBoundingClientRect().bottom);
    """
    assert max(shown(tmp_path, write_report(run()), 1280, script)) < 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_by_everyone(tmp_path: Path, run: Write, scheme: Any) -> None:
    shutil.copytree(FOLDERS / "rebuttal-of-a-text-finished", tmp_path / "rebuttal")
    pages = [write_report(run()), write_report(tmp_path / "rebuttal"), write_index(tmp_path)]
    with chromium() as browser:
        page = browser.new_page(color_scheme=scheme)
        for path in filter(None, pages):
            page.goto(path.as_uri())
            check(page)


def test_folded_parts_are_printed(tmp_path: Path, run: Write) -> None:
    pdf = tmp_path / "report.pdf"
    browse(tmp_path, write_report(run()), "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().startswith(b"%PDF")
    if reader := shutil.which("pdftotext"):
        text = subprocess.run(
            [reader, pdf, "-"], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        words = " ".join(text.split())
        assert "Mostly age and novelty." in words
        assert "A Ledger of Surprises" in words
        assert words.count("Three office robots, eight weeks") == 4
        assert "Version 1" in words
        assert "provider: offline" in words
