"""The pictures in README and docs, in a real browser: the report of a run of VirSci, and a live page that waits for a person.

PYTHONPATH=tests python -m support.picture
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

import manyheads
from support.browser import browse
from support.command import manyheads_command
from support.pages import ROOT
from support.served import chromium, served, window

PICTURES = ROOT / "docs/images"
SIZE = (1280, 900)
COLOURS = 128


def report(folder: Path) -> Path:
    """The beginning of a report."""
    asyncio.run(manyheads.run("virsci", "topic=Robust retrieval for robots", out=folder / "runs"))
    [page] = (folder / "runs").glob("*/report.html")
    manyheads_command("measure", page.parent, cwd=folder)  # its novelty stands in the report, too
    shot = folder / "report.png"
    width, height = SIZE
    browse(folder, page, f"--screenshot={shot}", f"--window-size={width},{height}", "--hide-scrollbars")
    return shot


def live(folder: Path) -> Path:
    """A run of `manyheads serve` that waits for a person."""
    shot = folder / "web.png"
    with chromium() as browser, served(folder) as room, window(browser, room, SIZE[0]) as page:
        page.goto(f"{room.url}/start/virsci")
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.locator('[name="steer"]').fill("topic")
        page.get_by_role("button", name="Start", exact=True).click()
        page.get_by_role("link", name="Answer").wait_for(timeout=60_000)
        page.screenshot(path=shot)
    return shot


def main() -> None:
    """Write the pictures."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as scratch:
        for draw in (report, live):
            folder = Path(scratch) / draw.__name__
            folder.mkdir()
            shot = draw(folder)
            Image.open(shot).convert("RGB").quantize(COLOURS).save(PICTURES / shot.name, optimize=True)


if __name__ == "__main__":
    main()
