"""A suite's grid, cases and seeds come apart into cells, and mistakes in it are named."""

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources, shipped
from manyheads.suites.cells import Cell, cells_of
from manyheads.suites.measuring import Absent, at
from manyheads.suites.spec import MeasurePath, Suite, SuiteSpec, read_cases, read_suite, suite_names
from support.suites import SPEC, loader, write_suite

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
    return cells_of(suite, repeats, loader(suite.spec.configs), Path("out"), settings)


@settings(max_examples=30)
@given(grid=GRIDS, repeats=st.integers(1, 3))
def test_a_grid_is_every_combination_with_every_seed_once(grid: dict[str, list[Any]], repeats: int) -> None:
    cells = expanded(Suite("s", spec_of(grid=grid)), repeats)
    wanted = [(*values, seed) for values in product(*grid.values()) for seed in range(repeats)]
    assert [(*cell.condition.values(), cell.seed) for cell in cells] == wanted
    assert len({cell.name for cell in cells}) == len(cells)
    assert all(Path(cell.name).name == cell.name for cell in cells)
    for cell in cells:
        held = {
            "team.size": cell.config.settings.team.size,
            "topology": cell.config.settings.topology,
            "topics.start": cell.config.settings.topics.start,
        }
        for key, value in cell.condition.items():
            assert held[key] == (value.strip() if isinstance(value, str) else value)
        assert cell.config.seed == cell.seed


def test_a_key_that_no_config_has_is_named_with_its_condition_and_nothing_else() -> None:
    suite = Suite("s", spec_of(set={"topic": "A very long text."}, grid={"team.sise": [2], "turns": [1]}))
    with pytest.raises(
        ConfigError,
        match=r"^s: team\.sise=2, turns=1: virsci \+ team\.sise=2: virsci\.team\.sise: no such key",
    ):
        expanded(suite, 1)


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
    found = [
        (c.condition, c.config.settings.team.size, c.config.settings.invitation.enabled)
        for c in expanded(suite, 1)
    ]
    assert found[0] == ({"variant": "full", "turns": 1}, 4, True)
    assert found[3] == ({"variant": "alone", "turns": 2}, 1, False)


def test_a_suite_is_named_by_its_folder_or_its_file(tmp_path: Path) -> None:
    folder = write_suite(tmp_path, "mine")
    suite = read_suite(str(folder / "suite.yaml"), Resources.of())
    assert (suite.name, suite) == ("mine", read_suite(str(folder), Resources.of()))
    with pytest.raises(ConfigError, match=r"cases\.jsonl: no such suite"):
        read_suite(str(folder / "cases.jsonl"), Resources.of())


def test_cases_set_keys_of_their_own(tmp_path: Path) -> None:
    cases = [{"id": "a", "topic": "On: graphs"}, {"id": "b", "topics": {"start": "# Robots"}}]
    suite = read_suite(str(write_suite(tmp_path, "mine", cases=cases)), Resources.of())
    cells = expanded(suite, 1)
    assert [cell.case for cell in cells] == ["a", "b"] * 2
    assert [cell.config.inputs.topic for cell in cells[:2]] == ["On: graphs", None]
    assert cells[1].config.settings.topics.start == "# Robots"


def test_a_bare_on_in_yaml_is_the_measure() -> None:
    assert spec_of(measures=["hd", True]).measures == ("hd", "on")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("hd", MeasurePath("hd", "novelty", ("hd",))),
        ("HD", MeasurePath("hd", "novelty", ("hd",))),
        ("review.overall", MeasurePath("review.overall", "review", ("means", "overall", "mean"))),
        ("ranking.s_by_place.0", MeasurePath("ranking.s_by_place.0", "ranking", ("s_by_place", "0"))),
        ("ranking", MeasurePath("ranking", "run", ("ranking",))),
        (
            "rebuttal.iterations<10",
            MeasurePath("rebuttal.iterations < 10", "run", ("rebuttal", "iterations"), 10),
        ),
        ("on < -1.5e-1", MeasurePath("on < -1.5e-1", "novelty", ("on",), -0.15)),
    ],
)
def test_a_measures_name_says_where_its_value_stands(name: str, wanted: MeasurePath) -> None:
    spec = spec_of(measures=[name])
    assert spec.measure_paths == (wanted,)
    assert spec.measures == (wanted.name,)


RESULT: dict[str, Any] = {
    "number": 3, "yes": True, "no": False, "null": None, "text": "three", "list": [{"a": 1.5}], "more": {"deep": 2},
    "endless": float("inf"), "many": {"length": 7},
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("number", 3.0), ("yes", 1.0), ("no", 0.0), ("null", None), ("null.deeper.still", None), ("list.length", 1.0),
        ("list.0.a", 1.5), ("more.deep", 2.0), ("many.length", 7.0),
    ],
)  # fmt: skip
def test_numbers_truth_values_and_what_is_unknown_are_found(path: str, found: float | None) -> None:
    assert at(RESULT, path.split(".")) == found


