"""The report in a real browser: nothing runs, nothing is fetched, nothing overflows, all of it prints."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.systems.results import write_report
from support.browser import NEEDS_CHROMIUM, browse, width_of
from support.ranked import RANKED, SHOWN, order, ranking

Write = Callable[..., Path]
pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]


def test_a_script_in_a_model_text_does_not_run(tmp_path: Path, run: Write, told: dict[str, Any]) -> None:
    told["abstract"]["title"] = "</title><script>document.documentElement.dataset.owned = 1</script>"
    told["ideas"][0]["idea"] = "<img src=x onerror='document.documentElement.dataset.owned = 1'>"
    dom = browse(tmp_path, write_report(run(outcome=told)), "--dump-dom")
    assert "data-owned" not in dom
    assert "&lt;script&gt;" in dom


def test_even_unescaped_markup_could_not_run(tmp_path: Path, run: Write) -> None:
    page = write_report(run())
    script = "<script>document.documentElement.dataset.owned = 1</script>"
    page.write_text(page.read_text(encoding="utf-8").replace("</main>", f"{script}</main>"), encoding="utf-8")
    assert "data-owned" not in browse(tmp_path, page, "--dump-dom")


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_window(
    tmp_path: Path, run: Write, told: dict[str, Any], width: int
) -> None:
    told["ideas"][0]["title"] = "Unbreakable" * 30
    told["topic"]["topic"] = "x" * 500
    assert width_of(tmp_path, write_report(run(outcome=told)), width) <= width


@pytest.mark.parametrize("width", [320, 1280])
def test_a_ranking_of_long_titles_in_many_orders_is_no_wider(tmp_path: Path, run: Write, width: int) -> None:
    orders = [order(shown, ranked) for shown, ranked in zip(SHOWN, RANKED, strict=True)] * 5
    ideas = [{"source": "z" * 300, "title": "Unbreakable" * 30, "fields": {"method": "x" * 500}}] * 3
    told = ranking(orders=orders, ideas=ideas, title="y" * 300)
    folder = run(outcome=told, config="system: ranking\n")
    assert width_of(tmp_path, write_report(folder), width) <= width


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


@pytest.mark.parametrize("scheme", ["0", "1"])
def test_draws_light_and_dark(tmp_path: Path, run: Write, scheme: str) -> None:
    picture = tmp_path / "report.png"
    flags = (f"--blink-settings=preferredColorScheme={scheme}", "--window-size=600,400")
    browse(tmp_path, write_report(run()), *flags, f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG")
