"""Voting in a real browser: whole sessions by keyboard, reloads, two raters, hostile texts, a phone's width."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from manyheads.arena.items import Case, NewText
from support.arenas import arena
from support.browser import NEEDS_CHROMIUM
from support.served import Served, check, chromium, served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
MAKERS = ("maker-quartz", "maker-basalt", "maker-gneiss")
HOSTILE = (
    "<script>document.title = 'taken'</script> \x1b[31mred\x1b[0m \u202eevil\n\n# Heading\n\n" + "مرحبا بالعالم. " * 40
    + f"\n\n`{'x' * 500}`\n\n|{'column |' * 40}\n|{'---|' * 40}\n|{'value |' * 40}\n\n```\n{'code ' * 100}\n```\n\n![p](https://elsewhere.example/p.png)"
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@contextmanager
def voting(browser: Browser, room: Served, token: str, width: int = 1280) -> Generator[Page]:
    """The window of a rater; fails if a page logs an error, such as a blocked script."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(15_000)
    page, errors = context.new_page(), list[str]()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{room.url}/arena/enter?token={token}")
    page.wait_for_url("**/vote")
    yield page
    context.close()
    assert not [each for each in errors if "status of 4" not in each]


@NEEDS_CHROMIUM
def test_a_whole_session_by_keyboard(tmp_path: Path, browser: Browser) -> None:
    with arena(tmp_path / "a", MAKERS, form="review") as made:
        token = made.invite("Ada").token
        with served(tmp_path) as room, voting(browser, room, token) as page:
            assert token not in page.url
            page.get_by_role("link", name="Begin").focus()
            page.keyboard.press("Enter")
            for number in range(6):
                expect(page.get_by_label("Use keys")).to_be_visible()
                before = page.url
                for key in "1234":
                    page.keyboard.press(key)
                assert page.evaluate("document.activeElement.value") == "send"
                page.keyboard.press("Enter")
                page.wait_for_url(lambda url, before=before: url != before)
                assert len(made.votes()) == number + 1
            expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        answers = {tuple(vote.answers.values()) for vote in made.votes()}
        assert answers == {("left", "right", "tie", "poor")}
        assert all(vote.seconds is not None and vote.seconds < 60 for vote in made.votes())


@NEEDS_CHROMIUM
def test_keys_can_be_turned_off_and_do_not_type_into_comments(tmp_path: Path, browser: Browser) -> None:
    with arena(tmp_path / "a", MAKERS[:2], form="review") as made:
        token = made.invite("Ada").token
        with served(tmp_path) as room, voting(browser, room, token) as page:
            page.goto(f"{room.url}/vote/next")
            page.get_by_label("Comment").fill("")
            page.keyboard.type("1 and 2")
            assert page.locator("input[type=radio]:checked").count() == 0
            assert page.get_by_label("Comment").input_value() == "1 and 2"
            page.get_by_label("Use keys").uncheck()
            page.keyboard.press("1")
            page.reload()
            page.keyboard.press("1")
            assert page.locator("input[type=radio]:checked").count() == 0


@NEEDS_CHROMIUM
def test_reload_and_back_keep_what_was_filled_in_and_count_once(tmp_path: Path, browser: Browser) -> None:
    with arena(tmp_path / "a", MAKERS, form="review") as made, served(tmp_path) as room:
        with voting(browser, room, made.invite("Ada").token) as page:
            page.goto(f"{room.url}/vote/next")
            first = page.url
            page.keyboard.press("2")
            page.get_by_label("Comment").fill("Half-way")
            page.reload()
            assert page.locator("input[type=radio]:checked").input_value() == "right"
            assert page.get_by_label("Comment").input_value() == "Half-way"
            for key in "222":
                page.keyboard.press(key)
            page.get_by_role("button", name="Send").click()
            page.wait_for_url(lambda url: url != first)
            second = page.url
            page.go_back()
            page.wait_for_url(first)
            assert page.locator("input[value=right]:checked").count() == 4
            page.get_by_role("button", name="Send again").click()
            page.wait_for_url(second)
            assert len(made.votes()) == 1
            page.goto(first)
            page.locator("input[value=tie]").first.check()
            page.reload()
            assert page.locator("input[value=tie]:checked").count() == 1
            page.get_by_role("button", name="Send again").click()
            page.wait_for_url(second)
            page.goto(first)
            assert page.locator("input[value=tie]:checked").count() == 1
        assert [vote.answers["technical"] for vote in made.votes()] == ["tie"]
        [row] = made.rows()
        assert row.comment == "Half-way"


@NEEDS_CHROMIUM
@pytest.mark.parametrize(
    ("form", "width", "scheme"),
    [("review", 1280, "light"), ("review", 400, "dark"), ("rating", 400, "light"), ("ranking", 1280, "dark")],
)
def test_every_page_can_be_read_by_everyone(
    tmp_path: Path, browser: Browser, form: str, width: int, scheme: str
) -> None:
    with arena(tmp_path / "a", (), form=form) as made:
        case = Case("c", HOSTILE[:100], HOSTILE * 3)
        made.add(
            [
                NewText(case, maker, HOSTILE[:80], HOSTILE + "\n\n" + "word " * at)
                for maker, at in (("one", 0), ("two", 1_000_000))
            ]
        )
        token = made.invite("Ada").token
        with served(tmp_path) as room, voting(browser, room, token, width) as page:
            page.emulate_media(color_scheme=scheme)  # pyright: ignore
            check(page)
            page.goto(f"{room.url}/vote/next")
            check(page)
            assert page.title() != "taken"
            page.locator("button[value=send]").evaluate(
                "each => { each.form.noValidate = true; each.click() }"
            )
            expect(page.locator(".banner.bad")).to_be_visible()
            check(page)
            page.goto(f"{room.url}/vote/break")
            check(page)
            while page.goto(f"{room.url}/vote/next") and page.get_by_role("button", name="Skip").count():
                page.get_by_role("button", name="Skip").click()
            check(page)
            page.get_by_role("link", name="last answer").click()
            page.wait_for_url("**/vote/items/*")
            check(page)
            page.goto(room.entrance)
            page.wait_for_url("**/runs")
            for path in ("/arenas", "/arenas/a", "/arenas/a/cases/1"):
                page.goto(f"{room.url}{path}")
                check(page)
            page.goto(f"{room.url}/arenas/a")
            page.get_by_label("Names, one on each line").fill("Bob")
            page.get_by_role("button", name="Make links").click()
            check(page)
