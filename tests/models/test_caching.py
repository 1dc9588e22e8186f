"""The fields that steer a provider's cache of prompts: where they are sent, and where Anthropic's marks go."""

import json
from contextlib import ExitStack
from copy import deepcopy
from typing import Any

import httpx
import pytest

from manyheads.config import ModelConfig
from manyheads.core import Price
from manyheads.models.answers import HEARD, Cache, SoundTransport
from manyheads.models.caching import LEAST, Marks, steering, with_key
from manyheads.models.requests import charge_of, usage_of

PAPER = "<paper>\n" + "".join(f"Line {number} of a paper on owls.\n" for number in range(400)) + "</paper>\n"
Body = dict[str, Any]


def body(*texts: str, system: str = "You are a reviewer.", **more: Any) -> Body:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return {"model": "claude", "max_tokens": 9, "system": system, "messages": messages, **more}


def blocks(marked: Body) -> list[Body]:
    contents = (marked["system"], *(each["content"] for each in marked["messages"]))
    lists = ([{"text": each}] if isinstance(each, str) else each for each in contents)
    return [block for each in lists for block in each]


def sent(mark: Marks, asked: Body) -> Body:
    """A request that is answered before the next one is sent."""
    with mark(asked) as marked:
        return marked


def marks(marked: Body) -> list[str]:
    """The texts that end at a mark."""
    return [block.get("text", "") for block in blocks(marked) if "cache_control" in block]


@pytest.mark.parametrize(
    ("model", "settings", "steered"),
    [
        ("openai/gpt-5", {}, True),
        ("openai/gpt-5", {"base_url": "https://eu.api.openai.com/v1"}, True),
        ("openai/mistral-small", {"base_url": "https://api.mistral.ai/v1"}, True),
        ("openai/m", {"base_url": "https://openrouter.ai/api/v1"}, False),
        ("openai/m", {"base_url": "https://notapi.openai.com.example.org/v1"}, False),
        ("openai/m", {"base_url": "http://127.0.0.1:8000/v1"}, False),
        ("openai/m", {"base_url": "http://127.0.0.1:8000/v1", "prompt_cache": True}, True),
        ("openai/gpt-5", {"prompt_cache": False}, False),
        ("anthropic/claude-haiku-4-5", {}, True),
        ("anthropic/m", {"base_url": "http://127.0.0.1:8000"}, False),
        ("ollama/m", {"prompt_cache": True}, False),
    ],
)
def test_only_servers_that_know_the_fields_get_them(model: str, settings: Body, steered: bool) -> None:
    config = ModelConfig.parse(model).model_copy(update=settings)
    assert (steering(config) is not None) is steered


def test_the_key_is_that_of_a_common_beginning() -> None:
    def key(*texts: str) -> str | None:
        with with_key(body(*texts)) as steered:
            return steered.get("prompt_cache_key")

    assert key(f"{PAPER}How new?") == key(f"{PAPER}How sound?") == key(f"{PAPER}How new?", "Very.", "Why?")
    assert len(key(PAPER) or "") == 32
    assert key(f"Another {PAPER}") not in (None, key(PAPER))
    assert key("Short.") is None, "what no provider caches needs no key"
    with with_key(body(PAPER, prompt_cache_key="mine")) as own:
        assert own["prompt_cache_key"] == "mine"


def test_a_mark_stands_where_an_earlier_request_agrees_and_stays_there() -> None:
    mark = Marks()
    first, second, third = (
        sent(mark, body(f"{PAPER}How {word}?")) for word in ("new", "sound", "new and sound")
    )
    assert not marks(first), "nobody knows yet what will be asked again"
    assert marks(second) == marks(third) == [PAPER]
    assert [block["text"] for block in blocks(third)][1:] == [PAPER, "How new and sound?"]


def test_one_of_many_requests_at_once_writes_what_all_share() -> None:
    mark = Marks()
    with ExitStack() as under_way:
        asked = [under_way.enter_context(mark(body(f"{PAPER}How {word}?"))) for word in "abcde"]
    assert [marks(each) for each in asked] == [[], [PAPER], [], [], []]
    assert marks(sent(mark, body(f"{PAPER}How f?"))) == [PAPER]


def test_a_longer_beginning_gets_a_mark_of_its_own() -> None:
    mark, more = Marks(), "Review: good.\n" * 400
    for question in ("new", "sound"):
        sent(mark, body(f"{PAPER}How {question}?"))
    sent(mark, body(f"{PAPER}{more}And A?"))
    again = sent(mark, body(f"{PAPER}{more}And B?"))
    assert marks(again) == [PAPER, more]
    assert marks(sent(mark, body(f"{PAPER}How clear?"))) == [PAPER]
    assert marks(sent(mark, body(f"{PAPER}{more}And C?"))) == [PAPER, more]


def test_a_request_with_tools_is_marked_at_its_end() -> None:
    mark, tools = Marks(), [{"name": "look_up"}]
    asked = body(f"{PAPER}How new?", tools=tools)
    assert marks(sent(mark, deepcopy(asked))) == [f"{PAPER}How new?"]
    call = {"type": "tool_use", "id": "1", "name": "look_up", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "owls " * LEAST}
    turns = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    second = sent(mark, {**asked, "messages": [*deepcopy(asked["messages"]), *turns]})
    assert [block["type"] for block in blocks(second) if "cache_control" in block] == ["text", "tool_result"]


