"""Reply types of users' own: pydantic classes by dotted path, JSON Schemas in a role card or beside it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from manyheads.asking.forms import form, schema_of, shape_of
from manyheads.asking.replies import PlainText, ReplyModel, from_schema, reply_type
from manyheads.asking.roles import CODE, Roles, _problems  # pyright: ignore[reportPrivateUsage]
from manyheads.base.compiled import own_file
from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig
from manyheads.core import Message
from manyheads.engine.replying import UnusableReplyError, parse
from manyheads.models.offline import OfflineModel

MODULE = '''
from enum import Enum
from typing import Literal
from pydantic import BaseModel, Field

class Kind(str, Enum):
    direct = "direct"
    indirect = "indirect"

class Step(BaseModel):
    what: str = Field(description="what is done")
    cost: int

class Harm(BaseModel):
    """Whom a study may harm."""
    who: str = Field(min_length=1, description="who is harmed")
    kind: Kind
    severity: int = Field(ge=1, le=5, description="how bad it is")
    odds: float = Field(ge=0, le=1)
    change: float
    steps: list[Step] = Field(description="what to do")
    remark: str | None = None

class Tree(BaseModel):
    children: "list[Tree]"

class Free(BaseModel):
    counts: dict[str, int]

class Either(BaseModel):
    value: int | str
'''
HARM: dict[str, Any] = {
    "who": "workers",
    "kind": "direct",
    "severity": 4,
    "odds": 0.25,
    "change": -2,
    "steps": [{"what": "ask them", "cost": 3}],
}
SCHEMA: dict[str, Any] = {
    "title": "harm of a study",
    "type": "object",
    "required": ["who", "kind", "severity", "odds", "change", "steps"],
    "properties": {
        "who": {"type": "string", "description": "who is harmed"},
        "kind": {"enum": ["direct", "indirect"]},
        "severity": {"type": "integer", "minimum": 1, "maximum": 5, "description": "how bad it is"},
        "odds": {"type": "number", "minimum": 0, "maximum": 1},
        "change": {"type": "number"},
        "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}, "description": "what to do"},
        "remark": {"type": ["string", "null"]},
    },
    "$defs": {
        "step": {
            "type": "object",
            "required": ["what", "cost"],
            "properties": {
                "what": {"type": "string", "description": "what is done"},
                "cost": {"type": "integer"},
            },
        }
    },
}
SKELETON = """{
  "who": "<who is harmed>",
  "kind": "<direct | indirect>",
  "severity": <1–5: how bad it is>,
  "odds": <0.0–1.0>,
  "change": <…, -1.0, 0.0, 1.0, …>,
  "steps": [{
    "what": "<what is done>",
    "cost": <…, -1, 0, 1, …>
  }, … ×0+],
  "remark": "<…>" | null
}"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "my_replies.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_replies"
    sys.modules.pop("my_replies", None)


def card_in(folder: Path, reply: Any) -> Path:
    task = {"description": "Name it.", "reply": reply, "variables": ["idea"]}
    card = {"name": "ethicist", "description": "Finds harm.", "tasks": {"harm": task}}
    (folder / "roles").mkdir(exist_ok=True)
    (folder / "prompts" / "ethicist").mkdir(parents=True, exist_ok=True)
    (folder / "roles" / "ethicist.yaml").write_text(yaml.safe_dump(card, sort_keys=False))
    (folder / "prompts" / "ethicist" / "system.md.j2").write_text("You look for harm.")
    (folder / "prompts" / "ethicist" / "harm.md.j2").write_text("{{ idea | quoted('idea') }}")
    return folder


@pytest.fixture(params=["class", "schema"])
def harm(request: pytest.FixtureRequest, module: str) -> type[ReplyModel]:
    return reply_type(f"{module}:Harm") if request.param == "class" else from_schema(SCHEMA, "ethicist harm")


def test_a_card_names_a_class_a_schema_or_its_file(tmp_path: Path, module: str) -> None:
    kinds = list[type[ReplyModel]]()
    for reply in (f"{module}:Harm", SCHEMA, "harm.json"):
        card_in(tmp_path, reply)
        (tmp_path / "roles" / "harm.json").write_text(json.dumps(SCHEMA))
        roles = Roles(Resources.of([tmp_path]))
        assert not [line for line in roles.problems() if "ethicist" in line]
        kinds.append(roles.reply("ethicist", "harm"))
    assert kinds == [reply_type(f"{module}:Harm"), *[from_schema(SCHEMA, "ethicist harm")] * 2]


