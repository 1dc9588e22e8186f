"""Users' own reply types: a pydantic class named by its dotted path in a role card, or a JSON Schema in the card.

Both are strict: a number must be written as a number, never converted from a text or from `true`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, StringConstraints, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from manyheads.asking.replies.base import R, ReplyModel
from manyheads.base.errors import ConfigError

Schema = Mapping[str, Any]
NOTES = frozenset(
    {"title", "description", "examples", "default", "deprecated", "readOnly", "writeOnly", "$comment"}
)
ROOT = frozenset({"$schema", "$id", "$defs", "definitions"})
KEYWORDS: Mapping[str, Mapping[str, str]] = {
    "string": {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"},
    "integer": (limits := {
        "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt", "multipleOf": "multiple_of"
    }),
    "number": limits,
    "boolean": {},
    "array": {"minItems": "min_length", "maxItems": "max_length"},
    "object": {},
}  # fmt: skip
"""JSON Schema keywords supported for each type, with pydantic's names."""
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}
SUPPORTED = "fields may be texts, numbers, true or false, choices of texts, and lists and objects of these; each may be null"


class OwnReply(ReplyModel):
    """Base of reply types made from a user's class or JSON Schema."""


def read_as(kind: type[R], answer: Mapping[str, Any]) -> R:
    """A reply from a model's JSON object; raises pydantic's `ValidationError` if it does not fit."""
    if issubclass(kind, OwnReply):
        return kind.model_validate_json(json.dumps(answer), strict=True)
    return kind.model_validate(answer)


def imported(name: str) -> type[ReplyModel]:
    """The reply type of a pydantic class, `module:Class`, whose module is imported."""
    module, _, inner = name.partition(":")
    theirs = module_of(name, module)
    kind = getattr(theirs, inner, None)
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        own = (each for each in vars(theirs).values() if getattr(each, "__module__", "") == module)
        names = [each.__name__ for each in own if isinstance(each, type) and issubclass(each, BaseModel)]
        tried = f"classes: {', '.join(names) or 'none'}"
        raise ConfigError(f"reply type {name!r}: {module} has no pydantic class {inner!r}", tried=tried)
    return kind if issubclass(kind, ReplyModel) else _of_class(kind)


def module_of(name: str, module: str) -> ModuleType:
    """The module of others that has the reply type `name`, imported."""
    try:
        return import_module(module)
    except Exception as error:  # it may fail in any way
        raise ConfigError(
            f"reply type {name!r}: {module} cannot be imported: {type(error).__name__}: {error}",
            hint="install its package, or put its folder on PYTHONPATH",
        ) from error


@cache
def _of_class(kind: type[BaseModel]) -> type[ReplyModel]:
    bases = cast(Any, (kind, OwnReply))
    made: Any = create_model(kind.__name__, __base__=bases, __module__=kind.__module__, __doc__=kind.__doc__)
    return _fit(made, f"reply type '{kind.__module__}:{kind.__name__}'")


def from_schema(schema: Schema, name: str) -> type[ReplyModel]:
    """The reply type of a JSON Schema, whose title or else `name` is the class's; equal ones give the same class."""
    return _of_schema(json.dumps(schema), name)


@lru_cache
def _of_schema(text: str, name: str) -> type[ReplyModel]:
    schema = json.loads(text)
    title = _class_name(str(schema.get("title") or name))
    return _fit(_SchemaReader(schema).model(schema, title, "schema", OwnReply), "schema")


def _class_name(title: str) -> str:
    """`harm of a study` as `HarmOfAStudy`."""
    name = "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", title))
    return name if name.isidentifier() else f"Reply{name}"


