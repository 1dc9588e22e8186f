"""Open texts of related and cited works: what each says nearest to the paper, beside its abstract (MAMORX, §3.1)."""

from pathlib import Path

from manyheads.base.errors import BugError, DocumentError, LiteratureError
from manyheads.base.folders import door
from manyheads.core.events import Judged
from manyheads.core.results import Retrieval
from manyheads.documents import speech
from manyheads.systems.mamorx.desk import NOVELTY, REFERENCES
from manyheads.systems.mamorx.paper import MamorxRun, Manuscript, ranked
from manyheads.systems.mamorx.result import Novelty, Work

PASSAGES, WORDS = 2, 180
"""Maximum passages of a text, and their words together: as many as an abstract's, so that a prompt holds several."""


async def read(run: MamorxRun) -> None:
    """Read open texts of the relevant related papers and cited works nearest to the paper; their addresses are evidence."""
    paper, library, failures = run.material.document, run.library, list[str]()
    related = ((NOVELTY, one, one.title) for one in (run.result.novelty or Novelty()).related if one.relevant)
    cited = ((REFERENCES, one, one.found) for one in run.result.references)
    works: list[tuple[str, Work, str]] = [each for each in (*related, *cited) if each[1].open_text]
    told = [f"{title} {one.abstract}" for _, one, title in works]
    if library is None or not told:
        return
    chosen = ranked(told, f"{paper.title} {paper.abstract}", run.settings.texts)
    for stage, work, title in (works[at] for at in chosen):
        try:
            with door(run.folder):
                document = await library.text(work.paper, title, work.open_text)
                text = Manuscript(document.model_copy(update={"abstract": ""}), Path(), work.open_text, "")
                found = text.search(paper.title, PASSAGES) or text.passages[:PASSAGES]
            passage = " ".join(" … ".join(one.text for one in found).split()[:WORDS])
            if speech(passage):
                raise DocumentError("the passage addresses a reviewer or a model")
        except (LiteratureError, DocumentError, BugError) as error:
            failures.append(f"{work.name}: {error.message}")
            continue
        work.passage = passage
        way = Retrieval(source=work.open_text, query=paper.title, stage=stage, channel="open text")
        run.evidence.cite(work.paper, title, way, year=work.year)
    if chosen:
        words, stage = f"{len(chosen) - len(failures)} of {len(chosen)} read", works[chosen[0]][0]
        run.emit(Judged(stage=stage, subject="Open texts", outcome=words, reasoning="; ".join(failures)))
