"""`manyheads measure`: how new texts are, by the papers nearest to them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from manyheads.measures.novelty import Neighbour
    from manyheads.measures.results import Measure, Score

ABSENT = "–"


def measure(
    texts: Annotated[
        list[Path],
        typer.Argument(metavar="TEXT|RUN…", help="Text files, .jsonl files of abstracts, folders of runs."),
    ],
    corpus: Annotated[
        str | None,
        typer.Option(help="A built corpus's folder, or a shipped one's name. [default: the runs' own]"),
    ] = None,
    normalise: Annotated[
        Literal["year", "database", "none"],
        typer.Option(help="Divide by the mean of the neighbour's year, of all papers, or not at all."),
    ] = "year",
    neighbours: Annotated[int, typer.Option(min=1, help="Nearest papers of each period.")] = 5,
    rnd: Annotated[bool, typer.Option("--rnd", help="Relative neighbour density too.")] = False,
    rnd_papers: Annotated[int, typer.Option(min=1, help="P of RND: papers around the text.")] = 100,
    rnd_neighbours: Annotated[int, typer.Option(min=1, help="Q of RND: papers around each of these.")] = 50,
    show_neighbours: Annotated[
        bool, typer.Option("--show-neighbours", help="Name the nearest papers.")
    ] = False,
    search: Annotated[
        Literal["exact", "approximate"], typer.Option(help="approximate asks the bank's index.")
    ] = "exact",
    embedding: Annotated[
        str | None, typer.Option(help="Where the corpus's model is, if not found by its name.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one text a line as JSON.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the same JSON Lines to a file.")] = None,
) -> None:
    """Measure texts: HD, CD, CI, ON (VirSci), and on request RND; for several texts their means too."""
    from manyheads.cli.building import naming_the_option, showing_progress
    from manyheads.measures.chosen import chosen_corpus
    from manyheads.measures.results import scores, write_scores
    from manyheads.subjects import read_subjects

    subjects = [subject for path in texts for subject in read_subjects(path)]
    with naming_the_option(), showing_progress() as tell:
        against = chosen_corpus(texts, corpus, embedding, tell)
    sizes = (rnd_papers, rnd_neighbours) if rnd else None
    found = scores(against, subjects, neighbours=neighbours, normalise=normalise, search=search, rnd=sizes)
    if out is not None:
        write_scores(out, found)
    if json:
        for one in found:
            typer.echo(one.model_dump_json())
    else:
        _show(found, show_neighbours)
    for line in _remarks(found):
        typer.echo(f"warning: {line}", err=True)


def _show(found: "Sequence[Score]", show_neighbours: bool) -> None:
    from rich.console import Console

    console = Console()
    console.print(_table(found), markup=False)
    if show_neighbours:
        for one in found:
            console.print(one.name, markup=False, highlight=False)
            console.print(_near(one), markup=False)


def _table(found: "Sequence[Score]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    measures = _shown(found)
    first = found[0]
    search = "" if first.search == "exact" else ", approximate search"
    title = f"{first.corpus}, {first.neighbours} neighbours, normalised by {first.normalise}{search}"
    table = Table(title=title.replace("normalised by none", "not normalised"), title_justify="left")
    table.add_column("text", max_width=48, min_width=12)
    for name in measures:
        table.add_column(name.upper(), justify="right", no_wrap=True)
    for one in found:
        table.add_row(Text(one.name), *(_number(one.value(name)) for name in measures))
    if len(found) > 1:
        table.add_section()
        for label, cells in _means(found, measures):
            table.add_row(label, *cells)
    return table


def _shown(found: "Sequence[Score]") -> "list[Measure]":
    from manyheads.measures.results import MEASURES

    return [name for name in MEASURES if name != "rnd" or found[0].around is not None]


def _means(found: "Sequence[Score]", measures: "Sequence[Measure]") -> "Iterable[tuple[str, list[str]]]":
    from manyheads.measures.results import mean_of

    means = [mean_of(found, name) for name in measures]
    rows = {f"mean of {len(found)}": "estimate", "95% interval: from": "low", "95% interval: to": "high"}
    for label, end in rows.items():
        yield label, [ABSENT if isinstance(one, str) else _number(getattr(one, end)) for one in means]


def _number(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3f}"


def _near(one: "Score") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table("period", "distance", "year", "cited", "title", box=None, padding=(0, 2, 0, 0))
    groups: dict[str, Sequence[Neighbour]] = {"past": one.past, "contemporary": one.contemporary}
    for period, papers in groups.items():
        for paper in papers:
            cited = ABSENT if paper.citations is None else f"{paper.citations:,}"
            table.add_row(period, _number(paper.distance), str(paper.year), cited, Text(paper.title))
    return table


def _remarks(found: "Sequence[Score]") -> "Iterable[str]":
    """What a reader must know of the numbers."""
    for one in found:
        if one.unread:
            yield f"{one.source}: the embedding model did not read its last {one.unread} tokens"
        for name, why in one.missing.items():
            yield f"{one.source}: no {name.upper()}: {why}"
    if found[0].search == "approximate":
        yield "approximate search: nearer papers may have been missed"
