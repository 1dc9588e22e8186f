"""Prompt files: strict, sandboxed Jinja with limits on time and size.

Variables are data: they are never rendered again, and text from papers or models is fenced by the `quoted` filter
so that it cannot pass for the prompt's own words.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import yaml
from jinja2 import (
    BaseLoader,
    BytecodeCache,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
    meta,
    nodes,
)
from jinja2.bccache import Bucket
from jinja2.loaders import FunctionLoader
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, RootModel, ValidationError

from manyheads.disk import read_text
from manyheads.errors import ConfigError, describe
from manyheads.resources import Resources, packs, parse_yaml

M = TypeVar("M", bound=BaseModel)


def quoted(text: object, label: str) -> str:
    """Fence untrusted text between `<label>` lines; anything in it that looks like a closing fence is escaped."""
    body = re.sub(rf"<(\s*)/(?=\s*{re.escape(label)}\b)", r"‹\1/", str(text).strip(), flags=re.IGNORECASE)
    return f"<{label}>\n{body}\n</{label}>"


def for_reading(text: str) -> str:
    """A prompt for a person: fenced texts as block quotes of Markdown."""
    fence = re.compile(r"^<(\w+)>\n(.*?)\n</\1>$", re.DOTALL | re.MULTILINE)
    return fence.sub(lambda part: re.sub("^", "> ", part[2], flags=re.MULTILINE), text)


def one_line(text: object) -> str:
    return " ".join(str(text).split())


class Prompts:
    """The prompt files of a search path.

    Args:
        resources: the search path for `prompts/` folders.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def render(self, name: str, variables: Mapping[str, object]) -> str:
        """Render `prompts/<name>` with these variables.

        Raises:
            ConfigError: no such prompt, a syntax error, or a variable that the task does not provide.
        """
        try:
            text = "".join(_bounded(self._environment.get_template(name).generate(variables)))
        except UndefinedError as error:
            raise ConfigError(
                f"{self._where(name)}: {error.message}",
                tried=f"variables of this task: {', '.join(sorted(variables)) or 'none'}",
                hint="use one of these, or remove the line",
            ) from error
        except TemplateError as error:
            raise self._broken(name, error) from error
        except RecursionError as error:
            raise ConfigError(f"{self._where(name)}: includes or calls itself endlessly") from error
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
            MemoryError,
            AssertionError,
        ) as error:
            raise ConfigError(f"{self._where(name)}: cannot be rendered: {error}") from error
        whole = text.encode("utf-8", "replace").decode()  # servers reject lone surrogates
        return re.sub(r"\n{3,}", "\n\n", whole).strip() + "\n"

    def find(self, name: str) -> Path | None:
        """The winning file `prompts/<name>`, or None."""
        return self._resources.find("prompts", name)

    def names(self, folder: str) -> list[str]:
        """YAML files below a folder of `prompts/`, by name."""
        return sorted(self._resources.names("prompts", ".yaml", folder))

    def wording(self, model: object, *, names: Sequence[str] = ()) -> str:
        """A reply, or a part of a result, as shown to agents: rendered by its class's template, `spoken/<key>.md.j2`.

        A reply without a template uses its method `spoken`; a text is itself. Prompts call this as the filter `wording`.

        Args:
            model: the reply; its key is `key_of`.
            names: labels of its numbers, from 1 on, for readers who do not know them.
        """
        for kind in type(model).__mro__:
            if self.find(name := f"spoken/{key_of(kind)}.md.j2"):
                return self.render(name, {"one": model, "names": names}).strip()
        spoken = getattr(model, "spoken", None)
        return str(spoken() if callable(spoken) else model)

    def verb(self, reply: object) -> str:
        """What a reply does, for consoles and logs: the line of its class, or of a base, in `verbs.yaml`."""
        verbs = words.root if (words := self.words("verbs.yaml", RootModel[dict[str, str]])) else {}
        return next((verbs[key] for kind in type(reply).__mro__ if (key := key_of(kind)) in verbs), "says")

    def words(self, name: str, kind: type[M]) -> M | None:
        """The content of `prompts/<name>`, a YAML file, as a model; None if there is no such file.

        Raises:
            ConfigError: not YAML, or not of this model.
        """
        path = self.find(name)
        return path and _words(path, path.stat().st_mtime_ns, kind)

    def try_out(self, name: str, variables: Iterable[str]) -> None:
        """Render a prompt with sample variables. Raises `ConfigError` if that fails."""
        self.render(name, {variable: Sample(variable) for variable in variables})

    def needs(self, name: str) -> frozenset[str]:
        """The variables used by `prompts/<name>` and by everything that it includes or extends."""
        return frozenset[str]().union(*(variables for variables, _ in self._parts(name).values()))

    def defaults(self, name: str) -> frozenset[str]:
        """The optional variables of `prompts/<name>`: with a default, or tested with `is defined`."""
        return frozenset[str]().union(*(_defaults(self._source(part)) for part in self.parts(name)))

    def parts(self, name: str) -> frozenset[str]:
        """The files of `prompts/<name>`: itself, and everything that it includes or extends."""
        return frozenset(self._parts(name))

    def _parts(self, name: str) -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
        found: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
        pending = [name]
        while pending:
            current = pending.pop()
            try:
                found[current] = _reads(self._source(current))
            except TemplateSyntaxError as error:
                raise self._broken(current, error) from error
            pending += [part for part in found[current][1] if part not in found]
        return found

    @cached_property
    def _environment(self) -> ImmutableSandboxedEnvironment:
        environment = _environment(FunctionLoader(self._source))
        environment.filters["wording"] = self.wording
        return environment

    def _source(self, name: str) -> str:
        path = self._resources.need("prompts", name)
        try:
            with path.open(encoding="utf-8") as file:
                source = file.read(LARGEST + 1)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: not UTF-8 text: {error}", hint="save it as UTF-8") from error
        if problem := _endless(source):
            raise ConfigError(
                f"{path}: {problem}", hint="prompts are texts with a few loops over their variables"
            )
        return source

    def _where(self, name: str) -> str:
        return str(self.find(name) or f"prompts/{name}")

    def _broken(self, name: str, error: TemplateError) -> ConfigError:
        if isinstance(error, TemplateNotFound):
            return ConfigError(f"{self._where(name)}: includes {error.name}, which does not exist")
        line = f":{error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
        return ConfigError(
            f"{self._where(name)}{line}: {error.message}", hint="see the Jinja2 template syntax"
        )


