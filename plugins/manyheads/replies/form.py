"""The form of a reply: what ends a prompt, and the JSON Schema behind it."""

import json
from functools import cache
from typing import Any

from manyheads.replies.base import ReplyModel

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
