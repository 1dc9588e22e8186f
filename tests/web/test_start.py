"""The form that starts a run: fields, problems beside them, files, the estimate."""

import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from golden.runs import FOLDERS
from manyheads.systems import systems
from manyheads.systems.loading import load
from manyheads.web.children import Child
from manyheads.web.pages import fields, for_browser
from manyheads.web.start import configs, groups, known_models, safe_name
from support.llm import LLM
from support.web import ADDRESS, CSRF, app_of, owner, send


def queued(client: httpx.AsyncClient) -> list[Child]:
    """The runs that were started; at_once=0 lets none begin."""
    return list(app_of(client).state.runs.children.all())


def config_of(child: Child) -> dict[str, Any]:
    return yaml.safe_load(Path(child.command[1]).read_text("utf-8"))


def folders(runs: Path) -> list[Path]:
    return list(runs.glob("2*"))


def problems(page: httpx.Response) -> dict[str, str]:
    return dict(re.findall(r'<p class="problem" id="p-([^"]+)">(.*?)</p>', page.text))


@pytest.mark.parametrize("name", list(systems()))
def test_every_key_of_a_system_has_a_field(name: str) -> None:
    paths = [each.path for group in groups(name) for each in group.fields]
    assert len(paths) == len(set(paths))
    system = systems()[name]
    assert {path[1] for path in paths if path[0] == "inputs"} == system.inputs.key_names()
    assert {path[1] for path in paths if path[0] == name} == system.config.key_names()
    assert ("seed",) in paths
    assert ("budget", "calls") in paths


@pytest.mark.parametrize("name", ["virsci", "mamorx", "nanogpt-virsci"])
async def test_a_form_shows_the_configs_values(tmp_path: Path, name: str) -> None:
    async with owner(tmp_path) as client:
        page = await client.get(f"/start/{name}")
        assert name in (await client.get("/start")).text
    assert page.status_code == 200
    ids = re.findall(r' id="([^"]+)"', page.text)
    assert len(ids) == len(set(ids))
    labels = set(re.findall(r'<label for="([^"]+)"|<fieldset[^>]* id="([^"]+)"', page.text))
    labels = {one or other for one, other in labels}
    assert {each for each in ids if each.startswith(("f-", "file-", "run-"))} == labels
    assert name in configs()


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each == "mamorx-plain" else SLOW) for each in configs()],
)
async def test_a_form_that_nobody_touched_is_the_config(tmp_path: Path, name: str) -> None:
    config = load([name])
    async with owner(tmp_path) as client:
        page = (await client.get(f"/start/{name}")).text
        values = {
            key: value or (f"a text of {key}" if key.startswith("inputs.") and key != "inputs.after" else "")
            for key, value in typed(page).items()
        }
        sent = await client.post(f"/start/{name}", data=values)
        assert not problems(sent)
        if queued(client):
            made = load([queued(client)[0].command[1]])
            assert made.settings == config.settings
            assert made.model_dump(exclude={"inputs", "name", "settings"}) == config.model_dump(
                exclude={"inputs", "name", "settings"}
            )


def typed(page: str) -> dict[str, str]:
    """What a browser sends of a form that nobody touched."""
    values, part = dict[str, str](), page.partition('class="start"')[2]
    for one in re.finditer(r"<(input)([^>]*)>|<(textarea|select)([^>]*)>(.*?)</", part, re.DOTALL):
        attrs, body = one[2] or one[4] or "", one[5] or ""
        said = dict(re.findall(r'([\w-]+)="([^"]*)"', attrs))
        if not (name := said.get("name")) or said.get("type") == "file" or name.startswith("run:"):
            continue
        if one[3] == "select":
            options = re.findall(r"<option([^>]*)>([^<]*)", part[one.start() :].partition("</select>")[0])
            chosen = next((each for each in options if "selected" in each[0]), options[0])
            value = re.search(r'value="([^"]*)"', chosen[0])
            values[name] = unescape(value[1] if value else chosen[1])
        elif one[3] or said.get("type") != "checkbox" or "checked" in attrs:
            text = unescape(body.removeprefix("\n") if one[3] else said.get("value", ""))
            values[name] = f"{values[name]}\n{text}" if name in values else text
    return values


