"""A suite's grid, cases and seeds come apart into cells, and mistakes in it are named."""

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from manyheads.config import load
from manyheads.errors import ConfigError
from manyheads.resources import Resources, shipped
from manyheads.suites.cells import Cell, cells_of
from manyheads.suites.spec import SuiteSpec
from manyheads.suites.suite import Suite, read_suite, suite_names
from support.suites import SPEC, write_suite

AXES = {
    "team.size": st.integers(1, 9),
    "topology": st.sampled_from(["sequential", "random"]),
    "topics.start": st.text("ab: #\"'{[", max_size=5).filter(str.strip),
}
GRIDS: st.SearchStrategy[dict[str, list[Any]]] = st.fixed_dictionaries(
    {}, optional={key: st.lists(values, min_size=1, max_size=3, unique=True) for key, values in AXES.items()}
)


def spec_of(**keys: Any) -> SuiteSpec:
    return SuiteSpec.model_validate({**SPEC, "plot": None, **keys})


def expanded(suite: Suite, repeats: int, *settings: str) -> list[Cell]:
    return cells_of(suite, repeats, lambda keys: load(suite.spec.configs, keys), settings)


@given(grid=GRIDS, repeats=st.integers(1, 3))
def test_a_grid_is_every_combination_with_every_seed_once(grid: dict[str, list[Any]], repeats: int) -> None:
    cells = expanded(Suite("s", spec_of(grid=grid)), repeats)
    wanted = [(*values, seed) for values in product(*grid.values()) for seed in range(repeats)]
    assert [(*cell.condition.values(), cell.seed) for cell in cells] == wanted
    assert len({cell.name for cell in cells}) == len(cells)
    assert all(Path(cell.name).name == cell.name for cell in cells)
    for cell in cells:
        held = {
            "team.size": cell.config.team.size,
            "topology": cell.config.topology,
            "topics.start": cell.config.topics.start,
        }
        for key, value in cell.condition.items():
            assert held[key] == (value.strip() if isinstance(value, str) else value)
        assert cell.config.seed == cell.seed


@given(grid=GRIDS)
def test_the_same_cell_has_the_same_name_in_a_larger_suite(grid: dict[str, list[Any]]) -> None:
    few, more = (expanded(Suite("s", spec_of(grid=grid)), repeats) for repeats in (1, 3))
    assert {cell.name for cell in few} < {cell.name for cell in more}


@pytest.mark.parametrize(
    ("seeds", "repeats", "found"),
    [((), 3, (0, 1, 2)), ((7, 3), 1, (7,)), ((7, 3), 2, (7, 3)), ((7, 3), 4, (7, 3, 8, 9))],
)
def test_repeats_count_on_from_the_seeds(
    seeds: tuple[int, ...], repeats: int, found: tuple[int, ...]
) -> None:
    assert spec_of(seeds=seeds).seeds_of(repeats) == found


def test_variants_are_an_axis_of_keys_that_change_together() -> None:
    variants = {"full": {}, "alone": {"team.size": 1, "invitation.enabled": False}}
    suite = Suite("s", spec_of(grid={"turns": [1, 2]}, variants=variants))
    found = [(c.condition, c.config.team.size, c.config.invitation.enabled) for c in expanded(suite, 1)]
    assert found[0] == ({"variant": "full", "turns": 1}, 4, True)
    assert found[3] == ({"variant": "alone", "turns": 2}, 1, False)


def test_cases_set_keys_of_their_own(tmp_path: Path) -> None:
    cases = [{"id": "a", "topic": "On: graphs"}, {"id": "b", "topics": {"start": "# Robots"}}]
    suite = read_suite(str(write_suite(tmp_path, "mine", cases=cases)), Resources.of())
    cells = expanded(suite, 1)
    assert [cell.case for cell in cells] == ["a", "b"] * 2
    assert [cell.config.topic for cell in cells[:2]] == ["On: graphs", None]
    assert cells[1].config.topics.start == "# Robots"


