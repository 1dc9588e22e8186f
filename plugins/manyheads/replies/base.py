"""What all replies share: their base, texts and scores that are never made up, and the form that a prompt ends with."""

import json
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def no_truth_value(value: object) -> object:
    """Python takes true for 1; a number that was not given is not made up."""
    if isinstance(value, bool):
        raise ValueError("should be a number")
    return value


# The limits stand before the validator: behind one, pydantic leaves them out of the JSON Schema.
Score = Annotated[int, Field(ge=1, le=10), BeforeValidator(no_truth_value)]
Choice = Annotated[int, Field(ge=1), BeforeValidator(no_truth_value)]


def label(field: str) -> str:
    """A field's name as it is read: `expected_impact` as `Expected impact`."""
    return field.replace("_", " ").capitalize()


class ReplyModel(BaseModel):
    """Base of all replies: extra keys that a model adds are dropped, missing ones are errors."""

    model_config = ConfigDict(extra="ignore")

    verb: ClassVar[str] = "says"
    """What somebody does who replies so, for consoles and logs."""

    def spoken(self) -> str:
        """The reply as a reader, or another speaker, wants to see it; by default its first text."""
        return next((value for value in self.model_dump().values() if isinstance(value, str)), "")


Percent = Annotated[int, Field(ge=0, le=100), BeforeValidator(no_truth_value)]


FORM = """\
Answer with one JSON object that fits this schema, in a ```json fence, and nothing after it:

```json schema
{schema}
```
"""


@cache
def form(reply_type: type[ReplyModel]) -> str:
    """The part of a prompt that shows the reply's JSON Schema in a fenced `json schema` block."""
    return FORM.format(schema=json.dumps(schema_of(reply_type), ensure_ascii=False, indent=1))


@cache
def schema_of(reply_type: type[ReplyModel]) -> dict[str, Any]:
    """The JSON Schema of a reply type, as a model is shown it and as `response_format` takes it; not to be changed.

    Docstrings are left out of it: they are written for readers of the code.
    """
    schema = reply_type.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("description", None)
    return schema
