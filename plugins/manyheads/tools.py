"""The tool functions, host-neutral. Their descriptions are written for the model that reads them."""

from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager

from pydantic import Field

from manyheads.config import Strict
from manyheads.core import Tool
from manyheads.errors import LiteratureError
from manyheads.literature.library import Library
from manyheads.literature.lookup import Findings
from manyheads.literature.source import Part
from manyheads.papers import Literature, Paper
from manyheads.prompts import quoted


class ToolRefusedError(ValueError):
    """A tool call that cannot be met; its message tells the model why."""


# Tools over the literature: search it, read one paper's record, follow its references.
#
# Authors are left out of what a model sees: scientists of an ecosystem stay masked whatever is looked up.

SEARCH, PAPER, REFERENCES = "search_papers", "get_paper", "get_references"
SHOWN: frozenset[Part] = frozenset(("abstract", "venue", "citations", "date"))
MOST_LETTERS = 1200
"""Of an abstract in a list; `get_paper` shows it whole."""


class SearchArguments(Strict):
    query: str = Field(
        min_length=1,
        description="Two to eight plain keywords, such as 'retrieval augmented dialogue safety'. No operators.",
    )
    limit: int = Field(default=8, ge=1, le=20, description="How many papers to list.")


class PaperArguments(Strict):
    paper: str = Field(
        min_length=1, description="The id as listed, a DOI, an arXiv number, or the exact title."
    )


class ReferencesArguments(Strict):
    paper: str = Field(min_length=1, description="The id of the citing paper as listed, or its DOI.")
    limit: int = Field(default=20, ge=1, le=50, description="How many of its references to list.")


def literature_tools(library: Library | None, listed: Collection[str] | None = None) -> tuple[Tool, ...]:
    """The tools over a library, if there is one; only those that a role card lists, where its list is given."""
    if library is None:
        return ()

    async def search(arguments: SearchArguments) -> str:
        with _failures_told():
            findings = await library.search(arguments.query, arguments.limit, parts=SHOWN)
        return _list(findings, "No paper matches, in narrow or in wider words.")

    async def paper(arguments: PaperArguments) -> str:
        with _failures_told():
            paper = await library.paper(arguments.paper.strip())
        if paper is None:
            raise ToolRefusedError("no paper of that id or title is known; search for it first")
        return quoted(_entry(paper, whole=True), "paper")

    async def references(arguments: ReferencesArguments) -> str:
        with _failures_told():
            findings = await library.references(arguments.paper.strip(), arguments.limit)
        return _list(
            findings, "No reference of this paper is on record; that does not mean that it cites nothing."
        )

    tools = (
        Tool(
            SEARCH,
            "Search published papers by keywords, best match first: id, title, year, citations, abstract. Use it "
            "before you call anything new, and search again in other words: one query seldom finds all that is there.",
            SearchArguments,
            search,
        ),
        Tool(
            PAPER,
            "Read one paper's record with its whole abstract, by the id that a search has listed. Use it to check a "
            "paper that may already hold the contribution in question.",
            PaperArguments,
            paper,
        ),
        Tool(
            REFERENCES,
            "List what a paper cites, with ids to read on. Use it to go from one close paper to the work behind it.",
            ReferencesArguments,
            references,
        ),
    )
    return tuple(tool for tool in tools if listed is None or tool.name in listed)


@contextmanager
def _failures_told() -> Generator[None]:
    """A look-up that failed tells the model so: it must not pass for one that found nothing."""
    try:
        yield
    except LiteratureError as error:
        raise ToolRefusedError(
            f"the look-up failed ({error.message}); it says nothing about what has been published"
        ) from error


def _list(findings: Findings, nothing: str) -> str:
    text = "\n\n".join(quoted(_entry(paper), "paper") for paper in findings.papers) or nothing
    if findings.degraded:
        text += f"\n\nNot asked, as they could not be reached: {', '.join(findings.degraded)}."
        text += " There may be papers that are not listed."
    return text


def _entry(paper: Paper, *, whole: bool = False) -> str:
    cited = "citations unknown" if paper.citations is None else f"cited {paper.citations} times"
    about = [str(paper.year or "year unknown"), paper.venue or "", cited]
    abstract = paper.abstract or "not on record"
    if not whole and len(abstract) > MOST_LETTERS:
        abstract = abstract[:MOST_LETTERS].rsplit(" ", 1)[0] + " …"
    lines = (
        f"Id: {paper.id}",
        f"Title: {paper.title}",
        ", ".join(filter(None, about)),
        f"Abstract: {abstract}",
    )
    return "\n".join(" ".join(line.split()) for line in lines)


# Tools over the author knowledge bank: whom to ask, and asking them (VirSci 2025, §3.2, App. D.2.1).


FIND = "find_scientists"
INVITE = "invite_scientist"


class FindArguments(Strict):
    interest: str = Field(
        description="Subject or method, in a few words, such as 'grasp planning under occlusion'."
    )
    limit: int = Field(default=5, ge=1, le=10, description="How many scientists to list.")


class InviteArguments(Strict):
    name: str = Field(description="The scientist's name exactly as listed, such as Scientist12.")
    question: str = Field(description="One specific question, with all the context needed to answer it.")


def find_scientists_tool(literature: Literature, outside: Collection[str]) -> Tool:
    """Look-up in the author knowledge bank, leaving out the names in `outside`."""

    async def run(arguments: FindArguments) -> str:
        lines: list[str] = []
        for one in await literature.find_scientists(arguments.interest, arguments.limit, exclude=outside):
            interests = "; ".join(one.interests[:6]) or "interests not recorded"
            cited = "" if one.citations is None else f", cited {one.citations} times"
            lines.append(f"{one.name}: {interests} ({one.papers} papers{cited})")
        return quoted("\n".join(lines), "scientists") if lines else "Nobody works on that."

    return Tool(
        FIND,
        "List scientists outside your team who work on a subject, closest first: name, interests, record. "
        "Use it before invite_scientist, to find whom to ask.",
        FindArguments,
        run,
    )


def invite_scientist_tool(invite: Callable[[str, str], Awaitable[str]]) -> Tool:
    """Ask an outside scientist, who answers once and does not join the team."""

    async def run(arguments: InviteArguments) -> str:
        return await invite(arguments.name.strip(), arguments.question)

    return Tool(
        INVITE,
        "Ask one scientist outside your team for advice and get their answer. Use it only when the answer could "
        "change what you say: each call costs the time of another scientist. They answer once and do not join.",
        InviteArguments,
        run,
    )


LOOK_UPS = frozenset({SEARCH, PAPER, REFERENCES})
"""Those over the literature."""
TOOLS = LOOK_UPS | {FIND, INVITE}
"""What a role card may list."""
