"""Valid values for a JSON Schema, made from a hash: the same request always gets the same answer."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

WORDS = (
    "sparse", "robust", "causal", "retrieval", "planning", "graphs", "agents", "alignment", "transfer", "noise",
    "memory", "diffusion", "evidence", "benchmarks", "robots", "language", "vision", "proteins", "bandits",
    "compression", "uncertainty", "curricula", "feedback", "geometry",
)  # fmt: skip


def fill(schema: Schema, seed: str, given: Mapping[str, Any] | None = None) -> Any:
    """A valid value of `schema`; a property named in `given` takes that value, at any depth."""
    return _Filler(hashlib.sha256(f"{seed}\0".encode()), given or {}, schema).value(schema, "")


def bounded(schema: Schema) -> str | None:
    """The first property of an object schema that is a number with a limit, None if there is none."""
    for name, part in schema.get("properties", {}).items():
        if {"minimum", "maximum"} & set(resolve(part, schema)):
            return name
    return None


def resolve(part: Schema, root: Schema) -> Schema:
    """`part` with its `$ref` followed."""
    while "$ref" in part:
        found: Any = root
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        part = found
    return part


@dataclass(frozen=True)
class _Filler:
    seed: "hashlib._Hash"
    """Of the request, which is long: taken once, and gone on with for each part of the answer."""
    given: Mapping[str, Any]
    root: Schema

    def value(self, schema: Schema, at: str) -> Any:
        schema = resolve(schema, self.root)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._pick(schema["enum"], at)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return self._one_of(schema[key], at)
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            return self._one_of([{**schema, "type": each} for each in kind], at)
        return self._of_kind(kind, schema, at)

    def _of_kind(self, kind: str, schema: Schema, at: str) -> Any:
        match kind:
            case "null":
                return None
            case "boolean":
                return self._number(at) % 2 == 0
            case "integer":
                return self._integer(schema, at)
            case "number":
                low, high = schema.get("minimum", 0.0), schema.get("maximum", 1.0)
                return low + (high - low) * (self._number(at) % 101) / 100
            case "array":
                return self._array(schema, at)
            case "object":
                properties = schema.get("properties", {})
                return {name: self._property(name, part, at) for name, part in properties.items()}
            case _:
                return self._sentence(schema, at)

    def _property(self, name: str, schema: Schema, at: str) -> Any:
        return self.given[name] if name in self.given else self.value(schema, f"{at}.{name}")

    def _one_of(self, options: Sequence[Schema], at: str) -> Any:
        """Null where it may be null, else one of the options."""
        nullable = any(option.get("type") == "null" for option in options)
        return None if nullable else self.value(self._pick(options, at), at)

    def _integer(self, schema: Schema, at: str) -> int:
        """Without both limits the value nearest to zero that the one limit allows: a choice of 1 always exists."""
        low, high = schema.get("minimum"), schema.get("maximum")
        low = schema["exclusiveMinimum"] + 1 if "exclusiveMinimum" in schema else low
        high = schema["exclusiveMaximum"] - 1 if "exclusiveMaximum" in schema else high
        if low is None or high is None:
            return low if low is not None else high if high is not None else 0
        return int(low) + self._number(at) % (int(high) - int(low) + 1)

    def _array(self, schema: Schema, at: str) -> list[Any]:
        least = schema.get("minItems", 1)
        most = schema.get("maxItems", least + 2)
        count = least + self._number(f"{at}#") % (most - least + 1)
        return [self.value(schema.get("items", {}), f"{at}[{i}]") for i in range(count)]

    def _sentence(self, schema: Schema, at: str) -> str:
        count = schema["words"][0] if "words" in schema else 5 + self._number(at) % 5
        words = " ".join(self._pick(WORDS, f"{at}/{i}") for i in range(count))
        name = at.rpartition(".")[2].partition("[")[0]
        text = f"{name or 'answer'}: {words}".ljust(schema.get("minLength", 0), ".")
        return text[: schema.get("maxLength", len(text))]

    def _pick(self, options: Sequence[Any], at: str) -> Any:
        return options[self._number(at) % len(options)]

    def _number(self, at: str) -> int:
        hashed = self.seed.copy()
        hashed.update(at.encode())
        return int.from_bytes(hashed.digest()[:6], "big")