@cache
def key_of(kind: type) -> str:
    """The file name of a class's wording: a reply's name as in role cards; other classes prefixed with their module."""
    name, module = kind.__name__, kind.__module__
    if module.startswith("manyheads.replies."):
        return name
    pack = next((pack for pack, package in packs().items() if module == f"{package}.replies"), None)
    return f"{pack or module.removeprefix('manyheads.')}.{name}"


@lru_cache(maxsize=256)
def _words(path: Path, changed: int, kind: type[M]) -> M:
    try:
        return kind.model_validate(parse_yaml(read_text(path)))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from error
    except ValidationError as error:
        raise ConfigError(f"{path}: {describe(error)}", hint="compare it with the shipped file") from error


def _bounded(pieces: Iterator[str]) -> Iterator[str]:
    """The pieces of a rendered prompt, within the limits."""
    size, late = 0, time.monotonic() + SECONDS
    for piece in pieces:
        size += len(piece)
        if size > LARGEST or time.monotonic() > late:
            limit = f"{LARGEST:,} characters" if size > LARGEST else f"{SECONDS:g} seconds"
            raise ValueError(f"it needs more than {limit}")
        yield piece


@lru_cache(maxsize=1)  # its two callers follow each other
def _parsed(source: str) -> nodes.Template:
    return _environment().parse(source)


@lru_cache(maxsize=1024)
def _endless(source: str) -> str | None:
    """Why a template might never end, or is no prompt; None if it is fine."""
    if len(source) > LARGEST:
        return f"longer than {LARGEST:,} characters"
    try:
        tree = _parsed(source)
    except RecursionError:
        return "nested too deep"
    except TemplateSyntaxError:
        return None  # reported with its line at rendering
    macros = list(tree.find_all(nodes.Macro))
    for at, macro in enumerate(macros):
        calls = {call.node.name for call in macro.find_all(nodes.Call) if isinstance(call.node, nodes.Name)}
        if again := calls & {later.name for later in macros[at:]}:
            return f"the macro {macro.name} calls {sorted(again)[0]}, which is not defined before it"
    if _loops(tree) > DEEPEST:
        return f"has more than {DEEPEST} loops within each other"
    return None


