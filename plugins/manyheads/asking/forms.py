"""Reply forms: how a prompt asks for a reply, and how agents read it, in the words of prompt files.

A model sees a skeleton of its reply, with a line of meaning for each field. The lines come from
`prompts/replies/<Reply>.yaml`, the text around them from `prompts/form.md.j2`, the answer to an invalid reply from
`prompts/again.md.j2`, and the reply as others read it from `prompts/spoken/<Reply>.md.j2` (`Prompts.wording`). In a
skeleton, `<…>` is a placeholder: `"<a text>"`, `<1–10: a number>`, `<true | false: …>`, `"<ONE | OTHER: …>"`;
`≈350` and `≈100–200` are lengths in words; `[…, … ×5]` after the first item of a list is its length.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, PositiveInt, RootModel

from manyheads.asking.prompts import Prompts, key_of
from manyheads.asking.replies import PlainText, ReplyModel, label
from manyheads.base.resources import Resources

Schema = Mapping[str, Any]
LONGEST_TEXT = 20_000
"""Maximum characters of a person's text, where a reply has no limit of its own."""
SHORT = 0.6
"""A reply with less than this share of the requested words is too short; one that exceeds them by the inverse is too long."""
Span = tuple[int, int | None]
"""Minimum and maximum words requested; None for no maximum."""
REASONS = ("rationale", "thought", "reasoning", "reflection")
"""Fields with the reasons for the others."""
FENCE = re.compile(r"```json (\w+)\n(\{.*?\n\})\n```", re.DOTALL)


