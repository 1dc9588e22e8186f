"""A run's result for other programs: Markdown, BibTeX, RIS, CSL-JSON, JSON, CSV and Word."""

import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from manyheads.base.errors import SubjectError, UserError
from manyheads.base.papers import Paper
from manyheads.base.text import csv_text, plain, printable
from manyheads.core.results import Evidence, Idea, RunResult, result_data
from manyheads.corpus.corpora import bylines
from manyheads.corpus.records import Rejects
from manyheads.datasets.opening import open_corpus
from manyheads.documents.programs import run_pandoc
from manyheads.models.offline import LABEL
from manyheads.report.references import REFERENCES, links_of
from manyheads.systems.ideas import listed_ideas
from manyheads.systems.results import ABSTRACT, essence, in_full, load, own

log = logging.getLogger("manyheads")
PANDOC = "-f commonmark-raw_html+pipe_tables+tex_math_dollars -t docx -o -"
MOST_AUTHORS = 10
"""Authors named in a list of references; the other formats name all."""


def exported(folder: Path, form: str) -> str | bytes:
    """A run's result in one of `FORMATS`.

    Raises:
        SubjectError: the folder has no readable result, or the run has nothing for this format.
    """
    run = load(folder)
    if text := FORMATS[form](run, folder):
        return text
    others = [name for name in TEXTS if name != form and FORMATS[name](run, folder)]
    hint = f"another --format: {', '.join(others)}" if others else f"manyheads resume {folder}"
    raise SubjectError(f"{folder}: this run of {run.system} has {LACKING[form]}", hint=hint)


def markdown(run: RunResult[Any], folder: Path) -> str:
    """Title, abstract, idea and references; for a run without an idea, the system's summary."""
    return _document(run, _references(run))


def _document(run: RunResult[Any], references: Sequence[Evidence]) -> str:
    parts = [*work(run)]
    if not parts:
        return ""
    if references:
        listed = "\n".join(f"{n}. {_reference(each)}" for n, each in enumerate(references, 1))
        parts += ["## References", listed]
    models = ", ".join(dict.fromkeys(run.models.values()))
    note = LABEL if run.offline else f"Written by {run.system} of manyheads with {models}."
    unfinished = "" if run.finished else " The run is not finished."
    return printable("\n\n".join([*parts, "---", f"*{note}{unfinished}*"])) + "\n"


def work(run: RunResult[Any]) -> Iterator[str]:
    """Title, abstract and idea in Markdown, part by part; for a run without an idea, the system's summary."""
    result = run.result
    abstract, idea = getattr(result, "abstract", None), getattr(result, "idea", None)
    if not isinstance(idea, Idea) or len(getattr(result, "final", ())) > 1:
        told = in_full(run) if essence(run) else []
        if told and not told[0].startswith("# "):
            title = plain(getattr(result, "title", None) or "")
            yield f"# {own(run.system).title}{': ' * bool(title)}{title}"
        yield from told
        return
    yield f"# {plain(abstract.title if abstract else idea.title) or own(run.system).title}"
    if topic := getattr(result, "topic", None):
        yield f"**Topic.** {topic.topic}"
    if abstract:
        yield f"## {ABSTRACT}"
        yield abstract.text
    yield "## Idea"
    if abstract and idea.title and idea.title != abstract.title:
        yield f"**{plain(idea.title)}**"
    yield idea.body


def _references(run: RunResult[Any]) -> list[Evidence]:
    """The references of the idea or ideas; for a run without an idea, all papers found. With their authors' names."""
    ideas = getattr(run.result, "final", None) or [getattr(run.result, "idea", None)]
    cited = dict.fromkeys(each for idea in ideas if isinstance(idea, Idea) for each in idea.references)
    return named(run, run.cited(cited) if isinstance(ideas[0], Idea) else run.evidence)


def _reference(paper: Evidence) -> str:
    year = f" ({paper.year})" if paper.year else ""
    link = next((address for _, address in links_of(paper)), plain(paper.paper))
    authors = ", ".join(map(plain, paper.authors[:MOST_AUTHORS]))
    more = " et al." if len(paper.authors) > MOST_AUTHORS else ""
    return f"{authors}{more}{': ' * bool(authors)}{plain(paper.title)}{year}. {link}"


def named(run: RunResult[Any], papers: Sequence[Evidence]) -> list[Evidence]:
    """The papers with the authors that people know them by: those of a corpus are masked for agents."""
    bare = [one for one in papers if not one.authors]
    ids, known = {_local(one) for one in bare}, dict[str, Paper]()
    for source in dict.fromkeys([run.corpus, *(way.source for one in bare for way in one.retrievals)]):
        found = bylines(run.corpus, ids) if source == run.corpus else _papers_of(source, ids)
        known |= found or {}
        if found is None and any(way.source == source for one in bare for way in one.retrievals):
            log.warning(
                "warning: %s: not here, or without the authors of its papers; they are left out", source
            )
    return [_as_published(one, known.get(_local(one))) for one in papers]


