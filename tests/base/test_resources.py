"""Files are found one by one: the user's folders, then `MANYHEADS_PATH`, then what ships."""

import os
from pathlib import Path

import pytest
import yaml

from manyheads.base.errors import ConfigError
from manyheads.base.resources import KINDS, Resources, data_file, parse_yaml, shipped


def place(root: Path, name: str, text: str = "mine") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_what_ships_is_there() -> None:
    resources = Resources.of()
    assert resources.search_path[-1] == shipped()
    assert resources.need("prompts", "scientist/system.md.j2").is_file()
    assert "virsci.yaml" in resources.names("configs", ".yaml")
    assert all(data_file(kind).is_dir() for kind in KINDS)


def test_the_first_folder_that_holds_a_file_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for folder in (one, two, three):
        folder.mkdir()
    monkeypatch.setenv("MANYHEADS_PATH", f"{two}{os.pathsep}{three}{os.pathsep}")
    everywhere = ("prompts/scientist/system.md.j2", "roles/a.yaml", "roles/b.yaml", "roles/c.yaml")
    place(one, everywhere[1])
    for name in everywhere[1:3]:
        place(two, name)
    for name in everywhere:
        place(three, name)
    resources = Resources.of([one])
    found = {name: resources.find(*name.split("/", 1)) for name in everywhere}
    assert found == {
        "prompts/scientist/system.md.j2": three / "prompts/scientist/system.md.j2",
        "roles/a.yaml": one / "roles/a.yaml",
        "roles/b.yaml": two / "roles/b.yaml",
        "roles/c.yaml": three / "roles/c.yaml",
    }
    names = resources.names("roles", ".yaml")
    assert {name: names[name].parents[1] for name in ("a.yaml", "b.yaml", "c.yaml")} == {
        "a.yaml": one, "b.yaml": two, "c.yaml": three
    }  # fmt: skip
    assert names["leader.yaml"].parents[1] == shipped()


@pytest.mark.parametrize("name", ["../secret", "a/../../secret", "/etc/passwd", ".."])
def test_names_stay_inside_their_folder(tmp_path: Path, name: str) -> None:
    place(tmp_path, "secret")
    place(tmp_path, "prompts/a/x")
    with pytest.raises(ConfigError, match="stay inside"):
        Resources((tmp_path,)).find("prompts", name)


@pytest.mark.parametrize("link", ["prompts", "prompts/scientist", "prompts/scientist/system.md.j2"])
def test_links_that_lead_out_of_a_users_folder_are_refused(tmp_path: Path, link: str) -> None:
    name = "prompts/scientist/system.md.j2"
    other, mine = place(tmp_path / "other", name), tmp_path / "mine"
    (mine / link).parent.mkdir(parents=True)
    (mine / link).symlink_to(tmp_path / "other" / link)
    resources = Resources((mine,))
    with pytest.raises(ConfigError, match="link") as caught:
        resources.find(*name.split("/", 1))
    assert str(mine / name) in str(caught.value)
    if link != "prompts/scientist":  # a linked folder is not listed
        with pytest.raises(ConfigError, match="link"):
            resources.names("prompts")
    (mine / link).unlink()
    place(mine, "prompts/shared.md.j2")
    (mine / name).parent.mkdir(parents=True, exist_ok=True)
    (mine / name).symlink_to(mine / "prompts/shared.md.j2")
    assert resources.find(*name.split("/", 1)) == mine / name != other


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    place(tmp_path, "prompts/mine/ask.md.j2")
    assert Resources((tmp_path,)).find("prompts", "mine") is None
    assert Resources((tmp_path,)).find("prompts", "") is None


def test_a_missing_file_says_where_it_was_looked_for_and_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Resources((tmp_path,)).need("configs", "virsky.yaml")
    assert str(caught.value).startswith("configs/virsky.yaml: not found\n")
    assert str(tmp_path / "configs") in str(caught.value)
    assert "virsci.yaml" in str(caught.value)
    assert "autogen/" not in str(caught.value).partition("there are:")[2]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        Resources.of([tmp_path / "gone"])
    monkeypatch.setenv("MANYHEADS_PATH", str(tmp_path / "lost"))
    with pytest.raises(ConfigError, match="lost: no such folder"):
        Resources.of()


def test_the_users_home_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Resources.of(["~/mine"]).folders == (tmp_path / "mine",)


@pytest.mark.parametrize("kind", ["roles", "configs", "evals"])
def test_yaml_reads_as_in_pyyamls_own_parser(kind: str) -> None:
    files = list(data_file(kind).rglob("*.yaml"))
    assert files
    for text in (file.read_text(encoding="utf-8") for file in files):
        assert parse_yaml(text) == yaml.safe_load(text)


BROKEN = [
    "!!python/object/apply:os.getcwd []", "a: [", "a: b: c", "\x00", '"\\0"', "!!int ''", "!!float x", "!!bool x", "!!timestamp x",
    "- " * 60 + "x", "? " * 60 + "x", "[" * 60 + "]" * 60, "2015-13-01", "9" * 5000, "18446744073709551616", "&a {b: *a}",
    "a: &a [" + "x," * 1000 + "]\nb: &b [" + "*a," * 1000 + "]",
]  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_plain_yaml_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        parse_yaml(text)


def test_aliases_are_read_where_they_are_few() -> None:
    assert parse_yaml("a: &a [1, 2]\nb: [*a, *a]\nc: {<<: &d {e: 3}, f: *d}") == {
        "a": [1, 2], "b": [[1, 2], [1, 2]], "c": {"e": 3, "f": {"e": 3}},
    }  # fmt: skip
