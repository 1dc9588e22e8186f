"""The JSON Schema of a model for editors and forms, with the documentation of its fields."""

from typing import Any, cast

from pydantic import BaseModel

from manyheads.asking.replies import REPLIES, TEXT
from manyheads.config import documented


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a model. One that stands for several names them by a class method `kinds`."""
    schema = model.model_json_schema()
    parts: dict[str, Any] = {model.__name__.partition("[")[0]: schema, **schema.get("$defs", {})}
    for each in _models(model):
        if each.__name__ in parts:
            for field, text in documented(each).items():
                key = each.model_fields[field].alias or field if field in each.model_fields else field
                if key in (properties := parts[each.__name__].get("properties", {})):
                    properties[key]["description"] = text
            # A section may be written as a number where its model says for which of its keys that stands.
            for name, field in each.model_fields.items():
                part = cast(Any, field.annotation)
                if getattr(part, "plain", None):
                    node = parts[each.__name__]["properties"][name]
                    node["anyOf"] = [{"$ref": node.pop("$ref")}, {"type": "integer", "minimum": 1}]
                    node["description"] = parts[part.__name__]["description"]
    if "Task" in parts:
        parts["Task"]["properties"]["reply"]["anyOf"] = [
            {"enum": [TEXT, *REPLIES]},
            {"type": "string", "pattern": r"^\w+\.\w+$|^[\w.]+:\w+$|\.json$"},
            {"type": "object", "required": ["properties"]},
        ]
    return schema


def _models(model: type[BaseModel]) -> list[type[BaseModel]]:
    """A model and those of its fields, theirs too."""
    found: list[type[BaseModel]] = []
    waiting: list[Any] = [model]
    while waiting:
        each = waiting.pop()
        if not (isinstance(each, type) and issubclass(each, BaseModel)):
            waiting += getattr(each, "__args__", ())
        elif each not in found:
            found.append(each)
            waiting += [field.annotation for field in each.model_fields.values()]
            waiting += each.kinds() if hasattr(each, "kinds") else ()  # pyright: ignore[reportAttributeAccessIssue]
    return found
