"""Run configs: merged in order, then `--set`; every mistake named by key and file."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources, shipped
from manyheads.config import ModelConfig, documented
from manyheads.config.environment import with_environment
from manyheads.config.files import merge, parse_set
from manyheads.systems.loading import load, validate

NESTED = st.recursive(
    st.integers() | st.text() | st.none(),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
MAPPINGS = st.dictionaries(st.sampled_from("abc"), NESTED, max_size=3)


def config(folder: Path, text: str, name: str = "my.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_nothing_said_is_the_offline_run() -> None:
    run = load([])
    assert (run.host, run.seed, run.corpus, run.settings.team.size) == ("autogen", 0, "sample", 4)
    assert run.models["default"].provider == "offline"


@pytest.mark.parametrize("path", sorted((shipped() / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_config_that_ships_loads(path: Path) -> None:
    assert load([path.stem]).name == path.stem
    assert load([str(path)]) == load([path.stem])


def test_files_merge_in_order_then_settings(tmp_path: Path) -> None:
    first = config(tmp_path, "seed: 1\nteam: {size: 3, exploration: none}\nturns: 2\n", "first.yaml")
    second = config(tmp_path, "team: {size: 6}\ntopic: Robots\n", "second.yaml")
    run = load([first, second], ["team.size=8", "budget.tokens=5000"])
    assert (run.seed, run.settings.team.size, run.settings.team.exploration, run.inputs.topic) == (
        1,
        8,
        "none",
        "Robots",
    )
    assert (run.settings.turns.default, run.budget.tokens, run.name) == (2, 5000, "second")
    assert load([second, first]).settings.team.size == 3


@pytest.mark.parametrize(
    ("settings", "turns"),
    [
        (["turns=3"], (3, 3, 3, 3)),
        (["turns=3", "turns.idea=7"], (3, 7, 3, 3)),
        (["turns.topic=1"], (1, 5, 5, 5)),
        (["turns.abstract=2", "turns=4"], (4, 4, 4, 4)),
        (["turns.default=2", "turns.adaptive=true"], (2, 2, 2, 2)),
    ],
)
def test_turns_are_a_number_or_a_number_a_stage(settings: list[str], turns: tuple[int, ...]) -> None:
    run = load([], settings)
    assert tuple(run.settings.turns.of(stage) for stage in ("topic", "idea", "novelty", "abstract")) == turns


def test_a_number_in_a_file_stays_under_a_later_key_only_where_the_section_says_of_what(
    tmp_path: Path,
) -> None:
    path = config(tmp_path, "turns: 3\nbudget: 5\n")
    run = load([path], ["turns.idea=7", "budget.calls=2"])
    assert (run.settings.turns.default, run.settings.turns.idea) == (3, 7)
    assert run.budget.model_dump(exclude_none=True) == {"calls": 2}
    with pytest.raises(ConfigError, match=r"budget: .*given: 5"):
        load([path])


@pytest.mark.parametrize(
    ("text", "provider", "name"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("ollama/library/llama3:8b", "ollama", "library/llama3:8b"),
        ("offline", "offline", "offline"),
        ("offline/", "offline", "offline"),
    ],
)
def test_a_model_is_named_by_provider_and_name(text: str, provider: str, name: str) -> None:
    model = ModelConfig.parse(text)
    assert (model.provider, model.name) == (provider, name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpt-4o", "'gpt-4o'"),
        ("openai", "the name is missing"),
        ("replay/", "the name is missing"),
        ("", "no such provider"),
    ],
)
def test_a_model_that_is_not_named_so(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        ModelConfig.parse(text)
    assert "openai/gpt-4o-mini" in str(caught.value)


def test_folders_in_a_file_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    run = load([config(tmp_path, "paths: [mine, /abs, ~/hers]\n")])
    assert run.paths == (str(tmp_path / "mine"), "/abs", "/home/ada/hers")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("team: {sise: 8}", r"team\.sise: no such key \(given: 8\)"),
        ("hots: autogen", "hots: no such key"),
        ("team: {size: 0}", r"team\.size: input should be greater than or equal to 1 \(given: 0\)"),
        ("team: {size: many}", r"team\.size: input should be a valid integer"),
        ("turns: 0", r"turns\.default: "),
        ("turns: soon", r"turns\.default: "),
        ("turns: {novel: 3}", r"turns\.novel: no such key"),
        ("host: langchain", "host: unknown host 'langchain'; hosts: autogen, agentscope"),
        ("models: {big: {}}", r"models\.default is missing"),
        ("models: {default: {key: sk-1}}", r"models\.default\.key: no such key"),
        ("models: {default: {temperature: 3}}", r"models\.default\.temperature: "),
        ("roles: {leader: {model: big}}", r"roles\.leader\.model: no model 'big' among default"),
        ("topic: 'a: [", "not valid YAML"),
        ("- a\n- b", "should be a mapping"),
        ("1: 2", "keys should be strings"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    path = config(tmp_path, text)
    with pytest.raises(ConfigError, match=words) as caught:
        load([path])
    assert path in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("team.size", "the form key=value"),
        ("=8", "the form key=value"),
        ("topic=[a", "not valid YAML"),
        ("team.sise=8", r"team\.sise=8: virsci\.team\.sise: no such key"),
        ("team=8", "team: should be a mapping"),
    ],
)
def test_a_mistake_in_a_setting_is_named(setting: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load([], [setting])


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_bytes(b"\xff\xfe\x00topic")
    with pytest.raises(ConfigError, match=r"my\.yaml: not valid YAML"):
        load([str(path)])


def test_a_users_config_is_found_by_name(folder: Path) -> None:
    config(folder, "seed: 9", "configs/mine.yaml")
    assert load(["mine"], resources=Resources((folder,))).seed == 9


@given(MAPPINGS, MAPPINGS, MAPPINGS)
def test_merging_in_steps_is_merging(one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]) -> None:
    assert merge(one, {}) == one
    assert merge({}, one) == one
    assert merge(one, one) == one
    before = repr((one, two))
    merged = merge(one, two)
    assert repr((one, two)) == before
    assert {key: merged[key] for key in two if not isinstance(two[key], dict)} == {
        key: value for key, value in two.items() if not isinstance(value, dict)
    }
    assert set(merge(merged, three)) == {*one, *two, *three}


@given(
    st.lists(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), min_size=1, max_size=4),
    st.integers(-(2**63), 2**63 - 1) | st.booleans(),
)
def test_a_setting_is_a_path_to_a_value(keys: list[str], value: int | bool) -> None:
    nested: Any = parse_set(f"{'.'.join(keys)}={value}")
    for key in keys:
        nested = nested[key]
    assert nested == value


@pytest.mark.parametrize(
    ("text", "value"), [("a=b=c", "b=c"), ("a=", None), ("a=[1, 2]", [1, 2]), ("a='1'", "1")]
)
def test_a_settings_value_is_yaml(text: str, value: object) -> None:
    assert parse_set(text) == {"a": value}


def test_a_run_goes_there_and_back() -> None:
    run = load(["virsci"], ["models.default.price={input: 1, output: 2}", "budget.money=3", "paths=[/a]"])
    assert validate(run.model_dump(mode="json"), "again") == run
    assert type(run).model_validate_json(run.model_dump_json(exclude_none=True)) == run


def test_only_what_changes_an_answer_is_a_models_identity() -> None:
    model = ModelConfig(provider="openai", name="m", base_url="http://127.0.0.1:1/v1", temperature=0.2)
    moved = model.model_copy(
        update={"base_url": "http://127.0.0.1:2/v1", "timeout": 5, "retries": 0, "concurrency": 1}
    )
    assert moved.identity() == model.identity()
    assert model.model_copy(update={"temperature": 0.3}).identity() != model.identity()


@pytest.mark.parametrize(
    ("settings", "calls"),
    [({"provider": "openai"}, True), ({"provider": "ollama"}, False), ({"provider": "ollama", "tools": True}, True),
     ({"provider": "anthropic", "tools": False}, False)],
)  # fmt: skip
def test_who_calls_tools(settings: dict[str, Any], calls: bool) -> None:
    assert ModelConfig(**settings).calls_tools is calls


def test_a_corpus_folder_is_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpora" / "mine").mkdir(parents=True)
    (tmp_path / "sample").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load([], ["corpus=corpora/mine"]).corpus == str(tmp_path / "corpora" / "mine")
    assert load([], ["corpus=sample"]).corpus == "sample"
    assert load([], ["corpus=corpora/theirs"]).corpus == "corpora/theirs"


@pytest.mark.parametrize(
    "address", ["127.0.0.1:80", "http://", "http://host:99999", "ftp://host", "http://[x"]
)
def test_an_address_is_whole(address: str) -> None:
    with pytest.raises(ConfigError, match=r"literature\.endpoints\.openalex: must begin with http"):
        validate({"literature": {"endpoints": {"openalex": address}}}, "test")
    with pytest.raises(ConfigError, match="must begin with http"):
        validate({"models": {"default": {"base_url": address}}}, "test")


@pytest.mark.parametrize(
    "text", ["three\x80\x94dots", "a\x7fb", "\ufffe", "\U0001f600", 'he said: "no" # really', "on", "1e3"]
)
def test_what_a_setting_says_as_json_stays_as_it_was(text: str) -> None:
    assert load(["rebuttal"], [f"background={json.dumps([text], ensure_ascii=False)}"]).inputs.background == (
        text,
    )
    assert load(["virsci"], [f"topic={json.dumps(text, ensure_ascii=False)}"]).inputs.topic == text


def test_a_message_holds_the_beginning_of_a_setting_alone() -> None:
    settings = (f"background=[{'water ' * 100}", f'background=["{"water " * 100}", 7]', "water " * 100)
    for setting in settings:
        with pytest.raises(ConfigError) as refused:
            load(["rebuttal"], [setting])
        assert "water water" in refused.value.message
        assert refused.value.message.count("water") < 40


def test_an_address_names_its_login_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    base = "https://${MANYHEADS_LOGIN}@host/v1"
    config = load(["virsci"], [f"models.default.base_url={base}"]).models["default"]
    with pytest.raises(ConfigError, match="MANYHEADS_LOGIN"):
        _ = config.address
    monkeypatch.setenv("MANYHEADS_LOGIN", "me:secret")
    monkeypatch.setenv("MANYHEADS_ALLOW", "host")
    assert (config.address, config.base_url) == ("https://me:secret@host/v1", base)
    assert "secret" not in config.model_dump_json()
    assert with_environment("https://host/v1") == "https://host/v1"


def test_a_hundred_unknown_keys_are_answered_at_once(tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(
        "\n".join(["turnz: 1", *(f"owl{number}: 1" for number in range(100))])
    )
    began = time.process_time()
    with pytest.raises(ConfigError) as caught:
        load(["virsci", str(tmp_path / "many.yaml")])
    assert time.process_time() - began < 3
    assert "and 93 more" in str(caught.value)
    assert "did you mean turns" in str(caught.value)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize(
    ("value", "code"),
    [("de", "de"), ("german", "de"), ("NO", "no"), ("no", "no"), ("zh-hant", "zh-Hant"), ("Zulu", "Zulu"), ("Swiss German", "Swiss German")],
)  # fmt: skip
def test_a_language_is_a_code_or_a_name(value: str, code: str) -> None:
    assert load(["virsci"], [f"language={value}"]).language == code


@pytest.mark.parametrize("value", ["xx", "3", "true", "'de\\nand lie'"])
def test_what_is_no_language(value: str) -> None:
    with pytest.raises(ConfigError, match="language"):
        load(["virsci"], [f"language={value}"])


def test_the_number_of_a_paper_is_a_text() -> None:
    assert parse_set("inputs.paper=2401.10010") == {"inputs": {"paper": "2401.10010"}}
    assert parse_set("temperature=0.70") == {"temperature": 0.7}


class Outer:
    try:

        class Inner(BaseModel):
            rounds: int = 3
            """Rounds of the duel."""
    finally:
        pass


def test_a_field_of_a_class_within_blocks_has_its_text() -> None:
    assert documented(Outer.Inner) == {"rounds": "Rounds of the duel."}
