"""The pages of raters, as a browser without scripts uses them."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path

import httpx
import pytest

from manyheads.arena.items import ArenaForm, Case, NewText, read_form
from manyheads.arena.store import Arena
from manyheads.web.vote import BREAK, LONGEST
from support.arenas import arena
from support.web import app_of, browser, owner, send

MAKERS = ("maker-quartz", "maker-basalt", "maker-gneiss")


@asynccontextmanager
async def rater(
    client: httpx.AsyncClient, made: Arena, name: str = "Ada"
) -> AsyncGenerator[httpx.AsyncClient]:
    """The browser of a rater, let in by a new invitation."""
    async with browser(app_of(client)) as guest:
        assert (await guest.get(f"/arena/enter?token={made.invite(name).token}")).status_code == 200
        yield guest


async def open_item(guest: httpx.AsyncClient) -> str:
    response = await guest.get("/vote/next")
    assert response.status_code == 303, response.text
    return response.headers["location"]


def fields(page: str, value: str = "left") -> dict[str, str]:
    """An answer to each question of a page of pairs or ratings, or the ranks in the order shown."""
    made = re.findall(r'name="made" value="(\d+)"', page)
    names = list(dict.fromkeys(re.findall(r'<(?:input type="radio"|select [^>]*?) ?name="(q-[^"]+)"', page)))
    if "<select" in page:
        return {"made": made[0], **{name: str(at) for at, name in enumerate(names, 1)}}
    return {"made": made[0], **dict.fromkeys(names, value)}


def checked(page: str) -> list[str]:
    return re.findall(r'value="([^"]+)" required checked', page)


@pytest.mark.parametrize("form", ["review", "idea", "rating", "ranking"])
async def test_a_whole_session_without_a_script(tmp_path: Path, form: str) -> None:
    made = arena(tmp_path / "a", MAKERS[:2], ("owls", "bats"), form)
    async with owner(tmp_path) as client, rater(client, made) as guest:
        guide = (await guest.get("/vote")).text
        assert "Ada" in guide
        seen = set[str]()
        while (response := await guest.get("/vote/next")).status_code == 303:
            path = response.headers["location"]
            page = (await guest.get(path)).text
            assert not any(maker in page for maker in MAKERS)
            seen.add(path)
            sent = await send(
                guest, path, path, **fields(page, "7" if form == "rating" else "left"), comment="Fine."
            )
            assert (sent.status_code, sent.headers["location"]) == (303, "/vote/next")
        assert response.status_code == 200
        assert "Thank you" in response.text
        left = [path for path in seen if (await guest.get(path)).status_code != 200]
    rows = made.rows()
    assert (len(rows), left) == (len(seen), [])
    assert {row.comment for row in rows} == {"Fine."}
    assert all(row.seconds is not None and row.seconds < 60 for row in rows)
    made.close()


async def test_a_reload_or_a_second_click_counts_once_and_a_change_replaces(tmp_path: Path) -> None:
    with arena(tmp_path / "a", MAKERS) as made:
        async with owner(tmp_path) as client, rater(client, made) as guest:
            path = await open_item(guest)
            assert await open_item(guest) == path
            answers = fields((await guest.get(path)).text)
            for _ in range(3):
                await send(guest, path, path, **answers)
            assert len(made.votes()) == 1
            again = (await guest.get(path)).text
            assert checked(again) == ["left"]
            await send(guest, path, path, **dict.fromkeys(answers, "tie"))
        assert [set(vote.answers.values()) for vote in made.votes()] == [{"tie"}]


async def test_answers_that_are_missing_or_wrong_keep_what_was_filled_in(tmp_path: Path) -> None:
    with arena(tmp_path / "a", MAKERS, form="review") as made:
        async with owner(tmp_path) as client, rater(client, made) as guest:
            path = await open_item(guest)
            for wrong in ({}, {"q-clarity": "right"}, {"q-overall": "<script>alert(1)</script>"}):
                page = await send(guest, path, path, comment="Half-way </textarea>", **wrong)
                assert page.status_code == 422
                assert "Half-way &lt;/textarea&gt;" in page.text
                assert "<script>alert" not in page.text
                assert checked(page.text) == (["right"] if "q-clarity" in wrong else [])
        assert made.votes() == []


async def test_skip_previous_and_the_break(tmp_path: Path) -> None:
    with arena(tmp_path / "a", MAKERS, [f"case {n}" for n in range(5)]) as made:
        async with owner(tmp_path) as client, rater(client, made) as guest:
            first = await open_item(guest)
            await send(guest, first, first, do="skip")
            paths = [first]
            for number in range(1, BREAK + 1):
                path = await open_item(guest)
                assert path not in paths
                page = (await guest.get(path)).text
                assert f'href="{paths[-1]}" rel="prev"' in page
                response = await send(guest, path, path, **fields(page))
                assert response.headers["location"] == ("/vote/break" if number == BREAK else "/vote/next")
                paths.append(path)
            assert f"{BREAK} answers" in (await guest.get("/vote/break")).text
            assert f"{BREAK + 1} of 15 done" in (await guest.get("/vote")).text
            middle = (await guest.get(paths[3])).text
            assert f'href="{paths[2]}" rel="prev"' in middle
            assert f'href="{paths[4]}" rel="next"' in middle


async def test_an_invitation_can_be_revoked_in_the_middle_of_a_vote(tmp_path: Path) -> None:
    with arena(tmp_path / "a", MAKERS) as made:
        async with owner(tmp_path) as client, rater(client, made) as guest:
            path = await open_item(guest)
            page = (await guest.get(path)).text
            token = re.search(r'name="csrf" value="([^"]+)"', page)
            assert token
            made.revoke("Ada")
            sent = await guest.post(path, data={"csrf": unescape(token[1]), **fields(page)})
            assert sent.status_code == 401
            assert "revoked" in sent.text
            assert "Traceback" not in sent.text
            assert str(tmp_path) not in sent.text
            assert (await guest.get("/vote")).status_code == 401
        assert made.votes() == []


async def test_the_token_leaves_the_address_and_wrong_ones_are_slowed_down(tmp_path: Path) -> None:
    with arena(tmp_path / "a", MAKERS) as made:
        async with owner(tmp_path) as client, browser(app_of(client)) as guest:
            invitation = made.invite("Ada")
            assert (await guest.head(f"/arena/enter?token={invitation.token}")).status_code == 405
            entered = await guest.get(f"/arena/enter?token={invitation.token}")
            assert entered.status_code == 200
            assert invitation.token not in entered.text
            cookie = entered.headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=strict" in cookie
            codes = {(await guest.get(f"/arena/enter?token={n}")).status_code for n in range(30)}
            assert codes == {401}
            assert (await guest.get(f"/arena/enter?token={made.invite('Eve').token}")).status_code == 200


async def test_a_rater_of_one_arena_sees_no_other(tmp_path: Path) -> None:
    with arena(tmp_path / "a", MAKERS) as one, arena(tmp_path / "b", MAKERS) as other:
        async with (
            owner(tmp_path) as client,
            rater(client, one) as ada,
            rater(client, one, "Bob") as bob,
            rater(client, other) as eve,
        ):
            mine = await open_item(ada)
            for guest in (bob, eve):
                assert (await guest.get(mine)).status_code == 404
                own = await open_item(guest)
                assert (await send(guest, own, mine, **{"q-overall": "left"})).status_code == 404
        assert one.votes() == other.votes() == []


HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)>\n\n# Big\n\n[x](javascript:alert(3)) \x1b[31mred\x1b[0m \u202eevil\n\n"
    "</form></article><form action=https://elsewhere.example><input name=csrf>"
)


async def test_texts_of_strangers_are_harmless(tmp_path: Path) -> None:
    form = ArenaForm.model_validate(
        {
            "title": HOSTILE[:150],
            "noun": "<b>x</b>",
            "guide": HOSTILE,
            "questions": [{"id": "q", "text": HOSTILE[:100], "help": HOSTILE}],
        }
    )
    with Arena.create(tmp_path / "a", form) as made:
        case = Case("c", HOSTILE, HOSTILE)
        made.add([NewText(case, "one", HOSTILE, HOSTILE), NewText(case, "two", "", "word " * 1_000_000)])
        async with owner(tmp_path) as client, rater(client, made, "<i>Ada</i>") as guest:
            path = await open_item(guest)
            pages = [(await guest.get(each)).text for each in ("/vote", path, "/vote/break")]
            for page in pages:
                for bad in (
                    "<script>alert",
                    "<img",
                    'href="javascript',
                    "\x1b",
                    "\u202e",
                    "elsewhere.example>",
                    "<i>Ada",
                    "<b>x",
                ):
                    assert bad not in page, bad
            assert len(pages[1]) < 3 * LONGEST
            at = re.search(rf'href="({re.escape(path)}/texts/\d)"', pages[1])
            assert at
            whole = await guest.get(at[1])
            assert len(whole.text) == 5_000_000
            assert whole.headers["content-disposition"].startswith("attachment")
            for wrong in ("2", "-1", "x", "٣", "99999"):
                assert (await guest.get(f"{path}/texts/{wrong}")).status_code == 404


@pytest.mark.parametrize(
    ("name", "kind"), [("p.pdf", "application/pdf"), ("p.html", "application/octet-stream")]
)
async def test_the_paper_is_framed_or_downloaded(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(b"%PDF-1.4 <script>alert(1)</script>")
    with Arena.create(tmp_path / "a", read_form("review")) as made:
        case = Case("c", "A paper")
        made.add(
            [
                NewText(case, maker, "", f"Text of {n}", paper=tmp_path / name)
                for n, maker in enumerate(MAKERS)
            ]
        )
        async with owner(tmp_path) as client, rater(client, made) as guest, rater(client, made, "Bob") as bob:
            path = await open_item(guest)
            page = (await guest.get(path)).text
            assert ("<iframe" in page) == (name == "p.pdf")
            file = await guest.get(f"{path}/paper")
            assert file.headers["content-type"] == kind
            assert ("attachment" in file.headers.get("content-disposition", "")) == (name != "p.pdf")
            assert "frame-ancestors" in file.headers["content-security-policy"]
            assert (await bob.get(f"{path}/paper")).status_code == 404
            assert (await client.get(f"{path}/paper")).status_code == 403


async def test_an_arena_that_breaks_shows_no_path(tmp_path: Path) -> None:
    with arena(tmp_path / "a", MAKERS) as made:
        async with owner(tmp_path) as client, rater(client, made) as guest:
            path = await open_item(guest)
            app_of(client).state.arenas.close()
            made.close()
            (tmp_path / "a" / "arena.sqlite").write_bytes(b"no database" * 500)
            page = await guest.get(path)
            assert page.status_code == 503
            assert str(tmp_path) not in page.text