async def test_an_unknown_config_has_no_form(tmp_path: Path) -> None:
    async with owner(tmp_path) as client:
        for name in ("nothing", "..%2f..%2fetc%2fpasswd", "project%2fmy"):
            assert (await client.get(f"/start/{name}")).status_code == 404


async def test_a_form_starts_a_run_once(tmp_path: Path) -> None:
    async with owner(tmp_path) as client:
        page = (await client.get("/start/virsci")).text
        token, once = CSRF.search(page), re.search(r'name="once" value="([^"]+)"', page)
        assert token
        assert once
        data = {
            "csrf": token[1], "once": once[1], "virsci.team.size": "3", "inputs.topic": "touch", "seed": "7",
            "budget.calls": "50", "budget.seconds": "30", "steer": ["topic", "idea"], "do": "start",
        }  # fmt: skip
        first = await client.post("/start/virsci", data=data)
        again = await client.post("/start/virsci", data=data)
        assert first.status_code == again.status_code == 303
        assert first.headers["location"] == again.headers["location"]
        page = (await client.get(first.headers["location"])).text
        assert "queued" in page
    assert len(queued(client)) == 1
    config = config_of(queued(client)[0])
    assert (config["virsci"]["team"]["size"], config["inputs"]["topic"], config["seed"]) == (3, "touch", 7)
    assert (config["budget"]["calls"], config["budget"]["seconds"]) == (50, 1800)  # minutes
    assert config["steer"] == ["topic", "idea"]
    assert queued(client)[0].command[3] == str(tmp_path / queued(client)[0].name)


@pytest.mark.parametrize(
    ("values", "key", "words"),
    [
        ({"virsci.team.size": "0"}, "virsci.team.size", "greater than or equal to 1"),
        ({"virsci.team.size": "four"}, "virsci.team.size", "valid integer"),
        ({"models.default": "openai"}, "models.default", "name is missing"),
        ({"budget.seconds": "-1"}, "budget.seconds", "greater than 0"),
        ({"seed": "9" * 5000}, "seed", ""),
        ({"name": "a" * 5000}, "name", "200"),
        ({"models.default.temperature": "9"}, "models.default.temperature", "less than or equal to 2"),
        ({"models.default.api_key_env": "sk-abcdefghijklmnop1234567890"}, "models.default.api_key_env", "environment"),
        ({"literature.cascade": "local\nnowhere"}, "literature.cascade", "nowhere"),
        ({"literature.endpoints": "{a: [b"}, "literature.endpoints", "not valid YAML"),
        ({"more": "[1"}, "more", "not valid YAML"),
        ({"steer": "ideas"}, "steer", "did you mean idea?"),
        ({"more": "just text"}, "more", "mapping"),
        ({"more": "teem: {size: 3}"}, "more", "teem"),
    ],
)  # fmt: skip
async def test_problems_stand_beside_their_fields(
    tmp_path: Path, values: dict[str, str], key: str, words: str
) -> None:
    async with owner(tmp_path) as client:
        page = await send(client, "/start/virsci", "/start/virsci", **values)
    assert page.status_code == 422
    assert words in problems(page)[key] or words == "nowhere"
    value = next(iter(values.values())).split("\n")[0]
    assert value.replace("'", "&#39;") in page.text  # what was typed is still there
    assert not queued(client)
    assert not folders(tmp_path)


