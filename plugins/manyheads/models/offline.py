"""The offline model: deterministic, needs no key and no server, and is no language model.

It reads its prompt: it finds the reply's JSON Schema there and fills it from the profile, the references and the
earlier words that it was shown. Its text shows how a run goes; nobody should mistake it for thought.
"""

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from manyheads.config import ModelConfig
from manyheads.core import Message, Raw
from manyheads.models.answer import spent
from manyheads.models.offline_text import Material, condensed, write

DEFAULTS = ModelConfig()
OFFLINE = "offline"
"""Model name of every reply that no language model has written."""
LABEL = "Written by the offline model, which is no language model: this shows how a run goes, no more."
"""Stands beside every result that it has written."""
SCHEMA = re.compile(r"```json schema\s*\n(.*?)```", re.DOTALL)
LIKELY = {
    "accept": 0.75, "agree": 0.85, "stay": 0.95, "another_turn": 0.4, "ethical_concerns": 0.05, "done": 0.15,
    "approve": 0.3, "improved": 0.7,
}  # fmt: skip
"""How often a yes-or-no field says yes; one half for the others."""
INVITES = 0.15
"""How often a speaker who may hear a guest does."""
ALIKE = (5, 80, 30)
"""Least, most and usual similarity of an abstract to a published one, 0 to 100."""

UNFORMED = """\
[offline model: this is no language model's answer] I was asked: “{question}”. I can only fill in forms, to show how \
a run goes; name a real model to get an answer, such as openai/gpt-4o-mini."""


class OfflineModel:
    """Fills the schema that a prompt ends with; the same prompt and seed always give the same answer.

    A word counts as a token, and costs what the config's prices say: nothing is known without them.
    """

    def __init__(self, config: ModelConfig = DEFAULTS) -> None:
        self._config = config
        self._salt = f"\n{config.seed}" if config.seed else ""

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """See `LocalModel.complete`; this model never calls tools."""
        texts = [message.text for message in thread]
        whole = "\n\n".join([system, *texts])
        rng = random.Random(hashlib.sha256(f"{whole}{self._salt}".encode()).digest())
        material = Material.read(system, texts)
        schema = _schema(texts)
        if schema is None:
            text = UNFORMED.format(question=_opening(texts))
        else:
            filled = _Filler(schema, material, rng).fill(schema)
            text = json.dumps(filled, ensure_ascii=False, indent=1)
        return Raw(text, OFFLINE, spent(self._config, len(whole.split()), len(text.split())))


def labelled(text: str, model: str) -> str:
    """A speaker's words, marked where no language model has found them."""
    return f"[{OFFLINE}] {text}" if model == OFFLINE else text


def _opening(texts: Sequence[str]) -> str:
    """The first words of what was asked last."""
    words = texts[-1].split() if texts else []
    return " ".join(words[:20]) + (" …" if len(words) > 20 else "")


def _schema(texts: Sequence[str]) -> dict[str, Any] | None:
    found = [block for text in texts for block in SCHEMA.findall(text)]
    return json.loads(found[-1]) if found else None


class _Filler:
    """Fills one JSON Schema, field by field."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        material: Material,
        rng: random.Random,
        defs: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._defs: Mapping[str, Any] = schema.get("$defs", defs)
        self._material, self._rng = material, rng
        guests = material.outsiders
        self._guest = rng.choice(guests) if guests and rng.random() < INVITES else None

    def fill(self, schema: Mapping[str, Any], key: str = "") -> Any:
        schema = self._resolve(schema)
        if key in ("invite", "question"):
            return self._invitation(key)
        if options := schema.get("enum"):
            return self._rng.choice(cast(list[Any], options))
        match schema.get("type"):
            case "object":
                fields: Mapping[str, Any] = schema.get("properties", {})
                return self._sober({name: self.fill(field, name) for name, field in fields.items()})
            case "array" if key == "interests" and self._material.keywords:
                return condensed(self._material.keywords)
            case "array" if key == "ranking":
                return self._ranking(schema)
            case "array":
                return self._array(schema, key)
            case "boolean":
                return self._rng.random() < LIKELY.get(key, 0.5)
            case "integer" | "number":
                return self._number(schema, key)
            case _:
                return write(key, self._material, self._rng)

    def _sober(self, filled: dict[str, Any]) -> dict[str, Any]:
        """What has not changed has not improved."""
        kept = self._material.sections
        same = self._material.unchanged or (kept and all(filled.get(name) == kept[name] for name in kept))
        return {**filled, "improved": False} if same and "improved" in filled else filled

    def _array(self, schema: Mapping[str, Any], key: str) -> list[Any]:
        """Two things, or as many as the schema asks for."""
        count = max(min(2, schema.get("maxItems", 2)), schema.get("minItems", 0))
        if key != "overlaps":
            return [self.fill(schema["items"], key) for _ in range(count)]
        return [self._overlap(schema["items"], number) for number in range(1, count + 1)]

    def _ranking(self, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All ideas in an order that is drawn."""
        count = schema["minItems"]
        places = [self.fill(schema["items"], "place") for _ in range(count)]
        drawn = self._rng.sample(range(1, count + 1), count)
        return [{**place, "idea": number} for place, number in zip(places, drawn, strict=True)]

    def _overlap(self, schema: Mapping[str, Any], number: int) -> dict[str, Any]:
        """What an abstract shares with the published paper of that number: little, now and then too much."""
        titles = self._material.titles
        about = replace(self._material, titles=titles[number - 1 : number] or titles)
        filled: dict[str, Any] = _Filler(schema, about, self._rng, self._defs).fill(schema)
        return {**filled, "paper": number, "similarity": round(self._rng.triangular(*ALIKE))}

    def _resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        if reference := schema.get("$ref"):
            return self._defs[str(reference).rsplit("/", 1)[-1]]
        options: list[Mapping[str, Any]] = schema.get("anyOf", [])
        return next((self._resolve(option) for option in options if option.get("type") != "null"), schema)

    def _number(self, schema: Mapping[str, Any], key: str) -> int:
        low, high = schema.get("minimum", 0), schema.get("maximum")
        if high is None:
            return self._rng.randint(low, max(low, self._material.choices))
        # Sober self-ratings: the upper middle of the scale.
        return self._rng.randint(low + (high - low) // 2, high - (high - low) // 9)

    def _invitation(self, key: str) -> str | None:
        if self._guest is None:
            return None
        return self._guest if key == "invite" else write("question", self._material, self._rng)
