"""What all sections of a config have in common."""

from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, model_validator


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    plain: ClassVar[str | None] = None
    """The key that a plain number stands for, where a section may be written as one."""

    @model_validator(mode="before")
    @classmethod
    def _plain_number(cls, value: object) -> object:
        return {cls.plain: value} if cls.plain and isinstance(value, int | str) else value


def is_address(text: str) -> bool:
    """Whether a text is the address of a server, its scheme and all."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
