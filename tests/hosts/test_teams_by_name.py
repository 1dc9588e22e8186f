"""A system's team or pipeline, made by name, file, data or config, with keys laid on it."""

from pathlib import Path
from typing import Any

import pytest

from manyheads import load_config
from manyheads.base.errors import ConfigError
from manyheads.config import ModelConfig
from support.llm import LLM
from support.native import CLASSES, own_client


def made(name: str, system: str = "virsci") -> type[Any]:
    return CLASSES[name](system)


def test_the_same_config_in_five_ways(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("system: virsci\nteam: {size: 3}\nturns: 2\n")
    kind = made(name)
    ways = [
        kind("virsci", team={"size": 3}, turns=2),
        kind("virsci", "team.size=3", "turns=2"),
        kind(file),
        kind(str(file)),
        kind({"team": {"size": 3}, "turns": 2}),
        kind(load_config(["virsci"], ["team.size=3"]), "turns=2"),
        kind(load_config(["virsci"], ["team.size=9"]), "turns=2", team={"size": 3}),
        kind(team={"size": 3}, turns=2),
    ]
    for each in ways:
        assert (each.config.settings.team.size, each.config.settings.turns.of("topic")) == (3, 2)
        assert each.config.host == name


@pytest.mark.parametrize(
    ("config", "settings", "problem"),
    [
        (5, {}, "cannot be of type int"),
        (["virsci"], {}, "cannot be of type list"),
        ("virsic", {}, "virsic"),
        ("rebuttal", {}, "is of system 'rebuttal'"),
        ("virsci", {"tean": {"size": 3}}, "tean"),
        ("virsci", {"team": {"size": 0}}, "team.size"),
        ("virsci", {"model": "nobody/gpt"}, "no such provider 'nobody'"),
        ("virsci", {"model": 3}, "builtins.int is not a model of"),
        ("virsci", {"model": "offline", "model_client": "offline"}, "both model and model_client"),
    ],
)
def test_mistakes_are_named(name: str, config: Any, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        made(name)(config, **settings)


@pytest.mark.parametrize("word", ["model", "model_client"])
def test_a_model_by_either_word(name: str, word: str) -> None:
    by_name = made(name)(**{word: "openai/gpt-4o-mini"})
    assert by_name.config.models["default"] == ModelConfig(provider="openai", name="gpt-4o-mini")
    mine = ModelConfig(provider="ollama", name="m")
    assert made(name)(**{word: mine}).config.models["default"] is mine


async def test_the_other_hosts_client_is_refused(name: str, llm: LLM) -> None:
    async with own_client("agentscope" if name == "autogen" else "autogen", llm.base_url) as theirs:
        with pytest.raises(ConfigError, match=f"is not a model of {name}"):
            made(name)(model=theirs)