async def test_a_finished_runs_ideas_begin_others_with_its_settings(tmp_path: Path) -> None:
    parent = tmp_path / "20260101-000000-old"
    shutil.copytree(FOLDERS / "virsci-finished", parent)
    merged = f"/start/virsci?run={parent.name}&idea=1&idea=3"
    async with owner(tmp_path) as client:
        page = (await client.get(f"/runs/{parent.name}")).text
        assert re.findall(r'name="idea" value="(\d+)"', page) == ["1", "2", "3"]
        actions = re.findall(r'(?:form)?action="(/start/[^"]+)"', page)
        assert actions == [f"/start/{name}" for name in ("virsci", "rebuttal", "ranking", "interview")]
        for action in (*actions, "/start/mamorx"):
            filled = (await client.get(f"{action}?run={parent.name}")).text
            assert f"{parent}" in filled, action
        started = await send(client, merged, merged, **{"do": "start", "budget.calls": "9"})
        assert started.status_code == 303
        several = await client.get(f"/start/rebuttal?run={parent.name}&idea=1&idea=3")
        assert several.status_code == 303
        again = (await client.get(several.headers["location"].partition("#")[0])).text
        [refusal] = re.findall(r'role="alert">([^<]+)<', again)
        assert "one idea" in refusal
        assert re.findall(r'value="(\d+)" checked', again) == ["1", "3"]
        assert (await client.get(f"/start/virsci?run={parent.name}&idea=9")).status_code == 400
        assert (await client.get("/start/virsci?run=../elsewhere")).status_code == 404
        config = config_of(queued(client)[0])
    assert config["inputs"]["idea"] == [f"{parent}#1", f"{parent}#3"]
    assert (config["embedding"], config["virsci"]["team"]["size"]) == ("lexical", 3)  # as in the finished run
    assert config["budget"]["calls"] == 9


async def test_a_needed_input_is_asked_for(tmp_path: Path) -> None:
    async with owner(tmp_path) as client:
        page = await send(client, "/start/mamorx", "/start/mamorx")
    assert problems(page) == {"inputs.paper": "is needed"}
    assert not queued(client)


async def test_a_run_that_cannot_begin_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    values = {"other:models.default": "openai/gpt-4o-mini"}
    async with owner(tmp_path) as client:
        page = await send(client, "/start/virsci", "/start/virsci", **values)
    assert page.status_code == 422
    assert "manyheads keys set OPENAI_API_KEY" in page.text
    assert "export" not in page.text
    assert not queued(client)


async def upload(client: httpx.AsyncClient, name: str, content: bytes) -> httpx.Response:
    token = CSRF.search((await client.get("/start/mamorx")).text)
    assert token
    return await client.post(
        "/start/mamorx", data={"csrf": token[1]}, files={"file:inputs.paper": (name, content)},
        headers={"origin": ADDRESS},
    )  # fmt: skip


async def test_a_file_is_stored_under_a_safe_name(tmp_path: Path) -> None:
    async with owner(tmp_path) as client:
        sent = await upload(client, "../../../etc/My paper.md", b"# A paper\n\nIt has one sentence.\n")
        empty = await upload(client, "empty.md", b"")
    assert sent.status_code == 303, problems(sent)
    path = Path(config_of(queued(client)[0])["inputs"]["paper"])
    assert path.parent == tmp_path / "uploads"
    assert path.name.endswith("-My-paper.md")
    assert "empty" in problems(empty)["inputs.paper"]


def test_safe_names() -> None:
    safe = {
        "paper.pdf": "paper.pdf",
        "../../x.PDF": "x.pdf",
        "C:\\temp\\a b.txt": "a-b.txt",
        ".htaccess": "htaccess",
    }
    safe |= {
        "": "file",
        "…": "file",
        "a" * 500 + ".md": "a" * 60 + ".md",
        "x.\0md": "x.md",
        "con\n.md": "con.md",
    }
    assert {name: safe_name(name) for name in safe} == safe


async def test_a_run_of_the_folder_is_an_input_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (runs := tmp_path / "runs").mkdir()
    async with owner(runs) as client:
        page = await send(client, "/start/rebuttal", "/start/rebuttal", **{"run:inputs.idea": "../outside"})
    assert "no such run" in problems(page)["inputs.idea"]
    assert not queued(client)


@pytest.mark.slow
async def test_the_estimate_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"do": "estimate", "virsci.team.size": "2", "virsci.turns.default": "1", "embedding": "lexical"}
    values |= {"models.default": "openai/gpt-4o-mini"}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
    async with owner(tmp_path) as client:
        page = await send(client, "/start/virsci", "/start/virsci", **values)
    assert page.status_code == 200
    assert re.search(r"Total.*?\d", page.text, re.DOTALL)
    assert "not corrected: 0 runs of virsci with openai/gpt-4o-mini" in page.text
    assert not queued(client)