class _SchemaReader:
    """Reads a JSON Schema as a pydantic class; raises `ConfigError` for unsupported parts."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._open: list[str] = []

    def model(self, schema: Schema, name: str, path: str, base: type[BaseModel]) -> type[Any]:
        fields, needed = schema.get("properties"), schema.get("required", [])
        if not isinstance(fields, Mapping) or not fields:
            raise ConfigError(f"{path}: an object needs properties", hint=SUPPORTED)
        parts = cast(Mapping[str, Any], fields)
        if unknown := set(needed) - parts.keys():
            raise ConfigError(f"{path}.required: there is no property {', '.join(sorted(unknown))}")
        self._only(schema, {"properties", "required", "additionalProperties"}, path, root=path == "schema")
        made: dict[str, Any] = {}
        for field, part in parts.items():
            if not re.fullmatch(r"[A-Za-z]\w*", field) or hasattr(base, field):
                raise ConfigError(f"{path}.{field}: not a valid field name", hint="rename it")
            kind, about = self.kind(part, f"{path}.{field}", field), part.get("description")
            required = (kind, Field(description=about))
            made[field] = required if field in needed else (kind | None, Field(None, description=about))
        return create_model(name, __base__=base, __doc__=schema.get("description"), **made)

    def kind(self, schema: Any, path: str, name: str) -> Any:
        """The type of a field."""
        if not isinstance(schema, Mapping):
            raise ConfigError(f"{path}: {schema!r} is not a schema", hint=SUPPORTED)
        schema = cast(Schema, schema)
        if "$ref" in schema:
            return self._referred(schema, path, name)
        if "anyOf" in schema or "oneOf" in schema:
            self._only(schema, {"anyOf", "oneOf"}, path)
            return self._either([*schema.get("anyOf", []), *schema.get("oneOf", [])], path, name)
        if isinstance(schema.get("type"), list):
            return self._either([{**schema, "type": each} for each in schema["type"]], path, name)
        if "const" in schema or "enum" in schema:
            self._only(schema, {"const", "enum", "type"}, path)
            choices = schema.get("enum", [schema.get("const")])
            if not choices or not all(isinstance(each, str) for each in choices):
                raise ConfigError(f"{path}: choices must be texts", hint=SUPPORTED)
            return Literal[tuple(choices)]
        match schema.get("type"):
            case "object":
                return self.model(schema, _class_name(str(schema.get("title") or name)), path, BaseModel)
            case "array" if "items" in schema:
                self._only(schema, {"type", "items", *KEYWORDS["array"]}, path)
                return self._limited(list[self.kind(schema["items"], f"{path}.items", name)], schema, "array")
            case str(kind) if kind in TYPES:
                self._only(schema, {"type", "format", *KEYWORDS[kind]}, path)
                if kind != "string":
                    return self._limited(TYPES[kind], schema, kind)
                limits: dict[str, Any] = {"min_length": 1, **self._limits(schema, kind)}
                return Annotated[str, StringConstraints(strip_whitespace=True, **limits)]
            case kind:
                raise ConfigError(f"{path}: type {kind!r} is not supported", hint=SUPPORTED)

    def _referred(self, schema: Schema, path: str, name: str) -> Any:
        self._only(schema, {"$ref"}, path)
        target: Any = self._root
        place = str(schema["$ref"])
        for step in place.removeprefix("#/").split("/"):
            target = cast(Schema, target).get(step) if isinstance(target, Mapping) else None
        if target is None or not place.startswith("#/"):
            raise ConfigError(f"{path}: {place} does not exist in this schema")
        if place in self._open:
            raise ConfigError(f"{path}: {place} contains itself", hint=SUPPORTED)
        self._open.append(place)
        try:
            return self.kind(target, path, place.rsplit("/", 1)[-1])
        finally:
            self._open.pop()

    def _either(self, options: Sequence[Any], path: str, name: str) -> Any:
        values = [each for each in options if each != {"type": "null"} and each.get("type") != "null"]
        if len(values) != 1:
            raise ConfigError(f"{path}: a field of several types is not supported", hint=SUPPORTED)
        kind = self.kind(values[0], path, name)
        return kind | None if len(values) < len(options) else kind

    def _limits(self, schema: Schema, kind: str) -> dict[str, Any]:
        return {ours: schema[word] for word, ours in KEYWORDS[kind].items() if word in schema}

    def _limited(self, of: Any, schema: Schema, kind: str) -> Any:
        limits = self._limits(schema, kind)
        return Annotated[of, Field(**limits)] if limits else of

    def _only(self, schema: Schema, known: set[str], path: str, *, root: bool = False) -> None:
        """Raises `ConfigError` for keywords that are not supported, and so would not be enforced."""
        foreign = schema.keys() - known - NOTES - {"type"} - (ROOT if root else frozenset[str]())
        if foreign:
            hint = "remove it, or name a pydantic class instead: reply: package.module:Class"
            raise ConfigError(f"{path}: {', '.join(sorted(foreign))} is not supported", hint=hint)


def _fit(kind: type[ReplyModel], where: str) -> type[ReplyModel]:
    """The class, if a form can show all its fields; else raises `ConfigError`."""
    try:
        schema = kind.model_json_schema(by_alias=False)
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise ConfigError(f"{where}: {error.message}", hint=SUPPORTED) from error
    aliased = [name for name, field in kind.model_fields.items() if field.validation_alias or field.alias]
    if aliased:
        raise ConfigError(f"{where}: {', '.join(aliased)}: a field cannot have an alias", hint="rename it")
    if problem := next(_unfit(schema, schema.get("$defs", {}), "", ()), None):
        raise ConfigError(f"{where}{problem}", hint=SUPPORTED)
    return kind


def _unfit(part: Schema, defs: Schema, path: str, inside: tuple[str, ...]) -> Iterator[str]:
    """Parts of a class's pydantic schema that no form can show."""
    if reference := part.get("$ref"):
        if reference in inside:
            yield f"{path}: contains itself"
            return
        inside, part = (*inside, reference), defs[str(reference).rsplit("/", 1)[-1]]
    options = [each for each in part.get("anyOf", []) if each.get("type") != "null"]
    choices = part.get("enum", [part["const"]] if "const" in part else [])
    if len(options) > 1 or "oneOf" in part:
        yield f"{path}: has several types"
    elif options:
        yield from _unfit(options[0], defs, path, inside)
    elif choices:
        if not all(isinstance(each, str) for each in choices):
            yield f"{path}: choices must be texts"
    elif fields := part.get("properties"):
        for name, each in fields.items():
            yield from _unfit(each, defs, f"{path}.{name}" if path else f": {name}", inside)
    elif part.get("type") == "array" and "items" in part and "prefixItems" not in part:
        yield from _unfit(part["items"], defs, path, inside)
    elif part.get("type") not in TYPES:
        yield f"{path}: has a type that no form can show"
