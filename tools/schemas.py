"""The JSON Schemas of role cards, sample phrases, run configs, suites and corpus formats for editors, and each system's component JSON.

`python tools/schemas.py` writes them.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler, RootModel
from pydantic_core import CoreSchema

from manyheads.arena.items import ArenaForm
from manyheads.asking import roles
from manyheads.base.resources import shipped
from manyheads.config import RunConfig
from manyheads.config.files import schema_of
from manyheads.core.results import RunResult
from manyheads.datasets.formats import Format
from manyheads.hosts import component
from manyheads.measures.published import PublishedTable
from manyheads.models.offline import Phrases
from manyheads.models.prices import PriceList
from manyheads.suites import spec
from manyheads.systems import DEFAULT, systems
from manyheads.systems.loading import load


class ResultOfAny(RootModel[Any]):
    """What a system makes of a run: of one of these forms, by its `system`."""

    @classmethod
    def kinds(cls) -> list[type[BaseModel]]:
        """What the built-in systems make of a run, each once."""
        return list(dict.fromkeys(systems()[name].result for name in systems().own))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(kind.__pydantic_core_schema__) for kind in cls.kinds()]}


Schema = dict[str, Any]
RUN = "configs/run.schema.json"
FILES: dict[str, type[BaseModel]] = {
    "roles/role.schema.json": roles.RoleCard,
    "prompts/phrases.schema.json": Phrases,
    RUN: RunConfig,
    "evals/suite.schema.json": spec.SuiteSpec,
    "configs/result.schema.json": RunResult[ResultOfAny],
    "configs/models/prices.schema.json": PriceList,
    "configs/arena/form.schema.json": ArenaForm,
    "configs/formats/format.schema.json": Format,
    "configs/tables/table.schema.json": PublishedTable,
    **{path: model for name in systems().own for path, model in systems()[name].files.items()},
}


def schema_text(model: type[BaseModel]) -> str:
    """The JSON Schema of a model; of a run's config, by its system."""
    schema = _of_runs() if model is RunConfig else schema_of(model)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _of_runs() -> Schema:
    """Which keys a run's config has, its `system` says."""
    parts: Schema = {}
    rules: list[Schema] = []
    for name in systems().own:
        schema = schema_of(systems()[name].model)
        for part, inner in schema.pop("$defs").items():
            if parts.setdefault(part, inner) != inner:
                raise ValueError(f"{name}: two models are called {part}")
        # Keys of a section and of inputs are taken at the top as well, and sections under their former names.
        system, properties = systems()[name], schema["properties"]
        section = {"$ref": properties[name]["$ref"], "deprecated": True}
        for key in (name, "inputs"):
            inner = parts[str(properties[key]["$ref"]).rpartition("/")[2]]
            for short, told in inner["properties"].items():
                if short not in system.config.in_full | system.inputs.in_full:
                    properties.setdefault(short, {**told, "deprecated": True})
        properties |= {former: section for former, place in system.aliases.items() if place == name}
        parts[name] = schema
        chosen: Schema = {"properties": {"system": {"const": name}}}
        if name != DEFAULT:
            chosen["required"] = ["system"]
        rules.append({"if": chosen, "then": {"$ref": f"#/$defs/{name}"}})
    names: Schema = {"enum": list(systems().own), "default": DEFAULT, "description": "What is run."}
    return {
        "$defs": parts, "title": "RunConfig", "type": "object", "properties": {"system": names}, "allOf": rules
    }  # fmt: skip


def stale() -> list[Path]:
    """The schema files that are missing or behind their models."""
    texts = {shipped() / name: schema_text(model) for name, model in FILES.items()}
    return [path for path, text in texts.items() if not path.is_file() or path.read_text("utf-8") != text]


def component_text(system: str) -> str:
    """The component JSON that ships of a system."""
    return component(load([system], ["host=autogen", *systems()[system].component])) + "\n"


def write() -> None:
    """Bring the schema files and the component JSON up to date."""
    for name, model in FILES.items():
        (shipped() / name).write_text(schema_text(model), encoding="utf-8")
    for name in systems().own:
        path = shipped() / "configs" / "autogen" / f"{name}.json"
        path.write_text(component_text(name), encoding="utf-8")


if __name__ == "__main__":
    write()