def test_a_bare_on_in_yaml_is_the_measure() -> None:
    assert spec_of(measures=["hd", True]).measures == ("hd", "on")


def test_conditions_are_compared_where_they_agree_otherwise() -> None:
    spec = spec_of(grid={"team.size": [2, 4], "turns": [1, 2]}, against={"team.size": 2})
    assert spec.counterpart({"team.size": 4, "turns": 2}) == {"team.size": 2, "turns": 2}
    plain = spec_of(grid={"team.size": [2, 4], "turns": [1, 2]})
    assert plain.counterpart({"team.size": 4, "turns": 2}) == {"team.size": 2, "turns": 1}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"gird": {}}, "gird"),
        ({"sources": []}, "sources"),
        ({"grid": {"turns": []}}, "grid.turns"),
        ({"grid": {"turns": [1, 1]}}, "each of them once"),
        ({"grid": {"topic": [None, "None"]}}, "look the same"),
        ({"grid": {"team": [{"size": 2}], "team.size": [3]}}, "grid.team.size: grid.team sets it too"),
        ({"grid": {"seed": [1]}}, "set by seeds"),
        ({"seeds": [1, 1]}, "named twice"),
        ({"against": {"team.size": 9}}, "against.team.size"),
        ({"plot": {"kind": "heatmap", "x": "team.size", "value": "hd"}}, "plot.y"),
        ({"plot": {"kind": "lines", "x": "topic", "value": "hd"}}, "plot.x: topic"),
        ({"plot": {"kind": "lines", "x": "team.size", "value": "cd"}}, "not among the measures"),
    ],
)
def test_a_suite_that_does_not_fit_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        spec_of(**keys)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["team.size=9"], "the command sets team.size"),
        (["team={size: 9}"], "the command sets team"),
        (["seed=4"], "the command sets seed"),
    ],
)
def test_what_a_suite_varies_cannot_be_set(settings: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        expanded(Suite("s", spec_of()), 1, *settings)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "cases.jsonl:1: not valid JSON"),
        (['{"topic": "x"}'], "cases.jsonl:1: no case"),
        (['{"id": "a"}', "", '{"id": "a"}'], "cases.jsonl:3: there is a case 'a' already"),
        (["", " "], "no cases"),
    ],
)
def test_cases_that_cannot_be_read_are_named(tmp_path: Path, lines: Iterable[str], said: str) -> None:
    folder = write_suite(tmp_path, "mine", cases=[])
    (folder / "cases.jsonl").write_text("\n".join(lines))
    with pytest.raises(ConfigError, match=said):
        read_suite(str(folder), Resources.of())


def test_a_folder_of_the_users_adds_suites_and_replaces_ours(tmp_path: Path) -> None:
    write_suite(tmp_path / "evals", "mine")
    write_suite(tmp_path / "evals", "team-size", title="Ours no more")
    resources = Resources.of([tmp_path])
    assert {"mine", "team-size"} <= set(suite_names(resources))
    assert read_suite("team-size", resources).spec.title == "Ours no more"


@pytest.mark.parametrize("name", suite_names(Resources.of()))
def test_suites_that_ship_can_be_taken_apart(name: str) -> None:
    suite = read_suite(name, Resources.of())
    assert len(expanded(suite, 2)) == 2 * len(list(suite.spec.conditions())) * len(suite.cases)
    text = (shipped() / "evals" / name / "suite.yaml").read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=../suite.schema.json\n")
    schema: Any = json.loads((shipped() / "evals" / "suite.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(yaml.safe_load(text))


def test_settings_are_read_back_as_what_they_were() -> None:
    awkward = 'yes: "no" # {a} \n'
    suite = Suite("s", spec_of(grid={"topic": [awkward]}))
    assert expanded(suite, 1)[0].config.topic == awkward.strip()
    assert json.dumps(awkward) not in expanded(suite, 1)[0].name
