"""A page as a real browser shows it."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files",
)  # fmt: skip
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


def browse(tmp_path: Path, page: Path, *flags: str) -> str:
    profile = tmp_path / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout


def shown(tmp_path: Path, page: Path, width: int, script: str) -> Any:
    """What a script returns of a page (`page` is its document) in a window of some width, with all that folds away in sight."""
    frame = tmp_path / "frame.html"
    frame.write_text(
        f"<iframe id=f src='{page.as_uri()}' style='width:{width}px;height:900px;border:0'></iframe>"
        "<script>onload = () => { const page = f.contentDocument;"
        "for (const d of page.querySelectorAll('details')) d.open = true;"
        f"document.title = JSON.stringify((() => {{ {script} }})()); }}</script>",
        encoding="utf-8",
    )
    title = re.search(r"<title>(.*?)</title>", browse(tmp_path, frame, "--dump-dom"), re.DOTALL)
    assert title
    return json.loads(unescape(title[1]))


def width_of(tmp_path: Path, page: Path, width: int) -> int:
    """How wide a page is that is shown in a window of some width."""
    return shown(tmp_path, page, width, "return page.documentElement.scrollWidth")
