"""The section `literature`: where papers are looked up, and how long that may take."""

from datetime import date
from typing import Literal

from pydantic import Field, field_validator

from manyheads.config.strict import Strict, is_address

SourceName = Literal["local", "semantic_scholar", "openalex", "arxiv"]


class LiteratureConfig(Strict):
    """Literature search beyond the research ecosystem."""

    references: Literal["corpus", "services"] = "corpus"
    """Where the references of ideas come from: B_past, or the cascade below (VirSci 2025, App. C.3)."""
    cascade: tuple[SourceName, ...] = ("local", "semantic_scholar", "openalex")
    """Sources in the order in which they are asked; the next one where the ones before found too little."""
    before: str = "bound"
    """Nothing newer is found: `bound` is the corpus's own year (no bound where there is no corpus), else a date, a
    year, or `any`."""
    max_age: float = Field(default=30.0, ge=0, le=36_525)
    """Days after which an answer kept on disk is fetched anew."""
    patience: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds that one source may take for one look-up, waits and retries counted; then it is skipped and said so."""
    retries: int = Field(default=4, ge=0)
    """How often a failed request is sent again."""
    endpoints: dict[SourceName, str] = Field(default_factory=dict)
    """Other addresses of the services, such as a mirror's."""
    semantic_scholar_key_env: str = "SEMANTIC_SCHOLAR_API_KEY"
    """Environment variable with the key of Semantic Scholar; without one, the shared pool is used, more slowly."""

    @field_validator("before", mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        """YAML reads an unquoted year as a number, and an unquoted date as a date."""
        return value if isinstance(value, bool) or not isinstance(value, int | date) else str(value)

    @field_validator("endpoints")
    @classmethod
    def _whole_addresses(cls, value: dict[SourceName, str]) -> dict[SourceName, str]:
        for name, address in value.items():
            if name == "local":
                raise ValueError("local: the corpus has no address; name it under `corpus`")
            if not is_address(address):
                raise ValueError(f"{name}: {address!r} is no address; write it as http://… or https://…")
        return value

    @field_validator("cascade")
    @classmethod
    def _each_once(cls, value: tuple[SourceName, ...]) -> tuple[SourceName, ...]:
        if not value or len(set(value)) < len(value):
            raise ValueError("name at least one source, each once")
        return value
