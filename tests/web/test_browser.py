"""The web room in a real browser, with a real server and real runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from manyheads.core.events import Warned
from support.browser import NEEDS_CHROMIUM
from support.events import HOSTILE, a_run, said
from support.served import Served, check, chromium, served, window

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM, pytest.mark.timeout(180)]
LONG = 60_000
"""Milliseconds to wait for the end of a run."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def start(page: Page, room: Served, config: str = "virsci", **values: str) -> str:
    """Start a run by its form, and return its name."""
    page.goto(f"{room.url}/start/{config}")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    for name, value in {"embedding": "lexical", **values}.items():
        field = page.locator(f'[name="{name}"]')
        if name == "steer":
            page.locator(f'[name=steer][value="{value}"]').check()
        elif field.evaluate("each => each.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/runs/2*")
    return page.url.rpartition("/")[2]


SMALL = {"virsci.team.size": "2", "virsci.turns.default": "2"}


def state(page: Page, word: str) -> None:
    expect(page.locator(".now .chip").first).to_have_text(word, timeout=LONG)


def test_a_run_is_started_and_watched_to_its_end(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as room, window(browser, room) as page:
        name = start(page, room, **{"inputs.topic": "touch"})
        expect(page.locator(".turn").first).to_be_visible(timeout=LONG)
        state(page, "finished")
        turns = page.locator(".turn").count()
        page.reload()
        assert page.locator(".turn").count() == turns
        page.get_by_role("link", name="Report", exact=True).click()
        expect(page.locator("h1")).to_be_visible()
        assert page.url.endswith(f"{name}/report.html")
        page.goto(f"{room.url}/compare?left={name}&right={name}")
        expect(page.frame_locator("iframe").first.locator("h1")).to_be_visible()
        page.goto(f"{room.url}/runs")
        expect(page.locator(".chip.finished")).to_be_visible()
    assert (tmp_path / name / "result.json").is_file()


def test_a_person_steers(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as room, window(browser, room) as page:
        start(page, room, **SMALL, steer="topic")
        state(page, "waiting")
        page.get_by_role("link", name="Steer").click()
        check(page)
        page.locator("[value=idea]").check()  # in mid-run
        page.get_by_role("button", name="Steer").click()
        page.get_by_role("link", name="Answer").click()
        expect(page.get_by_role("heading", name="Your answer")).to_be_visible()
        assert "Your task" not in page.content()
        check(page)
        page.locator("[value=edit]").check()
        page.get_by_role("button", name="Send the answer").click()
        expect(page.get_by_label("Topic", exact=True)).to_be_visible(timeout=LONG)  # the next form, at once
        form = page.url
        first, second = (
            page.get_by_label(each, exact=True).bounding_box() for each in ("Topic", "Rationale")
        )
        assert first
        assert second
        assert first["y"] < second["y"]
        text = page.get_by_label("Topic", exact=True)
        assert text.input_value()  # what the stage has come to
        text.fill("")
        page.get_by_label("Rationale").fill("Hands see, too.")
        page.get_by_role("button", name="Send the answer").click()
        expect(page.locator(".banner.bad")).to_be_visible(timeout=LONG)  # refused: it is empty
        assert page.get_by_label("Rationale").input_value() == "Hands see, too."
        page.get_by_label("Topic", exact=True).fill("Touch in the dark")
        page.get_by_role("button", name="Send the answer").click()
        state(page, "waiting")
        page.get_by_role("link", name="Answer").click()
        picks, action = page.locator("[name=picks]"), page.locator("[name=action]")
        check(page)
        picks.nth(1).check()
        action.first.check()
        page.get_by_role("button", name="Send the answer").click()
        expect(page.locator(".problem")).to_contain_text("pick")
        assert picks.nth(1).is_checked()
        page.locator("[value=pick]").check()
        page.get_by_role("button", name="Send the answer").click()
        state(page, "finished")
        assert "Touch in the dark" in page.content()
        page.goto(form)
        expect(page.locator("h1")).to_have_text("This did not work")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark"), (400, "light")])
def test_every_page_can_be_read_by_everyone(
    tmp_path: Path, browser: Browser, width: int, scheme: str
) -> None:
    with served(tmp_path) as room, window(browser, room, width) as page:
        page.emulate_media(color_scheme=scheme)  # pyright: ignore
        check(page)
        name = start(page, room, **SMALL)
        check(page)
        state(page, "finished")
        for path in (
            "/runs",
            f"/runs/{name}",
            "/start",
            "/start/mamorx",
            "/start/virsci",
            "/compare",
            "/nothing",
        ):
            page.goto(f"{room.url}{path}")
            check(page)
        page.goto(f"{room.url}/start/mamorx")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.locator(".problem")).to_be_visible()
        check(page)
        page.get_by_role("button", name="Another browser").click()
        check(page)


@pytest.mark.parametrize("width", [1280, 400])
def test_hostile_texts_stay_texts(tmp_path: Path, browser: Browser, width: int) -> None:
    long = said("C" * 300, "z" * 5_000_000)
    events = (said("Ada\u202e<b>", HOSTILE), said("B", "مرحبا بالعالم"), long, Warned(message=HOSTILE))
    name = a_run(tmp_path / "20260101-000000-x", *events, finished=False, title=HOSTILE + "w" * 500).name
    with served(tmp_path) as room, window(browser, room, width) as page:
        page.on("dialog", lambda dialog: pytest.fail("a script ran"))
        for path in ("/runs", f"/runs/{name}", f"/compare?left={name}", f"/runs/{name}/report.html"):
            page.goto(f"{room.url}{path}")
            if "report" not in path:
                check(page)
        page.goto(f"{room.url}/runs/{name}")
        assert page.locator(".turn script, .turn img, .turn style").count() == 0
        assert (
            page.locator(".turn [dir=auto]", has_text="مرحبا").first.evaluate(
                "each => getComputedStyle(each).direction"
            )
            == "rtl"
        )


def test_keys_reach_everything(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as room, window(browser, room) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        reached = set[str]()
        for _ in range(5):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.textContent.trim()"))
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none"
        assert {"Runs", "Start a run", "Compare", "Another browser"} <= reached
