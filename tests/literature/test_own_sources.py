"""Sources of other packages: named in the cascade like ours, and one clear error where one cannot be used."""

from collections.abc import Iterator
from typing import ClassVar

import pytest
from pydantic import ValidationError

from manyheads.base.errors import ConfigError, LiteratureError
from manyheads.base.papers import SOURCES, Paper, identify
from manyheads.config import LiteratureConfig
from manyheads.literature.library import Library, connect
from manyheads.literature.source import HttpService, Request, Source
from support.entry_points import brought

OWLS = Paper(id="shelf:1", source="shelf", title="Owls hear in the dark", year=2010)


class Shelf(Source):
    """A stranger's source that can only search."""

    async def search(self, request: Request) -> list[Paper]:
        return [OWLS] if "owls" in request.query.lower() else []


class Served(HttpService):
    address: str = "https://shelf.example"
    key_env: str | None = "SHELF_KEY"
    lacking: ClassVar = {"papers": "one at a time"}


class Broken(Shelf):
    async def search(self, request: Request) -> list[Paper]:
        raise KeyError("title")


class Odd(Shelf):
    async def search(self, request: Request) -> list[Paper]:
        return [{"title": "Owls"}]  # pyright: ignore[reportReturnType]


class Placed(Shelf):
    def __init__(self, folder: str) -> None:
        self.folder = folder


class Numbered(HttpService):
    def __init__(self, number: int) -> None:
        raise NotImplementedError


class Locked(Shelf):
    def __init__(self) -> None:
        raise ConfigError("the shelf is locked", hint="find its key")


NO_CLASS = Shelf()


@pytest.fixture(autouse=True)
def entries() -> Iterator[None]:
    names = {
        "shelf": "Shelf",
        "served": "Served",
        "broken": "Broken",
        "dicts": "Odd",
        "odd": "NO_CLASS",
        "gone": "GONE",
        "placed": "Placed",
        "numbered": "Numbered",
        "locked": "Locked",
        "local": "NO_CLASS",
    }
    with brought(SOURCES, {name: f"{__name__}:{home}" for name, home in names.items()}):
        yield


async def test_a_source_is_asked_in_its_place_of_the_cascade_for_what_it_can() -> None:
    async with Library(LiteratureConfig(cascade=("shelf",), before="any")) as library:
        found = await library.search("owls")
        assert found.papers == (OWLS,)
        assert [(each.source, each.outcome) for each in found.searches] == [("shelf", "found")]
        assert (await library.titled("Owls hear in the dark")).papers == (OWLS,)
        assert await library.paper("Owls hear in the dark") == OWLS
        with pytest.raises(LiteratureError, match="shelf does not support references"):
            await library.references("shelf:1")
    assert identify("shelf:1").source == "shelf"
    assert identify("shelves: 1").kind == "title"


@pytest.mark.parametrize(("name", "words"), [("broken", "KeyError"), ("dicts", "a dict, not a Paper")])
async def test_a_fault_of_a_source_is_its_failure_and_the_next_is_asked(name: str, words: str) -> None:
    async with Library(LiteratureConfig(cascade=(name, "shelf"), before="any")) as library:
        found = await library.search("owls")
    assert found.papers == (OWLS,)
    assert found.degraded == (name,)
    assert [each.outcome for each in found.searches] == ["failed", "found"]
    assert words in found.searches[0].reason


def test_a_service_is_made_as_ours_with_its_endpoint_and_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    config = LiteratureConfig(cascade=("served",), endpoints={"served": "http://127.0.0.1:1"}, patience=3)
    monkeypatch.setenv("SHELF_KEY", "k")
    monkeypatch.setenv("MANYHEADS_ALLOW", "SHELF_KEY")
    source = connect("served", config)
    assert isinstance(source, Served)
    assert (source.name, source.address, source.key, source.patience) == (
        "served",
        "http://127.0.0.1:1",
        "k",
        3,
    )


def test_a_name_that_nobody_brings_is_refused_in_the_config() -> None:
    with pytest.raises(ValidationError, match=r"'shelve'.*manyheads\.sources.*pubmed, .*shelf"):
        LiteratureConfig(cascade=("shelve",))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("odd", "NO_CLASS is not a class"),
        ("gone", "cannot be imported"),
        ("placed", "Placed is not .*'folder'"),
        ("numbered", "Numbered is not .*'name'"),
    ],
)
def test_what_is_no_source_is_one_clear_error(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        connect(name, LiteratureConfig(cascade=(name,)))
    assert "pip uninstall" in (caught.value.hint or "")


def test_a_source_that_says_itself_what_it_needs_is_heard() -> None:
    with pytest.raises(ConfigError, match="the shelf is locked") as caught:
        connect("locked", LiteratureConfig(cascade=("locked",)))
    assert caught.value.hint == "find its key"


def test_a_source_made_by_hand_says_what_it_lacks() -> None:
    assert Shelf().lacks("references") == "Shelf does not support references"
