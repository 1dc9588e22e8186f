"""The JSON Schemas that editors check role cards, run configs and suites with; `python -m manyheads.schemas` writes them.

What stands below a field in the source is its documentation: it is read from there, and only here, because
pydantic's own reading of it would make every start slower.
"""

import ast
import inspect
import json
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler, RootModel
from pydantic_core import CoreSchema

from manyheads import config, roles
from manyheads.core import results
from manyheads.core.results import RunResult
from manyheads.engine import budget
from manyheads.replies import REPLIES
from manyheads.resources import shipped
from manyheads.suites import spec
from manyheads.systems.results import OWN


class ResultOfAny(RootModel[Any]):
    """What a system makes of a run: of one of these forms, by its `system`."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        kinds = dict.fromkeys(each.result for each in OWN.values())
        return {"anyOf": [handler(kind.__pydantic_core_schema__) for kind in kinds]}


FILES: dict[str, type[BaseModel]] = {
    "roles/role.schema.json": roles.RoleCard,
    "configs/run.schema.json": config.RunConfig,
    "evals/suite.schema.json": spec.SuiteSpec,
    "configs/result.schema.json": RunResult[ResultOfAny],
}


def schema_text(model: type[BaseModel]) -> str:
    """The JSON Schema of a model, with the documentation of its fields."""
    schema = model.model_json_schema()
    parts: dict[str, Any] = {model.__name__.partition("[")[0]: schema, **schema.get("$defs", {})}
    texts = {name: fields for module in _modules() for name, fields in _documented(module).items()}
    for name in parts.keys() & texts.keys():
        for field in texts[name].keys() & parts[name].get("properties", {}).keys():
            parts[name]["properties"][field]["description"] = texts[name][field]
    _sharpen(parts)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _sharpen(parts: dict[str, Any]) -> None:
    """Say what validators know and pydantic's schema does not."""
    if "Task" in parts:
        parts["Task"]["properties"]["reply"]["enum"] = list(REPLIES)
    if "RunConfig" in parts:
        turns = parts["RunConfig"]["properties"]["turns"]
        turns["anyOf"] = [{"$ref": turns.pop("$ref")}, {"type": "integer", "minimum": 1}]
        turns["description"] = parts["TurnsConfig"]["description"]


def stale() -> list[Path]:
    """The schema files that are missing or behind their models."""
    wanted = {shipped() / name: schema_text(model) for name, model in FILES.items()}
    return [path for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text]


def write() -> None:
    """Bring the schema files up to date."""
    for name, model in FILES.items():
        (shipped() / name).write_text(schema_text(model), encoding="utf-8")


def _modules() -> list[ModuleType]:
    """Where the models are written down: the config's sections each have a file."""
    sections = {each.__module__ for each in vars(config).values() if isinstance(each, type)}
    own = {each.result.__module__ for each in OWN.values()}
    return [budget, roles, spec, results, *(sys.modules[name] for name in sorted(sections | own))]


def _documented(module: ModuleType) -> dict[str, dict[str, str]]:
    """The texts below fields, by class and field."""
    classes = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef)]
    return {each.name: _below_fields(each.body) for each in classes}


def _below_fields(body: list[ast.stmt]) -> dict[str, str]:
    found: dict[str, str] = {}
    for above, below in pairwise(body):
        match above, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
            case _:
                pass
    return found


if __name__ == "__main__":
    write()
