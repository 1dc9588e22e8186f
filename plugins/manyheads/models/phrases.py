"""Sample phrases of the offline model, and how it fills the fields of replies.

They are data, `prompts/phrases/*.yaml`: ours, those of installed packs and of the folders in `MANYHEADS_PATH`.
"""

from functools import cache
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from manyheads.errors import ConfigError, describe
from manyheads.resources import Resources, parse_yaml

Words = str | tuple[str, ...]
"""A sentence, or several of which one is drawn; their slots, such as `{interest}`, are those of `Filler.slot`."""


class Filling(BaseModel):
    """How a field of a reply is filled; in a file, words alone or odds alone stand for themselves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: Words = ()
    """What a text says."""
    with_papers: Words = ()
    """What it says where the prompt shows papers, if anything else."""
    without_papers: Words = ()
    """What it says of the idea on the table where the prompt shows no papers, if anything else."""
    draw_all: bool = False
    """Whether the slots of all sentences are drawn before one sentence is, and not those of that sentence after it."""
    capitals: bool = False
    """Whether the words are a title."""
    kept: float = Field(default=0, ge=0, le=1)
    """How often a text that the prompt shows under this field's name stays as it is."""
    odds: float = Field(default=0.5, ge=0, le=1)
    """How often a yes-or-no field says yes, a field that may be null is filled, and somebody is named."""
    compares: tuple[str, ...] = ()
    """Fences of the prompt between which a yes-or-no field sees a change; where nothing has changed it says no."""
    spread: tuple[int, int, int] | None = None
    """Least, most and usual value of a number; otherwise the upper middle of its scale."""
    lines: str | None = None
    """The fence whose lines a list takes over."""
    names: str | None = None
    """The fence of profiles of which a text names one."""
    follows: str | None = None
    """The field that names somebody; where it names nobody, this one is null."""


class Sentences(BaseModel):
    """A reply whose fields take the sentences of a fenced text, one after the other."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fence: str
    """Of the text; its title stands above it, after `Title:`."""
    missing: str
    """What stands in a field when there are no sentences left."""


def _spelled_out(value: object) -> object:
    if isinstance(value, str | list):
        return {"words": value}
    return {"odds": value} if isinstance(value, int | float) else value


class Phrases(BaseModel):
    """Sample phrases, by the fields of replies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fields: dict[
        str, Annotated[Filling, BeforeValidator(_spelled_out, json_schema_input_type=Filling | Words | float)]
    ] = {}
    """How fields are filled: `Reply.field` goes before `field`, and `*` is any other text."""
    sentences: dict[str, Sentences] = {}
    """Replies that a text is cut up for, by name."""
    interests: tuple[str, ...] = Field(default=(), min_length=1)
    """Of a speaker who has no record of their own."""
    alone: str = ""
    """What a speaker with a single interest joins it with."""

    def filling(self, reply: str, field: str) -> Filling:
        return self.fields.get(f"{reply}.{field}") or self.fields.get(field) or self.fields["*"]

    @classmethod
    def read(cls, resources: Resources) -> "Phrases":
        """The phrases of all folders of a search path; for each field, those of the strongest folder that has any.

        Raises:
            ConfigError: a file is not valid.
        """
        merged: dict[str, Any] = {}
        folders = [root / "prompts/phrases" for root in reversed(resources.search_path)]
        for path in (path for folder in folders for path in sorted(folder.glob("*.yaml"))):
            try:
                phrases = cls.model_validate(parse_yaml(path.read_text(encoding="utf-8")))
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise ConfigError(f"{path}: not valid YAML: {error}") from error
            except ValidationError as error:
                raise ConfigError(
                    f"{path}: {describe(error)}", hint="see prompts/phrases.schema.json"
                ) from error
            for key in phrases.model_fields_set:
                value = getattr(phrases, key)
                merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
        return cls.model_construct(**merged)


@cache
def phrases_of(resources: Resources) -> Phrases:
    """`Phrases.read`, once in a process."""
    return Phrases.read(resources)
