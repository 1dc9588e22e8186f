"""What pages are made of: templates filled in, Markdown of strangers made safe, forms from JSON Schemas."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Literal, cast

import nh3
import yaml
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse

from manyheads.asking.questions import bounds
from manyheads.asking.replies import label
from manyheads.base.errors import ConfigError
from manyheads.base.resources import parse_yaml
from manyheads.base.text import printable
from manyheads.config import ModelConfig
from manyheads.report import page as reports
from manyheads.web.security import Visitor

TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h2", "h3", "h4", "hr", "li", "ol", "p", "pre", "s", "strong", "table", "tbody",
    "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
LONGEST = 8_000
"""Characters of a text that a page shows at once."""
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def render(request: Request, template: str, status: int = 200, **variables: Any) -> HTMLResponse:
    """A page from `templates/`; it may use `visitor`, `csrf`, `path`, `markdown`, `inline`, and the filters of reports."""
    return HTMLResponse(html(request, template, **variables), status)


def html(request: Request, template: str, **variables: Any) -> str:
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    token = visitor.form_token if visitor else ""
    field = Markup('<input type="hidden" name="csrf" value="{}">').format(token)
    shown = {
        "visitor": visitor, "csrf": field, "path": request.url.path, "markdown": markdown, "inline": inline,
        "for_browser": for_browser,
    } | variables  # fmt: skip
    return reports.render("manyheads.web", f"templates/{template}", shown)


@lru_cache(maxsize=1_000)
def markdown(text: str, most: int = LONGEST, heading: str = "h3") -> Markup:
    """Markdown of a stranger as HTML: no tags of its own, no images, no scripts, only web links, headings of one level."""
    cut = printable(text[:most])
    tokens = _MARKDOWN.parse(cut)
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = heading
    body = nh3.clean(
        _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}), tags=TAGS, attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        set_tag_attribute_values={"table": {"tabindex": "0"}, "pre": {"tabindex": "0"}}, link_rel="noopener noreferrer nofollow",
    )  # fmt: skip
    return Markup(body)


def inline(text: str) -> Markup:
    """Markdown of a single line, such as a field's help."""
    return Markup(nh3.clean(_MARKDOWN.renderInline(printable(text)), tags={"code", "em", "strong"}))


_TO_BROWSER = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"run it on a terminal or with --control, or in Python with person=….*", "untick all stages"),
        (r"manyheads keys set (\w+), export \1=…", r"store it in a terminal (manyheads keys set \1)"),
        (r"export (\w+)=\S*", r"set \1 where the server was started, and start it again"),
        (r"manyheads resume (\S+|'[^']+')( --[a-z-]+)*", "resume the run"),
        (r"--set '([\w.<>-]+)=([^']+)'", r"set “\1” to \2"),
        (r"(?:--set|-s) ([\w.<>-]+)=([^;:,' ]+)", r"set “\1” to \2"),
        (r"models\.default\.base_url", "“Address of the server”"),
        (r"--out\b", "name"),
        (r" \([^()]*--(path|set)\)", ""),
        (r"(?<!install )--([a-z]+)(?![\w-])", r"the field “\1”:"),
    )
)
"""What errors say to a reader of the command line, and to one of a page."""


def for_browser(text: str) -> str:
    """An error, or what to do about it, without options of the command line."""
    for pattern, words in _TO_BROWSER:
        text = pattern.sub(words, text)
    return text


Kind = Literal["choice", "model", "radio", "ticks", "yes", "number", "text", "long", "lines", "yaml"]
Schema = Mapping[str, Any]
LONG = 120
"""Texts that may be longer than this get a field of several lines."""