def test_tools_that_are_never_called_cost_no_surcharge() -> None:
    mark, tools = Marks(), [{"name": "look_up"}]
    papers = [f"{number}: {PAPER}" for number in range(9)]
    marked = [bool(marks(sent(mark, body(paper, tools=tools)))) for paper in papers]
    assert marked == [True] * 3 + [False] * 6


def test_nothing_is_lost_and_no_block_is_blank() -> None:
    mark, said = Marks(), [f"{word}\n" * 900 for word in ("owl", "bat", "mole", "newt", "toad", "crow")]
    for texts in (
        *[said[:n] for n in range(1, 7)], *[[*said[:n], "And?"] for n in range(1, 7)],
        ["\n\n" + PAPER, "", " "], [PAPER + "\n\n"], [PAPER], [PAPER, "Yes."], ["Short."],
    ):  # fmt: skip
        marked = sent(mark, body(*texts))
        assert len(marks(marked)) <= 4
        whole = [each["content"] for each in marked["messages"]]
        told = ["".join(part["text"] for part in each) if isinstance(each, list) else each for each in whole]
        assert told == list(texts)
        assert all(block["text"].strip() for block in blocks(marked) if "type" in block)


def test_a_users_own_marks_are_left_alone() -> None:
    own = body(PAPER)
    own["system"] = [{"type": "text", "text": "Review.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    mark = Marks()
    said = body(f'{PAPER} with "cache_control": {{}} in it')
    assert marks([sent(mark, deepcopy(said)) for _ in range(2)][1]), "a text about marks has none"
    assert [sent(mark, deepcopy(own)) for _ in range(3)] == [own] * 3


PRICED = ModelConfig(price=Price(input=10, output=20, cached=1, cache_write=12.5))


def test_cached_tokens_have_their_own_prices() -> None:
    usage = usage_of(PRICED, 1000, 100, "", "", (600, 300))
    assert (usage.input_tokens, usage.cached_tokens, usage.estimated) == (1000, 600, 0)
    assert usage.cost == pytest.approx((100 * 10 + 600 * 1 + 300 * 12.5 + 100 * 20) / 1e6)
    without = ModelConfig(price=Price(input=10, output=20))
    assert usage_of(without, 1000, 100, "", "", (600, 300)).cost == pytest.approx(12_000 / 1e6)
    assert usage_of(PRICED, 1000, 100, "", "", (900, 300)).cached_tokens == 0, "more than were read"
    assert usage_of(PRICED, None, None, 500, 10, (900, 0)).cached_tokens == 0
    most = charge_of(PRICED, 1000, {}).most
    assert most.cost == pytest.approx((most.input_tokens * 12.5 + most.output_tokens * 20) / 1e6)
    for never, part in (({"prompt_cache": False}, 1), ({"provider": "openai", "batch": True}, 2)):
        most = charge_of(PRICED.model_copy(update=never), 1000, {}).most
        assert most.cost == pytest.approx((most.input_tokens * 10 + most.output_tokens * 20) / 1e6 / part)


COUNTS = [
    ("openai", {"prompt_tokens": 900, "completion_tokens": 9}, 900, (0, 0)),
    (
        "openai",
        {
            "prompt_tokens": 900,
            "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 768, "cache_write_tokens": 100},
        },
        900,
        (768, 100),
    ),
    ("openai", {"prompt_tokens": 900, "completion_tokens": 9, "prompt_tokens_details": None}, 900, (0, 0)),
    (
        "openai",
        {"prompt_tokens": 900, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 901}},
        900,
        (0, 0),
    ),
    (
        "openai",
        {"prompt_tokens": 900, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": -1}},
        900,
        (0, 0),
    ),
    (
        "openai",
        {"prompt_tokens": 900, "completion_tokens": 9, "prompt_cache_hit_tokens": 640},
        900,
        (640, 0),
    ),
    (
        "anthropic",
        {
            "input_tokens": 3,
            "output_tokens": 9,
            "cache_read_input_tokens": 700,
            "cache_creation_input_tokens": 100,
        },
        803,
        (700, 100),
    ),
    ("anthropic", {"input_tokens": 0, "output_tokens": 9, "cache_read_input_tokens": 700}, 700, (700, 0)),
    (
        "anthropic",
        {"input_tokens": 30, "output_tokens": 9, "cache_read_input_tokens": None},
        30,
        (0, 0),
    ),
    ("ollama", None, 30, (0, 0)),
]


@pytest.mark.parametrize(("provider", "usage", "read", "cache"), COUNTS)
async def test_every_provider_counts_alike(
    provider: str, usage: Body | None, read: int, cache: tuple[int, int]
) -> None:
    answers: dict[str, Body] = {
        "openai": {"choices": [{"message": {"content": "Owls."}}], "usage": usage},
        "anthropic": {"content": [{"type": "text", "text": "Owls."}], "usage": usage},
        "ollama": {"message": {"content": "Owls."}, "prompt_eval_count": 30, "eval_count": 9},
    }
    inner = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda request: httpx.Response(200, json=answers[provider]))
    )
    heard = list[tuple[str, bool, Cache]]()
    HEARD.set(heard)
    async with httpx.AsyncClient(transport=SoundTransport(inner, provider)) as client:  # pyright: ignore[reportArgumentType]
        told = json.loads((await client.post("http://server/", json={})).text)
    spent = told.get("usage", told)
    names = ("prompt_tokens", "input_tokens", "prompt_eval_count")
    assert [spent[name] for name in names if name in spent] == [read]
    assert heard[-1][2] == cache