@pytest.mark.parametrize(
    ("path", "never"),
    [
        ("none", True), ("more.none", True), ("number.none", True), ("text", True), ("list", True), ("endless", True),
        ("list.a", True), ("list.-1", True), ("list.1", False), ("list.1.a", False), ("text.length", True),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_and_whether_it_ever_can_be(path: str, never: bool) -> None:
    found = at(RESULT, path.split("."))
    assert isinstance(found, Absent)
    assert found.never == never
    assert path in found.why


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
        ({"grid": {"turns": [1, 1]}}, "grid.turns: needs values"),
        ({"grid": {"topic": [None, "None"]}}, "look the same"),
        ({"grid": {"team": [{"size": 2}], "team.size": [3]}}, "grid.team.size: grid.team sets it too"),
        ({"grid": {"seed": [1]}}, "set by seeds"),
        ({"seeds": [1, 1]}, "duplicate"),
        ({"against": {"team.size": 9}}, "against.team.size"),
        ({"begin_with": {"team.size": 9}}, "begin_with.team.size: 9 is not among"),
        ({"begin_with": {"variant": "first"}}, "begin_with.variant"),
        ({"grid": {"ranking.round": [0, 1]}, "begin_with": {"ranking.round": 0}}, "begin_with.*judged"),
        ({"ideas": 0}, "ideas"),
        ({"repeats": 10**9}, "repeats"),
        ({"seeds": [10**20]}, "seeds"),
        ({"grid": {"turns": [*range(200_000)]}}, "grid.turns"),
        *(({"measures": [name]}, "not a measure") for name in (
            "usage.calls <", "usage.calls <= 3", "usage.calls > 3", "usage.calls < three", "1 < usage.calls < 3",
            "usage..calls", "usage calls", "",
        )),
        *(({"measures": [name]}, "measures of replies are") for name in ("replies.frist", "replies.scientist.first")),
        ({"measures": ["usage.calls<3", "usage.calls < 3"]}, "duplicate"),
        ({"plot": {"kind": "heatmap", "x": "team.size", "value": "hd"}}, "plot.y"),
        ({"plot": {"kind": "lines", "x": "topic", "value": "hd"}}, "plot.x: topic"),
        ({"plot": {"kind": "lines", "x": "team.size", "value": "cd"}}, "not among the measures"),
        ({"plot": {"kind": "scatter", "x": "team.size", "value": "hd"}}, "scatter"),
    ],
)  # fmt: skip
def test_a_suite_that_does_not_fit_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        spec_of(**keys)


@pytest.mark.parametrize(
    ("given_settings", "said"),
    [
        (["team.size=9"], "the command sets team.size"),
        (["team={size: 9}"], "the command sets team"),
        (["seed=4"], "the command sets seed"),
    ],
)
def test_what_a_suite_varies_cannot_be_set(given_settings: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        expanded(Suite("s", spec_of()), 1, *given_settings)


RANKED: dict[str, Any] = {
    "configs": ["rebuttal"], "set": {"background": ["An abstract."]}, "grid": {}, "measures": ["ranking.s"],
    "variants": {"initial": {"rebuttal.method": "initial"}, "rebuttal": {}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"set": {"ranking.target": "x", "ranking.ideas": ["y"]}}, "ranking.ideas is set"),
        (
            {"measures": ["s"], "begin_with": {"variant": "initial"}, "set": {"rebuttal.idea": "Mine."}},
            "case 'a': begin_with and inputs.idea",
        ),
        ({"measures": ["usage.calls"], "grid": {"ranking.round": [0, 1]}}, "set ranking.round, but no measure"),
        ({"measures": ["ranking.s"], "configs": ["ranking"], "variants": {}}, "ranking cannot judge"),
        (
            {"measures": ["x"], "begin_with": {"variant": "rebuttal"}, "variants": {"rebuttal": {}, "v": {"system": "virsci"}}},
            "variant=v: begin_with .* virsci",
        ),
    ],
)  # fmt: skip
def test_a_suite_whose_cells_cannot_do_what_it_wants_is_refused(keys: dict[str, Any], said: str) -> None:
    suite = Suite("s", spec_of(**{**RANKED, **keys}), {"a": {}})
    with pytest.raises(ConfigError, match=said):
        expanded(suite, 1)


