"""A paper that is read already, and what a run finds out about it: the real session, without the committee."""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from manyheads.documents import Document, Reference
from manyheads.judges.shared import view
from manyheads.systems.mamorx import novelty, references
from manyheads.systems.mamorx.config import MamorxConfig, MamorxInputs
from manyheads.systems.mamorx.result import MamorxResult
from manyheads.team.system import System
from support.direct import Played, known, play
from support.llm import LLM

Work = Callable[[Any], Awaitable[None]]
TITLE = "Tactile fingers that pick soft fruit by night"
ABSTRACT = "We let tactile fingers pick soft fruit without light, and learn from each bruise."


@dataclass(frozen=True)
class Read:
    """What the stages read of a manuscript."""

    document: Document
    source: str = "paper.pdf"
    references: dict[str, Reference] = field(default_factory=dict[str, Reference])


def paper(
    *cited: Reference,
    title: str = TITLE,
    abstract: str = ABSTRACT,
    year: int | None = None,
    source: str = "paper.pdf",
    numbers: tuple[str, ...] = (),
    made: dt.date | None = None,
) -> Read:
    document = Document(
        title=title, abstract=abstract, references=cited, year=year, numbers=numbers, made=made
    )
    return Read(document, source, {f"[{at}]": one for at, one in enumerate(cited, 1)})


def entry(text: str, **known: Any) -> Reference:
    return Reference(text=text, **known)


async def both(run: Any) -> None:
    """What the committee has looked up at once."""
    await novelty.assess(run)
    await references.look_up(run)
    novelty.cite(run)
    references.cite(run)


async def review(
    llm: LLM, folder: Path, read: Read, *, work: Work = both, literature: dict[str, Any], **more: Any
) -> Played:
    """Run some stages on a paper."""
    system = System(
        name="mamorx", title="MAMORX", about="A test.", config=MamorxConfig, inputs=MamorxInputs, result=MamorxResult,
        run=work, needs=lambda config: {}, essence=lambda result: (), report=lambda record: view(record, "A paper", (), (), ()),
        searches=lambda config, roles: True, read=lambda config: read,
        corpus=lambda config: "local" in config.literature.cascade,
    )  # fmt: skip
    model = {"provider": "openai", "name": "test", "base_url": llm.base_url, "tools": False}
    with known():
        config = system.model.model_validate(
            {
                "host": "direct", "seed": 3, "models": {"default": model}, "embedding": "lexical",
                "inputs": {"paper": "paper.pdf"}, "literature": {"retries": 0, **literature}, **more,
            }
        )  # fmt: skip
        return await play(config, folder, llm)
