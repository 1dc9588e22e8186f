"""The picture of a report in README and docs: a real run of VirSci, its report in a real browser.

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

PICTURE = ROOT / "docs/images/report.png"
SIZE = (1280, 900)
COLOURS = 128


def main() -> None:
    """Write the picture."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        asyncio.run(manyheads.run("virsci", "topic=Robust retrieval for robots", out=folder / "runs"))
        [report] = (folder / "runs").glob("*/report.html")
        manyheads_command("measure", report.parent, cwd=folder)  # its novelty stands in the report, too
        shot = folder / "report.png"
        width, height = SIZE
        browse(folder, report, f"--screenshot={shot}", f"--window-size={width},{height}", "--hide-scrollbars")
        PICTURE.parent.mkdir(exist_ok=True)
        Image.open(shot).convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