def test_cells_that_are_only_judged_otherwise_have_the_same_runs() -> None:
    keys: dict[str, Any] = {
        "grid": {"ranking.round": [0, 1], "rebuttal.indicator": ["novelty", "feasibility"]}, "ideas": 3,
        "begin_with": {"variant": "initial"}, "set": {"ranking.target": "A target."},
    }  # fmt: skip
    cells = expanded(Suite("s", spec_of(**{**RANKED, **keys}), {"a": {}, "b": {}}), 2)
    assert len(cells) == len({cell.name for cell in cells}) == 2 * 2 * 2 * 2 * 2
    by_key = {run.key: run for cell in cells for run in cell.runs}
    assert len(by_key) == 2 * 2 * 2 * 2 * 3
    for cell in cells:
        assert [run.config.seed for run in cell.runs] == [3 * cell.seed, 3 * cell.seed + 1, 3 * cell.seed + 2]
        for run in cell.runs:
            assert run == by_key[run.key]
            if cell.condition["variant"] == "initial":
                assert run.after == ()
                assert run.config.inputs.idea is None
                continue
            [base] = map(by_key.__getitem__, run.after)
            assert run.config.inputs.idea == str(base.folder)
            assert base.config.settings.method == "initial"
            assert base.config.seed == run.config.seed
            assert base.config.settings.indicator == run.config.settings.indicator


def test_a_suite_of_too_many_runs_is_refused_before_any_is_made() -> None:
    suite = Suite("s", spec_of(grid={"team.size": [2, 3]}, ideas=2))
    with pytest.raises(
        ConfigError, match=r"s: 2 team.size × 1,000,000,000 repeats × 2 ideas: more than 10,000"
    ):
        expanded(suite, 10**9)


def test_cases_without_end_are_not_read() -> None:
    with pytest.raises(ConfigError, match="/dev/zero: cannot be read: not a file"):
        read_cases(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['{"id": "a", "about": 3}'], "about"),
        (['{"id": "a", "of": ["b"]}'], "of must"),
        (["{"], "cases.jsonl:1: not valid JSON"),
        (['{"topic": "x"}'], "cases.jsonl:1: .*id is missing"),
        (['{"id": 1.5, "topic": "x"}'], "cases.jsonl:1: .*id is not a text"),
        (['{"id": 1, "topic": "x"}', '{"id": "1", "topic": "y"}'], "cases.jsonl:2: .*'1'"),
        (['{"id": "a"}', "", '{"id": "a"}'], "cases.jsonl:3: .*'a'"),
        (["", " "], "no cases"),
        (["[" * 50_000], "cases.jsonl:1: not valid JSON: nested too deep"),
        (["x" * 20_000_001], "cases.jsonl: cannot be read: larger than 20 MB"),
    ],
)
def test_cases_that_cannot_be_read_are_named(tmp_path: Path, lines: Iterable[str], said: str) -> None:
    folder = write_suite(tmp_path, "mine", cases=[])
    (folder / "cases.jsonl").write_text("\n".join(lines))
    with pytest.raises(ConfigError, match=said):
        read_suite(str(folder), Resources.of())


def test_files_that_cases_name_are_found_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "paper.md").write_text(folder)
        (tmp_path / folder / "sample").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    case = {
        "id": "a", "about": "Not a key of a config.", "background": "paper.md", "ranking": {"target": "paper.md"},
        "subject": "missing.md:3", "topic": "paper.md", "corpus": "sample", "rebuttal.idea": "Mend a paper.md\nwell.",
    }  # fmt: skip
    (tmp_path / "there" / "cases.jsonl").write_text(json.dumps(case))
    beside = str(tmp_path / "there" / "paper.md")
    assert read_cases(tmp_path / "there" / "cases.jsonl")["a"] == {
        "background": beside, "ranking": {"target": beside}, "subject": str(tmp_path / "there" / "missing.md:3"),
        "topic": "paper.md", "corpus": "sample", "rebuttal.idea": case["rebuttal.idea"],
    }  # fmt: skip
    (tmp_path / "there" / "paper.md").unlink()
    assert read_cases(tmp_path / "there" / "cases.jsonl")["a"]["background"] == beside, (
        "not the one that is here"
    )


def test_a_folder_of_the_users_adds_suites_and_replaces_ours(tmp_path: Path) -> None:
    write_suite(tmp_path / "evals", "mine")
    write_suite(tmp_path / "evals", "team-size", title="Ours no more")
    resources = Resources.of([tmp_path])
    assert {"mine", "team-size"} <= set(suite_names(resources))
    assert read_suite("team-size", resources).spec.title == "Ours no more"


@pytest.mark.parametrize("name", suite_names(Resources.of()))
def test_suites_that_ship_name_their_schema_and_fit_it(name: str) -> None:
    text = (shipped() / "evals" / name / "suite.yaml").read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=../suite.schema.json\n")
    schema: Any = json.loads((shipped() / "evals" / "suite.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(yaml.safe_load(text))
