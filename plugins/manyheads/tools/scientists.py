"""Tools over the author knowledge bank: whom to ask, and asking them (VirSci 2025, §3.2, App. D.2.1)."""

from collections.abc import Awaitable, Callable, Collection

from pydantic import BaseModel, ConfigDict, Field

from manyheads.bank.records import Literature, Scientist
from manyheads.core import Tool
from manyheads.prompts import quoted

FIND = "find_scientists"
INVITE = "invite_scientist"


class FindArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    interest: str = Field(
        description="Subject or method, in a few words, such as 'grasp planning under occlusion'."
    )
    limit: int = Field(default=5, ge=1, le=10, description="How many scientists to list.")


class InviteArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="The scientist's name exactly as listed, such as Scientist12.")
    question: str = Field(description="One specific question, with all the context needed to answer it.")


def describe(scientist: Scientist) -> str:
    """A scientist in a line."""
    interests = "; ".join(scientist.interests[:6]) or "interests not recorded"
    cited = "" if scientist.citations is None else f", cited {scientist.citations} times"
    return f"{scientist.name}: {interests} ({scientist.papers} papers{cited})"


def find_scientists_tool(literature: Literature, outside: Collection[str]) -> Tool:
    """Look-up in the author knowledge bank, leaving out the names in `outside`."""

    async def run(arguments: FindArguments) -> str:
        found = await literature.find_scientists(arguments.interest, arguments.limit, exclude=outside)
        if not found:
            return "Nobody works on that."
        return quoted("\n".join(describe(scientist) for scientist in found), "scientists")

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
