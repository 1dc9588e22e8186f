"""What both hosts make of a provider's answer: in time, an answer at all, and what it cost."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from pydantic import ValidationError

from manyheads.config import ModelConfig
from manyheads.core import Usage
from manyheads.errors import ModelError

T = TypeVar("T")

NO_COMPLETION = (AttributeError, IndexError, KeyError, TypeError, ValidationError)
"""What the frameworks' models trip over when a server's answer is JSON, but no chat completion."""


async def answered(call: Awaitable[T], alias: str, config: ModelConfig) -> T:
    """A request's answer, in time.

    The SDKs' time-outs start anew with each byte; this one holds for the whole request.

    Raises:
        TimeoutError: it took longer than the config allows.
        ModelError: it is no answer of a chat model.
    """
    try:
        async with asyncio.timeout(config.timeout):
            return await call
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {config.timeout:g} s") from error
    except NO_COMPLETION as error:
        raise ModelError(
            f"models.{alias}: what the server answered is no chat completion ({error})",
            tried=config.base_url or f"the {config.provider} service",
            hint=f"check models.{alias}.base_url (most end in /v1)",
        ) from error


def spent(config: ModelConfig, read: int, written: int) -> Usage:
    """What one request cost, from the tokens that it read and wrote."""
    price = config.price
    cost = (read * price.input + written * price.output) / 1_000_000 if price else None
    return Usage(input_tokens=read, output_tokens=written, calls=1, cost=cost)
