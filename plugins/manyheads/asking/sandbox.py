"""The sandbox of prompts: Jinja that reaches no Python, with one budget of time and size for each rendering."""

import re
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from jinja2 import BaseLoader, StrictUndefined, TemplateSyntaxError, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer
from pydantic import BaseModel

from manyheads.base.text import plain

T = TypeVar("T")
FAULTS = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError, AssertionError, SyntaxError,
)  # fmt: skip
"""Of templates; `SyntaxError` of the Python that Jinja makes: more than twenty loops within each other."""


def quoted(text: object, label: str) -> str:
    """Fence untrusted text between `<label>` lines; anything in it that looks like a closing fence is escaped."""
    if len(label) > 100:
        raise ValueError(f"a label of {len(label):,} characters")
    body = str(text).strip()
    if "<" in body:
        body = re.sub(rf"<(\s*)/(?=\s*{re.escape(label)}\b)", r"‹\1/", body, flags=re.IGNORECASE)
    return f"<{label}>\n{body}\n</{label}>"


LARGEST = 2_000_000
"""Maximum characters of a prompt, and of its file."""
SECONDS, WORK, ROUND = 5.0, 20_000_000, 100
"""What a rendering may take: time; characters on the way to its text; and what a round of a loop, or an item, counts as."""


_left: ContextVar[list[float]] = ContextVar("left")
"""What is left for a rendering, and its end: each round, call and filter costs, and what is made by its size."""


@contextmanager
def budget() -> Generator[None]:
    """Also of the renderings within a rendering."""
    before = _left.set(_left.get([]) or [WORK, time.monotonic() + SECONDS])
    try:
        yield
    finally:
        _left.reset(before)


def _spend(amount: int) -> None:
    if left := _left.get(None):
        left[0] -= amount
        if left[0] < 0 or time.monotonic() > left[1]:
            raise ValueError(f"it needs more than {WORK:,} steps and characters, or {SECONDS:g} seconds")


def _counted(value: T) -> T:
    """The value, paid for: the characters of a text, all that a collection holds, however often it holds it."""
    if type(value) is str:  # as most are
        _spend(ROUND + len(value))
        return value
    size, waiting = 0, [value]
    while waiting and size <= WORK:
        size += ROUND
        match waiting.pop():
            case str() | bytes() as text:
                size += len(text)
            case list() | tuple() | set() | frozenset() | dict() as items:
                waiting += [*items, *(items.values() if isinstance(items, dict) else ())]
            case _:
                pass
    _spend(size)
    return value


@pass_context  # so that jinja does not compute it once, when it compiles the template
def _paid(context: Context, amount: int) -> str:
    _spend(amount)
    return ""


def _is_short(node: nodes.Filter) -> bool:
    given = [*node.args, *(each.value for each in node.kwargs)]
    fixed = [each.value for each in given if isinstance(each, nodes.Const)]
    dynamic = len(fixed) < len(given) or node.dyn_args or node.dyn_kwargs
    return not dynamic and all((each if isinstance(each, int) else len(str(each))) <= SHORT for each in fixed)


class _Metered(NodeTransformer):
    """Makes all that a template does be paid: each round of a loop, call of a macro and template for its fixed text, before it
    begins; each part of a text, each collection and what each filter makes for its size."""

    def visit(self, node: nodes.Node, *values: Any, **more: Any) -> Any:
        def paid(part: nodes.Expr, name: str = COUNTED) -> nodes.Filter:
            return nodes.Filter(part, name, [], [], None, None, lineno=node.lineno)

        self.generic_visit(node)
        match node:
            case nodes.For() | nodes.Macro() | nodes.CallBlock() | nodes.Block() | nodes.Template():
                cost = ROUND + sum(len(fixed.data) for fixed in node.find_all(nodes.TemplateData))
                node.body.insert(0, nodes.Output([paid(nodes.Const(cost), SPENT)], lineno=node.lineno))
            case nodes.Concat():
                node.nodes = [paid(part) for part in node.nodes]
            case nodes.Filter() if node.name in MULTIPLYING and not _is_short(node):
                what = f"{node.name}: give it texts and numbers up to {SHORT}"
                raise TemplateSyntaxError(what, node.lineno)
            case nodes.List() | nodes.Tuple(ctx="load") | nodes.Dict() | nodes.Filter():
                return paid(node)
            case _:
                pass
        return node


