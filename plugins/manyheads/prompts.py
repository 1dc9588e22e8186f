"""Strict, sandboxed Jinja rendering of the prompt files.

What is put into a prompt is data: it is never rendered again, and what comes from papers or models is fenced
by the `quoted` filter so that it cannot pass for the prompt's own words.
"""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

from jinja2 import (
    BaseLoader,
    BytecodeCache,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
    meta,
)
from jinja2.bccache import Bucket
from jinja2.loaders import FunctionLoader
from jinja2.sandbox import ImmutableSandboxedEnvironment

from manyheads.errors import ConfigError
from manyheads.resources import Resources


def quoted(text: object, label: str) -> str:
    """Fence untrusted text between `<label>` lines; whatever begins like a closing fence in the text is defused."""
    body = re.sub(rf"</(?=\s*{re.escape(label)}\b)", "< /", str(text).strip(), flags=re.IGNORECASE)
    return f"<{label}>\n{body}\n</{label}>"


class Prompts:
    """The prompt files of a search path.

    Args:
        resources: where `prompts/` folders are looked for.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def render(self, name: str, variables: Mapping[str, object]) -> str:
        """Render `prompts/<name>` with exactly these variables.

        Raises:
            ConfigError: no such prompt, a syntax error, or a variable that the task does not give.
        """
        try:
            text = self._environment.get_template(name).render(variables)
        except UndefinedError as error:
            raise ConfigError(
                f"{self._where(name)}: {error.message}",
                tried=f"variables of this task: {', '.join(sorted(variables)) or 'none'}",
                hint="use one of these, or take the line out",
            ) from error
        except TemplateError as error:
            raise self._broken(name, error) from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ConfigError(f"{self._where(name)}: cannot be rendered: {error}") from error
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def needs(self, name: str) -> frozenset[str]:
        """The variables that `prompts/<name>` and everything that it includes or extends read."""
        return frozenset[str]().union(*(variables for variables, _ in self._parts(name).values()))

    def parts(self, name: str) -> frozenset[str]:
        """The files that `prompts/<name>` is made of: itself, and everything that it includes or extends."""
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
        return _environment(FunctionLoader(self._source))

    def _source(self, name: str) -> str:
        path = self._resources.need("prompts", name)
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: not UTF-8 text: {error}", hint="save it as UTF-8") from error

    def _where(self, name: str) -> str:
        return str(self._resources.find("prompts", name) or f"prompts/{name}")

    def _broken(self, name: str, error: TemplateError) -> ConfigError:
        if isinstance(error, TemplateNotFound):
            return ConfigError(f"{self._where(name)}: includes {error.name}, which is not there")
        line = f":{error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
        return ConfigError(
            f"{self._where(name)}{line}: {error.message}", hint="see the Jinja2 template syntax"
        )


class _Compiled(BytecodeCache):
    """What was compiled in this process, so that a second run need not do it again; jinja checks the content."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if kept := self._kept.get(bucket.key):
            bucket.bytecode_from_string(kept)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


_compiled = _Compiled()


def _environment(loader: BaseLoader | None = None) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        bytecode_cache=_compiled,
    )
    filters: dict[str, Any] = environment.filters
    filters["quoted"] = quoted
    return environment


@lru_cache(maxsize=1024)
def _reads(source: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The variables that a template's text reads, and the templates that it names."""
    tree = _environment().parse(source)
    referenced = tuple(part for part in meta.find_referenced_templates(tree) if part)
    return frozenset(meta.find_undeclared_variables(tree)), referenced
