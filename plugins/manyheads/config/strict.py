"""What all sections of a config have in common."""

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def is_address(text: str) -> bool:
    """Whether a text is the address of a server, its scheme and all."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
