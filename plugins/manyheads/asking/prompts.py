"""Prompt files: strict Jinja, rendered in the sandbox of `asking/sandbox.py`.

Variables are data: they are never rendered again, and text from papers or models is fenced by the `quoted` filter
so that it cannot pass for the prompt's own words.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError, UndefinedError, meta, nodes
from jinja2.loaders import FunctionLoader
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, RootModel

from manyheads.asking import sandbox as rules
from manyheads.asking.sandbox import FAULTS, LARGEST, budget, sandbox
from manyheads.base.compiled import Compiled
from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources, packs, read_model

M = TypeVar("M", bound=BaseModel)
COMPILED = Compiled(str(rules.__file__))


def for_reading(text: str) -> str:
    """A prompt for a person: fenced texts as block quotes of Markdown."""
    fence = re.compile(r"^<(\w+)>\n(.*?)\n</\1>$", re.DOTALL | re.MULTILINE)
    return fence.sub(lambda part: re.sub("^", "> ", part[2], flags=re.MULTILINE), text)


class Prompts:
    """The prompt files of a search path, each as it is when it is first used."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._paths = dict[str, Path | None]()
        self._words = dict[tuple[str, type[BaseModel]], BaseModel | None]()

    def render(self, name: str, variables: Mapping[str, object]) -> str:
        """Render `prompts/<name>` with these variables; `ConfigError` for whatever is wrong with it."""
        try:
            with budget():
                text = self._environment.get_template(name).render(variables)
            if len(text) > LARGEST:
                raise ValueError(f"it has more than {LARGEST:,} characters")
        except UndefinedError as error:
            tried = f"variables of this task: {', '.join(sorted(variables)) or 'none'}"
            hint = "use one of these, or remove the line"
            raise ConfigError(f"{self._where(name)}: {error.message}", tried=tried, hint=hint) from error
        except TemplateError as error:
            raise self._broken(name, error) from error
        except RecursionError as error:
            raise ConfigError(f"{self._where(name)}: includes or calls itself endlessly") from error
        except FAULTS as error:
            raise ConfigError(f"{self._where(name)}: cannot be rendered: {error}") from error
        whole = text.encode("utf-8", "replace").decode()  # servers reject lone surrogates
        spaced = re.sub(r"\n{3,}", "\n\n", whole) if "\n\n\n" in whole else whole
        return spaced.strip() + "\n"

    def find(self, name: str) -> Path | None:
        """The winning file `prompts/<name>`, or None."""
        if name not in self._paths:
            self._paths[name] = self._resources.find("prompts", name)
        return self._paths[name]

    def names(self, folder: str) -> list[str]:
        """YAML files below a folder of `prompts/`, by name."""
        return sorted(self._resources.names("prompts", ".yaml", folder))

    def wording(self, model: object, *, names: Sequence[str] = ()) -> str:
        """A reply, or a part of a result, as shown to agents: rendered by its class's template, `spoken/<key>.md.j2`.

        A reply without a template uses its method `spoken`; a text is itself. Prompts call this as the filter `wording`.

        Args:
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
        """The content of `prompts/<name>`, a YAML file, as a model; None if there is no such file."""
        if (name, kind) not in self._words:
            path = self.find(name)
            self._words[name, kind] = path and _words(path, path.stat().st_mtime_ns, kind)
        return cast("M | None", self._words[name, kind])

    def needs(self, name: str) -> frozenset[str]:
        """The variables used by `prompts/<name>` and by everything that it includes or extends."""
        return frozenset[str]().union(*(part.variables for part in self._parts(name).values()))

    def defaults(self, name: str) -> frozenset[str]:
        """The optional variables of `prompts/<name>`: with a default, or tested with `is defined`."""
        return frozenset[str]().union(*(part.optional for part in self._parts(name).values()))

    def parts(self, name: str) -> frozenset[str]:
        """The files of `prompts/<name>`: itself, and everything that it includes or extends."""
        return frozenset(self._parts(name))

    def _parts(self, name: str) -> dict[str, "_Reads"]:
        found, pending = dict[str, _Reads](), [name]
        while pending:
            current = pending.pop()
            try:
                found[current] = _reads(self._source(current))
            except TemplateSyntaxError as error:
                raise self._broken(current, error) from error
            except RecursionError as error:
                raise ConfigError(f"{self._where(current)}: nested too deep") from error
            pending += [part for part in found[current].parts if part not in found]
        return found

    @cached_property
    def _environment(self) -> ImmutableSandboxedEnvironment:
        environment = sandbox(FunctionLoader(self._source))
        environment.bytecode_cache = COMPILED
        environment.filters["wording"] = self.wording
        return environment

    def _source(self, name: str) -> str:
        path = self._resources.need("prompts", name)
        try:
            with path.open(encoding="utf-8") as file:
                source = file.read(LARGEST + 1)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: not UTF-8 text: {error}", hint="save it as UTF-8") from error
        if len(source) > LARGEST:
            raise ConfigError(f"{path}: longer than {LARGEST:,} characters", hint="prompts are short texts")
        return source

    def _where(self, name: str) -> str:
        return str(self.find(name) or f"prompts/{name}")

    def _broken(self, name: str, error: TemplateError) -> ConfigError:
        if isinstance(error, TemplateNotFound):
            return ConfigError(f"{self._where(name)}: includes {error.name}, which does not exist")
        line = f":{error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
        what = f"{self._where(name)}{line}: {error.message}"
        return ConfigError(what, hint="see the Jinja2 template syntax")


@cache
def key_of(kind: type) -> str:
    """The file name of a class's wording: a reply's name as in role cards; other classes prefixed with their module."""
    name, module = kind.__name__, kind.__module__
    if module.startswith("manyheads.") and "replies" in module.split("."):
        return name
    pack = next((pack for pack, package in packs().items() if module == f"{package}.replies"), None)
    return f"{pack or module.removeprefix('manyheads.')}.{name}"


@lru_cache(maxsize=256)
def _words(path: Path, changed: int, kind: type[M]) -> M:
    return read_model(path, kind, "compare it with the shipped file")


class _Reads(NamedTuple):
    """What a template reads: its variables, those of them that are optional, and the templates that it names."""

    variables: frozenset[str]
    optional: frozenset[str]
    parts: tuple[str, ...]


@lru_cache(maxsize=1024)
def _reads(source: str) -> _Reads:
    tree = sandbox().parse(source)
    guards = (
        *(each for each in tree.find_all(nodes.Filter) if each.name in ("default", "d")),
        *(each for each in tree.find_all(nodes.Test) if each.name in ("defined", "undefined")),
    )
    return _Reads(
        frozenset(meta.find_undeclared_variables(tree)),
        frozenset(each.node.name for each in guards if isinstance(each.node, nodes.Name)),
        tuple(part for part in meta.find_referenced_templates(tree) if part),
    )
