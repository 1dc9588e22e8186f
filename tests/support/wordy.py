"""A model that answers as the offline model does, at a multiple of its length."""

import asyncio
import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Any, cast

from manyheads.core import Message
from manyheads.models.offline import OfflineModel
from support.requests import Request


def wordy(times: float, spread: float = 0.0) -> Callable[[Request], str]:
    """What a server replies: the offline model's answer, each sentence repeated to a multiple of its words.

    Args:
        spread: by which share the multiple of a reply may be above or below `times`; the same for the same request.
    """
    model = OfflineModel()

    def reply(request: Request) -> str:
        system, *thread = [Message(said.text) for said in request.messages]
        with ThreadPoolExecutor(1) as beside:  # the server's own thread has a loop already
            text = beside.submit(asyncio.run, model.complete(system.text, thread)).result().text
        factor = times * (1 + spread * random.Random(request.text).uniform(-1, 1))
        try:
            return json.dumps(longer(json.loads(text), factor, request.text))
        except ValueError:  # no object was asked for
            return cast(str, longer(text, factor))

    return reply


def longer(value: Any, times: float, prompt: str = "") -> Any:
    """A reply with its sentences repeated; what it copies from the prompt stays as it is."""
    match value:
        case str() if value.rstrip().endswith((".", "!", "?")) and value not in prompt:
            words = value.split()
            return " ".join(islice(cycle(words), max(1, round(len(words) * times))))
        case list():
            return [longer(each, times, prompt) for each in cast(list[Any], value)]
        case dict():
            return {name: longer(each, times, prompt) for name, each in cast(dict[str, Any], value).items()}
        case _:
            return value
