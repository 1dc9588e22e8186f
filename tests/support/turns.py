"""Turns and models for tests of the hosts."""

from typing import Any

from pydantic import BaseModel

from manyheads.asking.replies import Remark
from manyheads.config import ModelConfig
from manyheads.core import Message, Place, Speaker, Tool, Turn
from support.llm import LLM

SPEAKER = Speaker("Scientist1", "scientist", "You are Scientist1.")


class Look(BaseModel):
    subject: str


async def _look_up(arguments: Look) -> str:
    return f"3 papers on {arguments.subject}"


LOOK_UP = Tool("look_up", "Look something up.", Look, _look_up)


def model(llm: LLM, **settings: Any) -> ModelConfig:
    """The server as a model of a config, quick to give up."""
    given: dict[str, Any] = {"provider": "openai", "base_url": llm.base_url, "retries": 0, "timeout": 10}
    return ModelConfig.model_validate({"name": "test-model", **given, **settings})


def turn(*thread: Message, speaker: Speaker = SPEAKER, **more: Any) -> Turn[Remark]:
    """A turn that asks for a remark."""
    asked = thread or (Message("What do you say?"),)
    return Turn(Place("topic", 1, speaker.name, "topic"), speaker, asked, Remark, **more)
