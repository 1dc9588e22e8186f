"""The schemas that editors use are those of the models, and what ships fits them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from manyheads.base.resources import shipped
from schemas import FILES, stale

ROLES = sorted((shipped() / "roles").glob("*.yaml"))
CONFIGS = sorted((shipped() / "configs").glob("*.yaml"))
FORMATS = sorted((shipped() / "configs/formats").glob("*.yaml"))
FORMS = sorted((shipped() / "prompts/review_leader/forms").glob("*.yaml"))
PHRASES = sorted((shipped() / "prompts/phrases").glob("*.yaml"))


@cache
def validator(name: str) -> Draft202012Validator:
    schema: Any = json.loads((shipped() / name).read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_schemas_are_fresh() -> None:
    assert stale() == [], "refresh them: python tools/schemas.py"


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        *((path, "role.schema.json") for path in ROLES),
        *((path, "run.schema.json") for path in CONFIGS),
        *((path, "format.schema.json") for path in FORMATS),
        *((path, "../phrases.schema.json") for path in PHRASES),
        *((path, "../form.schema.json") for path in FORMS),
    ],
    ids=lambda value: getattr(value, "stem", ""),
)
def test_what_ships_names_its_schema_and_fits_it(path: Path, schema: str) -> None:
    text = path.read_text("utf-8")
    assert text.startswith(f"# yaml-language-server: $schema={schema}\n")
    validator(str((path.parent / schema).resolve().relative_to(shipped()))).validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("roles/role.schema.json", {"name": "x", "description": "y", "modle": "z"}),
        (
            "roles/role.schema.json",
            {"name": "x", "description": "y", "tasks": {"a": {"description": "", "reply": "Vot"}}},
        ),
        ("prompts/phrases.schema.json", {"fields": {"title": {"wrods": "x"}}}),
        (
            "prompts/review_leader/form.schema.json",
            {"title": "T", "about": "A", "fields": {"a": {"title": "A"}}},
        ),
        ("configs/run.schema.json", {"team": {"sise": 8}}),
        ("configs/run.schema.json", {"turns": 0}),
        (
            "configs/formats/format.schema.json",
            {"about": "A", "example": "a", "kind": "k", "records": "word"},
        ),
    ],
)
def test_an_editor_sees_mistakes(name: str, data: Any) -> None:
    assert not validator(name).is_valid(data)


@pytest.mark.parametrize(
    "data", [{"turns": 5}, {"turns": {"idea": 3}}, {"team": {"size": 8}, "topic": "Robots"}]
)
def test_an_editor_takes_what_the_command_takes(data: Any) -> None:
    assert validator("configs/run.schema.json").is_valid(data)


def test_every_field_that_one_writes_is_documented() -> None:
    written = [name for name in FILES if "result" not in name]
    schemas: list[Any] = [json.loads((shipped() / name).read_text("utf-8")) for name in written]
    parts = [part for schema in schemas for part in (schema, *schema.get("$defs", {}).values())]
    bare = [
        f"{part['title']}.{name}"
        for part in parts
        for name, field in part["properties"].items()
        if not {"description", "$ref"} & field.keys() and part["title"] != "Price"
    ]
    assert bare == []