async def test_a_form_comes_back_as_it_was_typed(tmp_path: Path) -> None:
    async with owner(tmp_path) as client:
        page = (await client.get("/start/virsci")).text
        for _ in range(2):  # as browsers send it
            values = {name: text.replace("\n", "\r\n") for name, text in typed(page).items()}
            sent = await client.post("/start/virsci", data=values | {"seed": "x", "inputs.topic": "a\r\nb"})
            assert list(problems(sent)) == ["seed"]
            page = sent.text
            assert "a\nb</textarea>" in page


async def test_an_expensive_run_is_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
    values = {
        "models.default": "openai/gpt-4o-mini", "virsci.team.size": "2",
        "virsci.turns.default": "1", "embedding": "lexical", "confirm.money": "0.000001",
    }  # fmt: skip
    async with owner(tmp_path) as client:
        asked = await send(client, "/start/virsci", "/start/virsci", **values)
        assert "confirm.money" in asked.text
        assert "not corrected: 0 runs" in asked.text
        assert not queued(client)
        assert (
            await send(client, "/start/virsci", "/start/virsci", **values, confirmed="yes")
        ).status_code == 303
    assert len(queued(client)) == 1
    assert "sk-not" not in str(config_of(queued(client)[0]))


def test_models_to_choose_from_have_a_key_or_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [*known_models()] == ["offline/offline"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
    with LLM() as llm:
        monkeypatch.setenv("OLLAMA_HOST", llm.url)
        names = [*known_models()]
    assert "openai/gpt-4o-mini" in names
    assert any(name.startswith("ollama/") for name in names)
    assert not any(name.startswith("anthropic/") for name in names)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("manyheads keys set A_KEY, export A_KEY=…, or name a server", "in a terminal (manyheads keys set A_KEY), or name"),
        ("export A_KEY=… again, on one line", "set A_KEY where the server was started"),
        ("to resume: manyheads resume RUN --accept-changes", "resume the run"),
        ('name one: --background papers.bib or "a text"', "the field “background”: papers.bib"),
        ("its papers: --set corpus=…", "set “corpus” to …"),
        ("models: --set 'models.default.price={input: 1, output: 2}', per million", "set “models.default.price” to {input: 1, output: 2}, per"),
        ("pip install --no-deps gt-all", "pip install --no-deps gt-all"),
        ("run it on a terminal or with --control, or in Python with person=…; without: x", "untick all stages"),
    ],
)  # fmt: skip
def test_a_page_speaks_of_fields_not_of_options(said: str, shown: str) -> None:
    assert shown in for_browser(said)
    assert "install" in said or "--" not in for_browser(said)


# Forms from any JSON Schema.


@pytest.mark.parametrize(
    ("schema", "kind", "text", "value"),
    [
        ({"type": "string"}, "text", " a ", "a"),
        ({"type": "string", "maxLength": 4000}, "long", "a\nb", "a\nb"),
        ({"type": "integer"}, "number", "7", 7),
        ({"type": "number"}, "number", "0.5", 0.5),
        ({"type": "integer"}, "number", "x", "x"),
        ({"type": "boolean"}, "yes", "yes", True),
        ({"type": "boolean"}, "yes", "", False),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "choice", "no", False),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "choice", "", None),
        ({"enum": ["accept", "edit"], "type": "string"}, "choice", "edit", "edit"),
        ({"enum": [1, 2], "type": "integer"}, "choice", "2", 2),
        ({"type": "array", "items": {"type": "string"}}, "lines", "a\n\n b", ["a", "b"]),
        ({"type": "array", "items": {"type": "object"}}, "yaml", "[{a: 1}]", [{"a": 1}]),
        ({"type": "array", "items": {"type": "integer"}}, "yaml", "1, 2", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, "yaml", "2", [2]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text", "", None),
    ],
)
def test_a_field_of_each_kind(schema: dict[str, Any], kind: str, text: str, value: object) -> None:
    [field] = fields({"properties": {"x": schema}}, {})
    assert (field.kind, field.value(text)) == (kind, value)
    assert field.value(field.text(value)) == value
