"""What clients of `manyheads mcp` may ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from manyheads.base.errors import BudgetError, ConfigError
from manyheads.config import Address, BudgetConfig, VariableName
from manyheads.core import Usage
from manyheads.mcp.bounds import OWNERS, Bounds
from manyheads.systems import systems


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server's folder with a paper, beside a secret and a link to it."""
    home = tmp_path / "home"
    (home / "papers").mkdir(parents=True)
    (home / "paper.md").write_text("# Owls\n\nWe plan with owls.", encoding="utf-8")
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (tmp_path / "secret.jsonl").write_text('{"text": "secret"}\n', encoding="utf-8")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "result.json").write_text("{}", encoding="utf-8")
    (home / "link.md").symlink_to(tmp_path / "secret.md")
    (home / "lines.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (home / "papers" / "out").symlink_to(tmp_path)
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", str(tmp_path))
    return home.resolve()


def test_files_of_the_folder_are_inputs(folder: Path) -> None:
    config = Bounds(folder).config("rebuttal", {"idea": "paper.md"}, {"seed": 7})
    assert config.inputs.idea == str(folder / "paper.md")
    assert config.seed == 7


@pytest.mark.parametrize(
    "name",
    [
        "../secret.md",
        "{outside}/secret.md",
        "~/secret.md",
        "link.md",
        "lines.jsonl:1",
        "../old#1",
        "papers",
        "papers/out/secret.md",
        "/",
    ],
)
def test_files_outside_are_refused_however_they_are_named(folder: Path, name: str) -> None:
    bounds, named = Bounds(folder), name.format(outside=folder.parent)
    with pytest.raises(ConfigError, match="outside the server's folder"):
        bounds.config("rebuttal", {"idea": named}, {})
    with pytest.raises(ConfigError, match="outside the server's folder"):
        bounds.path(named)


def test_corpora_and_configs_outside_are_refused(folder: Path) -> None:
    (folder.parent / "other.yaml").write_text("system: virsci", encoding="utf-8")
    for name, settings in (("virsci", {"corpus": str(folder.parent)}), ("../other.yaml", {})):
        with pytest.raises(ConfigError, match="outside"):
            Bounds(folder).config(name, {}, settings)
    (folder / "mine.yaml").write_text("system: rebuttal\ninputs: {idea: ../secret.md}", encoding="utf-8")
    with pytest.raises(ConfigError, match="outside"):
        Bounds(folder).config("mine.yaml", {}, {})


def test_what_the_owner_names_is_allowed(folder: Path) -> None:
    paths = folder.parent / "mine"
    paths.mkdir()
    bounds = Bounds(folder, ("seed=3", f"embedding={folder.parent}"), (paths,))
    assert bounds.config("virsci", {}, {}).paths == (str(paths),)


@pytest.mark.parametrize(
    "settings",
    [
        {"models.default.base_url": "http://10.0.0.1"},
        {"models": {"default": {"provider": "command"}}},
        {"paths": ["/"]},
        {"roles.reviewer": {"model": "default"}},
        {"mamorx": {"reader": "http://10.0.0.1"}},
        {"mamorx.reader": "docling"},
        {"budget.calls": 10_000},
        {"embedding": "/models"},
        {"inputs": {"idea": "/etc/passwd"}},
        {"literature": {"a": [{"base_url": "x"}]}},
        {"literature": {"endpoints": {"openalex": "http://169.254.169.254/x"}}},
        {"literature.endpoints.openalex": "http://127.0.0.1/${MANYHEADS_MCP_TOKEN}"},
        {"literature": {"semantic_scholar_key_env": "OPENAI_API_KEY"}},
    ],
)
def test_settings_of_the_owner_are_refused(folder: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="cannot be set by a client") as error:
        Bounds(folder).config("mamorx", {}, settings)
    assert "manyheads mcp" in str(error.value.hint)


def test_no_address_and_no_variable_of_any_system_is_a_clients() -> None:
    """A new key of this kind must be one of the owner's."""
    kinds = {part for kind in (Address, VariableName) for part in get_args(kind)[1:]}

    def open_keys(model: type[BaseModel]) -> Iterator[str]:
        for name, field in model.model_fields.items():
            if name in OWNERS:
                continue
            parts = list(parts_of(field.annotation))
            if kinds & {*field.metadata, *parts}:
                yield name
            for part in parts:
                if isinstance(part, type) and issubclass(part, BaseModel):
                    yield from open_keys(part)

    def parts_of(kind: Any) -> Iterator[Any]:
        yield kind
        for part in get_args(kind):
            yield from parts_of(part)

    for system in systems().values():
        assert not [*open_keys(system.model)], system.name


@pytest.mark.parametrize("key", ["a=b", "", "team size", "x\n", "-", "seed=1,models.default.name"])
def test_what_is_no_key_is_refused(folder: Path, key: str) -> None:
    for inputs, settings in (({key: "x"}, {}), ({}, {key: 1})):
        with pytest.raises(ConfigError, match="not a key"):
            Bounds(folder).config("virsci", inputs, settings)


def test_a_run_gets_what_is_asked_for_within_its_bound_and_the_cap(folder: Path) -> None:
    bounds = Bounds(folder, run=BudgetConfig(calls=100, seconds=60), cap=BudgetConfig(calls=150))
    config = bounds.config("virsci", {}, {})
    assert bounds.allowance(config, {}, []) == BudgetConfig(calls=100, seconds=60)
    assert bounds.allowance(config, {"calls": 20, "tokens": 9}, []) == BudgetConfig(
        calls=20, tokens=9, seconds=60
    )
    assert bounds.allowance(config, {}, [Usage(calls=90)]).calls == 60
    with pytest.raises(BudgetError, match="calls") as spent:
        bounds.allowance(config, {}, [Usage(calls=90), Usage(calls=60)])
    assert "--cap" in str(spent.value.hint)
    with pytest.raises(ConfigError, match="more than a run may use, 100"):
        bounds.allowance(config, {"calls": 101}, [])


def test_a_cap_in_money_needs_prices(folder: Path) -> None:
    bounds = Bounds(
        folder, ("models.default={provider: openai, name: unheard-of}",), cap=BudgetConfig(money=1)
    )
    with pytest.raises(ConfigError, match="no price"):
        bounds.allowance(bounds.config("virsci", {}, {}), {}, [])
