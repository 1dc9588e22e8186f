"""The web room in a real browser, with a real server and real runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from manyheads.base.sqlite import Database
from manyheads.core.events import Warned
from manyheads.report.notes import notes_of, write_notes
from support.browser import NEEDS_CHROMIUM
from support.events import HOSTILE, a_run, line, said
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
        page.goto(f"{room.url}/runs")
        expect(page.locator(".chip.finished")).to_be_visible()
    assert (tmp_path / name / "result.json").is_file()


def test_a_person_steers(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as room, window(browser, room) as page:
        start(page, room, **SMALL, steer="topic")
        state(page, "waiting")
        run = page.url
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
        expect(page.get_by_label("Topic", exact=True)).to_be_hidden(timeout=LONG)
        page.goto(run)  # a quick model has the next form ready, a slow one has not
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


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
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


def test_runs_are_named_sorted_and_compared(tmp_path: Path, browser: Browser) -> None:
    for name in "abc":
        a_run(tmp_path / f"20260101-000000-{name}", said("Ada", "x"), finished=True, title=f"Title {name}")
    with served(tmp_path) as room, window(browser, room) as page:
        page.get_by_role("link", name="Title b").click()
        page.get_by_text("Name, tags and note").click()
        page.get_by_label("Name", exact=True).fill("The best one")
        page.get_by_label("Tags").fill("grant, touch")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", name="The best one")).to_be_visible()
        page.wait_for_timeout(1_200)  # the list is up to a second old
        page.get_by_role("link", name="grant").click()
        expect(page.locator(".runs tbody tr")).to_have_count(1)
        page.get_by_label("Tag", exact=True).select_option("")
        page.get_by_text("Columns and order").click()
        page.get_by_label("tags", exact=True).check()
        page.get_by_role("button", name="Filter").click()
        page.get_by_role("link", name="tags").click()
        expect(page.locator(".runs tbody tr").first).to_contain_text("The best one")
        for title in ("The best one", "Title c"):
            page.get_by_label(f"Compare {title}").check()
        page.get_by_role("button", name="Compare the marked runs").click()
        expect(page.locator(".differs", has_text="tags")).to_be_visible()
        check(page)


def test_hostile_texts_stay_texts(tmp_path: Path, browser: Browser) -> None:
    long = said("C" * 300, "z" * 5_000_000)
    events = (said("Ada\u202e<b>", HOSTILE), said("B", "مرحبا بالعالم"), long, Warned(message=HOSTILE))
    name, other = (
        a_run(
            tmp_path / f"20260101-000000-{each}", *events, finished=False, title=HOSTILE + each + "w" * 500
        ).name
        for each in "xy"
    )
    write_notes(tmp_path / name, notes_of(HOSTILE, [HOSTILE[n:] for n in range(9)], HOSTILE + "w" * 500))
    with served(tmp_path) as room, window(browser, room, 400) as page:
        page.on("dialog", lambda dialog: pytest.fail("a script ran"))
        table = "/runs?column=tags&column=state&column=begun&sort=-tags"
        for path in (table, f"/runs/{name}", f"/compare?run={name}&run={other}", f"/runs/{name}/report.html"):
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


def test_a_page_keeps_its_height_and_its_open_warnings(tmp_path: Path, browser: Browser) -> None:
    talk = [said(f"Scientist{n}", "One line.\n\n" * (1 + 17 * n % 60)) for n in range(190)]
    run = a_run(tmp_path / "20260101-000000-x", *talk, *(Warned(message=f"no. {n}") for n in range(120)))
    journal = Database(
        run / "journal.sqlite", "CREATE TABLE IF NOT EXISTS t (x)", safety="each write", alone=True
    )
    with served(tmp_path) as room, window(browser, room) as page:
        page.goto(f"{room.url}/runs/{run.name}")
        height = page.evaluate("document.documentElement.scrollHeight")
        for place in range(0, height, 3000):
            page.evaluate(
                "place => new Promise(done => { scrollTo(0, place); requestAnimationFrame(done); })", place
            )
        assert page.evaluate("document.documentElement.scrollHeight") == height
        assert not page.get_by_text("no. 119").is_visible()
        page.get_by_text("120 warnings").click()
        expect(page.get_by_text("no. 119")).to_be_visible()
        with (run / "events.jsonl").open("a", encoding="utf-8") as log:
            log.write(line(Warned(message="one more")))
        expect(page.get_by_text("one more")).to_be_visible()
        assert page.evaluate("document.activeElement.id") == "warned"
    journal.close()


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