def _local(paper: Evidence) -> str:
    return paper.paper.removeprefix("local:")


def _papers_of(source: str | None, ids: Collection[str]) -> dict[str, Paper]:
    """The papers of a user's own file."""
    with suppress(UserError, OSError, ValueError):  # a text or a service, no file
        if source and (path := Path(source)).is_file():
            papers = (paper.as_published() for _, paper in open_corpus(path).papers(Rejects()))
            return {one.id: one for one in papers if one.id in ids}
    return {}


def _as_published(paper: Evidence, known: Paper | None) -> Evidence:
    if known is None or paper.authors:
        return paper
    own = {"authors": known.authors, "title": known.title, "year": paper.year or known.year}
    more = {**own, "venue": paper.venue or known.venue, "doi": paper.doi or known.doi}
    return paper.model_copy(update=more)


def shared(run: RunResult[Any], folder: Path) -> Iterator[tuple[str, str]]:
    """The files of `SHARED`, with one look-up of the references; a file is empty where the run has nothing for it."""
    references = _references(run)
    for file, form in SHARED.items():
        if form in REFERENCES:
            yield file, REFERENCES[form](references)
        else:
            yield file, _document(run, references) if form == "md" else as_csv(run, folder)


def as_json(run: RunResult[Any], folder: Path) -> str:
    """The result file of the run."""
    return json.dumps(result_data(folder, unfinished=True), ensure_ascii=False, indent=2) + "\n"


def as_csv(run: RunResult[Any], folder: Path) -> str:
    """The system's table, else every idea with its scores."""
    rows = [_flat(row) for row in own(run.system).table(run.result)] or [*ideas(run)]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = ([row.get(name) for name in columns] for row in rows)
    return csv_text([columns, *cells]) if rows else ""


def ideas(run: RunResult[Any]) -> Iterator[dict[str, object]]:
    """Every idea of a result with its numbers; the final one is marked."""
    best, found = getattr(run.result, "idea", None), listed_ideas(run.result)
    several = len({name for name, _ in found}) > 1
    for name, idea in found:
        chosen = isinstance(best, Idea) and (best.number, best.idea) == (idea.number, idea.idea)
        references = "; ".join(plain(paper.title) for paper in run.cited(idea.references))
        listed = {"list": name} if several else {}
        told = _flat(idea.model_dump(exclude={"references"}))
        yield {**listed, **told, "chosen": chosen, "references": references}


def _flat(data: BaseModel | Mapping[str, Any], above: str = "") -> dict[str, object]:
    """Single values by name, with nested names joined; texts of a list share a cell."""
    flat = dict[str, object]()
    for name, value in (data.model_dump() if isinstance(data, BaseModel) else data).items():
        if isinstance(value, dict):
            flat |= _flat(cast(Mapping[str, Any], value), f"{above}{name}.")
        elif isinstance(value, str):
            flat[f"{above}{name}"] = printable(value)
        elif isinstance(value, int | float):
            flat[f"{above}{name}"] = value
        elif isinstance(value, list):
            texts = [each for each in cast(list[object], value) if isinstance(each, str)]
            if texts and len(texts) == len(value):
                flat[f"{above}{name}"] = printable("; ".join(texts))
    return flat


def docx(run: RunResult[Any], folder: Path) -> bytes:
    """The Markdown as a document of Word; raises `DocumentError` without Pandoc, or if it fails."""
    if not (text := markdown(run, folder)):
        return b""
    # Pandoc would drop tags, and fetch pictures without its sandbox.
    text = re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text)
    return run_pandoc(f"{folder} as docx", PANDOC, text.encode("utf-8", "replace"), "another --format: md")


FORMATS: Mapping[str, Callable[[RunResult[Any], Path], str | bytes]] = {
    "md": markdown, **{form: lambda run, folder, cite=cite: cite(_references(run)) for form, cite in REFERENCES.items()}, "json": as_json, "csv": as_csv, "docx": docx, "pdf": lambda run, folder: own(run.system).annotated(run.result) or b"",
}  # fmt: skip
FILES = {"docx": "result.docx", "pdf": "annotated.pdf"}
"""The files of formats that are not text, in a run's folder."""
SHARED = {
    "result.md": "md", "references.bib": "bib", "references.ris": "ris", "references.csl.json": "csl", "ideas.csv": "csv",
}  # fmt: skip
"""The formats of a bundle, by their files."""
TEXTS = ("md", *REFERENCES, "json", "csv")
"""The formats that need nothing installed."""
LACKING = {
    "md": "written nothing yet", **dict.fromkeys(REFERENCES, "no references"), "json": "no result",
    "csv": "no ideas and no other table", "docx": "written nothing yet", "pdf": "no review of a PDF",
}  # fmt: skip
"""What a run lacks if a format is empty."""