@dataclass(frozen=True)
class Field:
    """A field of a form.

    Attributes:
        path: of its key, such as `team`, `size`.
        optional: whether it may be left empty, which means null.
        values: to choose from, each with its meaning in `texts`, if they have any.
        bounds: in words.
        numbers: whether it is a list of numbers, which may also be written as `1, 2`.
        when: the values of another field with which it is asked for, by its name.
        example: what one may type.
        unit: of a number in the form, as a multiple of that in the config.
        other: whether a value beside those to choose from may be typed.
    """

    path: tuple[str, ...]
    title: str
    help: str = ""
    kind: Kind = "text"
    values: tuple[Any, ...] = ()
    optional: bool = False
    bounds: str = ""
    numbers: bool = False
    texts: tuple[str, ...] = ()
    when: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    example: str = ""
    unit: int = 1
    other: bool = False

    @property
    def choices(self) -> dict[str, str]:
        return dict(zip_longest(map(self.text, self.values), self.texts, fillvalue=""))

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def text(self, value: Any) -> str:
        """A value as the field shows it."""
        match value:
            case None:
                return ""
            case bool() if self.kind in ("choice", "yes"):
                return "yes" if value else "no" if self.kind == "choice" else ""
            case {"provider": provider, "name": name}:
                return f"{provider}/{name}"
            case int() | float() if self.unit > 1:
                return f"{value / self.unit:g}"
            case list() | tuple() if self.kind in ("lines", "ticks"):
                return "\n".join(map(str, cast(Sequence[Any], value)))
            case _ if self.kind == "yaml":
                text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=None)
                return "" if value in ({}, []) else text.strip().removesuffix("...").strip()
            case _:
                return str(value)

    def value(self, text: str) -> Any:
        """The value of a text from the field; a text that cannot be read stays, for the validation to refuse.

        Raises:
            ValueError: it is not YAML where YAML is needed.
        """
        if self.kind == "yes":
            return bool(text)
        if self.kind == "lines":
            return [line.strip() for line in text.split("\n") if line.strip()]
        if self.kind == "ticks":
            known = {str(each): each for each in self.values}
            return [known.get(each, each) for each in text.split()]
        if not text.strip() and (self.optional or self.kind in ("number", "yaml", "radio")):
            return None
        match self.kind:
            case "choice" | "radio":
                return next((each for each in self.values if self.text(each) == text.strip()), text.strip())
            case "model":
                try:
                    return ModelConfig.parse(text.strip()).model_dump(include={"provider", "name"})
                except ConfigError as error:
                    raise ValueError(f"{error.message}; {error.hint}") from error
            case "number":
                number = _number(text.strip())
                return number if isinstance(number, str) or self.unit == 1 else number * self.unit
            case "yaml":
                try:
                    data = parse_yaml(text)
                    return data if isinstance(data, list) or not self.numbers else parse_yaml(f"[{text}]")
                except yaml.YAMLError as error:
                    raise ValueError(f"not valid YAML: {getattr(error, 'problem', None) or error}") from error
            case "text":
                return text.strip()
            case _:
                return text


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def fields(schema: Schema, parts: Mapping[str, Schema], path: tuple[str, ...] = ()) -> Iterator[Field]:
    """The fields of an object, those of its sections too.

    Args:
        parts: the schemas that references name.
    """
    for key, node in cast(Mapping[str, Schema], schema.get("properties", {})).items():
        options = _options(node, parts)
        inner = next((each for each in options if "properties" in each), None)
        if inner is not None:
            yield from fields(inner, parts, (*path, key))
        elif "const" not in node:
            yield _field((*path, key), node, options)


def _options(node: Schema, parts: Mapping[str, Schema]) -> list[Schema]:
    """The schemas of which a value fits one, without references."""
    if "$ref" in node:
        return _options(parts[str(node["$ref"]).rpartition("/")[2]], parts)
    if "anyOf" in node:
        return [each for option in node["anyOf"] for each in _options(option, parts)]
    return [node]


def _field(path: tuple[str, ...], node: Schema, options: Sequence[Schema]) -> Field:
    kinds = {str(each.get("type", "")) for each in options}
    optional, kinds = "null" in kinds, kinds - {"null"}
    first = next((each for each in options if each.get("type") != "null"), {})
    kind: Kind
    values: tuple[Any, ...] = ()
    if len(options) - optional == 1 and "enum" in first:
        kind, values = "radio" if "x-texts" in node else "choice", tuple(first["enum"])
    elif "x-texts" in node:
        kind, values = "ticks", tuple(range(1, len(node["x-texts"]) + 1))
    elif kinds == {"boolean"}:
        kind, values = ("choice", (True, False)) if optional else ("yes", ())
    elif kinds and kinds <= {"integer", "number"}:
        kind = "number"
    elif kinds == {"string"}:
        kind = "long" if max(int(each.get("maxLength", 0)) for each in options) > LONG else "text"
    elif "array" in kinds and kinds <= {"array", "string"} and _of_texts(options):
        kind = "lines"
    else:
        kind = "yaml"
    limits = [bounds(first)] if kind == "number" else ["one per line"] if kind == "lines" else []
    if kind == "ticks" and "maxItems" in first:
        limits = [f"at most {first['maxItems']}"]
    about = " ".join(str(node.get("description", "")).split())
    item = first.get("items", {})
    if kind == "yaml" and "properties" in item:
        entry = ", ".join(f"{name}: …" for name in item["properties"])
        about += f" One entry on each line: `- {{{entry}}}`"
    title = str(node.get("title") or path[-1])
    usual = title.replace(" ", "").casefold() == path[-1].replace("_", "").casefold()
    return Field(
        path, label(path[-1]) if usual else title, about.strip(), kind,
        values, optional, ", ".join(limits), item.get("type") in ("integer", "number"), tuple(node.get("x-texts", ())),
        node.get("x-when", {}), next(iter(node.get("examples", ())), ""),
    )  # fmt: skip


def _of_texts(options: Sequence[Schema]) -> bool:
    arrays = [each for each in options if each.get("type") == "array"]
    return all(each.get("items", {}).get("type") == "string" for each in arrays)


def stages_of(stages: Mapping[str, str]) -> Field:
    """The stages after which a person may steer, to be ticked."""
    return Field(("steer",), "Ask me after", "", "ticks", (*stages,), texts=(*stages.values(),))


def typed(form: FormData, name: str) -> str | None:
    """The text of a field as it was typed: browsers send line ends as CRLF; what is ticked is in lines. None if the form has no
    such field."""
    texts = form.getlist(f"other:{name}") if form.get(f"other:{name}") else form.getlist(name)
    lines = [text for text in texts if isinstance(text, str)]
    return "\n".join(lines).replace("\r\n", "\n") if lines else None


def at(data: Any, path: Sequence[str]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def nested(path: Sequence[str], value: Any) -> dict[str, Any]:
    for key in reversed(path):
        value = {key: value}
    return cast(dict[str, Any], value)


Value = str | float | None


def words(value: Value) -> str:
    """A value as tables show it; empty for None."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}".rstrip("0").rstrip(".")
