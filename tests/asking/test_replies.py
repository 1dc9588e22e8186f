"""The typed replies: what a model is shown of them, and what they refuse."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from pydantic import create_model

from manyheads.asking import replies
from manyheads.asking.replies import REPLIES, ReplyModel, Seeks, seeking
from manyheads.base.errors import BugError
from manyheads.models.abilities import MOST_ITEMS, form_arguments
from manyheads.systems.virsci.replies import Revision, Vote


@pytest.mark.parametrize("name", ["Remark", "Review"])
def test_two_replies_of_one_name_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one of a system that is called as a shared one: a card could not name it."""
    twin = create_model(name, __base__=ReplyModel)
    monkeypatch.setattr("manyheads.systems.scipip.replies.REPLIES", (twin,))
    replies._shipped.cache_clear()  # pyright: ignore[reportPrivateUsage]
    try:
        with pytest.raises(BugError, match=name):
            len(REPLIES)
    finally:
        replies._shipped.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_the_schema_shows_the_scale_of_all_eight_criteria():
    ratings = Revision.model_json_schema()["$defs"]["Ratings"]["properties"]
    assert {(shown["minimum"], shown["maximum"]) for shown in ratings.values()} == {(1, 10)}
    assert len(ratings) == 8


def test_a_vote_counts_from_one():
    assert Vote.model_json_schema()["properties"]["choice"]["minimum"] == 1


def parts_of(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all within it."""
    if isinstance(schema, dict):
        yield cast(dict[str, Any], schema)
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from parts_of(part)


@pytest.mark.parametrize("kind", REPLIES.values(), ids=list(REPLIES))
def test_the_lists_of_a_schema_end_and_its_texts_do_not(kind: type[ReplyModel]) -> None:
    """`maxLength` ends llama.cpp's Python server."""
    for sent in (
        form_arguments("openai", kind)["schema"]["response_format"]["json_schema"]["schema"],
        form_arguments("openai", kind)["object"]["response_format"]["schema"],
        form_arguments("ollama", kind)["schema"]["format"],
    ):
        lists = [part for part in parts_of(sent) if part.get("type") == "array"]
        assert all(part["maxItems"] <= MOST_ITEMS for part in lists)
        assert not any(isinstance(part.get("maxLength"), int) for part in parts_of(sent))


@pytest.mark.parametrize("kind", REPLIES.values(), ids=list(REPLIES))
def test_a_reply_that_may_seek_advice_keeps_its_name_and_fields(kind: type[ReplyModel]):
    both = seeking(kind)
    assert issubclass(both, kind)
    assert issubclass(both, Seeks)
    shown = both.model_json_schema()
    assert shown["title"] == kind.model_json_schema()["title"]
    assert set(shown["properties"]) == {*kind.model_json_schema()["properties"], "invite", "question"}
    assert seeking(kind) is both