class Meaning(BaseModel):
    """The meaning of a field in one line; in a file, a plain text is short for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    meaning: str = ""
    words: PositiveInt | tuple[PositiveInt, PositiveInt] | None = None
    """Length in words, if the source states one: a number, or a range."""
    people: str = ""
    """What a person reads in place of the meaning."""


Line = Annotated[Meaning, BeforeValidator(lambda line: {"meaning": line} if isinstance(line, str) else line)]


class Meanings(RootModel[dict[str, Line]]):
    """A line for each field of a reply."""


class Missing(str):
    """Stands for a missing value: the key that was written in its place, if one looks like it."""


@dataclass(frozen=True)
class Unusable:
    """Why a reply cannot be used.

    Attributes:
        kind: `empty`, `cut`, `none` (no JSON object), `several` (answers), `unreadable`, `fields` (some invalid),
            `copied` (the form's own words, or a text that says nothing), `short`, `long`, or `rule` (the task's own).
        problem: the reason, for a log.
        faults: the invalid fields, each with its value.
        words: for a wrong length the words found and the words requested; for an unreadable object the line and what
            stands there, or 0 and a key given twice.
        formal: whether only the form is wrong, so that the question is not needed to correct it.
    """

    kind: str
    problem: str
    faults: tuple[tuple[str, object], ...] = ()
    words: tuple[int, str] = (0, "")
    formal: bool = False


@cache
def schema_of(kind: type[ReplyModel]) -> dict[str, Any]:
    """The JSON Schema of a reply type for `response_format`, without descriptions; do not modify."""
    schema = kind.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("description", None)
        for each in part.get("properties", {}).values():
            each.pop("description", None)
            each.pop("title", None)
    return schema


@dataclass(frozen=True)
class Form:
    """How a prompt asks for one reply.

    Attributes:
        text: the part of a prompt with the skeleton.
        words: fields with a requested length, in words.
    """

    text: str
    words: Mapping[str, Span]

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """The placeholder of each field in the skeleton, by path."""
        return _placeholders(self.text)

    @cached_property
    def texts(self) -> frozenset[str]:
        """Placeholders of texts in the skeleton, with and without the requested length."""
        shown = re.findall(r'"<(.+)>"', self.text)
        return frozenset(part for text in shown for part in (text, re.sub(r"^≈[\d–]+: ", "", text)))


@dataclass(frozen=True)
class Forms:
    """The words of a search path for replies; each form is built once."""

    prompts: Prompts
    _made: dict[type[ReplyModel], Form] = field(
        default_factory=dict[type[ReplyModel], Form], compare=False, repr=False
    )

    def form(self, kind: type[ReplyModel]) -> str:
        """The part of a prompt with a reply's skeleton; empty for plain text."""
        return self._of(kind).text

    def _of(self, kind: type[ReplyModel]) -> Form:
        if kind not in self._made and issubclass(kind, PlainText):
            self._made[kind] = Form("", {})
        elif kind not in self._made:
            schema = schema_of(kind)
            skeleton = "\n".join(_object(schema, kind, schema.get("$defs", {}), self, ""))
            asked = ((name, each.words) for name, each in self.meanings(kind).items() if each.words)
            words = {name: _span(each) for name, each in asked}
            variables = {"name": kind.__name__, "skeleton": skeleton, "words": bool(words)}
            self._made[kind] = Form(self.prompts.render("form.md.j2", variables).strip(), words)
        return self._made[kind]

    def again(self, kind: type[ReplyModel], why: Unusable, *, alone: bool = False) -> str:
        """The message to a model whose reply is invalid; `alone`: it sees the form, and no question."""
        asked = self._of(kind).fields
        faults = [
            {"field": name, "wrote": brief(wrote), "near": isinstance(wrote, Missing) and wrote}
            | {"asked": asked.get(re.sub(r"\.\d+", "", name), "")}
            for name, wrote in why.faults[:8]
        ]
        said, wanted = why.words
        about = {"kind": why.kind, "problem": why.problem, "faults": faults, "said": said, "asked": wanted}
        about |= {"plain": issubclass(kind, PlainText), "alone": alone}
        return self.prompts.render("again.md.j2", about).strip()

    def texts(self, kind: type[ReplyModel]) -> frozenset[str]:
        """Placeholders of texts in a reply's form, see `Form.texts`."""
        return self._of(kind).texts

    def unlike(self, reply: ReplyModel) -> tuple[Literal["short", "long"], int, str] | None:
        """Whether a reply is far too short or too long, its words, and the requested words."""
        asked = self._of(type(reply)).words
        said = sum(word_count(str(getattr(reply, name))) for name in asked)
        spans = list(asked.values())
        kind = off_length(said, spans)
        return (kind, said, _shown(total(spans))) if kind else None

    def meanings(self, kind: type[BaseModel]) -> dict[str, Meaning]:
        """The meaning of each field of a reply, or of a part of one.

        The file of the class itself overrides those of its base classes; a field without a line in a file has its
        description in code, if any.
        """
        meanings = {name: Meaning(meaning=each.description or "") for name, each in kind.model_fields.items()}
        for each in reversed(kind.__mro__):
            if words := self.prompts.words(f"replies/{key_of(each)}.yaml", Meanings):
                meanings |= {name: meaning for name, meaning in words.root.items() if name in meanings}
        return meanings

    def for_people(self, kind: type[ReplyModel]) -> dict[str, Any]:
        """A reply's JSON Schema for a person: without references, with titles and meanings, each text with a limit.

        `x-when` of a field names the values of another field with which it is asked for; `x-texts` says what each of its values
        stands for. A model gives its reasons first, a person after what they are for.
        """
        schema = kind.model_json_schema()
        return {"title": label(kind.__name__), **self._object(kind, schema, schema.get("$defs", {}))}

    def _object(self, kind: type[BaseModel], schema: Schema, defs: Schema) -> dict[str, Any]:
        meanings, properties, required = self.meanings(kind), dict[str, Any](), list[str]()
        for name, part in sorted(schema["properties"].items(), key=lambda each: each[0] in REASONS):
            value, optional = resolved(part, defs)
            if value.get("maxItems") == 0:
                continue
            inner = _model_in(kind.model_fields[name].annotation)
            words = f" About {_shown(_span(each))} words." if (each := meanings[name].words) else ""
            described = f"{meanings[name].people or meanings[name].meaning}{words}".strip()
            properties[name] = {
                "title": label(name),
                **({"description": described} if described else {}),
                **self._part(value, inner, defs),
                **({"default": part["default"]} if part.get("default") is not None else {}),
            }
            if when := getattr(kind, "asked_with", {}).get(name):
                properties[name]["x-when"] = when
            if texts := getattr(kind, "value_texts", {}).get(name):
                properties[name]["x-texts"] = [*texts]
            if name in schema.get("required", ()) and not optional:
                required.append(name)
        return {"type": "object", "properties": properties, "required": required}

    def _part(self, part: Schema, inner: type[BaseModel] | None, defs: Schema) -> dict[str, Any]:
        """A value without its title and references."""
        part, _ = resolved(part, defs)
        match part.get("type"):
            case "object" if inner:
                return self._object(inner, part, defs)
            case "array":
                limits = {key: part[key] for key in ("minItems", "maxItems") if key in part}
                return {"type": "array", **limits, "items": self._part(part["items"], inner, defs)}
            case "string" if "enum" not in part and "const" not in part:
                return {"maxLength": LONGEST_TEXT, **_bare(part)}
            case _:
                return _bare(part)

    def problems(self) -> Iterator[str]:
        """Files of words without a reply, and lines without a field."""
        fields = dict[str, set[str]]()  # of every reply that was imported, by the key of its files
        for kind in _kinds(ReplyModel):
            fields.setdefault(key_of(kind), set()).update(kind.model_fields)
        for name in self.prompts.names("replies/"):
            key, path = PurePosixPath(name).stem, self.prompts.find(name)
            words = self.prompts.words(name, Meanings) if key in fields else None
            if key not in fields:
                yield f"{path}: there is no reply {key}"
            elif words and (unknown := words.root.keys() - fields[key]):
                yield f"{path}: {key} has no field {', '.join(sorted(unknown))}, but {', '.join(fields[key])}"


