"""What servers can do: asked in a few requests, kept for a day, gone by in runs."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.asking.replies import Remark
from manyheads.base.errors import ConfigError
from manyheads.base.files import cache_folder
from manyheads.config import ModelConfig
from manyheads.models import abilities
from manyheads.models import probe as probing
from manyheads.models.abilities import Abilities, abilities_of, forms_for, keep, settled
from manyheads.models.probe import in_short, probe
from manyheads.models.requests import server_address
from manyheads.systems.results import load
from support.command import manyheads_command
from support.faults import Fault, refuses_format
from support.llm import LLM
from support.requests import Request
from support.turns import model
from support.wires import Call

TWICE = [("add_numbers", {"a": 2, "b": 3}), ("add_numbers", {"a": 4, "b": 5})]


def shows_image(request: Request) -> bool:
    return "image_url" in str(request.body["messages"])


def names(word: str, *, always: bool = False) -> Callable[[Request], str | None]:
    return lambda request: word if always or shows_image(request) else None


SEEN = names("Yellow, blue, green.")


def able(llm: LLM) -> None:
    """Can do everything."""
    llm.tool_calls = TWICE
    llm.reply = SEEN


def held_to_a_grammar(llm: LLM) -> None:
    """As vLLM and llama.cpp: no tool calls beside a schema; and it sees nothing."""
    llm.reply = names("A bird.")

    def calls(request: Request) -> tuple[Call, ...]:
        return () if request.has_form or not request.tools else (Call("add_numbers", {"a": 2, "b": 3}),)

    vars(llm)["_calls"] = calls


def python_llama(llm: LLM) -> None:
    """As llama.cpp's Python server: 500 for json_schema, json_object with a schema, no tools, no images."""
    llm.faults += [
        Fault("refuse_schema", times=None, status=500),
        Fault("status", status=500, times=None, when=shows_image),
    ]


def bare(llm: LLM) -> None:
    """Refuses all that is not text."""
    llm.faults += [
        refuses_format(400),
        Fault(
            "status", status=400, message="does not support tools", times=None, when=lambda r: bool(r.tools)
        ),
        Fault("status", status=400, times=None, when=shows_image),
    ]


def deaf(llm: LLM) -> None:
    """Takes everything, and goes by nothing."""
    llm.reply = names("The sea is wide.", always=True)


@pytest.mark.parametrize(
    ("server", "found"),
    [
        (able, Abilities(tools=True, parallel=True, form="schema", both=True, vision=True)),
        (held_to_a_grammar, Abilities(tools=True, parallel=False, form="schema", both=False, vision=None)),
        (python_llama, Abilities(tools=False, form="object", vision=False)),
        (bare, Abilities(tools=False, form="none", vision=False)),
        (deaf, Abilities(tools=False, form="none", vision=None)),
    ],
)
async def test_what_a_server_can_do_is_found_out(
    llm: LLM, server: Callable[[LLM], None], found: Abilities
) -> None:
    server(llm)
    config = model(llm)
    told, usage = await probe(config, "default")
    assert told == found
    assert usage.tokens > 0
    assert llm.calls <= 7
    assert abilities_of(config).model_copy(update={"at": 0.0}) == found
    assert all(request.body["max_tokens"] <= 300 for request in llm.requests)


async def test_the_name_of_the_length_limit_is_found_out(llm: LLM) -> None:
    def old_name(request: Request) -> bool:
        return "max_tokens" in request.body

    message = "Unsupported parameter: 'max_tokens' is not supported with this model."
    llm.faults.append(Fault("status", status=400, message=message, times=None, when=old_name))
    found, _ = await probe(model(llm), "default")
    assert (found.limit, found.form) == ("max_completion_tokens", "schema")
    abilities.forget()
    assert abilities_of(model(llm)).limit == "max_completion_tokens"


@pytest.mark.parametrize(
    ("own", "listed", "others", "context"),
    [
        ("test-model", {"max_model_len": 4096}, (), 4096),
        ("test-model", {"meta": {"n_ctx_train": 4096}}, ("third",), 4096),
        ("another", {"context_length": 4096}, (), 4096),
        ("another", {"max_model_len": 4096}, ("third",), None),
    ],
)
async def test_the_window_that_a_server_tells_of(
    llm: LLM, own: str, listed: dict[str, Any], others: tuple[str, ...], context: int | None
) -> None:
    llm.listed[:] = [{"id": own, **listed}, *({"id": one, "n_ctx": 512} for one in others)]
    found, _ = await probe(model(llm), "default")
    assert (found.context, settled(model(llm)).context) == (context, context)
    assert settled(model(llm, context=99)).window == 99


@pytest.mark.parametrize(
    ("said", "sees"),
    [
        ("YELLOW blue Green", True),
        ("It is yellow, then blue, then green.", True),
        ("Red, green, blue.", None),
        ("A greenish one, blue.", None),
    ],
)
async def test_it_sees_where_it_names_the_colours(llm: LLM, said: str, sees: bool | None) -> None:
    llm.reply = names(said)
    found, _ = await probe(model(llm), "default")
    assert found.vision is sees


