"""Answers kept on disk: what is kept is given back until it is too old, to threads and processes alike."""

import asyncio
import math
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter

from manyheads.base.errors import CacheError
from manyheads.literature.lookup import ANSWERS, LookupCache

ANY = TypeAdapter[JsonValue](JsonValue)
FOUND: JsonValue = [{"id": "openalex:W1", "title": "Früchte \ud800", "year": 2014, "authors": []}]
REQUEST: JsonValue = {"query": "fruit", "limit": 10, "before": "2015-01-01"}


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[LookupCache]:
    with LookupCache(tmp_path / "cache.sqlite") as cache:
        yield cache


def test_an_answer_is_given_back(cache: LookupCache) -> None:
    assert cache.get("openalex", "search", REQUEST, ANY) is None
    cache.keep_answer("openalex", "search", REQUEST, ANY, FOUND)
    same: JsonValue = {"before": "2015-01-01", "limit": 10, "query": "fruit"}
    assert cache.get("openalex", "search", same, ANY) == FOUND


@pytest.mark.usefixtures("own_cache")
async def test_of_those_that_want_an_answer_one_asks_and_the_others_wait_but_not_for_ever(
    cache: LookupCache,
) -> None:
    place, asked = ("openalex", "search", REQUEST, ANY), list[str]()

    async def ask(name: str, until: float = math.inf, *, fails: bool = False) -> None:
        async with cache.asking(*place, until) as known:
            if known is None:
                asked.append(name)
                await asyncio.sleep(0.2)
                if not fails:
                    await cache.keep_found(*place, FOUND)

    await asyncio.gather(*(ask(name, fails=name == "first") for name in ("first", "second", "third")))
    assert asked == ["first", "second"]
    with LookupCache() as other:
        shared = ANSWERS.set(other)
        await asyncio.gather(ask("fourth"), ask("fifth", time.monotonic() + 0.05))
        ANSWERS.reset(shared)
    assert asked[2:] == ["fourth", "fifth"]


def test_every_part_of_a_question_counts(cache: LookupCache) -> None:
    cache.keep_answer("openalex", "search", REQUEST, ANY, FOUND)
    assert cache.get("arxiv", "search", REQUEST, ANY) is None
    assert cache.get("openalex", "authors", REQUEST, ANY) is None
    assert cache.get("openalex", "search", {"query": "fruit", "limit": 10}, ANY) is None
    assert cache.get("openalex", "search", {"query": "fruit", "limit": 10, "before": None}, ANY) is None


def test_what_is_too_old_is_not_given(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    for name, days in {"old": 31, "new": 29, "future": -1}.items():
        with LookupCache(path) as cache:
            cache.keep_answer("openalex", "search", name, ANY, FOUND)
        age(path, days)
    with LookupCache(path, timedelta(days=30)) as cache:
        given = {
            name: cache.get("openalex", "search", name, ANY) is not None for name in ("old", "new", "future")
        }
        assert given == {"old": False, "new": True, "future": False}
        cache.keep_answer("openalex", "search", "old", ANY, [])
        assert cache.get("openalex", "search", "old", ANY) is not None
    with LookupCache(path, timedelta(0)) as cache:
        assert cache.get("openalex", "search", "new", ANY) is None
    with LookupCache(path) as cache:
        assert cache.get("openalex", "search", "new", ANY) is not None


def age(path: Path, days: float) -> None:
    """Make the newest answer as old as that."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "UPDATE lookups SET at = at - ? WHERE at = (SELECT max(at) FROM lookups)", (days * 86_400,)
        )
        database.commit()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(request=JSON, value=JSON)
def test_any_json_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, request: JsonValue, value: JsonValue
) -> None:
    with LookupCache(tmp_path_factory.getbasetemp() / "any.sqlite") as cache:
        cache.keep_answer("arxiv", "search", request, ANY, value)
        assert cache.get("arxiv", "search", request, ANY) == value


def test_two_runs_share_a_file(tmp_path: Path) -> None:
    with LookupCache(tmp_path / "c.sqlite") as one, LookupCache(tmp_path / "c.sqlite") as other:
        one.keep_answer("openalex", "search", "a", ANY, [1])
        other.keep_answer("openalex", "search", "b", ANY, [2])
        assert one.get("openalex", "search", "b", ANY)
        assert other.get("openalex", "search", "a", ANY)


def test_the_usual_file_lies_in_the_user_s_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "mine"))
    with LookupCache():
        pass
    assert (tmp_path / "mine" / "literature.sqlite").is_file()


@pytest.mark.parametrize("content", [b"not a database, but long enough to be read as one" * 40, b"\0" * 5000])
def test_a_broken_cache_is_made_anew_and_a_broken_record_is_not(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(content)
    with LookupCache(path) as cache:
        cache.keep_answer("openalex", "search", "a", ANY, FOUND)
        assert cache.get("openalex", "search", "a", ANY) == FOUND
    assert (tmp_path / "cache.sqlite.broken").read_bytes() == content
    assert str(path) in caplog.text
    path.write_bytes(content)
    with pytest.raises(CacheError) as caught, LookupCache(path, record=True):
        pass
    assert str(path) in str(caught.value)
    assert "MANYHEADS_CACHE" in str(caught.value)
    assert path.read_bytes() == content


def test_a_place_that_is_no_folder_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="MANYHEADS_CACHE"), LookupCache(tmp_path / "file" / "cache.sqlite"):
        pass


@pytest.mark.parametrize("change", ["'[{'", "replace(value, '2014', '2015')", "x'ff'"])
def test_what_is_damaged_inside_is_not_given(tmp_path: Path, change: str) -> None:
    path = tmp_path / "cache.sqlite"
    with LookupCache(path) as cache:
        cache.keep_answer("openalex", "search", "a", ANY, FOUND)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE lookups SET value = {change}")
    with LookupCache(path) as cache:
        assert cache.get("openalex", "search", "a", TypeAdapter(list[JsonValue])) is None
    with LookupCache(path, record=True) as record, pytest.raises(CacheError, match="remove the file"):
        record.get("openalex", "search", "a", ANY)


def test_answers_of_versions_without_checksums_are_given(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with LookupCache(path) as cache:
        cache.keep_answer("openalex", "search", "a", ANY, FOUND)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE lookups SET value = substr(value, 1, length(value) - 9)")
        assert cache.get("openalex", "search", "a", ANY) == FOUND