def files_of_replies() -> list[str]:
    """The files with the code of these replies."""
    bases = {
        base.__module__ for kind in _kinds(ReplyModel) for base in kind.__mro__ if issubclass(base, BaseModel)
    }
    return sorted(filter(None, (getattr(sys.modules.get(name), "__file__", None) for name in bases)))


def _kinds(kind: type[ReplyModel]) -> Iterator[type[ReplyModel]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds(narrower)


@cache
def shipped_forms() -> Forms:
    """Those of the default search path."""
    return Forms(Prompts(Resources.of()))


def slots(kind: type[BaseModel]) -> dict[str, str]:
    """The placeholder of each field of a flat model in a form, with the field's own description."""
    forms, schema = shipped_forms(), kind.model_json_schema()
    defs: Schema = schema.get("$defs", {})
    return {
        name: "".join(_value(part, Meaning(meaning=part.get("description", "")), None, defs, forms, ""))
        for name, part in schema["properties"].items()
    }


def form(kind: type[ReplyModel]) -> str:
    """The part of a prompt with a reply's skeleton, for a role that is used outside a run.

    Example:
        >>> "advice" in reply_form(reply_type("Advice"))
        True
    """
    return shipped_forms().form(kind)


def brief(value: object) -> str | None:
    """A field's value, shortened; for a list its length."""
    if isinstance(value, Missing | list):
        return None if isinstance(value, Missing) else f"×{len(cast(list[Any], value))}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:79] + "…"


def total(spans: Iterable[Span]) -> Span:
    """Number of words in several fields together."""
    lows, highs = zip(*spans, strict=True) if (spans := [*spans]) else ((), ())
    return sum(lows), None if None in highs else sum(highs)


def off_length(said: int, spans: Iterable[Span]) -> Literal["short", "long"] | None:
    """Whether a number of words is far from the fields' requested total."""
    least, most = total(spans)
    return "short" if said < SHORT * least else "long" if most is not None and SHORT * said > most else None


def _bare(part: Schema) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in ("title", "description", "default")}


def _span(words: int | tuple[int, int]) -> Span:
    return (words, None) if isinstance(words, int) else words


def _shown(span: Span) -> str:
    least, most = span
    return f"{least}–{most}" if most else str(least)


def word_count(text: str) -> int:
    """Number of words; in scripts without spaces, two Chinese or Japanese letters count as one, or five of Thai, Lao, Burmese, Khmer."""
    rest, letters = re.subn(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]", " ", text)
    rest, signs = re.subn(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]", " ", rest)
    return len(rest.split()) + letters // 2 + signs // 5


# The skeleton.


def _object(schema: Schema, kind: type[BaseModel], defs: Schema, forms: Forms, indent: str) -> Iterator[str]:
    yield "{"
    meanings = forms.meanings(kind)
    last = len(schema["properties"]) - 1
    for at, (name, part) in enumerate(schema["properties"].items()):
        inner = _model_in(kind.model_fields[name].annotation)
        first, *rest = _value(part, meanings[name], inner, defs, forms, indent + "  ")
        lines = [f'{indent}  "{name}": {first}', *rest]
        yield from lines[:-1]
        yield lines[-1] + "," * (at < last)
    yield indent + "}"


def _value(
    part: Schema, field: Meaning, inner: type[BaseModel] | None, defs: Schema, forms: Forms, indent: str
) -> Iterator[str]:
    """The lines of a value; the first is not indented."""
    part, optional = resolved(part, defs)
    meaning = re.sub(r"\s+", " ", field.meaning).translate(PLAIN).strip()
    options = [part["const"]] if "const" in part else part.get("enum")
    match part.get("type"):
        case _ if options:
            yield json.dumps(options[0]) if len(options) == 1 else f'"{_slot(" | ".join(options), meaning)}"'
        case "object" if inner:
            yield from _object(part, inner, defs, forms, indent)
        case "array":
            least, most = part.get("minItems", 0), part.get("maxItems")
            count = f" ×{least}–{most}" if most else "" if least else " ×0+"
            count = f" ×{least}" if least == most else count
            *lines, last = _value(part["items"], field, inner, defs, forms, indent)
            lines.append(f"{last}, …{count}]")
            yield f"[{lines[0]}"
            yield from lines[1:]
        case "boolean":
            yield _slot("true | false", meaning)
        case "integer" | "number":
            low = part.get("minimum", part.get("exclusiveMinimum"))
            high = part.get("maximum", part.get("exclusiveMaximum"))
            yield _slot(_range(low, high, float if part["type"] == "number" else int), meaning)
        case _:
            asked = f"≈{_shown(_span(field.words))}: " if field.words else ""
            yield f'"<{asked}{meaning or "…"}>"' + " | null" * optional