@pytest.mark.parametrize(
    ("choice", "found", "sent", "told"),
    [
        (True, "object", ["object", "none"], "response_format json_object"),
        ("schema", "none", ["schema"], "response_format json_schema (tested: none)"),
        ("object", "schema", ["object"], "response_format json_object (tested: json_schema)"),
        (True, "none", ["none"], "response_format not used; the prompt shows the form"),
        (
            False,
            "schema",
            ["none"],
            "response_format not used; the prompt shows the form (tested: json_schema)",
        ),
    ],
)
def test_the_configs_form_goes_before_the_one_that_was_found(
    llm: LLM, choice: object, found: Any, sent: list[str], told: str
) -> None:
    config = model(llm, response_format=choice)
    known = abilities.remember(config, form=found)
    assert list(forms_for(config, Remark, with_tools=False)) == sent
    assert f"; {told}; images" in in_short(config, known)
    assert "context unknown (128,000 assumed)" in in_short(config, known)


@pytest.mark.parametrize(("choice", "found"), [(True, "object"), ("schema", "schema")])
async def test_openai_wants_the_word_json_and_is_tested_as_it_is_asked(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, choice: Any, found: str
) -> None:
    def wordless(request: Request) -> bool:
        return (
            "json_object" in str(request.body.get("response_format")) and "json" not in request.text.lower()
        )

    def says(request: Request) -> str | None:
        return '{"colour": "blue"}' if "json_object" in str(request.body) else SEEN(request)

    def official(config: ModelConfig) -> bool:
        return True

    able(llm)
    llm.reply = says
    message = "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'."
    llm.faults.append(Fault("status", status=400, message=message, times=None, when=wordless))
    for module in (abilities, probing):
        monkeypatch.setattr(module, "is_openai", official)
    told, _ = await probe(model(llm, response_format=choice), "default")
    assert (told.form, told.both) == (found, True)


async def test_ollama_tells_of_itself(llm: LLM) -> None:
    llm.shown = {"capabilities": ["completion", "tools"], "model_info": {"llama.context_length": 8192}}
    config = model(llm, provider="ollama", base_url=llm.url)
    found, _ = await probe(config, "default")
    assert found == Abilities(tools=True, form="schema", both=False, vision=False, context=8192)
    assert settled(config).calls_tools
    assert not settled(config).sees


@pytest.mark.parametrize(
    ("settings", "environment", "address"),
    [
        ({"provider": "openai"}, "", "https://api.openai.com/v1"),
        ({"provider": "openai"}, "http://gpu:8000/v1", "http://gpu:8000/v1"),
        ({"provider": "openai", "base_url": "http://other/v1"}, "http://gpu:8000/v1", "http://other/v1"),
        ({"provider": "anthropic"}, "http://gateway", "http://gateway"),
        ({"provider": "ollama"}, "", "http://localhost:11434"),
        ({"provider": "ollama"}, "gpu", "http://gpu:11434"),
        ({"provider": "ollama"}, ":8080", "http://127.0.0.1:8080"),
        ({"provider": "ollama"}, "[::1]", "http://[::1]:11434"),
        ({"provider": "ollama"}, "https://gpu/ollama/", "https://gpu:443/ollama"),
    ],
)
def test_where_the_sdk_of_a_provider_sends_requests(
    settings: dict[str, Any], environment: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.setenv(variable, environment)
    assert server_address(ModelConfig.model_validate({"name": "m"} | settings)) == address


@pytest.mark.parametrize("environment", ["localhost:8000/v1", "http://gpu:none/v1"])
def test_a_variable_that_holds_no_address_is_told(environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", environment)
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        server_address(ModelConfig(provider="openai", name="m"))


def test_what_is_known_of_one_server_is_not_said_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    config = ModelConfig(provider="openai", name="m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://one:8000/v1")
    abilities.remember(config, tools=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://two:8000/v1")
    assert abilities_of(config).tools is None


async def test_the_config_goes_before_what_is_known(llm: LLM) -> None:
    python_llama(llm)
    config = model(llm, tools=True, vision=True, response_format="none", context=5)
    found, _ = await probe(config, "default")
    assert settled(config) == config
    assert list(forms_for(config, Remark, with_tools=False)) == ["none"]
    assert list(forms_for(model(llm), Remark, with_tools=False)) == ["object", "none"]
    assert "tools yes" in in_short(config, found)


async def test_what_is_known_is_kept_for_a_day(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    config = model(llm, name="kept")
    keep(config, Abilities(tools=False))
    abilities.forget()
    assert settled(config).tools is False
    assert settled(model(llm, name="another")).tools is None
    abilities.forget()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 90_000)
    assert settled(config).tools is None


def test_a_cache_that_cannot_be_read_is_no_harm(llm: LLM) -> None:
    config = model(llm, name="broken")
    keep(config, Abilities(tools=False))
    for file in (cache_folder() / "models").iterdir():
        file.write_text("{")
    abilities.forget()
    assert settled(config).tools is None


def test_look_ups_that_no_tool_can_make_are_told(tmp_path: Path, llm: LLM) -> None:
    server = f"models.default={{provider: openai, name: test, base_url: {llm.base_url}, tools: false}}"
    sets = (
        *(server, "baseline.rounds=1", "embedding=lexical"),
        *("literature.references=services", "literature.cascade=[local]"),
    )
    flags = [part for each in sets for part in ("--set", each)]
    ran = manyheads_command(
        "run", "self-reflection", "--topic", "Owls", *flags, "--out", "runs", cwd=tmp_path
    )
    assert ran.code == 0, ran.err
    folder = tmp_path / "runs"
    assert any("search_papers" in line and "cannot call tools" in line for line in load(folder).warnings)
