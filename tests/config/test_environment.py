"""Keys go to their service, to this machine, and to hosts that the owner allowed."""

from typing import Any

import pytest

from manyheads.base.errors import ConfigError, NotAllowedError
from manyheads.config import LiteratureConfig, ModelConfig
from manyheads.config.environment import allow, host_of, secret, typed, with_environment
from manyheads.literature.library import Library
from manyheads.models.requests import key_of

OPENAI = "https://api.openai.com/v1"
SERVER = "https://vllm.example.org/v1"
pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENALEX_MAILTO",
        "MANYHEADS_KEY",
        "AWS_SECRET",
        "AWS_ACCOUNT",
    ):
        monkeypatch.setenv(name, "s3cret")


@pytest.mark.parametrize(
    ("variable", "address"),
    [
        *(("OPENAI_API_KEY", address) for address in (
            OPENAI, "https://API.OpenAI.com:443/v1", "http://127.0.0.1:8000/v1", "http://127.9.9.9/v1",
            "http://localhost:1", "http://LOCALHOST./v1", "http://[::1]:8000/v1", "http://0.0.0.0:8000/v1",
        )),
        ("MANYHEADS_KEY", "https://api.anthropic.com"), ("OPENALEX_MAILTO", "https://api.openalex.org"),
        ("UNSET", SERVER),
    ],
)  # fmt: skip
def test_a_key_may_go_to_its_service_and_to_this_machine(variable: str, address: str) -> None:
    assert secret(variable, address, "models.default") == (None if variable == "UNSET" else "s3cret")


@pytest.mark.parametrize(
    ("variable", "address", "words"),
    [
        *(("OPENAI_API_KEY", address, [host]) for address, host in {
            SERVER: "vllm.example.org", "https://VLLM.Example.ORG.:9/v1": "vllm.example.org",
            "http://api.openai.com/v1": "api.openai.com", "https://api.openai.com.example.org": "api.openai.com.example.org",
            "https://api.openai.com@example.org/v1": "example.org", "http://localhost.example.org": "localhost.example.org",
            "http://127.0.0.1.example.org": "127.0.0.1.example.org", "https://api.anthropic.com": "api.anthropic.com",
            "http://[2001:db8::1]:8000/v1": "2001:db8::1", "https://\u0430pi.openai.com/v1": r"\u0430pi.openai.com",
            "http://192.168.0.7/v1": "192.168.0.7", "https://not-api.openai.com/v1": "not-api.openai.com",
        }.items()),
        ("MANYHEADS_KEY", SERVER, ["vllm.example.org"]), ("AWS_SECRET", "http://127.0.0.1/v1", ["AWS_SECRET"]),
        ("AWS_SECRET", SERVER, ["AWS_SECRET", "vllm.example.org"]),
    ],
)  # fmt: skip
def test_a_key_goes_nowhere_else(variable: str, address: str, words: list[str]) -> None:
    with pytest.raises(NotAllowedError) as refused:
        secret(variable, address, "models.default")
    assert refused.value.words == words
    assert f"MANYHEADS_ALLOW={','.join(words)}" in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("word", ["vllm.example.org", "VLLM.example.org:8000", SERVER, f"other, {SERVER}"])
def test_the_environment_allows_a_host(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANYHEADS_ALLOW", word)
    assert secret("OPENAI_API_KEY", SERVER, "") == "s3cret"
    with pytest.raises(NotAllowedError) as refused:
        secret("OPENAI_API_KEY", "https://example.org", "")
    assert refused.value.words == ["example.org"]


@pytest.mark.parametrize("value", ["none", " ", ""])
def test_without_a_key_there_is_nothing_to_allow(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    assert key_of(ModelConfig(provider="openai", name="m", base_url=SERVER)) == "none"


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ({"models": {"default": {"base_url": SERVER}}}, True),
        ({"literature": {"endpoints": {"openalex": SERVER}}}, True),
        ({"topic": SERVER, "models": {"default": {"name": SERVER}}}, False),
    ],
)
def test_what_is_typed_is_allowed_and_remembered_once_used(setting: dict[str, Any], allowed: bool) -> None:
    typed(setting)
    if not allowed:
        with pytest.raises(NotAllowedError):
            secret("OPENAI_API_KEY", SERVER, "")
        return
    assert secret("OPENAI_API_KEY", SERVER, "")
    environment_forgets()
    assert secret("OPENAI_API_KEY", SERVER, "")