def _range(low: float | None, high: float | None, number: type[int] | type[float]) -> str:
    """The range of a field's numbers: `1–10`, `0, 1, …`, `…, 4, 5` or `…, -1, 0, 1, …`; with a decimal point for fractions."""
    if low is not None and high is not None:
        return f"{number(low)}–{number(high)}" if low < high else f"{number(low)}"
    if low is not None:
        return f"{number(low)}, {number(low + 1)}, …"
    if high is not None:
        return f"…, {number(high - 1)}, {number(high)}"
    return ", ".join(("…", *(str(number(each)) for each in (-1, 0, 1)), "…"))


PLAIN = str.maketrans({'"': "'", "<": "‹", ">": "›", "|": "/", "\\": "/"})


def _slot(choice: str, meaning: str) -> str:
    return f"<{choice}: {meaning}>" if meaning else f"<{choice}>"


def resolved(part: Schema, defs: Schema) -> tuple[Schema, bool]:
    """The type of a schema, and whether it may be null."""
    if reference := part.get("$ref"):
        return defs[str(reference).rsplit("/", 1)[-1]], False
    options: list[Schema] = part.get("anyOf", [])
    values = [option for option in options if option.get("type") != "null"]
    return (resolved(values[0], defs)[0] if values else part), len(values) < len(options)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


# Reading a skeleton, for the offline model.


def shape_of(text: str) -> Schema | None:
    """The last skeleton of a text as a JSON Schema; None if there is none."""
    return _shape(shown[-1]) if (shown := FENCE.findall(text)) else None


@cache
def _shape(shown: tuple[str, str]) -> Schema:
    title, skeleton = shown
    return {**_schema(_loaded(skeleton)), "title": title}


def _loaded(skeleton: str) -> Any:
    text = re.sub(r'(?<!")<([^<>"]*)>', r'"#\1"', skeleton)
    text = re.sub(r", (…(?: ×[\d–+]+)?)\](?=,?$)", r', "\1"]', text, flags=re.MULTILINE)
    return json.loads(re.sub(r'>" \| null', r'>?"', text))


def _schema(value: Any) -> dict[str, Any]:
    match value:
        case dict():
            properties = {name: _schema(each) for name, each in cast(dict[str, Any], value).items()}
            return {"type": "object", "properties": properties}
        case [item, str(count)]:
            least, _, most = count.removeprefix("…").strip().removeprefix("×").partition("–")
            limits = {"minItems": int(least), "maxItems": int(most or least)} if least.isdigit() else {}
            limits = limits or {"minItems": 0 if least else 1}
            return {"type": "array", "items": _schema(item), **limits}
        case _:
            return _plain(str(value))


def _plain(text: str) -> dict[str, Any]:
    choice = text.lstrip("#<").rstrip(">?").partition(": ")[0]
    if choice == "true | false":
        return {"type": "boolean"}
    if text.startswith("#"):
        kind, read = ("number", float) if "." in choice else ("integer", int)
        limits = [*map(read, re.findall(r"-?\d+(?:\.\d+)?", choice.replace("–", " ")))]
        low, high = limits[0], limits[-1]
        return {"type": kind, "minimum": low} | ({} if choice.endswith("…") else {"maximum": high})
    if not text.startswith("<"):
        return {"const": text}
    if " | " in choice:
        return {"enum": choice.split(" | ")}
    asked = re.fullmatch(r"≈(\d+)(?:–(\d+))?", choice)
    length = {"words": (int(asked[1]), int(asked[2]) if asked[2] else None)} if asked else {}
    either = [{"type": "string"}, {"type": "null"}]
    return {"anyOf": either} if text.endswith(">?") else {"type": "string", **length}


def _placeholders(form: str) -> dict[str, str]:
    """The placeholder of each field in a form, by path; of an object the names of its fields."""
    path, shown = list[tuple[int, str]](), dict[str, str]()
    for line in form.splitlines():
        if found := re.fullmatch(r'( *)"(\w+)": (.*?),?', line):
            depth = len(found[1])
            path = [(deep, name) for deep, name in path if deep < depth] + [(depth, found[2])]
            shown[".".join(name for _, name in path)] = found[3]
        elif found := re.fullmatch(r"( +)\}(, ….*\])?,?", line):
            name = ".".join(name for deep, name in path if deep <= len(found[1]))
            inner = re.findall(rf"^{re.escape(name)}\.(\w+)$", "\n".join(shown), re.MULTILINE)
            fields = ", ".join(f'"{each}": …' for each in inner)
            shown[name] = f"[{{{fields}}}{found[2]}" if found[2] else f"{{{fields}}}"
    return shown
