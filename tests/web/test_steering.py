"""Answers of people to a run that was resumed."""

from pathlib import Path

import httpx

from manyheads.core.events import Waiting
from manyheads.web.children import Child
from support.events import a_run, said
from support.web import app_of, owner, send

NAME = "20260101-000000-x"
PAGE = f"/runs/{NAME}"
ASKED = Waiting(
    stage="topic", turn=1, speaker="Ada", task="steer", request="r-1", title="Go on?", text="A topic.",
    form={"type": "object", "properties": {"remark": {"type": "string", "title": "Remark"}}},
)  # fmt: skip
REQUEST = f"{PAGE}/requests/{ASKED.request}"


def child_of(client: httpx.AsyncClient) -> Child:
    child = app_of(client).state.runs.children.get(NAME)
    assert child
    return child


async def test_a_resumed_run_takes_answers_only_to_what_it_has_asked_itself(tmp_path: Path) -> None:
    a_run(tmp_path / NAME, said("Ada", "x", turn=0), ASKED, finished=False)
    async with owner(tmp_path) as client:
        await send(client, PAGE, f"{PAGE}/resume")
        child = child_of(client)
        child.state = "running"
        page = await client.get(PAGE)
        assert REQUEST not in page.text
        assert 'class="chip running"' in page.text
        assert (await client.get(REQUEST)).status_code == 409
        early = await send(client, PAGE, REQUEST, remark="Hands see.")
        assert early.status_code == 409
        assert "resumed" in early.text
        assert "Hands see." in early.text
        assert child.answered == set()

        child.asked.add(ASKED.request)
        page = await client.get(PAGE)
        assert REQUEST in page.text
        assert 'class="chip waiting"' in page.text
        assert "Hands see." in (await client.get(REQUEST)).text


async def test_a_refused_answer_is_shown_with_its_reason(tmp_path: Path) -> None:
    a_run(tmp_path / NAME, ASKED, finished=False)
    async with owner(tmp_path) as client:
        await send(client, PAGE, f"{PAGE}/resume")
        child = child_of(client)
        child.state = "running"
        child.asked.add(ASKED.request)
        child.texts["topic", 1, "Ada", "steer"] = {"remark": "Hands see."}
        child.refused[ASKED.request] = "no such <request>"
        assert "no such &lt;request&gt;" in (await client.get(PAGE)).text
        form = (await client.get(REQUEST)).text
    assert "no such &lt;request&gt;" in form
    assert "Hands see." in form


async def test_the_stages_of_a_run_can_be_ticked_while_it_goes_on(tmp_path: Path) -> None:
    a_run(tmp_path / NAME, said("Ada", "x", turn=0), finished=False)
    async with owner(tmp_path) as client:
        assert f"{PAGE}/steer" not in (await client.get(PAGE)).text
        await send(client, PAGE, f"{PAGE}/resume")
        child_of(client).state = "running"
        assert f"{PAGE}/steer" in (await client.get(PAGE)).text
        page = await client.get(f"{PAGE}/steer")
        assert 'value="abstract"' in page.text
        # the child has no process here: what it cannot hear is said, not lost
        assert (await send(client, f"{PAGE}/steer", f"{PAGE}/steer", steer="idea")).status_code == 409