def test_a_variable_is_allowed_by_its_name() -> None:
    typed({"models": {"default": {"api_key_env": "AWS_SECRET"}}})
    with pytest.raises(NotAllowedError) as refused:
        secret("AWS_SECRET", SERVER, "")
    assert refused.value.words == ["vllm.example.org"]
    allow(refused.value.words)
    environment_forgets()
    assert secret("AWS_SECRET", SERVER, "") == "s3cret"
    with pytest.raises(NotAllowedError) as refused:
        secret("AWS_ACCOUNT", SERVER, "")
    assert refused.value.words == ["AWS_ACCOUNT"]


def environment_forgets() -> None:
    """As in a new process."""
    from manyheads.config import environment

    environment._typed.clear()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://example.org/v1/${MANYHEADS_KEY}", ["example.org"]),
        ("http://${MANYHEADS_KEY}@example.org/v1", ["example.org"]),
        ("http://${MANYHEADS_KEY}.example.org/v1", ["${manyheads_key}.example.org"]),
        ("http://127.0.0.1/${AWS_SECRET}", ["AWS_SECRET"]),
        ("http://${AWS_SECRET}.example.org/", ["AWS_SECRET", "${aws_secret}.example.org"]),
        ("http://127.0.0.1/${MANYHEADS_KEY}", []),
        ("http://${MANYHEADS_KEY}/v1", []),
    ],
)
def test_a_variable_in_an_address_is_treated_as_a_key(address: str, words: list[str]) -> None:
    if not words:
        assert "s3cret" in with_environment(address)
        return
    with pytest.raises(NotAllowedError) as refused:
        with_environment(address)
    assert refused.value.words == words
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OLLAMA_HOST"])
def test_a_server_that_the_environment_names_is_allowed(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, SERVER if variable != "OLLAMA_HOST" else "vllm.example.org:11434")
    assert key_of(ModelConfig(provider="openai", name="m", base_url=SERVER)) == "s3cret"
    assert key_of(ModelConfig(provider="openai", name="m")) == "s3cret"


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_AUTH_TOKEN"),
        ("anthropic", "ANTHROPIC_CUSTOM_HEADERS"),
        ("ollama", "OLLAMA_API_KEY"),
    ],
)
def test_what_an_sdk_sends_by_itself_is_a_key(
    provider: Any, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name)
    config = ModelConfig(provider=provider, name="m", base_url=SERVER)
    assert key_of(config) == "none"
    monkeypatch.setenv(variable, "s3cret")
    with pytest.raises(NotAllowedError, match=variable):
        key_of(config)


@pytest.mark.parametrize("key", ["schl\u00fcssel", "two\nlines", "tab\tb"])
def test_a_key_that_no_header_can_hold_is_named(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMANTIC_SCHOLAR_API_KEY", key)
    with pytest.raises(ConfigError, match="the key in SEMANTIC_SCHOLAR_API_KEY") as told:
        Library(LiteratureConfig(cascade=("semantic_scholar",))).open()
    assert key not in str(told.value)


@pytest.mark.parametrize("source", ["openalex", "semantic_scholar"])
def test_literature_services_get_no_key_elsewhere(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMANTIC_SCHOLAR_API_KEY", "s3cret")
    Library(LiteratureConfig(cascade=(source,))).open()
    with pytest.raises(NotAllowedError, match=rf"literature\.endpoints\.{source}.*example\.org"):
        Library(LiteratureConfig(cascade=(source,), endpoints={source: "https://example.org"})).open()


@pytest.mark.parametrize(("address", "host"), [("http://[", ""), ("a:1/b", "a"), ("", "")])
def test_any_text_has_a_host_or_none(address: str, host: str) -> None:
    assert host_of(address) == host