SPENT, COUNTED = "spent()", "counted()"
"""Filters of `_Metered`, by names that no prompt can write."""
PLAIN = frozenset({str, int, float, bool, type(None)})
BUILTIN = (str, bytes, int, float, list, tuple, dict, set, frozenset, BaseModel)
METHODS = frozenset(
    ("strip", "lower", "upper", "title", "capitalize", "split", "startswith", "endswith", "items", "keys", "values", "get")
)  # fmt: skip
"""Allowed methods of texts, numbers, collections and models; others can make a gigabyte of a word."""
FILTERS = (
    "abs", "batch", "capitalize", "count", "default", "d", "dictsort", "e", "escape", "first", "float", "groupby", "int", "items", "join", "last",
    "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "round", "select", "selectattr", "slice", "sort",
    "string", "striptags", "sum", "title", "tojson", "trim", "truncate", "unique", "upper", "wordcount",
)  # fmt: skip
"""Allowed filters of Jinja: those that arrange and shorten; `indent`, `center`, `format` and others grow without limit."""
MULTIPLYING, SHORT = frozenset(("batch", "join", "map", "replace", "round", "slice", "tojson")), 30
"""Filters whose result grows with their arguments, and the maximum length, or number, of these."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with a budget; it skips jinja's checks, half of the rendering time, for attributes that are plain data."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.verdicts = dict[tuple[type, str], bool]()
        """Jinja's own, which depend on nothing else."""

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = _Metered().visit(super()._parse(source, name, filename))
        return tree.set_environment(self)  # pyright: ignore[reportReturnType]

    def call(self, context: Context, called: Any, /, *values: Any, **more: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        _spend(1)
        return super().call(context, called, *values, **more)

    def getattr(self, obj: Any, attribute: str) -> Any:
        try:
            value = getattr(obj, attribute)
        except AttributeError:
            return super().getattr(obj, attribute)
        if type(value) in PLAIN and not attribute.startswith("_"):
            return value
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if type(value) in PLAIN and not attr.startswith("_"):
            return True
        method = callable(value) and not isinstance(value, Sample) and attr not in METHODS
        if method and any(isinstance(obj, kind) and hasattr(kind, attr) for kind in BUILTIN):
            return False
        if (type(obj), attr) not in self.verdicts:
            self.verdicts[type(obj), attr] = super().is_safe_attribute(obj, attr, value)
        return self.verdicts[type(obj), attr]

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        formatted = isinstance(left, str) and operator == "%" and not re.search(r"%[^sd%]", left)
        if operator == "**" or not (numbers or formatted or operator == "+"):
            raise TypeError(f"{operator} is for numbers alone")
        if numbers and not all(abs(float(each)) <= 2**63 for each in (left, right)):
            raise ValueError("a number has more than 64 bits")
        return _counted(super().call_binop(context, operator, left, right))


def sandbox(loader: BaseLoader | None = None) -> ImmutableSandboxedEnvironment:
    environment = _Sandbox(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, finalize=_counted,
    )  # fmt: skip
    filters: dict[str, Any] = environment.filters
    for name in filters.keys() - set(FILTERS):
        del filters[name]
    filters |= {"quoted": quoted, "line": plain, "wording": str, COUNTED: _counted, SPENT: _paid}
    environment.globals.clear()
    return environment


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

    def __float__(self) -> float:
        return 2.0

    def __lt__(self, other: object) -> bool:
        return True

    __int__ = __index__ = __len__
    __le__ = __gt__ = __ge__ = __lt__
    __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __floordiv__ = __neg__ = __call__  # pyright: ignore[reportAssignmentType]
