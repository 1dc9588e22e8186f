"""The tool functions, host-neutral. Their texts for models are in `prompts/tools/`."""

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import Field, ValidationError, create_model

from manyheads.asking.forms import brief, shipped_forms, slots
from manyheads.asking.prompts import Prompts
from manyheads.base.errors import MOST, ConfigError, CorpusError, EmbeddingError, LiteratureError
from manyheads.base.papers import Literature, Paper, People, fold
from manyheads.config import RetrievalConfig, Strict
from manyheads.core import Tool
from manyheads.corpus.retrieval import Inspiration
from manyheads.literature.library import Library
from manyheads.literature.lookup import Findings
from manyheads.literature.references import inspirer
from manyheads.literature.source import Part


class ToolRefusedError(ValueError):
    """A refused tool call; its message tells the model why."""


class ToolWords(Strict):
    """The description of a tool for models."""

    description: str
    arguments: dict[str, str] = Field(default_factory=dict[str, str])
    """Descriptions of the arguments."""


class SearchArguments(Strict):
    query: str = Field(min_length=1)
    limit: int = Field(default=8, ge=1, le=20)


class PaperArguments(Strict):
    paper: str = Field(min_length=1)


class ReferencesArguments(Strict):
    paper: str = Field(min_length=1)
    limit: int = Field(default=20, ge=1, le=50)


class InspireArguments(Strict):
    background: str = Field(min_length=1)
    limit: int = Field(default=8, ge=1, le=20)


class FindArguments(Strict):
    interest: str
    limit: int = Field(default=5, ge=1, le=10)


class InviteArguments(Strict):
    name: str
    question: str


SEARCH, PAPER, REFERENCES = "search_papers", "get_paper", "get_references"
INSPIRE = "retrieve_inspirations"
FIND, INVITE = "find_scientists", "invite_scientist"
ARGUMENTS: Mapping[str, type[Strict]] = {
    SEARCH: SearchArguments,
    PAPER: PaperArguments,
    REFERENCES: ReferencesArguments,
    INSPIRE: InspireArguments,
    FIND: FindArguments,
    INVITE: InviteArguments,
}
"""The tools that the role cards of every system may list."""
LOOK_UPS = frozenset({SEARCH, PAPER, REFERENCES})
"""Tools that search the literature."""
NONE: Mapping[str, type[Strict]] = {}
SHOWN: frozenset[Part] = frozenset(("abstract", "venue", "citations", "date"))


def tool(
    name: str, prompts: Prompts, run: Callable[[Any], Awaitable[str]], arguments: type[Strict] | None = None
) -> Tool:
    """A tool with the description of its file.

    Args:
        arguments: of a tool of a system; those of `ARGUMENTS` when None.

    Raises:
        ConfigError: the file is not valid, or describes an unknown argument.
    """
    kind = arguments or ARGUMENTS[name]
    words = _words(name, prompts, kind)
    described = _described(kind, tuple(words.arguments.items()))

    def explain(error: ValidationError) -> str:
        """The faults of arguments, for the model."""
        asked = slots(described)
        faults = [
            {
                "name": (argument := str(item["loc"][0]) if item["loc"] else ""),
                "unknown": argument not in asked,
                "wrote": None if item["type"] == "missing" else brief(item["input"]),
                "asked": asked.get(argument, ""),
            }
            for item in error.errors(include_url=False, include_context=False)[:MOST]
        ]
        return prompts.render("tools/arguments.md.j2", {"faults": faults}).strip()

    return Tool(name, words.description, described, run, explain)


def _words(name: str, prompts: Prompts, arguments: type[Strict]) -> ToolWords:
    path, fields = f"tools/{name}.yaml", arguments.model_fields
    words = prompts.words(path, ToolWords) or ToolWords(description=name)
    if unknown := words.arguments.keys() - fields:
        raise ConfigError(
            f"{prompts.find(path)}: {name} has no argument {', '.join(sorted(unknown))}; it has {', '.join(fields)}",
            hint="remove the line, or correct its name",
        )
    return words


def problems(prompts: Prompts, own: Mapping[str, type[Strict]] = NONE) -> Iterator[str]:
    """The faults of tool descriptions, one per line.

    Args:
        own: arguments of the system's own tools; files of other systems' tools are not read.
    """
    known, shipped = {**ARGUMENTS, **own}, shipped_forms().prompts.names("tools/")
    for path in prompts.names("tools/"):
        name = PurePosixPath(path).stem
        if arguments := known.get(name):
            try:
                _words(name, prompts, arguments)
            except ConfigError as error:
                yield error.message
        elif path not in shipped:
            names = sorted({*known, *(PurePosixPath(each).stem for each in shipped)})
            yield f"{prompts.find(path)}: no such tool {name!r}; tools are {', '.join(names)}"


@cache
def _described(arguments: type[Strict], words: tuple[tuple[str, str], ...]) -> type[Strict]:
    fields: dict[str, Any] = {}
    for name, field in arguments.model_fields.items():
        line = Field(description=dict(words).get(name))
        default = ... if field.is_required() else field.default
        fields[name] = (Annotated[field.annotation, *field.metadata, line], default)
    return create_model(arguments.__name__, __base__=arguments, **fields)


