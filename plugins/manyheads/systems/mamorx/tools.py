"""The tools of the committee's role cards: to read the paper, to ask each other, to look for what is new."""

from collections.abc import Mapping

from pydantic import Field

from manyheads.asking.replies import Text
from manyheads.config import Strict
from manyheads.systems.mamorx.replies import Expert


class SectionArguments(Strict):
    name: str = Field(min_length=1)
    part: int = Field(default=1, ge=1)


class PassageArguments(Strict):
    words: str = Field(min_length=1)
    limit: int = Field(default=5, ge=1, le=20)


class NameArguments(Strict):
    name: str = Field(min_length=1)


class CitedArguments(Strict):
    words: str = Field(min_length=1)
    limit: int = Field(default=8, ge=1, le=20)


class PhraseArguments(Strict):
    phrase: Text


class AskArguments(Strict):
    expert: Expert
    question: Text
    expects: Text


class DelegateArguments(Strict):
    expert: Expert
    task: Text
    expects: Text


READ, FIND_PASSAGES, READ_TABLE = "read_section", "search_paper", "read_table"
LOOK, FIND_CITED, PURSUE = "look_at_figure", "search_cited", "search_novelty"
ASK, DELEGATE = "ask", "delegate"
TOOLS: Mapping[str, type[Strict]] = {
    READ: SectionArguments,
    FIND_PASSAGES: PassageArguments,
    READ_TABLE: NameArguments,
    LOOK: NameArguments,
    FIND_CITED: CitedArguments,
    PURSUE: PhraseArguments,
    ASK: AskArguments,
    DELEGATE: DelegateArguments,
}