@pytest.mark.usefixtures("own_cache")
def test_roles_are_tried_out_again_once_the_code_of_a_reply_has_changed(tmp_path: Path, module: str) -> None:
    resources = Resources.of([card_in(tmp_path, f"{module}:Harm")])

    mark = own_file(CODE, *map(resources.state, ("roles", "prompts")), sys.path)
    assert isinstance(mark, Path)

    def tried_out() -> bool:
        """Whether a new process tries them out, which then marks them."""
        _problems.cache_clear()
        before = mark.exists() and mark.stat().st_ino
        assert Roles(resources).problems() == []
        return mark.stat().st_ino != before

    assert [tried_out(), tried_out()] == [True, False]
    (tmp_path / f"{module}.py").write_text(MODULE.replace("bad it is", "bad it may be"))
    assert [tried_out(), tried_out()] == [True, False]


def test_the_form_says_what_each_field_is_for(harm: type[ReplyModel]) -> None:
    assert SKELETON in form(harm)
    assert "description" not in json.dumps(schema_of(harm))


def test_a_reply_is_read(harm: type[ReplyModel]) -> None:
    value = parse(f"Here it is: {json.dumps(HARM)}", harm)
    assert value.model_dump(mode="json") == {**HARM, "remark": None}
    assert harm.model_validate(value.model_dump(mode="json")) == value


WRONG: list[tuple[str, Any]] = [
    ("severity", True), ("severity", "4"), ("severity", 4.0), ("severity", "4 or 5"), ("severity", 6),
    ("odds", "0.5"), ("odds", False), ("odds", 1.5), ("kind", "none"), ("who", ""), ("who", 3),
    ("steps", [{"what": "ask", "cost": "3"}]), ("steps", {"what": "ask", "cost": 3}),
]  # fmt: skip


def test_no_value_is_made_up(harm: type[ReplyModel]) -> None:
    for field, wrote in WRONG:
        with pytest.raises(UnusableReplyError, match=field):
            parse(json.dumps({**HARM, field: wrote}), harm)
        with pytest.raises(UnusableReplyError, match=field):
            parse(json.dumps({name: each for name, each in HARM.items() if name != field}), harm)


async def test_the_offline_model_fills_it_in(harm: type[ReplyModel]) -> None:
    for seed in range(5):
        raw = await OfflineModel(ModelConfig(seed=seed)).complete("", [Message(form(harm))])
        parse(raw.text, harm)


def test_a_class_stays_itself(module: str) -> None:
    kind = reply_type(f"{module}:Harm")
    assert isinstance(parse(json.dumps(HARM), kind), sys.modules[module].Harm)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("Harm", "no such reply type 'Harm'"),
        ("no_such_module:Harm", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("my_replies:Harms", "my_replies has no pydantic class 'Harms'"),
        ("my_replies:Tree", "children: contains itself"),
        ("my_replies:Free", "counts: has a type that no form can show"),
        ("my_replies:Either", "value: has several types"),
        ("nowhere.json", "no such file"),
        ("../harm.json", "in the card's folder"),
        ("broken.json", "not valid JSON"),
        ({"type": "object"}, "schema: an object needs properties"),
        ({"properties": {"a": {"type": "string", "if": {}}}}, "schema.a: if is not supported"),
        ({"properties": {"a": {}}}, "schema.a: type None is not supported"),
        ({"properties": {"a": {"enum": [1, 2]}}}, "schema.a: choices must be texts"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "schema.a: #/.defs/b does not exist"),
        ({"properties": {"a": {"$ref": "http://example.org/b"}}}, "does not exist"),
        ({"properties": {"a": {"type": ["string", "integer"]}}}, "schema.a: a field of several types"),
        ({"properties": {"a-b": {"type": "string"}}}, "schema.a-b: not a valid field name"),
        ({"properties": {"model_dump": {"type": "string"}}}, "not a valid field name"),
        ({"properties": {"a": {"type": "string"}}, "required": ["b"]}, "there is no property b"),
        ({"properties": {"a": {"type": "array"}}}, "schema.a: type 'array' is not supported"),
    ],
)
def test_mistakes_name_the_card_and_the_task(tmp_path: Path, module: str, reply: Any, problem: str) -> None:
    card_in(tmp_path, reply)
    (tmp_path / "roles" / "broken.json").write_text("{")
    with pytest.raises(ConfigError, match=rf"ethicist\.yaml: task 'harm': .*{problem}"):
        _ = Roles(Resources.of([tmp_path])).cards


def test_plain_text_has_no_form(tmp_path: Path) -> None:
    kind = Roles(Resources.of([card_in(tmp_path, "text")])).reply("ethicist", "harm")
    assert kind is PlainText
    assert form(kind) == ""
    assert shape_of(form(kind)) is None
    assert parse(" Nobody.\n", kind) == PlainText(text="Nobody.")