def literature_tools(
    library: Library | None, listed: Collection[str] | None = None, prompts: Prompts | None = None
) -> tuple[Tool, ...]:
    """The tools of a library, if there is one, limited to those of a role card's list.

    Authors are hidden from models, as scientists of an ecosystem stay anonymous. A failed look-up says so, unlike one
    without hits.
    """
    if library is None:
        return ()
    prompts = prompts or shipped_forms().prompts

    async def answer(name: str, looked_up: Awaitable[Findings | Paper | None]) -> str:
        papers: Sequence[Paper] = ()
        degraded, failure = (), None
        try:
            match await looked_up:
                case Findings() as findings:
                    papers, degraded = findings.papers, findings.degraded
                case paper:
                    papers = [paper] if paper else []
        except LiteratureError as error:
            failure = error
        text = prompts.render(
            f"tools/{name}.md.j2", {"papers": papers, "degraded": degraded, "failure": failure}
        )
        if failure or (name == PAPER and not papers):
            raise ToolRefusedError(text.strip())
        return text.strip()

    async def search(arguments: SearchArguments) -> str:
        return await answer(SEARCH, library.search(arguments.query, arguments.limit, parts=SHOWN))

    async def paper(arguments: PaperArguments) -> str:
        return await answer(PAPER, library.paper(arguments.paper.strip()))

    async def references(arguments: ReferencesArguments) -> str:
        return await answer(REFERENCES, library.references(arguments.paper.strip(), arguments.limit))

    runs: dict[str, Callable[[Any], Awaitable[str]]] = {SEARCH: search, PAPER: paper, REFERENCES: references}
    return tuple(tool(name, prompts, run) for name, run in runs.items() if listed is None or name in listed)


def inspirations_tools(
    literature: Literature | None,
    listed: Collection[str] | None = None,
    prompts: Prompts | None = None,
    options: RetrievalConfig | None = None,
) -> tuple[Tool, ...]:
    """The tool of a corpus's literature database, if there is a corpus and the role card lists it (SciPIP, §3.2)."""
    asker = inspirer(literature, options or RetrievalConfig())
    if asker is None or (listed is not None and INSPIRE not in listed):
        return ()
    words = prompts or shipped_forms().prompts

    def told(found: Sequence[Inspiration], problem: str | None = None) -> str:
        papers = [(one.paper, one.channels) for one in found]
        return words.render(f"tools/{INSPIRE}.md.j2", {"found": papers, "problem": problem}).strip()

    async def run(arguments: InspireArguments) -> str:
        if not arguments.background.strip():
            raise ToolRefusedError(told((), "wordless"))
        try:
            return told((await asker.retrieve(arguments.background, arguments.limit)).papers)
        except (CorpusError, EmbeddingError) as error:
            raise ToolRefusedError(told((), "unreadable")) from error

    return (tool(INSPIRE, words, run),)


# Tools of the author knowledge bank: whom to ask, and asking them (VirSci 2025, §3.2, App. D.2.1).


def find_scientists_tool(
    literature: Literature, outside: Collection[str], prompts: Prompts | None = None
) -> Tool:
    """Look-up in the author knowledge bank, without the names in `outside`."""
    words = prompts or shipped_forms().prompts

    async def run(arguments: FindArguments) -> str:
        scientists = await literature.find_scientists(arguments.interest, arguments.limit, exclude=outside)
        return words.render(f"tools/{FIND}.md.j2", {"scientists": scientists}).strip()

    return tool(FIND, words, run)


def invite_scientist_tool(
    invite: Callable[[str, str], Awaitable[str]], prompts: Prompts | None = None
) -> Tool:
    """Ask an outside scientist, who answers once and does not join the team.

    Args:
        invite: puts a question to the scientist of this name; raises `ToolRefusedError` if it cannot, see `refused`.
    """

    async def run(arguments: InviteArguments) -> str:
        return await invite(arguments.name.strip(), arguments.question)

    return tool(INVITE, prompts or shipped_forms().prompts, run)


def scientist_named(name: str, literature: Literature) -> str:
    """The scientist whom a model names, such as `scientist 9` or `Scientist9 (robotics)`."""
    with suppress(CorpusError):  # mostly exactly; else each of a hundred thousand is looked at
        return literature.scientist(name.strip()).name
    names = {fold(each): each for each in People.of(literature.scientists).names}
    mentions = [name, *re.findall(r"[^\W\d_]+[\s_#-]*\d+", name)]
    return next((names[fold(each)] for each in mentions if fold(each) in names), name.strip())


def refused(problem: str, prompts: Prompts) -> ToolRefusedError:
    """The refusal of an invitation: `member`, `unknown`, `enough`, or `silent` for a guest without a valid answer."""
    return ToolRefusedError(prompts.render(f"tools/{INVITE}.md.j2", {"problem": problem}).strip())
