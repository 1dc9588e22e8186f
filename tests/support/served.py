"""A real server of the web room, and a real browser that looks at it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from axe_core_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from support.browser import CHROMIUM
from support.ports import bound_socket


@dataclass
class Served:
    """A running `manyheads serve`."""

    process: subprocess.Popen[str]
    url: str
    entrance: str
    lines: list[str]
    """What it has printed."""

    def children(self) -> list[int]:
        """The processes of its runs."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(each) for each in path.read_text("ascii").split()]


@contextmanager
def served(folder: Path, *options: str, end: int = signal.SIGINT) -> Generator[Served]:
    """A server of a folder of runs, on a port of its own."""
    with bound_socket() as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "manyheads",
        "serve",
        str(folder),
        "--no-open",
        "--port",
        str(port),
        *options,
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout
    try:
        lines = list[str]()
        for line in process.stdout:
            lines.append(line)
            if address := re.search(r"http://\S+", line):
                break
        else:
            raise AssertionError("".join(lines))
        yield Served(process, address[0].partition("/enter")[0], address[0], lines)
    finally:
        if process.poll() is None:
            process.send_signal(end)
        process.wait(60)
        process.stdout.close()


def check(page: Page) -> None:
    """Nothing is wider than the window, and axe finds nothing, with all unfolded but papers."""
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), page.url
    page.evaluate("for (const each of document.querySelectorAll('details:not(.paper)')) each.open = true")
    found = Axe().run(page)["violations"]
    assert not [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found], page.url


@contextmanager
def chromium() -> Generator[Browser]:
    """Debian's browser."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def window(browser: Browser, room: Served, width: int = 1280) -> Generator[Page]:
    """A logged-in window; fails if a page logs an error, such as a blocked script."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(15_000)
    page = context.new_page()
    errors = list[str]()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(room.entrance)
    page.wait_for_url("**/runs")
    yield page
    context.close()
    usual = ("status of 4", "[object Event]", "ERR_INCOMPLETE_CHUNKED")  # pages of errors, ended streams
    assert not [each for each in errors if not any(map(each.__contains__, usual))]