def _loops(node: nodes.Node) -> int:
    inner = max((_loops(child) for child in node.iter_child_nodes()), default=0)
    return inner + isinstance(node, nodes.For)


class _Compiled(BytecodeCache):
    """Cache of compiled templates, for further runs of this process; jinja checks the content."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code:
            self._kept[bucket.key, bucket.checksum] = bucket.code


_compiled = _Compiled()


PLAIN = frozenset({str, int, float, bool, type(None)})
LARGEST = 2_000_000
"""Maximum characters of a prompt, and of its file."""
SECONDS = 5.0
"""Limits of a prompt's rendering."""
DEEPEST = 4
"""Maximum depth of nested loops."""
BUILTIN = frozenset({str, bytes, list, tuple, dict, set, frozenset})
METHODS = frozenset(
    {
        "strip",
        "lower",
        "upper",
        "title",
        "capitalize",
        "split",
        "startswith",
        "endswith",
        "items",
        "keys",
        "values",
        "get",
    }
)
"""Allowed methods of texts, lists and mappings; others can make a gigabyte of a word."""
FILTERS = (
    "abs", "batch", "capitalize", "count", "default", "d", "dictsort", "e", "escape", "first", "float", "groupby", "int", "items", "join", "last",
    "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "round", "select", "selectattr", "slice", "sort",
    "string", "striptags", "sum", "title", "tojson", "trim", "truncate", "unique", "upper", "wordcount",
)  # fmt: skip
"""Allowed filters of Jinja: those that arrange and shorten; `indent`, `center`, `format` and others grow without limit."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """Skips jinja's checks, half of the rendering time, for attributes that are plain data."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if type(value) in PLAIN and not attr.startswith("_"):
            return True
        if type(obj) in BUILTIN and attr not in METHODS:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        plain = isinstance(left, str) and operator == "%" and not re.search(r"%[^sd%]", left)
        if operator == "**" or not (numbers or plain):
            raise TypeError(f"{operator} is for numbers alone")
        return super().call_binop(context, operator, left, right)


def _environment(loader: BaseLoader | None = None) -> ImmutableSandboxedEnvironment:
    environment = _Sandbox(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        bytecode_cache=_compiled,
    )
    filters: dict[str, Any] = environment.filters
    for name in filters.keys() - set(FILTERS):
        del filters[name]
    filters["quoted"] = quoted
    filters["line"] = one_line
    filters["wording"] = str
    environment.globals.clear()
    return environment


@lru_cache(maxsize=1024)
def _reads(source: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The variables that a template uses, and the templates that it names."""
    tree = _parsed(source)
    referenced = tuple(part for part in meta.find_referenced_templates(tree) if part)
    return frozenset(meta.find_undeclared_variables(tree)), referenced


class Sample(str):
    """Sample value for any variable: a text, a number, a list of two, an object, a function."""

    def __getattr__(self, name: str) -> "Sample":
        if name.startswith("__") or name in ("unsafe_callable", "alters_data"):
            raise AttributeError(name)
        return Sample(name)

    def __getitem__(self, key: object) -> "Sample":
        return Sample(key)

    def __iter__(self) -> Iterator["Sample"]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return iter((Sample("one"), Sample("two")))

    def __len__(self) -> int:
        return 2

    def __call__(self, *args: object, **kwargs: object) -> "Sample":
        return self

    def __int__(self) -> int:
        return 2

    def __float__(self) -> float:
        return 2.0

    __index__ = __int__

    def _same(self, other: object) -> "Sample":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __floordiv__ = __neg__ = _same  # pyright: ignore[reportAssignmentType]

    def _comes_first(self, other: object) -> bool:
        return True

    __lt__ = __le__ = __gt__ = __ge__ = _comes_first


@lru_cache(maxsize=1024)
def _defaults(source: str) -> frozenset[str]:
    tree = _environment().parse(source)
    guards = (
        *(each for each in tree.find_all(nodes.Filter) if each.name in ("default", "d")),
        *(each for each in tree.find_all(nodes.Test) if each.name in ("defined", "undefined")),
    )
    return frozenset(each.node.name for each in guards if isinstance(each.node, nodes.Name))
