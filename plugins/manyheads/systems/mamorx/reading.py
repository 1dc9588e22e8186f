"""The tools with which agents read and search the paper and the findings about it."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from manyheads.core import Tool
from manyheads.documents import Figure
from manyheads.systems.mamorx.paper import Chapter, MamorxRun, ranked
from manyheads.systems.mamorx.result import CitedWork, FigureNote
from manyheads.team.tools import (
    FIND_CITED,
    FIND_PASSAGES,
    LOOK,
    READ,
    READ_TABLE,
    CitedArguments,
    NameArguments,
    PassageArguments,
    SectionArguments,
    ToolRefusedError,
    literature_tools,
    tool,
)

PART = 12_000
"""Maximum letters of a section per call; longer ones come in parts."""


def reading_tools(run: MamorxRun, listed: Collection[str]) -> tuple[Tool, ...]:
    """The tools of a role card for the paper and the literature; those with nothing to read are left out."""
    paper, prompts = run.material, run.roles.prompts

    def answer(name: str, *, refuse: bool = False, **variables: object) -> str:
        text = prompts.render(f"tools/{name}.md.j2", variables).strip()
        if refuse:
            raise ToolRefusedError(text)
        return text

    async def read(arguments: SectionArguments) -> str:
        chapter = paper.chapter(arguments.name)
        texts = [*parts(chapter.text)] if chapter else []
        missing = not chapter or arguments.part > len(texts)
        return answer(
            READ, refuse=missing, chapter=chapter, part=arguments.part, parts=texts,
            names=[one.name for one in paper.chapters],
        )  # fmt: skip

    async def passages(arguments: PassageArguments) -> str:
        return answer(FIND_PASSAGES, passages=paper.search(arguments.words, arguments.limit))

    async def table(arguments: NameArguments) -> str:
        found = paper.table(arguments.name)
        names = [f"Table {one.number}" for one in paper.document.tables]
        return answer(READ_TABLE, refuse=not found, table=found, names=names)

    async def figure(arguments: NameArguments) -> str:
        found = figure_note(run, arguments.name)
        names = [f"Figure {one.number}" for one in paper.document.figures]
        return answer(LOOK, refuse=not found, figure=found, names=names)

    async def cited(arguments: CitedArguments) -> str:
        works = search_cited(run.result.references, arguments.words, arguments.limit)
        citing = {
            one.name: [each.name for each in run.result.references if one.name in each.cites] for one in works
        }
        return answer(FIND_CITED, works=works, citing=citing, count=len(run.result.references))

    runs: dict[str, tuple[Callable[[Any], Awaitable[str]], object]] = {
        READ: (read, paper.chapters),
        FIND_PASSAGES: (passages, paper.chapters),
        READ_TABLE: (table, paper.document.tables),
        LOOK: (figure, paper.document.figures),
        FIND_CITED: (cited, run.result.references),
    }
    offered = ((name, call) for name, (call, there) in runs.items() if there and name in listed)
    own = (replace(tool(name, prompts, call), material=True) for name, call in offered)
    return (*own, *literature_tools(run.library, listed, prompts))


def parts(text: str) -> Iterator[str]:
    """A text in parts, which end with a paragraph where possible."""
    part = ""
    for paragraph in text.splitlines():
        if part and len(part) + len(paragraph) > PART:
            yield part
            part = ""
        part = f"{part}\n{paragraph}".strip("\n")
        while len(part) > PART:
            yield part[:PART]
            part = part[PART:]
    if part or not text:
        yield part


def figure_note(run: MamorxRun, name: str) -> FigureNote | None:
    """The critic's note of a figure, or else its caption."""
    if not (figure := run.material.figure(name)):
        return None
    own = note_of(figure)
    return next((each for each in run.result.figures if each.name == own.name), own)


def note_of(figure: Figure) -> FigureNote:
    """The note of a figure with only its caption and page."""
    return FigureNote(name=f"Figure {figure.number}", caption=figure.caption, page=figure.page or None)


def search_cited(works: Sequence[CitedWork], words: str, limit: int) -> list[CitedWork]:
    """Cited works, by words of their titles, abstracts and passages or by name, such as `[12]`."""
    named = [work for work in works if work.name in words]
    texts = [f"{work.found or work.title} {work.text} {work.abstract} {work.passage}" for work in works]
    found = [works[at] for at in ranked(texts, words, limit)]
    return [*named, *(work for work in found if work not in named)][:limit]


def fitting(chapters: Sequence[Chapter], letters: int) -> tuple[list[Chapter], list[Chapter]]:
    """The sections that fit into a number of letters, and the others; the first is cut if it does not fit."""
    shown, left = list[Chapter](), list[Chapter]()
    for chapter in chapters:
        if fits := len(chapter.text) <= letters:
            letters -= len(chapter.text)
        (shown if fits else left).append(chapter)
    if left and not shown:
        shown.append(replace(left.pop(0), text=chapters[0].text[:letters], cut=True))
    return shown, left
